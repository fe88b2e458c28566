package module

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/jit"
	"github.com/sfcore/sfcore/internal/resolve"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/unwind"
)

const (
	// maxPerfMap bounds the bytes of a perf map that are read.
	maxPerfMap = 64 << 20
	// maxNamed bounds the functions that all sources name, and of Erlang's records also
	// the lines.
	maxNamed = 1 << 20
	// maxDumps bounds the jitdump files of a process, which has one.
	maxDumps = 16
)

// namedFunc is a function that a just-in-time compiler made and named.
type namedFunc struct {
	jit.Func
	source string // what names it: a file, or the program
}

// Generated describes code outside all modules at pc, a lookup pc. source is what
// names its function, "" if nothing does.
func (s *Set) Generated(pc uint64) (loc symbol.Location, source string) {
	if at := s.spanOf(pc); at == nil || !at.generated() {
		return loc, ""
	}
	s.codeOfJIT() // finds the names
	run := jit.Find(s.jit.named, pc)
	if run == nil {
		return loc, ""
	}
	loc = symbol.Location{Func: run.Of.Name, Offset: pc - run.Lo, From: symbol.FromJIT}
	if l := run.Of.LineAt(pc); l != nil {
		loc.File, loc.Line, loc.Column = l.File, l.Line, l.Column
	}
	return loc, run.Of.source
}

// nameCode returns the functions that jitdump files, Erlang's records and perf maps
// name, in this order of precedence. allowed is the code outside all modules, and
// erlang are Erlang's functions.
func (s *Set) nameCode(allowed []unwind.Range, erlang []jit.Run[jit.Func]) []jit.Run[namedFunc] {
	n := namer{set: s, allowed: allowed}
	n.dumps()
	n.add("the program", erlang)
	n.perfMap()
	return jit.Settle(n.funcs, func(*jit.Run[namedFunc]) {})
}

// namer collects names. It only takes those of code outside all modules.
type namer struct {
	set     *Set
	allowed []unwind.Range
	funcs   []jit.Run[namedFunc]
}

func (n *namer) add(source string, funcs []jit.Run[jit.Func]) {
	for i := range funcs {
		if len(n.funcs) == maxNamed {
			n.set.Note(fmt.Errorf("%s: more than %d functions of code made at run time are named; the rest is not read", source, maxNamed))
			return
		}
		if f := &funcs[i]; within(n.allowed, f.Lo, f.Hi) {
			n.funcs = append(n.funcs, jit.Run[namedFunc]{Lo: f.Lo, Hi: f.Hi, Of: namedFunc{f.Of, source}})
		}
	}
}

// within reports whether a range of addresses is in one of the ranges, which ascend.
func within(ranges []unwind.Range, lo, hi uint64) bool {
	i := sort.Search(len(ranges), func(i int) bool { return ranges[i].Hi > lo })
	return i < len(ranges) && lo >= ranges[i].Lo && hi <= ranges[i].Hi
}

// dumps reads the jitdump files. A process maps its own, executable, so that perf
// finds it [linux tools/perf/Documentation/jitdump-specification.txt].
func (n *namer) dumps() {
	var seen []string
	for i := range n.set.img.Mappings {
		m := &n.set.img.Mappings[i]
		base := path.Base(m.Path)
		if !m.Exec || !strings.HasPrefix(base, "jit-") || !strings.HasSuffix(base, ".dump") || slices.Contains(seen, m.Path) || len(seen) == maxDumps {
			continue
		}
		seen = append(seen, m.Path)
		for name := range n.set.files.Images(resolve.Module{Path: m.Path, Held: m.File}) {
			if f := n.open(name); f != nil && n.use(f, jit.Dump) {
				break
			}
		}
	}
}

// perfMap reads the perf map of the process.
func (n *namer) perfMap() {
	img := n.set.img
	for name, given := range n.set.files.PerfMaps(ownPID(img)) {
		f := n.open(name)
		if f == nil {
			continue
		}
		if err := n.doubt(f); err != nil && !given {
			f.Close()
			n.set.Note(fmt.Errorf("%s: not used for the names of code made at run time: %w", name, err))
			continue
		}
		if n.use(f, func(data []byte) ([]jit.Run[jit.Func], error) {
			funcs, err := jit.PerfMap(string(data[:min(len(data), maxPerfMap)]))
			if len(data) > maxPerfMap {
				err = fmt.Errorf("only the first %d of %d bytes are read", maxPerfMap, len(data))
			}
			return funcs, err
		}) {
			return
		}
	}
}

// ownPID returns the process id by which a process knows itself.
func ownPID(img *core.Image) int {
	for i := range img.Threads {
		if th := &img.Threads[i]; th.ID == img.PID && th.NSID != 0 {
			return th.NSID
		}
	}
	return img.PID
}

// doubt says why a perf map that nobody named may be that of another process: every
// user can write to /tmp, and a process id may be used again.
func (n *namer) doubt(f *os.File) error {
	img := n.set.img
	st, err := f.Stat()
	if err != nil {
		return err
	}
	uid, known := elfx.Owner(st)
	allowed := []int{0, os.Geteuid()}
	if own, ok := img.Auxv.Get(core.ATUID); ok && img.Live == nil {
		allowed = append(allowed, int(own))
	} else if proc, err := os.Stat(fmt.Sprintf("/proc/%d", img.PID)); err == nil && img.Live != nil {
		u, _ := elfx.Owner(proc)
		allowed = append(allowed, u)
	}
	if known && !slices.Contains(allowed, uid) {
		return fmt.Errorf("it belongs to user %d, not to the user of the process; name it with --path if it is right", uid)
	}
	if made, err := os.Stat(img.Path); img.Live == nil && err == nil && st.ModTime().After(made.ModTime().Add(time.Second)) {
		return errors.New("it is newer than the core; name it with --path if it is right")
	}
	return nil
}

// open opens a file that was proposed. It returns nil if that cannot be opened.
func (n *namer) open(name string) *os.File {
	f, err := n.set.files.Open(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.set.Note(err)
	}
	return f
}

// use reads a file that names functions, closes it, and reports whether it is of the
// right kind.
func (n *namer) use(f *os.File, read func([]byte) ([]jit.Run[jit.Func], error)) bool {
	defer f.Close()
	name := f.Name()
	data, release, err := elfx.MapOpen(f)
	if err != nil {
		n.set.Note(err)
		return false
	}
	defer release()
	funcs, err := read(data)
	if err != nil {
		n.set.Note(fmt.Errorf("%s: %w", name, err))
	}
	n.add(path.Base(name), funcs)
	return !errors.Is(err, jit.ErrNotDump)
}

// byteOrder returns the byte order of the process.
func (s *Set) byteOrder() binary.ByteOrder {
	if s.img.Arch.BigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}
