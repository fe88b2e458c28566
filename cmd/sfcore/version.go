package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/companion"
	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/internal/version"
)

// versionDocument is what "version --json" prints; docs/stability.md describes it.
type versionDocument struct {
	Schema string `json:"schema"`
	version.Info
	Programs []companionVersion `json:"programs"`
}

// companionVersion is what is known of a program that belongs to sfcore.
type companionVersion struct {
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"`
	Version string `json:"version,omitempty"`
	Problem string `json:"problem,omitempty"`
}

func newVersionCommand() *cobra.Command {
	asJSON, format := false, "text"
	cmd := &cobra.Command{
		Use:   "version [flags]",
		Short: "Print the version of sfcore and of the programs that it runs",
		Long: `version prints the version of sfcore, the commit that it was built from, and the
version of each program that sfcore runs, where there is one. All must be of one
release: a program that another version starts refuses to run.

Exit status: 0 if all programs that are there have the same version, 1 if not.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkEither(format); err != nil {
				return err
			}
			doc, mixed := askVersions(cmd.Context())
			write := doc.text
			if asJSON || format == "json" {
				write = doc.json
			}
			if err := write(cmd.OutOrStdout()); err != nil {
				return fmt.Errorf("writing the versions: %w", err)
			}
			if mixed {
				return incompleteError{}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (sfcore.version/1), as --format json does")
	eitherFormat(cmd, &format)
	return cmd
}

// askVersions asks all companions. mixed tells that one is not of this version.
func askVersions(ctx context.Context) (doc versionDocument, mixed bool) {
	doc = versionDocument{Schema: "sfcore.version/1", Info: version.Get()}
	for _, name := range companion.Names {
		p, differs := askVersion(ctx, name, doc.Version)
		doc.Programs = append(doc.Programs, p)
		mixed = mixed || differs
	}
	return doc, mixed
}

// askVersion asks a companion. differs tells that it is there, but not of this version.
func askVersion(ctx context.Context, name, own string) (p companionVersion, differs bool) {
	p.Name = name
	var err error
	if p.Path, err = companion.Find(name); err != nil {
		p.Problem = err.Error()
		return p, false
	}
	if p.Version, err = companion.Version(ctx, p.Path); err != nil {
		p.Problem = err.Error()
		return p, true
	}
	if p.Version != own {
		p.Problem = fmt.Sprintf("this is not version %s; install all programs of sfcore from one release", own)
	}
	return p, p.Version != own
}

func (d *versionDocument) json(out io.Writer) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	_, err = out.Write(append(display.JSON(text), '\n'))
	return err
}

func (d *versionDocument) text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "sfcore\t%s, %s\n", d.Info, d.Platform)
	for _, p := range d.Programs {
		what := p.Version
		switch {
		case p.Path == "":
			what = "not installed"
		case p.Problem != "":
			what = p.Path + ": " + p.Version + ": " + p.Problem
			if p.Version == "" {
				what = p.Problem
			}
		}
		fmt.Fprintf(w, "%s\t%s\n", p.Name, display.Text(what))
	}
	return w.Flush()
}
