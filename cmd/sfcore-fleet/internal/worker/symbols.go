package worker

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/sfcore/sfcore/internal/companion"
	"github.com/sfcore/sfcore/internal/crash"
	"github.com/sfcore/sfcore/internal/debuginfod"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/report/signature"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
)

// Symbols names stacks by files that are here, or by those of debuginfod servers. Each
// report is read by a process of its own without rights, within limits.
type Symbols struct {
	// Reader is the path of sfcore-crash, whose processes read reports.
	Reader string
	// Paths are files and directories with programs, libraries and debug files. All users
	// must be able to read them.
	Paths []string
	// Fetch has the debug files that are missing fetched from the servers in
	// DEBUGINFOD_URLS, to Dir.
	Fetch bool
	Dir   string
	// Most bounds the debug files in Dir, in bytes; 0 for 16 GiB.
	Most int64
	// Open is told whether servers are left alone, as they have failed.
	Open func(bool)

	mu      sync.Mutex
	wait    time.Duration        // bounds the fetching of one file; 0 for fetchTime
	tripped time.Time            // since when servers are not asked
	pause   time.Duration        // for how long
	missing map[string]time.Time // builds that no server had, and when
}

const (
	// nameTime and nameMemory bound the naming of one report.
	nameTime   = 20 * time.Second
	nameMemory = 512 << 20
	// maxNamed bounds a report with names, in bytes before it is compressed.
	maxNamed = 64 << 20
	// firstPause and lastPause are how long servers are not asked after one has failed.
	firstPause = 30 * time.Second
	lastPause  = 10 * time.Minute
	// missingFor is how long it is believed that no server has a file.
	missingFor = 10 * time.Minute
	maxMissing = 10000
	// fetchTime bounds the fetching of one file, and nearly all that is fetched for one
	// report. slow is when a server that has no file is taken for one that has failed.
	fetchTime = 30 * time.Second
	slow      = 2 * time.Second
	nobody    = 65534
)

// Named is a report with its names.
type Named struct {
	Report    []byte // compressed; nil if no names changed
	Signature *signature.Signature
	Lacks     []string // builds for which there are no symbols
}

// Name names the stacks of a report, which is compressed. lacks are the builds of frames
// without names.
func (s *Symbols) Name(ctx context.Context, text []byte, lacks []string) (*Named, error) {
	paths := s.Paths
	if s.Fetch {
		paths = append(s.fetched(ctx, lacks), paths...)
	}
	if len(paths) == 0 {
		return &Named{Lacks: lacks}, nil
	}
	f, err := os.CreateTemp("", "sfcore-report-*")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_ = os.Remove(f.Name()) // it has no name from here on
	if _, err := f.Write(text); err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	start := func(args []string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, s.Reader, args...)
		cmd.Env = []string{limit.Watched + "=" + strconv.Itoa(os.Getpid()), companion.Told()}
		return cmd
	}
	n, out, err := crash.RenameReport(f, start, nobody, nobody, crash.ReaderOptions{Paths: paths}, limit.Limits{Memory: nameMemory, Total: nameTime}, maxNamed)
	if err != nil {
		return nil, err
	}
	did := &Named{Signature: n.Signature, Lacks: lacks}
	if out != nil {
		did.Report = message.Compress(out)
		doc, err := (&message.Message{Report: did.Report}).Read()
		if err != nil {
			return nil, err
		}
		did.Lacks = unnamed(doc)
	}
	return did, nil
}

// fetched returns the debug files of builds that servers have.
func (s *Symbols) fetched(ctx context.Context, builds []string) (paths []string) {
	deadline := time.Now().Add(fetchTime)
	for _, build := range builds {
		if !isBuildID(build) || ctx.Err() != nil || time.Now().After(deadline) {
			continue
		}
		name := filepath.Join(s.Dir, build+debugSuffix)
		if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
			now := time.Now()
			_ = os.Chtimes(name, now, now) // it is among the last to be removed
			paths = append(paths, name)
			continue
		}
		if err := s.fetch(ctx, build, name); err == nil {
			paths = append(paths, name)
		}
	}
	return paths
}

var errNotAsked = errors.New("servers of symbols are not asked now")

// fetch fetches a file, unless servers have failed a short time ago. One is fetched at once.
func (s *Symbols) fetch(ctx context.Context, build, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Sub(s.tripped) < s.pause || now.Sub(s.missing[build]) < missingFor {
		return errNotAsked
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.wait, fetchTime))
	defer cancel()
	client, err := debuginfod.FromEnvironment(ctx)
	if err != nil {
		return err
	}
	from, err := client.DebugInfo(build)
	switch {
	case err == nil:
		s.pause = 0
		s.opened(false)
		return s.keep(from, name)
	case errors.Is(err, debuginfod.ErrNotFound) && !errors.Is(err, debuginfod.ErrUnanswered):
		if s.missing == nil || len(s.missing) >= maxMissing {
			s.missing = map[string]time.Time{}
		}
		s.missing[build] = now
		if time.Since(now) < slow {
			return err
		}
	}
	s.tripped = time.Now()
	s.pause = min(max(firstPause, 2*s.pause), lastPause)
	s.opened(true)
	return err
}

func (s *Symbols) opened(open bool) {
	if s.Open != nil {
		s.Open(open)
	}
}
