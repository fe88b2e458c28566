package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/display"
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

func writeJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = w.Write(append(display.JSON(text), '\n'))
	}
	return err
}

// sentAgain is what "dead send --format json" prints.
type sentAgain struct {
	Schema  string   `json:"schema"`
	Numbers []uint64 `json:"numbers"` // of the messages
}

// submittedCore is what "submit --format json" prints of a core: one of both.
type submittedCore struct {
	Core  string `json:"core"`
	ID    string `json:"id,omitempty"` // of the crash
	Error string `json:"error,omitempty"`
}
