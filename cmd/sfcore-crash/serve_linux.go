package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/crash/page"
	"github.com/sfcore/sfcore/internal/listen"
)

// pageAddress is where the page is, unless --listen says otherwise.
const pageAddress = "127.0.0.1:7377"

func newServeCommand(s *settings) *cobra.Command {
	at := pageAddress
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Show the crashes that were kept to a browser",
		Long: `serve shows groups, crashes and builds as pages, and as JSON under the same paths with
".json". It changes nothing. It shows what the user who starts it may read: users
their own crashes, root all.

It listens on an address of this machine, where only processes of that user and of
root are answered, or on unix:PATH, a socket of mode 0600. Other machines cannot
reach it: for those, forward a port by ssh.`,
		Example: `  sfcore crash serve
  sfcore crash serve --listen unix:$XDG_RUNTIME_DIR/sfcore-crash.sock`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := listen.At(at, listen.Here)
			if errors.Is(err, listen.ErrRemote) {
				return fmt.Errorf("--listen: %w, and forward a port by ssh for other machines", err)
			} else if err != nil {
				return fmt.Errorf("--listen: %w", err)
			}
			defer func() { _ = l.Close() }()
			kept, err := s.store()
			if err != nil {
				return err
			}
			ix, err := index.Open(cmd.Context(), kept)
			if err != nil {
				return err
			}
			defer func() { _ = ix.Close() }()
			fmt.Fprintln(cmd.ErrOrStderr(), "sfcore: the crashes are at", where(l.Addr()))
			return page.New(page.Files(kept, ix)).Serve(cmd.Context(), l)
		},
	}
	cmd.Flags().StringVar(&at, "listen", at, "listen on `ADDRESS`, a loopback address with a port, or unix:PATH")
	return cmd
}

// where says what a browser is to open.
func where(a net.Addr) string {
	if a.Network() == "unix" {
		return "unix:" + a.String()
	}
	return "http://" + a.String() + "/"
}
