package module

import (
	"errors"
	"fmt"
	"sync"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/jit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

const (
	// jitName is the path of modules that just-in-time compilers registered.
	jitName = "[jit]"

	// maxJITBytes bounds the total size of all registered images, in bytes. Images
	// of a live process are copied.
	maxJITBytes = 256 << 20

	// maxJITRuns bounds the number of runs of code. An image has one run, or one
	// for each function.
	maxJITRuns = 1 << 20

	// workPerByte bounds the work on the debug information of an image. It is the
	// number of entries and the like for each byte of the image. There may be many
	// images.
	workPerByte = 64
)

// linkedOfJIT are the sections that sfcore relocates in a relocatable image.
var linkedOfJIT = []string{
	".sframe", ".eh_frame", ".debug_frame", ".debug_info", ".debug_types", ".debug_line", ".debug_aranges", ".debug_addr",
	".debug_ranges", ".debug_rnglists", ".debug_loc", ".debug_loclists", ".debug_str_offsets",
}

// generated is the code that just-in-time compilers made. The set looks for what they
// tell of it when it is first asked about code outside all modules.
type generated struct {
	once  sync.Once
	code  []jit.Run[*site]     // of registered images; settled
	named []jit.Run[namedFunc] // settled
	used  []*site              // the sites that were opened; Set.mu guards it
}

// codeOfJIT returns the code of registered images.
func (s *Set) codeOfJIT() []jit.Run[*site] {
	s.jit.once.Do(func() { s.Guard(s.img.Path, s.findJIT) })
	return s.jit.code
}

// madeAt returns the image that was registered for the code at addr. It returns
// nil if the code is in a module, or if no image was registered for it.
func (s *Set) madeAt(addr uint64) *site {
	if at := s.spanOf(addr); at == nil || !at.generated() {
		return nil
	}
	if run := jit.Find(s.codeOfJIT(), addr); run != nil {
		return run.Of
	}
	return nil
}

// narrow limits a place in generated code to the range around addr in which the
// same run, or no run, is registered. If the registered image has unwind tables,
// narrow adds it as the module. Code without unwind tables is walked as if nobody
// had registered it.
func (s *Set) narrow(p *unwind.Place, addr uint64) {
	code := s.codeOfJIT()
	i := jit.Search(code, addr)
	if i < len(code) && addr >= code[i].Lo {
		p.Lo, p.Hi = max(p.Lo, code[i].Lo), min(p.Hi, code[i].Hi)
		if m := code[i].Of.open(); m.hasTables() {
			p.Module = &m.Tables
		}
		return
	}
	if i < len(code) {
		p.Hi = min(p.Hi, code[i].Lo)
	}
	if i > 0 {
		p.Lo = max(p.Lo, code[i-1].Hi)
	}
}

// jitFinder reads the lists of a process.
type jitFinder struct {
	set     *Set
	mem     memreader.Reader
	allowed []unwind.Range      // executable memory outside all modules
	code    []jit.Run[*site]    // the newest first
	funcs   []jit.Run[jit.Func] // the newest first
	lines   int                 // of all funcs
	bytes   uint64              // the total size of images so far

	unusable, elsewhere, replaced tally
}

// tally counts problems of the same kind, and keeps the first one.
type tally struct {
	n     int
	first error
}

func (c *tally) add(format string, args ...any) {
	if c.n++; c.n == 1 {
		c.first = fmt.Errorf(format, args...)
	}
}

// findJIT finds the code that is registered in the lists of all modules. It reads
// the lists of a live process as they are now. The code is read as it is now, too.
func (s *Set) findJIT() {
	f := jitFinder{set: s, mem: s.mem, allowed: s.generatedCode()}
	if p := s.img.Process; p != nil {
		f.mem = &memreader.Layers{Top: s.img.Mem, Under: p}
	}
	words := &memreader.Words{R: f.mem, BigEndian: s.img.Arch.BigEndian}
	for _, at := range s.sites {
		m := at.open()
		descriptor, ok := m.jitDescriptor()
		if !ok {
			continue
		}
		list, err := jit.List(words, descriptor)
		if err != nil {
			s.Note(fmt.Errorf("%s: %s: %w", m.Path, jit.Symbol, err))
		}
		for _, e := range list {
			if err := f.add(e); err != nil {
				f.unusable.add("at %#x: %w", e.Addr, err)
			}
		}
	}
	s.jit.code = jit.Settle(f.code, func(r *jit.Run[*site]) { f.replaced.add("%#x to %#x", r.Lo, r.Hi) })
	s.jit.named = s.nameCode(f.allowed, f.funcs)
	f.report()
}

// jitDescriptor returns the address of the module's list. It looks in a debug file
// if one is on this machine, but does not fetch one.
func (m *Module) jitDescriptor() (uint64, bool) {
	if m.names == nil {
		return 0, false
	}
	files := []*elfx.File{m.names.image}
	if m.names.set.opts.Debuginfod == nil {
		if d := m.names.debug(); d != nil {
			files = append(files, d.File)
		}
	}
	return m.address(jit.Symbol, files...)
}

// generatedCode returns the executable memory outside all modules, in ascending
// order of address.
func (s *Set) generatedCode() []unwind.Range {
	var code []unwind.Range
	for i := range s.spans {
		p := &s.spans[i]
		if !p.generated() {
			continue
		}
		if n := len(code); n > 0 && code[n-1].Hi == p.lo {
			code[n-1].Hi = p.hi
		} else {
			code = append(code, unwind.Range{Lo: p.lo, Hi: p.hi})
		}
	}
	return code
}

// add adds the code of an image.
func (f *jitFinder) add(e jit.Entry) error {
	if e.Size > maxJITBytes-f.bytes {
		return fmt.Errorf("its %d bytes are more than the limit of %d for all images", e.Size, maxJITBytes)
	}
	f.bytes += e.Size
	data, err := f.read(e)
	if err != nil {
		return err
	}
	file, err := elfx.Parse(data)
	if err != nil {
		funcs, notErlang := jit.Erlang(data, f.set.byteOrder())
		if notErlang == nil {
			return f.addErlang(funcs)
		}
		return err
	}
	if a := f.set.img.Arch; file.Machine != a.Machine || file.BigEndian != a.BigEndian {
		return errors.New("it is for another machine")
	}
	made := &site{set: f.set, path: jitName, trace: &registered{data}}
	for _, c := range file.Code() {
		switch {
		case c.Lo == 0 || c.Lo == c.Hi: // it was not loaded
		case !f.allows(c.Lo, c.Hi):
			f.elsewhere.add("%#x to %#x", c.Lo, c.Hi)
		case len(f.code) == maxJITRuns:
			return fmt.Errorf("there are more runs of code than the limit of %d", maxJITRuns)
		default:
			f.code = append(f.code, jit.Run[*site]{Lo: c.Lo, Hi: c.Hi, Of: made})
			if made.hi == 0 {
				made.lo = c.Lo // the lowest, because Code ascends
			}
			made.hi = c.Hi
		}
	}
	return nil
}

// addErlang adds the functions of a record of Erlang's. Small records may have many
// lines, so these are bounded in all.
func (f *jitFinder) addErlang(funcs []jit.Run[jit.Func]) error {
	for i := range funcs {
		if len(f.funcs) == maxNamed {
			return fmt.Errorf("there are more functions than the limit of %d", maxNamed)
		}
		if f.lines += len(funcs[i].Of.Lines); f.lines > maxNamed {
			funcs[i].Of.Lines = nil
		}
		f.funcs = append(f.funcs, funcs[i])
	}
	return nil
}

// read returns the bytes of an image.
func (f *jitFinder) read(e jit.Entry) ([]byte, error) {
	data, err := memreader.Bytes(f.mem, e.Addr, int(e.Size))
	if uint64(len(data)) < e.Size {
		return nil, err
	}
	return data[:e.Size], nil
}

// allows reports whether code may be where an image says that it is.
func (f *jitFinder) allows(lo, hi uint64) bool {
	return within(f.allowed, lo, hi)
}

// report notes the problems that were counted.
func (f *jitFinder) report() {
	for _, c := range []struct {
		tally
		what string
	}{
		{f.unusable, "images that cannot be used, or only in part"},
		{f.elsewhere, "runs of code that are not used because they are not in executable memory outside all modules"},
		{f.replaced, "runs of code that are not used because newer code replaced them"},
	} {
		if c.n > 0 {
			f.set.Note(fmt.Errorf("%s: the process has registered %d %s; the first is %w", jitName, c.n, c.what, c.first))
		}
	}
}

// registered is an image that a just-in-time compiler registered. It is not a
// file.
type registered struct{ data []byte }

func (*registered) fits(*site, *elfx.File) error { return errors.New("the image is not in a file") }

func (*registered) place(*site, *elfx.File) {}

// loadRegistered opens the tables of a registered image. They are in memory that
// the program could write to.
func (l *loader) loadRegistered(made *registered) {
	f, err := elfx.Parse(made.data)
	if err == nil {
		err = refusePacked(f)
	}
	if err == nil {
		f, err = f.Link(linkedOfJIT...)
	}
	l.m.Match = report.MatchMemory
	if err != nil {
		l.problem("%s: %w", l.m.Path, err)
		return
	}
	l.use(f, report.MatchMemory)
	l.m.names.work = workPerByte * len(made.data)
	l.m.Tables.Writable = true
	l.checkHeaders(f)
	l.findSFrame(f)
	l.findEHFrame(f)
	l.findDebugFrame()
	s := l.site.set
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jit.used = append(s.jit.used, l.site)
}

// refusePacked refuses an image with compressed contents. No just-in-time compiler
// takes the time to compress, and a small image may expand to a lot of memory.
func refusePacked(f *elfx.File) error {
	sects, _ := f.Sections()
	for i := range sects {
		if s := &sects[i]; s.Flags&elfx.SectCompressed != 0 || s.Name == ".gnu_debugdata" {
			return fmt.Errorf("section %s of a registered image is compressed; the image is not used", s.Name)
		}
	}
	return nil
}
