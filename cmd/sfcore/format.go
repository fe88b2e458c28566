package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// formats are the formats in which stacks are printed.
var formats = []string{"text", "json", "jsonl", "folded", "html", "pprof", "speedscope"}

// stackFormats are those of threads.
var stackFormats = append(slices.Clone(formats), "markdown")

// pictures are the formats that show all stacks together: html draws them itself, and
// other programs draw the others.
var pictures = []string{"html", "pprof", "speedscope"}

// withModules are the formats that describe modules.
var withModules = append([]string{"json", "jsonl", "markdown"}, pictures...)

// whens are the values of flags that ask when something is done.
var whens = []string{"auto", "always", "never"}

const (
	formatHelp = "print text, json (one document), jsonl (one line per thread), folded (for flame graphs), html (one page to look at), pprof or speedscope"
	redactHelp = "with html, pprof or speedscope: leave out directories, addresses of servers and numbers of users"
)

// eitherFormat adds the flag of commands that print text or one JSON document.
func eitherFormat(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", "text", "print text or json")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

// checkEither checks the value of that flag.
func checkEither(format string) error {
	if format != "text" && format != "json" {
		return fmt.Errorf("--format: unknown format %q; use text or json", format)
	}
	return nil
}

// checkFormat checks a format, one of some, and the flags that not every format has.
func checkFormat(formats []string, name string, group, redact, locals bool) error {
	last := len(formats) - 1
	switch picture := slices.Contains(pictures, name); {
	case !slices.Contains(formats, name):
		return fmt.Errorf("--format: unknown format %q; use %s or %s", name, strings.Join(formats[:last], ", "), formats[last])
	case picture && group:
		return fmt.Errorf("--group cannot be combined with --format %s, which has every stack and groups them itself", name)
	case locals && picture && name != "html":
		return fmt.Errorf("--locals cannot be combined with --format %s, which has no place for variables", name)
	case redact && !picture:
		return errors.New("--redact needs --format " + strings.Join(pictures, ", "))
	}
	return nil
}
