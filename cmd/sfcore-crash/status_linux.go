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

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/crash"
	"github.com/sfcore/sfcore/internal/display"
)

func newStatusCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say whether crashes are handled, and how many were",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.read()
			if err != nil {
				return err
			}
			pattern, limit := setting("core_pattern"), setting("core_pipe_limit")
			return printed(cmd, func(out io.Writer) {
				for _, line := range inForce(pattern, limit) {
					fmt.Fprintln(out, display.Text(line))
				}
				writeStore(out, c)
			})
		},
	}
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
		lines = bySocket(strings.TrimLeft(pattern, "@"))
	case !isPipe:
		return []string{fmt.Sprintf("crashes write cores: kernel.core_pattern is %q", pattern)}
	case len(fields) < 2 || filepath.Base(fields[0]) != "sfcore-crash" || !slices.Contains(fields, "pipe"):
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

// bySocket says whether a program takes crashes from a socket. Asking makes a daemon of
// sfcore say that a process has connected without a crash.
func bySocket(name string) []string {
	conn, err := net.Dial("unix", name)
	if err != nil {
		return []string{fmt.Sprintf("crashes are handed over by the socket %s, but nobody takes them: %v", name, err)}
	}
	_ = conn.Close()
	return []string{fmt.Sprintf("crashes are handed over by the socket %s, where a program listens", name)}
}

func writeStore(out io.Writer, c *crash.Config) {
	if _, err := os.Stat(c.Store); err != nil {
		fmt.Fprintf(out, "no crash was kept yet in %s\n", c.Store)
		return
	}
	store, err := crash.OpenStore(c)
	if err != nil {
		fmt.Fprintf(out, "the store: %v\n", err)
		return
	}
	records, denied, err := store.Records()
	if err != nil {
		fmt.Fprintf(out, "the store: %v\n", err)
		return
	}
	fmt.Fprintf(out, "%s in %s\n", many(len(records)+denied, "crash is kept", "crashes are kept"), c.Store)
	counts, err := store.Counts()
	if errors.Is(err, fs.ErrPermission) {
		return
	}
	total := 0
	for _, k := range counts.Kinds {
		total += k.Count
	}
	fmt.Fprintf(out, "%s of %s; %d over budget, %d that could not be read\n",
		many(total, "crash was counted", "crashes were counted"), many(len(counts.Kinds), "kind", "kinds"), counts.Refused, counts.Lost)
}
