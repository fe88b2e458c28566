package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/artifact"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/internal/survey"
)

type surveyCommand struct {
	limits
	format, journal, against string
	reports                  []string
	jobs                     int
}

// surveyMemory is where the collector stops being patient, in bytes. The largest
// libraries of a distribution need a third of it, when two are measured at once.
const surveyMemory = 160 << 20

// surveyFormats are the names of formats.
var surveyFormats = slices.Sorted(maps.Keys(survey.Formats))

func newSurveyCommand() *cobra.Command {
	c := &surveyCommand{}
	cmd := &cobra.Command{
		Use:   "survey [flags] ROOT|PACKAGE|SURVEY...",
		Short: "Measure the unwind tables of whole distributions",
		Long: `survey measures every ELF file of root file systems, directories and packages (.deb,
.rpm): how many bytes of code .sframe and .eh_frame cover, how large they are, which
versions of SFrame there are, and what "sfcore sframe gate" would find. It adds up by
package and in total. In a root file system of Debian it knows the packages by the
lists of dpkg, and leaves out package files that lie in it.

With --journal a survey that was interrupted goes on where it was: files that have not
changed since are not read again. A survey that was written as JSON can be given in
place of a directory, to write it in another format or to compare it.

Exit status: 0 if everything was read, 1 if some files could not be, 2 if nothing was
measured.`,
		Example: `  sfcore sframe survey --journal s.journal --report html=s.html /
  sfcore sframe survey --against old.json new.json
  sfcore sframe survey --format csv pool/*.deb`,
		Args: files(1, unlimited),
		RunE: c.run,
	}
	c.register(cmd)
	f := cmd.Flags()
	f.StringVar(&c.format, "format", "text", "print "+strings.Join(surveyFormats, ", ")+"; with --against text or json")
	f.StringArrayVar(&c.reports, "report", nil, "also write the survey, as `FORMAT=FILE`; repeatable")
	f.StringVar(&c.journal, "journal", "", "remember in `FILE` what is done, and go on from there")
	f.StringVar(&c.against, "against", "", "print what differs from an earlier survey, which is in `FILE` as JSON")
	f.IntVar(&c.jobs, "jobs", runtime.GOMAXPROCS(0), "measure `N` files at once")
	f.Lookup("jobs").DefValue = "one for each processor"
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(surveyFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (c *surveyCommand) check() error {
	if survey.Formats[c.format] == nil || c.against != "" && c.format != "text" && c.format != "json" {
		return fmt.Errorf("--format: unknown format %q; use %s, with --against text or json", c.format, strings.Join(surveyFormats, ", "))
	}
	for _, r := range c.reports {
		if format, file, _ := strings.Cut(r, "="); survey.Formats[format] == nil || file == "" {
			return fmt.Errorf("--report: %q is not FORMAT=FILE with a format of %s", r, strings.Join(surveyFormats, ", "))
		}
	}
	if c.jobs < 1 || c.jobs > 1024 {
		return fmt.Errorf("--jobs: %d is not a number from 1 to 1024", c.jobs)
	}
	return nil
}

func (c *surveyCommand) run(cmd *cobra.Command, args []string) error {
	if err := c.check(); err != nil {
		return err
	}
	limit.CollectFrom(surveyMemory)
	var before *survey.Survey
	err := readList("--against", c.against, func(text []byte) (err error) {
		before, err = survey.Read(text)
		return err
	})
	if err != nil {
		return err
	}
	s, err := c.measure(cmd, args)
	if err != nil {
		return err
	}
	for _, option := range c.reports {
		format, file, _ := strings.Cut(option, "=")
		var text bytes.Buffer
		err := survey.Formats[format](s, &text)
		if err == nil {
			err = os.WriteFile(file, text.Bytes(), 0o666)
		}
		if err != nil {
			return fmt.Errorf("--report: %w", err)
		}
	}
	if err := c.print(cmd.OutOrStdout(), before, s); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	if len(s.Unread) > 0 {
		return incompleteError{}
	}
	return nil
}

func (c *surveyCommand) print(out io.Writer, before, s *survey.Survey) error {
	switch {
	case before == nil:
		return survey.Formats[c.format](s, out)
	case c.format == "json":
		return document.Write(out, survey.Compare(before, s))
	}
	return survey.Compare(before, s).Write(out)
}

// measure measures what is at the paths, and adds the surveys among them.
func (c *surveyCommand) measure(cmd *cobra.Command, paths []string) (*survey.Survey, error) {
	var (
		sources []artifact.Source
		rows    []survey.Row
		unread  []string
		skipped int
		owners  = map[string]string{} // by path
	)
	for _, path := range paths {
		if earlier, ok, err := readSurvey(path); err != nil {
			return nil, err
		} else if ok {
			rows, unread, skipped = append(rows, earlier.Rows...), append(unread, earlier.Unread...), skipped+earlier.Skipped
			continue
		}
		found, err := artifact.Find(cmd.Context(), path, func(err error) { unread = append(unread, err.Error()) })
		if err != nil {
			return nil, err
		}
		byName := survey.FindOwners(path)
		if len(byName) > 0 { // its packages are installed, or waste
			found = slices.DeleteFunc(found, func(s artifact.Source) bool { return isPackage(s.Name) })
		}
		for i := range found {
			if s := &found[i]; byName[s.Name] != "" {
				owners[s.Path] = byName[s.Name]
			} else if isPackage(s.Name) {
				owners[s.Path] = s.Name
			}
		}
		sources = append(sources, found...)
	}
	var journal *survey.Journal
	if c.journal != "" {
		var err error
		if journal, err = survey.OpenJournal(c.journal); err != nil {
			return nil, fmt.Errorf("--journal: %w", err)
		}
		defer func() { _ = journal.Close() }() // Note reports what cannot be written
	}
	progress := newProgress()
	run := survey.Run{
		Each: readELF(), Owner: func(s *artifact.Source) string { return owners[s.Path] }, Journal: journal, Workers: c.jobs,
		Progress: func(done int, last string) { progress.share(done, len(sources), last) },
	}
	s, err := run.Measure(cmd.Context(), sources)
	progress.clear()
	if err != nil {
		return nil, err
	}
	return survey.New(append(s.Rows, rows...), s.Skipped+skipped, append(s.Unread, unread...)), nil
}

func isPackage(name string) bool {
	return strings.HasSuffix(name, ".deb") || strings.HasSuffix(name, ".rpm")
}

// readSurvey reads a file that is a survey. ok is false if it is something else.
func readSurvey(path string) (s *survey.Survey, ok bool, err error) {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() || !strings.HasSuffix(path, ".json") {
		return nil, false, nil //nolint:nilerr // the search for files reports it
	}
	err = readList("reading a survey", path, func(text []byte) (err error) {
		s, err = survey.Read(text)
		return err
	})
	return s, true, err
}
