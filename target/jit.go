package target

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
)

const (
	// jitName is the path of modules that just-in-time compilers registered.
	jitName = "[jit]"

	// maxJITBytes bounds the sizes of all registered images together: of a live
	// process they are copied.
	maxJITBytes = 256 << 20

	// maxJITRuns bounds the runs of code: an image has one, or one for each function.
	maxJITRuns = 1 << 20

	// workPerByte bounds the work on the debug information of an image, in entries
	// and the like for each byte of it: there may be many images.
	workPerByte = 64
)

// linkedOfJIT are the sections of a relocatable image that are relocated.
var linkedOfJIT = []string{
	".sframe", ".eh_frame", ".debug_frame", ".debug_info", ".debug_types", ".debug_line", ".debug_aranges", ".debug_addr",
	".debug_ranges", ".debug_rnglists", ".debug_loc", ".debug_loclists", ".debug_str_offsets",
}

// jit is the code that just-in-time compilers registered with debuggers. The
// lists are looked for when code is met that is in no module.
type jit struct {
	once sync.Once
	code []jitCode // ascending, without overlaps
	used []*Module // that were loaded; Target.mu is for it
}

// jitCode is a run of code of a registered image.
type jitCode struct {
	lo, hi uint64
	module *Module
	age    int // 0 for what was registered last
}

// codeOfJIT returns the registered code.
func (t *Target) codeOfJIT() []jitCode {
	t.jit.once.Do(func() { t.guard(t.img.Path, t.findJIT) })
	return t.jit.code
}

// jitAt returns the module that registered the code at addr, nil if that is in a
// module or none did.
func (t *Target) jitAt(addr uint64) *Module {
	if i := t.searchPlaces(addr); i < 0 || !t.generated(i) {
		return nil
	}
	code := t.codeOfJIT()
	if i := searchJIT(code, addr); i < len(code) && addr >= code[i].lo {
		return code[i].module
	}
	return nil
}

// narrow limits a place in generated code to what applies at addr, and adds the
// module that registered it if that has unwind tables: code without any is
// walked as if nobody had registered it.
func (t *Target) narrow(p *unwind.Place, addr uint64) {
	code := t.codeOfJIT()
	i := searchJIT(code, addr)
	if i < len(code) && addr >= code[i].lo {
		p.Lo, p.Hi = max(p.Lo, code[i].lo), min(p.Hi, code[i].hi)
		if m := code[i].module; m.loaded().tabled() {
			p.Module = &m.unwind
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

// jitFinder reads the lists of a target.
type jitFinder struct {
	target  *Target
	mem     memreader.Reader
	allowed []unwind.Range // executable memory outside of modules
	code    []jitCode
	bytes   uint64 // of images so far

	unusable, elsewhere, replaced tally
}

// tally counts what is wrong in the same way, and keeps the first of it.
type tally struct {
	n     int
	first error
}

func (c *tally) add(format string, args ...any) {
	if c.n++; c.n == 1 {
		c.first = fmt.Errorf(format, args...)
	}
}

// findJIT finds the code that is registered in the lists of all modules. Those of
// a live process are read as they are by now, as the code is.
func (t *Target) findJIT() {
	f := jitFinder{target: t, mem: t.mem, allowed: t.generatedCode()}
	if p := t.img.Process; p != nil {
		f.mem = &memreader.Layers{Top: t.img.Mem, Under: p}
	}
	words := &memreader.Words{R: f.mem, BigEndian: t.img.Arch.BigEndian}
	for _, m := range t.modules {
		descriptor, ok := m.loaded().jitDescriptor()
		if !ok {
			continue
		}
		list, err := core.JITList(words, descriptor)
		if err != nil {
			t.problem("%s: %s: %w", m.Path, core.JITSymbol, err)
		}
		for _, e := range list {
			if err := f.add(e); err != nil {
				f.unusable.add("at %#x: %w", e.Addr, err)
			}
		}
	}
	t.jit.code = f.settle()
	f.report()
}

// jitDescriptor returns the address of the module's list. A debug file is asked
// if it is at hand, and not fetched for that.
func (m *Module) jitDescriptor() (uint64, bool) {
	files := []*elfx.File{m.image}
	if m.target.opts.Debuginfod == nil {
		files = append(files, m.debugFile())
	}
	return m.address(core.JITSymbol, files...)
}

// generatedCode returns executable memory that is in no module, by address.
func (t *Target) generatedCode() []unwind.Range {
	var code []unwind.Range
	for i := range t.places {
		p := &t.places[i]
		if !t.generated(i) {
			continue
		}
		if n := len(code); n > 0 && code[n-1].Hi == p.Lo {
			code[n-1].Hi = p.Hi
		} else {
			code = append(code, unwind.Range{Lo: p.Lo, Hi: p.Hi})
		}
	}
	return code
}

// add adds the code of an image.
func (f *jitFinder) add(e core.JITEntry) error {
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
	if a := f.target.img.Arch; file.Machine != a.Machine || file.BigEndian != a.BigEndian {
		return errors.New("it is for another machine")
	}
	m := &Module{Path: jitName, Match: MatchMemory, target: f.target, registered: data}
	for _, c := range file.Code() {
		switch {
		case c.Lo == 0 || c.Lo == c.Hi: // it was not loaded
		case !f.allows(c.Lo, c.Hi):
			f.elsewhere.add("%#x to %#x", c.Lo, c.Hi)
		case len(f.code) == maxJITRuns:
			return fmt.Errorf("there are more runs of code than the limit of %d", maxJITRuns)
		default:
			f.code = append(f.code, jitCode{c.Lo, c.Hi, m, len(f.code)})
			if m.Hi == 0 {
				m.Lo = c.Lo // the lowest, as Code ascends
			}
			m.Hi = c.Hi
		}
	}
	return nil
}

// read returns the bytes of an image.
func (f *jitFinder) read(e core.JITEntry) ([]byte, error) {
	if v, ok := f.mem.(memreader.Viewer); ok {
		mem, base := v.View(e.Addr)
		if off := e.Addr - base; off < uint64(len(mem)) && uint64(len(mem))-off >= e.Size {
			return mem[off : off+e.Size], nil
		}
	}
	data, err := memreader.ReadFull(f.mem, e.Addr, int(e.Size))
	if uint64(len(data)) < e.Size {
		return nil, err
	}
	return data, nil
}

// allows reports whether code may be where an image says.
func (f *jitFinder) allows(lo, hi uint64) bool {
	i := sort.Search(len(f.allowed), func(i int) bool { return f.allowed[i].Hi > lo })
	return i < len(f.allowed) && lo >= f.allowed[i].Lo && hi <= f.allowed[i].Hi
}

// settle puts the code in order. Where two images claim the same address, the
// older one's code is taken to be gone.
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

// report notes what was wrong.
func (f *jitFinder) report() {
	for _, c := range []struct {
		tally
		what string
	}{
		{f.unusable, "images that cannot be used, or not in full"},
		{f.elsewhere, "runs of code outside of executable memory that is in no module, which are not used"},
		{f.replaced, "runs of code where there is newer code, which are not used"},
	} {
		if c.n > 0 {
			f.target.problem("%s: the process has registered %d %s; the first is %w", jitName, c.n, c.what, c.first)
		}
	}
}

// findRegistered opens the tables of a registered image, which are in memory that
// the program could write to.
func (m *Module) findRegistered() {
	t := m.target
	f, err := elfx.Parse(m.registered)
	if err == nil {
		err = refusePacked(f)
	}
	if err == nil {
		f, err = f.Link(linkedOfJIT...)
	}
	if err != nil {
		m.problem("%s: %w", m.Path, err)
		return
	}
	m.image, m.unwind.Writable = f, true
	m.checkHeaders()
	m.findSFrame()
	m.findEHFrame()
	m.findDebugFrame()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.jit.used = append(t.jit.used, m)
}

// refusePacked refuses an image with compressed contents. No just-in-time compiler
// takes the time for that, and small images may expand to much.
func refusePacked(f *elfx.File) error {
	sects, _ := f.Sections()
	for i := range sects {
		if s := &sects[i]; s.Flags&elfx.SectCompressed != 0 || s.Name == ".gnu_debugdata" {
			return fmt.Errorf("section %s of a registered image is compressed; the image is not used", s.Name)
		}
	}
	return nil
}

// tabled reports whether the module has unwind tables.
func (m *Module) tabled() bool { return m.unwind.SFrame != nil || len(m.unwind.CFI) > 0 }
