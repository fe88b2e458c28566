package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/display"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
)

// maxListed is how many dead messages are listed at most.
const maxListed = 10000

func newDeadCommand() *cobra.Command {
	var at queueFlags
	cmd := &cobra.Command{
		Use:   "dead",
		Short: "List the messages that no worker could take, and send them again",
	}
	with := func(sub *cobra.Command, do func(cmd *cobra.Command, q *queue.Queue, args []string) error) *cobra.Command {
		at.add(sub)
		sub.RunE = func(cmd *cobra.Command, args []string) error {
			q, err := at.connect(queue.RoleOperator, "")
			if err != nil {
				return err
			}
			defer q.Close()
			return do(cmd, q, args)
		}
		return sub
	}
	format, all := "", false
	list := with(&cobra.Command{Use: "list", Short: "List them, the oldest first, with the reasons", Args: cobra.NoArgs}, func(cmd *cobra.Command, q *queue.Queue, _ []string) error {
		if err := checkEither(format); err != nil {
			return err
		}
		dead, err := q.AllDead(cmd.Context(), 0, maxListed)
		if err != nil {
			return err
		}
		return writeDead(cmd.OutOrStdout(), dead, format)
	})
	eitherFormat(list, &format)
	show := with(&cobra.Command{Use: "show NUMBER", Short: "Write the bytes of one to standard output", Args: cobra.ExactArgs(1)}, func(cmd *cobra.Command, q *queue.Queue, args []string) error {
		n, err := number(args[0])
		if err != nil {
			return err
		}
		d, err := q.Dead(cmd.Context(), n)
		if err != nil {
			return err
		}
		_, err = cmd.OutOrStdout().Write(d.Data)
		return err
	})
	send := with(&cobra.Command{Use: "send [--all] [NUMBER...]", Short: "Send them again, as after an upgrade of workers"}, func(cmd *cobra.Command, q *queue.Queue, args []string) error {
		if err := checkEither(format); err != nil {
			return err
		}
		numbers, err := chosen(cmd, q, args, all)
		if err != nil {
			return err
		}
		for i, n := range numbers {
			if err := q.Resend(cmd.Context(), n); err != nil {
				return fmt.Errorf("%w; %d were sent", err, i)
			}
		}
		if format == "json" {
			return writeJSON(cmd.OutOrStdout(), sentAgain{"sfcore.fleet-sent/1", append([]uint64{}, numbers...)})
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "sent %d again\n", len(numbers))
		return err
	})
	eitherFormat(send, &format)
	send.Flags().BoolVar(&all, "all", false, "send all of them")
	remove := with(&cobra.Command{Use: "rm NUMBER...", Short: "Remove them", Args: cobra.MinimumNArgs(1)}, func(cmd *cobra.Command, q *queue.Queue, args []string) error {
		numbers, err := chosen(cmd, q, args, false)
		for _, n := range numbers {
			if err == nil {
				err = q.Discard(cmd.Context(), n)
			}
		}
		return err
	})
	cmd.AddCommand(list, show, send, remove)
	return cmd
}

func writeDead(w io.Writer, dead []queue.Dead, format string) error {
	if format == "json" {
		if dead == nil {
			dead = []queue.Dead{}
		}
		return writeJSON(w, dead)
	}
	for i := range dead {
		d := &dead[i]
		if _, err := fmt.Fprintf(w, "%6d  %s  %s, %d bytes, delivered %d times: %s\n", d.Number, d.Time.UTC().Format(time.DateTime), display.Text(d.Subject), d.Bytes, d.Deliveries, display.Text(d.Reason)); err != nil {
			return err
		}
	}
	return nil
}

func chosen(cmd *cobra.Command, q *queue.Queue, args []string, all bool) (numbers []uint64, err error) {
	if !all && len(args) == 0 {
		return nil, errors.New("which? Give numbers, which sfcore-fleet dead list prints, or --all")
	}
	for _, arg := range args {
		n, err := number(arg)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	if all {
		dead, err := q.AllDead(cmd.Context(), 0, maxListed)
		for i := range dead {
			numbers = append(numbers, dead[i].Number)
		}
		return numbers, err
	}
	return numbers, nil
}

func number(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number of a dead message; sfcore-fleet dead list prints them", text)
	}
	return n, nil
}
