package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/crash"
)

// installCommand installs, or says what it would do.
type installCommand struct {
	settings *settings
	socket   bool
	takeOver bool
	root     string
	steps    steps
}

// steps are what was done to the system.
type steps struct {
	format formatFlag
	out    io.Writer
	list   []step
}

// step is one of them.
type step struct {
	Did  string `json:"did"` // wrote, set, started or removed
	What string `json:"what"`
}

// done notes a step, and says so in text.
func (s *steps) done(did, what string) {
	if s.list = append(s.list, step{did, what}); s.format.name == "text" {
		fmt.Fprintln(s.out, did, what)
	}
}

// run does what takes steps, and prints them as JSON also if one failed.
func (s *steps) run(cmd *cobra.Command, do func() error) error {
	if err := s.format.check(); err != nil {
		return err
	}
	s.out, s.list = cmd.OutOrStdout(), []step{}
	err := do()
	if s.format.name == "json" {
		err = errors.Join(err, printed(cmd, func(out io.Writer) { writeJSON(out, s.list) }))
	}
	return err
}

func newInstallCommand(s *settings) *cobra.Command {
	c := &installCommand{settings: s}
	cmd := &cobra.Command{
		Use:   "install [flags]",
		Short: "Have the kernel hand crashes over, now and after every boot",
		Long: `install writes files for sysctl.d and tmpfiles.d, and with --socket units of systemd,
and sets kernel.core_pattern and kernel.core_pipe_limit. It notes what was before, and
"sfcore crash uninstall" puts that back.

Where another program handles crashes, such as systemd-coredump, apport or abrt, it
refuses unless --take-over is given.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.steps.run(cmd, func() error { return needsRoot(c.install(cmd.Context())) })
		},
	}
	f := cmd.Flags()
	f.BoolVar(&c.socket, "socket", false, "by a socket of systemd instead of a pipe (Linux 6.17)")
	f.BoolVar(&c.takeOver, "take-over", false, "also where another program handles crashes")
	f.StringVar(&c.root, "root", "", "only write the files, below `DIR`, as for an image")
	c.steps.format.add(cmd, either)
	return cmd
}

func (c *installCommand) install(ctx context.Context) error {
	if _, err := c.settings.read(); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	i := &crash.Install{Program: program, Socket: c.socket, Before: setting("core_pattern"), BeforeLimit: setting("core_pipe_limit")}
	if c.settings.file != crash.ConfigFile {
		if i.Config, err = filepath.Abs(c.settings.file); err != nil {
			return err
		}
	}
	if c.root == "" {
		major, minor, err := release()
		if err != nil {
			return err
		}
		if c.socket && (major < 6 || major == 6 && minor < 17) {
			return fmt.Errorf("--socket needs Linux 6.17, and this is %d.%d; without it the kernel starts a handler for each crash", major, minor)
		}
		if other := crash.Others(i.Before); other != "" && !c.takeOver {
			return fmt.Errorf("crashes are handled by %s already; --take-over has sfcore handle them instead, until uninstall", other)
		}
		if text, err := os.ReadFile(crash.SysctlFile); err == nil { // installed before
			if pattern, limit, ok := crash.Noted(string(text)); ok {
				i.Before, i.BeforeLimit = pattern, limit
			}
		}
	}
	files, err := i.Files()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := write(filepath.Join(c.root, name), files[name]); err != nil {
			return err
		}
		c.steps.done("wrote", filepath.Join(c.root, name))
	}
	if c.root != "" {
		return nil
	}
	pattern, err := i.Pattern()
	if err != nil {
		return err
	}
	if err := set(&c.steps, pattern, crash.PipeLimit); err != nil || !c.socket {
		return err
	}
	for _, args := range [][]string{{"daemon-reload"}, {"enable", "sfcore-crash.socket"}, {"restart", "sfcore-crash.socket"}} {
		if out, err := exec.CommandContext(ctx, "systemctl", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("systemctl %v: %w: %s", args, err, out)
		}
	}
	c.steps.done("started", "sfcore-crash.socket at "+crash.SocketFile+"; kernel.core_pattern="+setting("core_pattern"))
	return nil
}

// needsRoot adds to an error of what a user may not do who may.
func needsRoot(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; settings of the system are root's: run this as root", err)
	}
	return err
}

func write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // directories of the system
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644) //nolint:gosec // everybody reads settings
}

// set changes the settings of the kernel.
func set(steps *steps, pattern, limit string) error {
	for _, s := range [][2]string{{"core_pipe_limit", limit}, {"core_pattern", pattern}} {
		if err := os.WriteFile(filepath.Join("/proc/sys/kernel", s[0]), []byte(s[1]+"\n"), 0); err != nil {
			return fmt.Errorf("kernel.%s: %w", s[0], err)
		}
		steps.done("set", fmt.Sprintf("kernel.%s=%s", s[0], s[1]))
	}
	return nil
}

// release returns the version of the kernel.
func release() (major, minor int, err error) {
	text := setting("osrelease")
	if _, err := fmt.Sscanf(text, "%d.%d", &major, &minor); err != nil {
		return 0, 0, fmt.Errorf("the release of the kernel, %q: %w", text, err)
	}
	return major, minor, nil
}

func newUninstallCommand() *cobra.Command {
	s := &steps{}
	cmd := &cobra.Command{
		Use:   "uninstall [flags]",
		Short: "Take back what install did; crashes that were kept stay",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.run(cmd, func() error { return needsRoot(s.uninstall(cmd.Context())) })
		},
	}
	s.format.add(cmd, either)
	return cmd
}

func (s *steps) uninstall(ctx context.Context) error {
	text, err := os.ReadFile(crash.SysctlFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("sfcore crash is not installed: there is no %s", crash.SysctlFile)
	} else if err != nil {
		return err
	}
	pattern, limit, ok := crash.Noted(string(text))
	if !ok {
		return fmt.Errorf("%s was not written by sfcore crash install; remove it yourself", crash.SysctlFile)
	}
	if _, err := exec.LookPath("systemctl"); err == nil {
		_ = exec.CommandContext(ctx, "systemctl", "disable", "--now", "sfcore-crash.socket", "sfcore-crash.service").Run() // if they are there
	}
	if err := set(s, pattern, limit); err != nil { // after the units, which set it when they stop
		return err
	}
	for _, name := range crash.InstalledFiles {
		if err := os.Remove(name); err == nil {
			s.done("removed", name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
