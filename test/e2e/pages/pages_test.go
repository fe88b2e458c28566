//go:build e2e && linux

// Package pages types what the pages of docs/guide say, and compares what comes out.
package pages

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// root is where the commands are typed: the repository, or the directory in INSTALLED, in
// which a package has its documentation. Its programs are in PATH then.
var root = "../../.."

var installed = os.Getenv("INSTALLED")

// programs is where the programs are built.
var programs string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if installed != "" {
			root, programs = installed, "/usr/bin"
			return m.Run()
		}
		dir, err := os.MkdirTemp("", "")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		programs = dir
		for _, module := range []string{root, root + "/cmd/sfcore-fleet"} {
			build := exec.Command("go", "build", "-o", dir, ".")
			if build.Dir = module; module == root {
				build.Args[4] = "./cmd/..."
			}
			if out, err := build.CombinedOutput(); err != nil {
				panic(string(out))
			}
		}
		return m.Run()
	}())
}

// step is a command of a page, with what it prints.
type step struct {
	line    int
	command string
	output  []string
}

// steps returns the commands in the console blocks of a page.
func steps(t *testing.T, page string) (list []step) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	inside, n := false, 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSuffix(line, "\n")
		command, isCommand := strings.CutPrefix(line, "$ ")
		more, isMore := strings.CutPrefix(line, "> ")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case inside && isCommand:
			list = append(list, step{line: n, command: command})
		case inside && isMore && len(list) > 0:
			list[len(list)-1].command += "\n" + more
		case inside && len(list) == 0:
			t.Fatalf("%s:%d: output without a command", page, n)
		case inside:
			last := &list[len(list)-1]
			last.output = append(last.output, line)
		}
	}
	return list
}

// pattern is what output must match: "..." on a line of its own stands for any lines,
// elsewhere for any characters of a line.
func pattern(output []string) *regexp.Regexp {
	var b strings.Builder
	for _, line := range output {
		if line == "..." {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		parts := strings.Split(line, "...")
		for i, p := range parts {
			// Columns move with the length of names.
			words := strings.Fields(p)
			for n := range words {
				words[n] = regexp.QuoteMeta(words[n])
			}
			text := strings.Join(words, " +")
			if strings.HasPrefix(p, " ") {
				text = " +" + text
			}
			if strings.HasSuffix(p, " ") && len(words) > 0 {
				text += " +"
			}
			if i > 0 {
				text = ".*" + text
			}
			b.WriteString(text)
		}
		b.WriteString(`\n`)
	}
	return regexp.MustCompile(`\A` + b.String() + `\z`)
}

// What a page says that a command prints, it prints.
func TestPages(t *testing.T) {
	pages, err := filepath.Glob(root + "/docs/guide/*.md")
	if err != nil || len(pages) < 9 {
		t.Fatalf("got pages %v, %v", pages, err)
	}
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			list := steps(t, page)
			if len(list) == 0 {
				t.Fatal("the page has no command whose output is shown")
			}
			tmp := t.TempDir()
			for _, s := range list {
				if installed != "" && strings.HasPrefix(s.command, "go run ") {
					continue // the page says that it needs a clone
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, "bash", "-c", s.command)
				cmd.Dir, cmd.WaitDelay = root, time.Second
				cmd.Env = []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + tmp, "XDG_CACHE_HOME=" + tmp, "GOCACHE=" + goCache(t), "LC_ALL=C.UTF-8"}
				out, err := cmd.CombinedOutput()
				got := string(out)
				if got != "" && !strings.HasSuffix(got, "\n") {
					got += "\n"
				}
				if !pattern(s.output).MatchString(got) {
					t.Errorf("%s:%d: %s\nprints (%v)\n%swant\n%s", page, s.line, s.command, err, got, strings.Join(s.output, "\n"))
				}
			}
		})
	}
}

func goCache(t *testing.T) string {
	t.Helper()
	if installed != "" {
		return ""
	}
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// A pattern takes what it says, and nothing else.
func TestPattern(t *testing.T) {
	for i, tt := range []struct {
		want, got string
		match     bool
	}{
		{"a  b", "a b\n", true},
		{"a b", "ab\n", false},
		{"a ... c", "a b c\n", true},
		{"a ... c", "a b d\n", false},
		{"...\nc", "a\nb\nc\n", true},
		{"...\nc", "a\nb\nc\nd\n", false},
		{"a", "a\nb\n", false},
		{"  #1", "#1\n", false},
		{"", "", false},
	} {
		if got := pattern(strings.Split(tt.want, "\n")).MatchString(tt.got); got != tt.match {
			t.Errorf("%d: %q matches %q: %v", i, tt.want, tt.got, got)
		}
	}
}
