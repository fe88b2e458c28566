package gostack_test

import (
	"context"
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/unwind"
	"github.com/sfcore/sfcore/unwind/gostack"
)

// Input of FuzzStepper is pairs of 8-byte little-endian integers: the address
// and the value of a word of memory, the number and the value of a register, or
// these, of which the value says whether the pc is exact.
const (
	nextFrame = 1<<64 - 1 // asks for the caller of the frame with the registers so far
	forgetAll = 1<<64 - 2 // makes all registers unknown
)

// sparse is memory of single words, that counts how often it was read.
type sparse struct {
	words map[uint64]uint64
	order binary.ByteOrder
	reads int
}

func (m *sparse) ReadMem(p []byte, addr uint64) (int, error) {
	m.reads++
	for n := range p {
		at := addr + uint64(n)
		v, ok := m.words[at&^7]
		if !ok {
			return n, &memreader.FaultError{Addr: at, Why: memreader.NotDumped}
		}
		var word [8]byte
		m.order.PutUint64(word[:], v)
		p[n] = word[at&7]
	}
	return len(p), nil
}

// word returns a word, and whether all of it is there.
func (m *sparse) word(addr uint64) (uint64, bool) {
	var p [8]byte
	n, _ := m.ReadMem(p[:], addr)
	return m.order.Uint64(p[:]), n == len(p)
}

// recorder remembers which words are read.
type recorder struct {
	memreader.Reader
	at []uint64
}

func (r *recorder) ReadMem(p []byte, addr uint64) (int, error) {
	for at := addr &^ 7; at-addr&^7 < uint64(len(p))+addr&7; at += 8 {
		r.at = append(r.at, at)
	}
	return r.Reader.ReadMem(p, addr)
}

// program is one of testdata/mixed.
type program struct {
	a      *arch.Arch
	order  binary.ByteOrder
	module *unwind.Module // that has Go
	seeds  [][]byte       // a stack each
}

func open(t testing.TB, name string) *program {
	t.Helper()
	dir := filepath.Join("../../testdata/mixed", name)
	img, err := core.Open(context.Background(), filepath.Join(dir, "core.zst"), core.Options{}) //nolint:forbidigo // seeds are of real cores
	if err != nil {
		t.Fatal(err)
	}
	tg := process.New(img, process.Options{Paths: []string{filepath.Join(dir, "exe")}})
	t.Cleanup(func() { tg.Close() })
	p := &program{a: img.Arch, order: binary.LittleEndian}
	if p.a.BigEndian {
		p.order = binary.BigEndian
	}
	w := tg.NewWalker()
	for _, th := range tg.Threads() {
		if seed := p.record(tg.Memory(), w.Walk(th).Frames); seed != nil {
			p.seeds = append(p.seeds, seed)
		}
	}
	if p.module == nil {
		t.Fatal("no module has Go")
	}
	return p
}

// record makes input of a stack's frames in Go; nil if there are none.
func (p *program) record(mem memreader.Reader, frames []unwind.Frame) []byte {
	var s gostack.Stepper
	rec := &recorder{Reader: mem}
	words := memreader.Words{R: rec, BigEndian: p.a.BigEndian}
	var steps []byte
	add := func(to []byte, key, value uint64) []byte {
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(to, key), value)
	}
	for n := range frames {
		f := &frames[n]
		if f.Module == nil || f.Module.Go == nil {
			continue
		}
		p.module = f.Module
		c := unwind.Cursor{Arch: p.a, Mem: &words, Module: f.Module, PC: f.LookupPC(), Regs: &f.Regs, Exact: f.Exact, Walk: 1}
		var row arch.Row
		if found, err := s.Row(&c, &row); !found || err != nil {
			continue
		}
		if n+1 < len(frames) { // RA's place, which Row itself does not read
			rec.at = append(rec.at, raAt(p.a, &row, &f.Regs)&^7)
		}
		steps = add(steps, forgetAll, 0)
		for r, v := range f.Regs.All() {
			steps = add(steps, uint64(r), v)
		}
		steps = add(steps, uint64(p.a.PC), c.PC)
		exact := uint64(0)
		if f.Exact {
			exact = 1
		}
		steps = add(steps, nextFrame, exact)
	}
	if steps == nil {
		return nil
	}
	slices.Sort(rec.at)
	var input []byte
	for _, at := range slices.Compact(rec.at) {
		var b [8]byte
		if n, _ := mem.ReadMem(b[:], at); n == len(b) {
			input = add(input, at, p.order.Uint64(b[:]))
		}
	}
	return append(input, steps...)
}

// value computes a rule without its load.
func value(r arch.Rule, regs *arch.Regs, cfa uint64) uint64 {
	v := uint64(r.Off)
	switch r.Base {
	case arch.CFA:
		v += cfa
	case arch.Register:
		base, _ := regs.Get(r.Reg)
		v += base
	}
	return v
}

func raAt(a *arch.Arch, row *arch.Row, regs *arch.Regs) uint64 {
	return value(row.RA, regs, value(row.CFA, regs, 0))
}

// FuzzStepper walks Go's frames by any registers and memory. Oracle: there is a
// row, an error, or neither; what is read is in proportion to what there is; and
// a row to another stack leads into the stack of a goroutine whose g is there,
// or, of cgocallback, to a frame above g0.sched.sp that crosscall2 called.
func FuzzStepper(f *testing.F) {
	names := []string{"amd64-go121", "amd64-go126", "aarch64-go126", "s390x-go126"}
	programs := make([]*program, len(names))
	for n, name := range names {
		programs[n] = open(f, name)
		for _, seed := range programs[n].seeds {
			f.Add(uint8(n), seed)
		}
		programs[n].checkSeeds(f)
	}
	f.Fuzz(func(t *testing.T, which uint8, input []byte) {
		programs[int(which)%len(programs)].run(t, input)
	})
}

// checkSeeds sees to it that the seeds pass what the oracle is about.
func (p *program) checkSeeds(t testing.TB) {
	t.Helper()
	rows, switches := 0, 0
	for _, seed := range p.seeds {
		r, s := p.run(t, seed)
		rows, switches = rows+r, switches+s
	}
	if t.Logf("%s: %d stacks, %d rows, %d switches", p.a.Name, len(p.seeds), rows, switches); rows < 10 || switches < 5 {
		t.Errorf("%s: got %d rows, %d to another stack, of the seeds", p.a.Name, rows, switches)
	}
}

// run walks the frames of an input and checks their rows.
func (p *program) run(t testing.TB, input []byte) (rows, switches int) {
	t.Helper()
	var s gostack.Stepper
	var regs arch.Regs
	mem := &sparse{words: map[uint64]uint64{}, order: p.order}
	words := memreader.Words{R: mem, BigEndian: p.a.BigEndian}
	for ; len(input) >= 16; input = input[16:] {
		key, v := binary.LittleEndian.Uint64(input), binary.LittleEndian.Uint64(input[8:])
		switch {
		case key < arch.NumRegs:
			regs.Set(arch.Reg(key), v)
			continue
		case key == forgetAll:
			regs = arch.Regs{}
			continue
		case key != nextFrame:
			mem.words[key&^7] = v
			continue
		}
		pc, _ := regs.Get(p.a.PC)
		c := unwind.Cursor{Arch: p.a, Mem: &words, Module: p.module, PC: pc, Regs: &regs, Exact: v&1 != 0, Walk: 1}
		var row arch.Row
		before := mem.reads
		found, err := s.Row(&c, &row)
		if found && err != nil {
			t.Fatalf("got a row and %v", err)
		}
		if n := mem.reads - before; n > 100+10*len(mem.words) {
			t.Errorf("%d reads of %d words", n, len(mem.words))
		}
		if !found {
			continue
		}
		rows++
		if row.Switch {
			switches++
			p.checkSwitch(t, mem, &c, &row)
		}
	}
	return rows, switches
}

// Offsets of g and m, as in the runtime of all versions: from where the stepper
// has them would be no second opinion.
const (
	gHi, gM, gSchedSP = 8, 48, 56
	mG0               = 0
)

var mCurg = []uint64{184, 192}

func (p *program) checkSwitch(t testing.TB, mem *sparse, c *unwind.Cursor, row *arch.Row) {
	t.Helper()
	fn, _ := p.module.Go.Find(c.PC)
	name := string(fn.Name())
	cfa := value(row.CFA, c.Regs, 0)
	sp, g, known := cfa+uint64(p.a.SPFromCFA), uint64(0), false
	for _, e := range row.Extra {
		switch {
		case e.Reg == p.a.SP && e.Rule.Base == arch.CFA:
			sp = cfa + uint64(e.Rule.Off)
		case e.Rule.Base == arch.Absolute && !e.Rule.Deref:
			g, known = uint64(e.Rule.Off), true
		}
	}
	if name == "runtime.cgocallback" {
		ra, _ := mem.word(raAt(p.a, row, c.Regs))
		by, _ := p.module.Go.Find(ra - 1)
		if string(by.Name()) != "crosscall2" {
			t.Errorf("%s: returns to %#x", name, ra)
		}
		for _, m := range mem.words {
			if sp >= enteredAt(mem, m) {
				return
			}
		}
		t.Errorf("%s: SP %#x is on no g0", name, sp)
		return
	}
	if known {
		m, _ := mem.word(g + gM)
		if m != 0 && !runs(mem, m, g) {
			t.Errorf("%s: %#x is not the goroutine of %#x", name, g, m)
		}
		if !within(mem, g, sp) {
			t.Errorf("%s: SP %#x is not on the stack of %#x", name, sp, g)
		}
		return
	}
	for _, g := range mem.words { // one of them is m.curg
		if m, ok := mem.word(g + gM); ok && runs(mem, m, g) && within(mem, g, sp) {
			return
		}
	}
	t.Errorf("%s: SP %#x is on no goroutine's stack", name, sp)
}

// enteredAt returns where m's g0 was entered last; no address if it has none.
func enteredAt(mem *sparse, m uint64) uint64 {
	g0, ok := mem.word(m + mG0)
	if own, _ := mem.word(g0 + gM); !ok || own != m {
		return 1<<64 - 1
	}
	if sp, ok := mem.word(g0 + gSchedSP); ok {
		return sp
	}
	return 1<<64 - 1
}

// runs reports whether m says that it runs g.
func runs(mem *sparse, m, g uint64) bool {
	return slices.ContainsFunc(mCurg, func(off uint64) bool {
		curg, ok := mem.word(m + off)
		return ok && curg == g
	})
}

// within reports whether SP is on the stack of g, at its upper end at most.
func within(mem *sparse, g, sp uint64) bool {
	lo, okLo := mem.word(g)
	hi, okHi := mem.word(g + gHi)
	return okLo && okHi && lo < hi && lo <= sp && sp <= hi
}
