// Command sfcore-fleet brings the crashes of many machines to one place: agents send what
// their crash handlers have kept, workers name and store it, and a page shows all of it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/command"
	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/internal/version"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	err := newRootCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		say(err.Error())
		os.Exit(2)
	}
}

// say writes a line to standard error.
func say(line string) { fmt.Fprintf(os.Stderr, "sfcore-fleet: %s\n", display.Text(line)) }

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "sfcore-fleet",
		Short: "Bring the crashes of many machines to one place",
		Long: `sfcore-fleet brings the stacks of crashes of many machines to one place. Cores stay
where they fell.

To begin, on one machine and without configuration:

  sfcore-fleet all                    the queue, a worker and the page, in one process
  sfcore-fleet submit core.1234       send a core's stacks from a shell or a CI job

On many machines, an agent on each sends the crashes that "sfcore crash" has kept, and
workers on as many machines as are needed store them in PostgreSQL. docs/fleet.md
describes all of it.`,
		Version:           version.Get().String(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.AddCommand(newAllCommand(), newAgentCommand(), newWorkerCommand(), newServeCommand(), newSubmitCommand(), newFetchCommand(), newDeadCommand(), newKeysCommand(), newTokenCommand())
	root.SetVersionTemplate("sfcore-fleet version {{.Version}}\n")
	command.Prepare(root)
	command.FitHelp(root, command.TerminalWidth)
	return root
}

// dataDir is where a process keeps what it has, unless a flag says otherwise.
func dataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/sfcore/fleet"
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sfcore-fleet")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(home, ".local", "state", "sfcore-fleet")
}

// natsAddress is where "all" listens for agents of this machine.
const natsAddress = "127.0.0.1:4222"

// queueFlags say where the queue is.
type queueFlags struct {
	settings queue.Settings
	dir      string // of "all" on this machine, which has seeds
}

func (q *queueFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&q.settings.URL, "queue", "nats://"+natsAddress, "connect to the NATS server at `URL`, or to one of several with commas between them")
	f.StringVar(&q.settings.Seed, "seed", "", "prove who this is by the seed of an nkey in `FILE` (default: that of sfcore-fleet all in --dir, if there is one)")
	f.StringVar(&q.settings.CA, "ca", "", "trust servers with certificates of the authorities in `FILE`")
	f.StringVar(&q.settings.Cert, "queue-cert", "", "prove who this is by the certificate in `FILE`")
	f.StringVar(&q.settings.Key, "queue-key", "", "with the key in `FILE`")
	f.StringVar(&q.dir, "dir", dataDir(), "keep data in `DIR`")
}

// connect connects with the rights of a role, as a certain host if it is not "".
func (q *queueFlags) connect(role queue.Role, host string) (*queue.Queue, error) {
	s := q.settings
	s.Name, s.Prefix = "sfcore-fleet "+string(role), role.Prefix(host)
	if s.Seed == "" {
		if seed := queue.SeedFile(q.dir, role); readable(seed) {
			s.Seed = seed
		}
	}
	return queue.Connect(s)
}

func readable(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

// hostName returns the name of a host: the one that is given, or that of this machine.
func hostName(given string) (string, error) {
	name := given
	if name == "" {
		var err error
		if name, err = os.Hostname(); err != nil {
			return "", err
		}
	}
	if name = strings.ToLower(name); !message.ValidHost(name) {
		return "", fmt.Errorf("%q is no name of a host; --host gives another one: letters, digits, dashes and dots", name)
	}
	return name, nil
}
