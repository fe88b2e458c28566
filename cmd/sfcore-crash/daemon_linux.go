package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/crash"
)

func newDaemonCommand(s *settings) *cobra.Command {
	socket := crash.SocketFile
	cmd := &cobra.Command{
		Use:   "daemon [flags]",
		Short: "Take crashes from a socket that kernel.core_pattern names",
		Long: `daemon listens on a socket to which the kernel connects when a process crashes, and
starts "sfcore-crash pipe" for each crash:

  sysctl kernel.core_pattern=@@` + crash.SocketFile + `

With @@ (Linux 6.17 and later) the kernel asks first, and crashes that are over budget
are refused before anything is written. With @ (6.16) it writes at once. Only processes
that crash are heard.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := s.read()
			if err != nil {
				return err
			}
			l, err := listenSocket(socket)
			if err != nil {
				return err
			}
			defer func() { _ = l.Close() }()
			server := &crash.Server{
				Peer: crash.PeerVictim, Say: crash.Say,
				Within: func(v *crash.Victim) bool { return crash.Within(config, v, crash.Say) },
				Memory: config.NeedsMemory(),
				Start: func(v *crash.Victim, dump, pidfd *os.File, how crash.Stream, counted bool) (func() error, error) {
					return start(cmd.Context(), s, v, dump, pidfd, how, counted)
				},
			}
			return server.Serve(cmd.Context(), l)
		},
	}
	cmd.Flags().StringVar(&socket, "socket", socket, "listen at `PATH`")
	return cmd
}

// listenFDs is where systemd's descriptors begin [sd_listen_fds(3)].
const listenFDs = 3

// listenSocket takes the socket that systemd has made, or makes one. Every process may connect,
// for every one may crash.
func listenSocket(name string) (*net.UnixListener, error) {
	if pid, _ := strconv.Atoi(os.Getenv("LISTEN_PID")); pid == os.Getpid() && os.Getenv("LISTEN_FDS") == "1" {
		l, err := net.FileListener(os.NewFile(listenFDs, "systemd"))
		if err != nil {
			return nil, fmt.Errorf("the socket of systemd: %w", err)
		}
		unix, ok := l.(*net.UnixListener)
		if !ok {
			return nil, errors.New("the socket of systemd is not a Unix socket")
		}
		return unix, nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // the kernel connects as the user of the process
		return nil, err
	}
	if st, err := os.Lstat(name); err == nil && st.Mode().Type() == fs.ModeSocket {
		if other, err := net.Dial("unix", name); err == nil {
			_ = other.Close()
			return nil, fmt.Errorf("%s: another program listens there", name)
		}
		if err := os.Remove(name); err != nil { // of a daemon that was killed
			return nil, err
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return nil, err
	}
	return l, os.Chmod(name, 0o666) //nolint:gosec // see above
}

// start starts the handler of a crash.
func start(ctx context.Context, s *settings, v *crash.Victim, dump, pidfd *os.File, how crash.Stream, counted bool) (func() error, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"--config", s.file, "pipe", "--counted=" + strconv.FormatBool(counted)}
	if how.Records {
		args = append(args, "--records")
	}
	if how.Bare {
		args = append(args, "--bare")
	}
	for _, n := range []int{v.PID, v.UID, v.GID, v.Signal, v.Dumpable, listenFDs} {
		args = append(args, strconv.Itoa(n))
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self, args...)
	cmd.Env = []string{}
	cmd.Stdin, cmd.Stderr, cmd.ExtraFiles = dump, os.Stderr, []*os.File{pidfd}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return cmd.Wait, nil
}
