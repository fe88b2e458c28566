package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/crash"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/display"
)

func newStatusCommand(s *settings) *cobra.Command {
	test := false
	var format formatFlag
	cmd := &cobra.Command{
		Use:   "status [flags]",
		Short: "Say whether crashes are handled, and how many were",
		Long: `status says who handles crashes by the settings of the kernel, and whether that program
is there; how many crashes are kept, and how many were counted.

With --test it lets a process abort, and says how long it took until the crash was in
the store. Then it removes that.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := format.check(); err != nil {
				return err
			}
			c, err := s.read()
			if err != nil {
				return err
			}
			pattern, limit := setting("core_pattern"), setting("core_pipe_limit")
			now := &status{Schema: "sfcore.crash-status/1", Handling: inForce(pattern, limit), Store: c.Store}
			var failed error
			if test {
				var line string
				if line, failed = testCrash(cmd.Context(), c, pattern); failed == nil {
					now.Handling = append(now.Handling, line)
				}
			}
			now.look(c)
			err = printed(cmd, func(out io.Writer) {
				if format.name == "json" {
					writeJSON(out, now)
				} else {
					now.write(out)
				}
			})
			return errors.Join(err, failed)
		},
	}
	format.add(cmd, either)
	cmd.Flags().BoolVar(&test, "test", false, "crash a process, and say whether that arrives in the store (as root)")
	return cmd
}

// isOurs reports whether a program in core_pattern, with its arguments, is the handler.
func isOurs(program string) bool {
	fields := strings.Fields(program)
	return len(fields) > 1 && filepath.Base(fields[0]) == "sfcore-crash" && slices.Contains(fields, "pipe")
}

// setting reads a setting of the kernel.
func setting(name string) string {
	text, err := os.ReadFile(filepath.Join("/proc/sys/kernel", name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// inForce says what the settings of the kernel mean.
func inForce(pattern, limit string) []string {
	program, isPipe := strings.CutPrefix(pattern, "|")
	var lines []string
	switch fields := strings.Fields(program); {
	case pattern == "":
		return []string{"kernel.core_pattern is empty: nobody handles crashes"}
	case strings.HasPrefix(pattern, "@"):
		lines = bySocket(strings.TrimLeft(pattern, "@"), maxAccept)
	case !isPipe:
		return []string{fmt.Sprintf("crashes write cores: kernel.core_pattern is %q", pattern)}
	case !isOurs(program):
		return []string{fmt.Sprintf("crashes are handled by another program: kernel.core_pattern is %q", pattern)}
	default:
		lines = append(lines, fmt.Sprintf("crashes are handled by %s", fields[0]))
		if want := " pipe %P %u %g %s %d"; !strings.Contains(program, want) {
			lines = append(lines, fmt.Sprintf("but its arguments in kernel.core_pattern must be%s", want))
		}
		if _, err := os.Stat(fields[0]); err != nil {
			lines = append(lines, fmt.Sprintf("but it cannot be started: %v", err))
		}
	}
	if limit == "0" {
		lines = append(lines, "but kernel.core_pipe_limit is 0, so that the kernel does not wait; set it to 8")
	}
	return lines
}

// maxAccept is how long a daemon may take to close a connection that is no crash.
const maxAccept = 3 * time.Second

// bySocket says whether a program takes crashes from a socket. Asking makes a daemon of
// sfcore say that a process has connected without a crash.
func bySocket(name string, most time.Duration) []string {
	conn, err := net.DialTimeout("unix", name, most)
	if err != nil {
		return []string{
			fmt.Sprintf("crashes are handed over by the socket %s, but nobody takes them: %v", name, err),
			"until a daemon listens there, crashes are lost",
		}
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(most))
	if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		return []string{fmt.Sprintf("crashes are handed over by the socket %s, which is held for a daemon, but no daemon takes them: processes that crash wait until one does", name)}
	}
	return []string{fmt.Sprintf("crashes are handed over by the socket %s, where a program listens", name)}
}

// status is what is known of the handling of crashes.
type status struct {
	Schema   string   `json:"schema"`
	Handling []string `json:"handling"` // who handles them, in sentences
	Store    string   `json:"store"`
	Exists   bool     `json:"exists"`           // the store does
	Kept     *int     `json:"kept,omitempty"`   // nil if that is not known
	Counts   *counts  `json:"counts,omitempty"` // nil if they may not be read
	Problems []string `json:"problems"`         // of the store
}

// counts are of all crashes, also of those that were not kept.
type counts struct {
	Crashes    int `json:"crashes"`
	Kinds      int `json:"kinds"`
	OverBudget int `json:"overBudget"`
	Unreadable int `json:"unreadable"`
}

// look looks at the store.
func (s *status) look(c *crash.Config) {
	s.Problems = []string{}
	problem := func(what string, err error) { s.Problems = append(s.Problems, fmt.Sprintf("the %s: %v", what, err)) }
	if _, err := os.Stat(c.Store); err != nil {
		return
	}
	s.Exists = true
	kept, err := c.OpenStore()
	if err != nil {
		problem("store", err)
		return
	}
	records, denied, err := kept.Records()
	if err != nil {
		problem("store", err)
		if !errors.Is(err, store.ErrLarge) {
			return
		}
	}
	s.Kept = new(len(records) + denied)
	known, err := kept.Counts()
	switch {
	case errors.Is(err, fs.ErrPermission):
		return
	case known == nil:
		problem("counts", err)
		return
	}
	s.Counts = &counts{Kinds: len(known.Kinds), OverBudget: known.Refused, Unreadable: known.Lost}
	for _, k := range known.Kinds {
		s.Counts.Crashes += k.Count
	}
}

func (s *status) write(out io.Writer) {
	for _, line := range append(s.Handling, s.Problems...) {
		fmt.Fprintln(out, display.Text(line))
	}
	if !s.Exists {
		fmt.Fprintf(out, "no crash was kept yet in %s\n", s.Store)
		return
	}
	if s.Kept != nil {
		fmt.Fprintf(out, "%s in %s\n", many(*s.Kept, "crash is kept", "crashes are kept"), s.Store)
	}
	if k := s.Counts; k != nil {
		fmt.Fprintf(out, "%s of %s; %d over budget, %d that could not be read\n",
			many(k.Crashes, "crash was counted", "crashes were counted"), many(k.Kinds, "kind", "kinds"), k.OverBudget, k.Unreadable)
	}
}
