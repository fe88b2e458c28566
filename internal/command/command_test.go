package command

import (
	"io"
	"testing"

	"github.com/spf13/cobra"
)

func TestPrepare(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string // the error
	}{
		{[]string{"list"}, ""},
		{nil, ""},
		{[]string{"lits"}, `unknown command "lits" for crash; did you mean list?`},
		{[]string{"xyz"}, `unknown command "xyz" for crash`},
		{[]string{"command.go"}, `unknown command "command.go" for crash; to print the stacks of a core file: sfcore bt command.go`},
		{[]string{"store", "list"}, `unknown command "list" for crash store`},
		{[]string{"help", "lits"}, `unknown command "lits" for crash; did you mean list?`},
		{[]string{"list", "-n", "x"}, `invalid argument "x" for "-n, --lines" flag: this is not a number`},
		{[]string{"list", "-n", "99999999999999999999"}, `invalid argument "99999999999999999999" for "-n, --lines" flag: this number is too large`},
		{[]string{"list", "-n"}, `-n: the value is missing; use -n COUNT`},
		{[]string{"list", "--lines"}, `--lines: the value is missing; use --lines COUNT`},
		{[]string{"-n", "1"}, `unknown flag -n for crash; it comes behind a command: crash list -n COUNT`},
		{[]string{"--all"}, `unknown flag --all for crash; it comes behind a command: crash list --all`},
		{[]string{"--lines=1"}, `unknown flag --lines for crash; it comes behind a command: crash list --lines COUNT`},
		{[]string{"list", "-x"}, `unknown flag -x for crash list; crash list --help lists the flags`},
		{[]string{"pair"}, `an argument is missing; usage: crash pair ONE TWO -o OUT [flags]`},
		{[]string{"pair", "a", "b", "c"}, `"c" is an argument too many; usage: crash pair ONE TWO -o OUT [flags]`},
		{[]string{"pair", "a", "b"}, `--output OUT is missing; usage: crash pair ONE TWO -o OUT [flags]`},
		{[]string{"pair", "a", "b", "-o", "c"}, ``},
		{[]string{"some"}, `an argument is missing; usage: crash some ONE... [flags]`},
		{[]string{"none", "a"}, `crash none takes no argument, and "a" is one; usage: crash none [flags]`},
		{[]string{"store", "show", "x"}, `an argument is missing; usage: crash store show ONE TWO [flags]`},
		{[]string{"-xn"}, `unknown flag -x for crash; crash --help lists the flags`},
		{[]string{"list", "--none=x"}, `unknown flag --none for crash list; crash list --help lists the flags`},
	} {
		root, below := &cobra.Command{Use: "crash", SilenceErrors: true, SilenceUsage: true}, &cobra.Command{Use: "store"}
		list := &cobra.Command{Use: "list", Run: func(*cobra.Command, []string) {}}
		list.Flags().IntP("lines", "n", 0, "show `COUNT`")
		list.Flags().Bool("all", false, "show all")
		nothing := func(*cobra.Command, []string) {}
		pair := &cobra.Command{Use: "pair ONE TWO -o OUT", Args: cobra.ExactArgs(2), Run: nothing}
		pair.Flags().StringP("output", "o", "", "write to `OUT`")
		_ = pair.MarkFlagRequired("output")
		root.AddCommand(pair, &cobra.Command{Use: "some ONE...", Args: cobra.MinimumNArgs(1), Run: nothing}, &cobra.Command{Use: "none", Args: cobra.NoArgs, Run: nothing})
		below.AddCommand(&cobra.Command{Use: "show ONE TWO", Args: cobra.ExactArgs(2), Run: func(*cobra.Command, []string) {}})
		root.AddCommand(list, below, &cobra.Command{Use: "top", Run: func(*cobra.Command, []string) {}})
		Prepare(root)
		root.SetArgs(append([]string{}, tt.args...))
		root.SetOut(io.Discard)
		err, got := root.Execute(), ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.args, got, tt.want)
		}
	}
}
