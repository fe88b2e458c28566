package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// output is where the text of a command goes: standard output, or a pager before it.
type output struct {
	terminal *os.File // at its end; nil for none
	pager    *exec.Cmd
	less     bool // that is the pager

	to    io.WriteCloser
	ended context.CancelFunc // ends the command
}

// outputOf returns where the output of a command goes.
func outputOf(cmd *cobra.Command) *output {
	o := &output{}
	if f, ok := cmd.OutOrStdout().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		o.terminal = f
	}
	return o
}

// paged has the output of a command shown by a pager until what it returns is called.
func paged(cmd *cobra.Command) (end func()) {
	o := outputOf(cmd)
	o.page(cmd)
	return o.close
}

// width returns how many columns the terminal has; 0 for none. o may be nil.
func (o *output) width() int {
	if o == nil || o.terminal == nil {
		return 0
	}
	width, _, err := term.GetSize(int(o.terminal.Fd()))
	if err != nil || width < leastWidth {
		return 0
	}
	return width
}

// leastWidth is the width of the narrowest terminal for which lines are made to fit.
const leastWidth = 40

// lessPager is the pager that is used if no other is wanted.
const lessPager = "less"

// page has the output of a command on a terminal shown by a pager, as git does: by
// SFCORE_PAGER, PAGER, or less, which ends by itself if the screen is enough. It must
// be called before the rights to start programs are given up. The caller closes o.
func (o *output) page(cmd *cobra.Command) {
	pager := pagerOf(os.LookupEnv)
	if o.terminal == nil || pager == "" {
		return
	}
	if words := strings.Fields(pager); len(words) == 1 {
		if _, err := exec.LookPath(pager); err != nil {
			if pager != lessPager {
				cmd.PrintErrf("the pager %s is not found; SFCORE_PAGER names another one, and SFCORE_PAGER=cat means none\n", pager)
			}
			return
		}
	}
	shell := exec.Command("sh", "-c", pager) //nolint:gosec // which is what the variable is for
	shell.Stdout, shell.Stderr, shell.Env = o.terminal, os.Stderr, pagerEnv(os.Environ())
	to, err := shell.StdinPipe()
	if err != nil || shell.Start() != nil {
		return
	}
	o.pager, o.to = shell, to
	o.less = filepath.Base(strings.Fields(pager)[0]) == lessPager
	ctx, cancel := context.WithCancel(cmd.Context())
	o.ended = cancel
	cmd.SetContext(ctx)
	if f, ok := cmd.ErrOrStderr().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		cmd.SetErr(o) // or it would be written over what the pager shows
	}
	cmd.SetOut(o)
}

// pagerOf returns the command of the pager that the environment wants; "" for none.
func pagerOf(env func(string) (string, bool)) string {
	for _, name := range []string{"SFCORE_PAGER", "PAGER"} {
		if pager, ok := env(name); ok {
			if pager = strings.TrimSpace(pager); pager == "cat" {
				return ""
			}
			return pager
		}
	}
	return lessPager
}

// pagerEnv adds to an environment what less and lv need to show colours and to end where
// one screen is enough, unless it says otherwise.
func pagerEnv(env []string) []string {
	for _, add := range []string{"LESS=FRX", "LV=-c"} {
		name, _, _ := strings.Cut(add, "=")
		if _, ok := os.LookupEnv(name); !ok {
			env = append(env, add)
		}
	}
	return env
}

// Write implements io.Writer. Where the user has left the pager, it ends the command, and
// takes what still comes.
func (o *output) Write(p []byte) (int, error) {
	if _, err := o.to.Write(p); err != nil {
		o.ended()
	}
	return len(p), nil
}

// close waits until the pager has ended, if there is one.
func (o *output) close() {
	if o.pager == nil {
		return
	}
	_ = o.to.Close()
	_ = o.pager.Wait() // its status is the user's
	o.ended()
}
