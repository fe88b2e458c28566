package module

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/gdbjit"
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

// jit is the code that just-in-time compilers registered with debuggers. The set
// looks for their lists when it is first asked about code outside all modules.
type jit struct {
	once sync.Once
	code []jitCode // ascending, without overlaps
	used []*site   // the sites that were opened; Set.mu guards it
}

// jitCode is a run of code of a registered image.
type jitCode struct {
	lo, hi uint64
	site   *site
	age    int // 0 for the run that was registered last
}

// codeOfJIT returns the registered code.
func (s *Set) codeOfJIT() []jitCode {
	s.jit.once.Do(func() { s.Guard(s.img.Path, s.findJIT) })
	return s.jit.code
}

// madeAt returns the image that was registered for the code at addr. It returns
// nil if the code is in a module, or if no image was registered for it.
func (s *Set) madeAt(addr uint64) *site {
	if at := s.spanOf(addr); at == nil || !at.generated() {
		return nil
	}
	code := s.codeOfJIT()
	if i := searchJIT(code, addr); i < len(code) && addr >= code[i].lo {
		return code[i].site
	}
	return nil
}

// narrow limits a place in generated code to the range around addr in which the
// same run, or no run, is registered. If the registered image has unwind tables,
// narrow adds it as the module. Code without unwind tables is walked as if nobody
// had registered it.
func (s *Set) narrow(p *unwind.Place, addr uint64) {
	code := s.codeOfJIT()
	i := searchJIT(code, addr)
	if i < len(code) && addr >= code[i].lo {
		p.Lo, p.Hi = max(p.Lo, code[i].lo), min(p.Hi, code[i].hi)
		if m := code[i].site.open(); m.hasTables() {
			p.Module = &m.Tables
		}
		return
	}
	if i < len(code) {
		p.Hi = min(p.Hi, code[i].lo)
	}
	if i > 0 {
		p.Lo = max(p.Lo, code[i-1].hi)
	}
}

// searchJIT returns the index of the first run that ends above addr.
func searchJIT(code []jitCode, addr uint64) int {
	return sort.Search(len(code), func(i int) bool { return code[i].hi > addr })
}

// jitFinder reads the lists of a process.
type jitFinder struct {
	set     *Set
	mem     memreader.Reader
	allowed []unwind.Range // executable memory outside all modules
	code    []jitCode
	bytes   uint64 // the total size of images so far

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
		list, err := gdbjit.List(words, descriptor)
		if err != nil {
			s.Note(fmt.Errorf("%s: %s: %w", m.Path, gdbjit.Symbol, err))
		}
		for _, e := range list {
			if err := f.add(e); err != nil {
				f.unusable.add("at %#x: %w", e.Addr, err)
			}
		}
	}
	s.jit.code = f.settle()
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
	return m.address(gdbjit.Symbol, files...)
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
func (f *jitFinder) add(e gdbjit.Entry) error {
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
			f.code = append(f.code, jitCode{c.Lo, c.Hi, made, len(f.code)})
			if made.hi == 0 {
				made.lo = c.Lo // the lowest, because Code ascends
			}
			made.hi = c.Hi
		}
	}
	return nil
}

// read returns the bytes of an image.
func (f *jitFinder) read(e gdbjit.Entry) ([]byte, error) {
	data, err := memreader.Bytes(f.mem, e.Addr, int(e.Size))
	if uint64(len(data)) < e.Size {
		return nil, err
	}
	return data[:e.Size], nil
}

// allows reports whether code may be where an image says that it is.
func (f *jitFinder) allows(lo, hi uint64) bool {
	i := sort.Search(len(f.allowed), func(i int) bool { return f.allowed[i].Hi > lo })
	return i < len(f.allowed) && lo >= f.allowed[i].Lo && hi <= f.allowed[i].Hi
}

// settle sorts the code by address. If two images claim the same address, settle
// assumes that the code of the older image is gone.
func (f *jitFinder) settle() []jitCode {
	slices.SortFunc(f.code, func(a, b jitCode) int { return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.age, b.age)) })
	settled := f.code[:0]
	for _, c := range f.code {
		for len(settled) > 0 && settled[len(settled)-1].hi > c.lo {
			last := settled[len(settled)-1]
			if last.age < c.age {
				break
			}
			f.replaced.add("%#x to %#x", last.lo, last.hi)
			settled = settled[:len(settled)-1]
		}
		if n := len(settled); n > 0 && settled[n-1].hi > c.lo {
			f.replaced.add("%#x to %#x", c.lo, c.hi)
			continue
		}
		settled = append(settled, c)
	}
	return settled
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
