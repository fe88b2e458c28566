package manual

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestWrite(t *testing.T) {
	root := &cobra.Command{Use: "prog", Short: "Do it"}
	root.AddCommand(&cobra.Command{
		Use:   "list [flags] FILE",
		Short: "List what is there",
		Long:  "list lists *all* of my_file:\n\n  prog list a_b     one\n  prog list --all   both\n\nIt ends.",
		Run:   func(*cobra.Command, []string) {},
	})
	t.Setenv("SOURCE_DATE_EPOCH", "0")
	dir := t.TempDir()
	if err := Write(root, "1.2.3", dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "prog-list.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Jan 1970", "sfcore 1.2.3", "list lists *all* of my_file:", "prog list a_b     one\nprog list --all   both", "It ends."} {
		if !strings.Contains(strings.ReplaceAll(string(page), `\`, ""), want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "")
	if err := Write(root, "1.2.3", dir); err == nil {
		t.Error("pages are of no day")
	}
}
