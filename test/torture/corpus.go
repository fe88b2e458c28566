package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/unwind"
)

// maxCore bounds the size of a core of the corpus, in bytes.
const maxCore = 64 << 20

// subject is a case of the corpus: a core with its files.
type subject struct {
	dir   string
	cuts  int // places to cut the core at
	core  []byte
	files []string // executables and libraries, by their path below dir

	threads []walked // once walk has been called
}

// walked is the stack of a thread in the undamaged core.
type walked struct {
	tid    int
	frames []unwind.Frame
	reason unwind.Reason
	// needs is the size that the core file must have for all the memory that
	// was read for this stack.
	needs uint64
}

// subjects returns the cases of a corpus, in the order of their names, and how
// many cuts their cores have room for.
func subjects(corpus string) (all []subject, cuts int, err error) {
	cores, err := filepath.Glob(filepath.Join(corpus, "*", "core.zst"))
	if err == nil && len(cores) == 0 {
		err = fmt.Errorf("%s: no cases", corpus)
	}
	for _, name := range cores {
		s := subject{dir: filepath.Dir(name)}
		data, err := s.readCore()
		if err != nil {
			return nil, 0, err
		}
		s.cuts = (len(data) + page - 1) / page
		cuts += s.cuts
		all = append(all, s)
	}
	return all, cuts, err
}

func (s *subject) readCore() ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(s.dir, "core.zst"))
	if err != nil {
		return nil, err
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxCore))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.DecodeAll(data, nil)
}

// load reads the core, and lists the files.
func (s *subject) load() error {
	var err error
	if s.core, err = s.readCore(); err != nil {
		return err
	}
	s.files = nil
	for _, sub := range []string{"exe", "debug", "sysroot"} {
		err := filepath.WalkDir(filepath.Join(s.dir, sub), func(name string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				rel, err := filepath.Rel(s.dir, name)
				s.files = append(s.files, rel)
				return err
			}
			return nil //nolint:nilerr // most cases have not all of the directories
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// options are where the files of a case in dir are found.
func options(dir string) process.Options {
	return process.Options{Paths: []string{filepath.Join(dir, "exe"), filepath.Join(dir, "debug")}, Sysroot: filepath.Join(dir, "sysroot")}
}

// walk walks the stacks of the undamaged core, in the file at path.
func (s *subject) walk(path string) error {
	img, err := core.Open(context.Background(), path, core.Options{})
	if err != nil {
		return err
	}
	layout, err := elfx.Parse(s.core)
	if err != nil {
		return err
	}
	r := &recorder{mem: img.Mem}
	img.Mem = r
	t := process.New(img, options(s.dir))
	defer t.Close()
	for range t.Modules() { // opens their files, which reads memory too
	}
	s.threads = nil
	for _, th := range t.Threads() {
		r.reads = nil
		st := t.NewWalker().Walk(th)
		w := walked{tid: th.ID, frames: slices.Clone(st.Frames), reason: st.Stop.Reason}
		for _, read := range r.reads {
			w.needs = max(w.needs, fileEnd(layout.Progs, read))
		}
		for i := range layout.Progs {
			if p := &layout.Progs[i]; p.Type == elfx.ProgNote {
				w.needs = max(w.needs, p.Off+p.Filesz)
			}
		}
		s.threads = append(s.threads, w)
	}
	return nil
}

// recorder notes what is read. It hides that its memory can be viewed.
type recorder struct {
	mem   memreader.Reader
	reads []read
}

// read is n bytes at addr.
type read struct {
	addr uint64
	n    int
}

func (r *recorder) ReadMem(p []byte, addr uint64) (int, error) {
	n, err := r.mem.ReadMem(p, addr)
	r.reads = append(r.reads, read{addr, n})
	return n, err
}

// fileEnd returns where the bytes of a read end in a core file.
func fileEnd(progs []elfx.Prog, r read) (end uint64) {
	for i := range progs {
		p := &progs[i]
		if p.Type == elfx.ProgLoad && r.addr-p.Vaddr < p.Filesz {
			end = max(end, p.Off+min(r.addr-p.Vaddr+uint64(r.n), p.Filesz))
		}
	}
	return end
}
