package command

import (
	"bytes"
	"cmp"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"
)

// Help has lines of fileWidth columns where it is not printed on a terminal, and of
// widest on a terminal that has more: longer ones are hard to read.
const fileWidth, widest = 80, 100

// FitHelp has the help of root and of all commands below it fit the width of the terminal on
// which it is printed; 0 is for none.
func FitHelp(root *cobra.Command, width func(*cobra.Command) int) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out, most := cmd.OutOrStdout(), cmp.Or(width(cmd), fileWidth)
		var text bytes.Buffer
		cmd.SetOut(&text)
		help(cmd, args)
		cmd.SetOut(out)
		_, _ = io.WriteString(out, fit(text.String(), min(most, widest)))
	})
}

// described matches what precedes the description of a flag or a command.
var described = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ +(?:-\w, )?(?:--)?[a-z][\w-]*(?: [\w:=\[\]|/-]+)?  +`)
})

// fit breaks the lines of help that are longer than width between words. They go on below
// where a description begins, or the line itself; in text, before the next line.
func fit(text string, width int) string {
	var b strings.Builder
	rest := "" // of a line of text
	for line := range strings.Lines(text) {
		switch {
		case rest == "":
		case line == "\n" || line[0] == ' ':
			b.WriteString(rest + "\n")
		default:
			line = rest + " " + line
		}
		rest = ""
		indent, whole := len(line)-len(strings.TrimLeft(line, " ")), line
		if n := len(described().FindString(line)); n > 0 && n < width/2 {
			indent = n
		}
		for len(line)-1 > width { // without the end of the line
			at := strings.LastIndexByte(line[:width+1], ' ')
			if at <= indent {
				break
			}
			b.WriteString(line[:at] + "\n")
			line = strings.Repeat(" ", indent) + line[at+1:]
		}
		if indent == 0 && line != whole {
			rest = strings.TrimSuffix(line, "\n")
			continue
		}
		b.WriteString(line)
	}
	if rest != "" {
		b.WriteString(rest + "\n")
	}
	return b.String()
}
