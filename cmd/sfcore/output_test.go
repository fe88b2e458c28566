package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// environment is an environment for functions that ask for variables.
func environment(pairs string) func(string) string {
	vars := map[string]string{}
	for pair := range strings.FieldsSeq(pairs) {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	return func(name string) string { return vars[name] }
}

// Colours go by NO_COLOR, CLICOLOR_FORCE and CLICOLOR, in this order, and by the terminal.
func TestWantsColor(t *testing.T) {
	for _, tt := range []struct {
		env      string
		terminal bool
		want     painter
	}{
		{"", true, true},
		{"", false, false},
		{"NO_COLOR=", true, true},
		{"NO_COLOR=1", true, false},
		{"NO_COLOR=0", true, false},
		{"CLICOLOR=0", true, false},
		{"CLICOLOR=1", true, true},
		{"CLICOLOR=1", false, false},
		{"CLICOLOR_FORCE=1", false, true},
		{"CLICOLOR_FORCE=0", false, false},
		{"CLICOLOR_FORCE=1 CLICOLOR=0 TERM=dumb", false, true},
		{"CLICOLOR_FORCE=1 NO_COLOR=1", true, false},
		{"TERM=dumb", true, false},
	} {
		if got := wantsColor(environment(tt.env), tt.terminal); got != tt.want {
			t.Errorf("%q, terminal %v: got %v", tt.env, tt.terminal, got)
		}
	}
}

func TestPagerOf(t *testing.T) {
	for env, want := range map[string]string{
		"": "less", "PAGER=more": "more", "PAGER=": "", "PAGER=cat": "", "SFCORE_PAGER=a PAGER=b": "a", "SFCORE_PAGER= PAGER=b": "", "SFCORE_PAGER=cat PAGER=b": "",
	} {
		got := pagerOf(func(name string) (string, bool) {
			return environment(env)(name), strings.Contains(" "+env, " "+name+"=")
		})
		if got != want {
			t.Errorf("%q: got %q, want %q", env, got, want)
		}
	}
}

// Links are only for terminals that are known to have them.
func TestLinksIn(t *testing.T) {
	for env, want := range map[string]bool{
		"": false, "TERM=xterm-256color": false, "TERM=xterm-kitty": true, "TERM=xterm-256color VTE_VERSION=7200": true, "VTE_VERSION=4900": false, "VTE_VERSION=7200 TERM=dumb": false,
		"TERM_PROGRAM=vscode": true, "TERM_PROGRAM=Apple_Terminal": false, "TERM_PROGRAM=tmux TERM_PROGRAM_VERSION=3.4": true,
		"TERM_PROGRAM=tmux TERM_PROGRAM_VERSION=3.3a": false, "TERM_PROGRAM=tmux TERM_PROGRAM_VERSION=4.0": true, "KONSOLE_VERSION=220401": true,
	} {
		if got := linksIn(environment(env)); got != want {
			t.Errorf("%q: got %v", env, got)
		}
	}
}

// With a link, the text of a line is the same, between the two sequences that make it.
func TestLinked(t *testing.T) {
	if got, want := string(linked([]byte("at "), "file://h/a.c#7", "a.c:7")), "at \x1b]8;;file://h/a.c#7\x1b\\a.c:7\x1b]8;;\x1b\\"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	args := append([]string{"bt", "--hyperlinks", "always", "--map", "/srv/corpus/src=" + coresDir + "/amd64-v3-null-1/src"}, caseArgs(t, "amd64-v3-null-1")...)
	links, _, _ := sfcore(args...)
	args[2] = "never"
	plain, _, _ := sfcore(args...)
	if n := strings.Count(links, "\x1b]8;;file://"); n < 3 || !strings.Contains(links, "/amd64-v3-null-1/src/nullcall.c#6\x1b\\/srv/corpus/src/nullcall.c:6\x1b]8;;\x1b\\") {
		t.Errorf("got %d links:\n%s", n, links)
	}
	if none, _, _ := sfcore(append([]string{"bt", "--hyperlinks", "always"}, caseArgs(t, "amd64-v3-null-1")...)...); none != plain {
		t.Errorf("there are links to files that are not here:\n%s", none)
	}
	for at := strings.Index(links, "\x1b]8;;"); at >= 0; at = strings.Index(links, "\x1b]8;;") {
		end := strings.Index(links[at:], "\x1b\\")
		links = links[:at] + links[at+end+2:]
	}
	if links != plain {
		t.Errorf("without links, it is\n%s\nwant\n%s", links, plain)
	}
}

// A pager gets what is written, and its end is waited for. Who leaves it early ends the
// command, without an error.
func TestPage(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	for pager, want := range map[string]string{"sed s/^/\\>/": ">one\n>two\n", "head -n 0": ""} {
		t.Setenv("SFCORE_PAGER", pager)
		terminal, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		cmd := &cobra.Command{}
		cmd.SetContext(context.Background())
		o := &output{terminal: terminal}
		o.page(cmd)
		for i := 0; i < 1000 && pager[0] == 'h' && cmd.Context().Err() == nil; i++ {
			if _, err := cmd.OutOrStdout().Write(bytes.Repeat([]byte("x"), 64<<10)); err != nil {
				t.Fatal(err)
			}
		}
		if pager[0] == 'h' && cmd.Context().Err() == nil {
			t.Error("the pager has ended, and the command goes on")
		}
		for _, line := range []string{"one\n", "two\n"} {
			if _, err := cmd.OutOrStdout().Write([]byte(line)); err != nil {
				t.Error(err)
			}
		}
		o.close()
		got, err := os.ReadFile(terminal.Name())
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", pager, got, err, want)
		}
		terminal.Close()
	}
}

// Where the pager is not there, what is written is.
func TestPageMissing(t *testing.T) {
	t.Setenv("SFCORE_PAGER", "no-such-pager")
	var out, problems bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	cmd.SetErr(&problems)
	o := &output{terminal: os.Stderr}
	o.page(cmd)
	fmt.Fprint(cmd.OutOrStdout(), "one")
	o.close()
	if out.String() != "one" || !strings.Contains(problems.String(), "no-such-pager is not found") {
		t.Errorf("got %q, and %q", out.String(), problems.String())
	}
}
