package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/limit"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/cores"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
)

// fetchCommand gets the core of a crash.
type fetchCommand struct {
	at          queueFlags
	db          string
	s3, region  string
	perGroup    int
	link, again bool
	output      string
	direct      cores.Receiver
	most        limit.Size
	say         func(string)
}

func newFetchCommand() *cobra.Command {
	c := &fetchCommand{say: say, most: 8 << 30}
	cmd := &cobra.Command{
		Use:   "fetch ID --db DATABASE [flags]",
		Short: "Get the core of a crash from its host, or from a bucket where it is already",
		Long: `fetch gets the core of a crash. Cores stay on their hosts: fetch asks the host by the
queue, and the host uploads the core to a URL, if its agent was started with
--cores-to and a place that has that URL. The core itself never goes by the queue.

With --s3 the URL is a signed one of a bucket, where the core stays, below the key of
its group; of each group so many stay as --cores says, the first and the newest. The
keys of the bucket are in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. What is in the
bucket already is not asked for again. Without --s3, fetch itself listens at
--listen until the host has uploaded the core.`,
		Example: `  sfcore-fleet fetch 20261125-0129 --db postgres://fleet@db/fleet --s3 https://s3.example.org/cores
  sfcore-fleet fetch last --db crashes.db --listen 10.0.0.5:7380 --cert me.pem --key me.key`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.at.add(cmd)
	f := cmd.Flags()
	f.StringVar(&c.db, "db", "", "find the crash in `DATABASE`: postgres://..., or a file of SQLite")
	f.StringVar(&c.s3, "s3", "", "have the core uploaded to the bucket at `URL`, like https://s3.example.org/cores")
	f.StringVar(&c.region, "s3-region", "us-east-1", "the region of the bucket is `NAME`")
	f.IntVar(&c.perGroup, "cores", 5, "keep so many cores of a group in the bucket; 0 for all")
	f.BoolVar(&c.link, "link", false, "print a signed URL of the core, which holds for an hour, instead of getting it")
	f.BoolVar(&c.again, "again", false, "ask the host also if the bucket has the core")
	f.StringVarP(&c.output, "output", "o", "", "write the core to `FILE` (default: ID"+cores.Suffix+")")
	f.Var(&c.most, "max-size", "take no core larger than `SIZE`, compressed")
	f.StringVar(&c.direct.Listen, "listen", "127.0.0.1:0", "without --s3, take the core at `ADDRESS`")
	f.StringVar(&c.direct.Name, "name", "", "which the host reaches as `HOST:PORT` (default: the address)")
	f.StringVar(&c.direct.Cert, "cert", "", "speak TLS there, with the certificate in `FILE`")
	f.StringVar(&c.direct.Key, "key", "", "and the key in `FILE`")
	f.BoolVar(&c.direct.Plain, "plain", false, "speak without TLS also beyond this machine")
	_ = cmd.MarkFlagRequired("db")
	return cmd
}

func (c *fetchCommand) run(cmd *cobra.Command, id string) error {
	ctx := cmd.Context()
	if c.link && c.s3 == "" {
		return errors.New("--link: there are links only to a bucket; --s3 names one")
	}
	db, err := database.Open(ctx, c.db)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	r, err := db.Find(ctx, id)
	if err != nil {
		return err
	}
	at := strings.LastIndexByte(r.ID, '-') // behind it is what the id has among those of all hosts
	if r.Host == "" || at < 0 {
		return fmt.Errorf("crash %s is of no host", r.ID)
	}
	if c.output == "" {
		c.output = r.ID + cores.Suffix
	}
	q, err := c.at.connect(queue.RoleFetch, "")
	if err != nil {
		return err
	}
	defer q.Close()
	ask := func(ctx context.Context, to string) (*queue.CoreAnswer, error) {
		return q.FetchCore(ctx, r.Host, queue.CoreRequest{ID: r.ID[:at], URL: to}, c.progress())
	}
	c.direct.Most = int64(c.most)
	if c.s3 == "" {
		return c.write(func(w io.Writer) error { return c.direct.Receive(ctx, w, ask) })
	}
	group, err := db.Group(ctx, r.ID)
	if err != nil {
		return err
	}
	bucket, err := cores.Open(c.s3, c.region)
	if err != nil {
		return fmt.Errorf("--s3: %w", err)
	}
	if err := c.upload(ctx, bucket, group, r.ID, ask); err != nil {
		return err
	}
	if c.link {
		link, err := bucket.Link(ctx, group, r.ID)
		if err == nil {
			_, err = fmt.Fprintln(cmd.OutOrStdout(), link)
		}
		return err
	}
	return c.write(func(w io.Writer) error { return bucket.Get(ctx, group, r.ID, int64(c.most), w) })
}

// upload sees to it that a core is in the bucket.
func (c *fetchCommand) upload(ctx context.Context, bucket *cores.Bucket, group, id string, ask func(context.Context, string) (*queue.CoreAnswer, error)) error {
	_, err := bucket.Size(ctx, group, id)
	if err == nil && !c.again {
		return nil
	} else if err != nil && !errors.Is(err, cores.ErrNone) {
		return fmt.Errorf("--s3: %w", err)
	}
	to, err := bucket.PutLink(ctx, group, id)
	if err != nil {
		return err
	}
	a, err := ask(ctx, to)
	if err != nil {
		return err
	}
	size, err := bucket.Size(ctx, group, id)
	if err == nil && size != a.Size {
		err = fmt.Errorf("the host says that it has uploaded %d bytes, and the bucket has %d", a.Size, size)
	}
	if err != nil {
		return fmt.Errorf("--s3: %w", err)
	}
	n, err := bucket.Trim(ctx, group, c.perGroup)
	if n > 0 {
		c.say(fmt.Sprintf("%d other cores of the group were removed from the bucket (--cores)", n))
	}
	return err
}

// progress says now and then how far the host is.
func (c *fetchCommand) progress() func(queue.CoreAnswer) {
	const every = 10 * time.Second
	said := time.Now()
	return func(a queue.CoreAnswer) {
		if time.Since(said) >= every {
			said = time.Now()
			c.say(fmt.Sprintf("%v of %v were uploaded", limit.Size(a.Sent), limit.Size(a.Size)))
		}
	}
}

// write writes the core to its file, which only this user may read, as a whole or not at all.
func (c *fetchCommand) write(fill func(io.Writer) error) error {
	part := c.output + ".part"
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(fill(f), f.Close()); err == nil {
		err = os.Rename(part, c.output)
	}
	if err != nil {
		_ = os.Remove(part)
		return err
	}
	c.say("the core is in " + c.output)
	return nil
}
