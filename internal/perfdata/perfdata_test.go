package perfdata

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

const (
	fields = sampleIdentifier | sampleIP | sampleTID | sampleTime | sampleCallchain | sampleRegs | sampleStack
	ident  = 77
)

// recording is a file with one event.
type recording struct {
	order   binary.ByteOrder
	machine string
	mask    uint64
	records [][]byte
	idAll   bool
}

func (r *recording) file() []byte {
	magic := magicLittle
	if r.order == binary.ByteOrder(binary.BigEndian) {
		magic = magicBig
	}
	b := testkit.New(r.order).Raw([]byte(magic)).D64(headerSize, 16+112)
	flags := uint64(0)
	if r.idAll {
		flags = 1 << sampleIDAll
	}
	section := func(name string) { b.Diff(8, name, "", 0).Diff(8, name+" end", name, 0) }
	section("attrs")
	section("data")
	b.D64(0, 0).D64(1<<featArch, 0, 0, 0)
	b.Mark("attrs").D32(0, 112).D64(0, 0).D64(fields, 0, flags, 0, 0, 0, 0).D64(r.mask).Zero(112 - 88)
	section("ids")
	b.Mark("attrs end").Mark("ids").D64(ident).Mark("ids end").Mark("data")
	for _, rec := range r.records {
		b.Raw(rec)
	}
	b.Mark("data end")
	section("arch")
	b.Mark("arch").D32(16).Str(r.machine).Zero(16 - len(r.machine) - 1).Mark("arch end")
	return b.Done()
}

// record is one record.
func (r *recording) record(typ uint32, misc uint16, body func(b *testkit.Bytes)) []byte {
	b := testkit.New(r.order)
	body(b)
	data := b.Done()
	return append(testkit.New(r.order).D32(typ).D16(misc, uint16(8+len(data))).Done(), data...)
}

func (r *recording) add(typ uint32, misc uint16, body func(b *testkit.Bytes)) {
	r.records = append(r.records, r.record(typ, misc, body))
}

// usual is a process that starts, maps a file, forks, and is sampled, as is its child.
func usual(order binary.ByteOrder, machine string, mask uint64, regs []uint64) *recording {
	r := &recording{order: order, machine: machine, mask: mask}
	name := func(b *testkit.Bytes, s string) { b.Str(s).Zero(-(len(s) + 1) & 7) }
	r.add(recComm, 0, func(b *testkit.Bytes) { b.D32(5, 5); name(b, "sh") })
	r.add(recMmap, 0, func(b *testkit.Bytes) { b.D32(5, 5).D64(0x1000, 0x1000, 0); name(b, "/bin/sh") })
	r.add(recComm, miscExec, func(b *testkit.Bytes) { b.D32(5, 5); name(b, "prog") })
	r.add(recMmap2, miscMmapBuildID, func(b *testkit.Bytes) {
		b.D32(5, 5).D64(0x400000, 0x2000, 0x1000).D8(2, 0, 0, 0, 0xab, 0xcd).Zero(18).D32(protExec, 0)
		name(b, "/usr/bin/prog")
	})
	r.add(recMmap2, 0, func(b *testkit.Bytes) { b.D32(5, 5).D64(0x500000, 0x1000, 0).Zero(24).D32(1, 0); name(b, "//anon") })
	r.add(recFork, 0, func(b *testkit.Bytes) { b.D32(6, 5, 6, 5).D64(0) })
	for _, pid := range []uint32{5, 6} {
		r.add(recSample, 0, func(b *testkit.Bytes) {
			b.D64(ident, 0x400010).D32(pid, pid).D64(123).D64(2, 1, 2).D64(2).D64(regs...)
			b.D64(16).D64(0xfeed, 0xbeef).D64(8)
		})
	}
	r.add(recSample, 0, func(b *testkit.Bytes) { b.D64(ident, 0x400010).D32(5, 5).D64(123).D64(0).D64(0).D64(0) }) // a kernel thread
	return r
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name  string
		file  *recording
		arch  *arch.Arch
		pc    uint64
		fpreg uint64
	}{
		{"amd64", usual(binary.LittleEndian, "x86_64", 1<<6|1<<7|1<<8, []uint64{0x11, 0x7000, 0x400010}), arch.AMD64, 0x400010, 0x11},
		{"aarch64", usual(binary.LittleEndian, "aarch64", 1<<29|1<<31|1<<32, []uint64{0x11, 0x7000, 0x400010}), arch.AArch64, 0x400010, 0x11},
		{"s390x", usual(binary.BigEndian, "s390x", 1<<11|1<<15|1<<33, []uint64{0x11, 0x7000, 0x400010}), arch.S390X, 0x400010, 0x11},
	} {
		f, err := Parse(tt.file.file())
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if f.Arch != tt.arch || len(f.Samples) != 2 || f.Without != 1 || len(f.Problems) > 0 {
			t.Errorf("%s: got %s, %d samples, %d without, %v", tt.name, f.Arch.Name, len(f.Samples), f.Without, f.Problems)
			continue
		}
		for i, pid := range []int{5, 6} {
			s := &f.Samples[i]
			regs := f.Regs(s)
			pc, _ := regs.Get(tt.arch.PC)
			fp, _ := regs.Get(tt.arch.FP)
			if pc != tt.pc || fp != tt.fpreg || s.SP != 0x7000 || len(s.Stack) != 8 || s.Space.PID != pid || s.Space.Comm != "prog" {
				t.Errorf("%s: got %+v of %+v", tt.name, s, s.Space)
			}
			want := []Mapping{{0x400000, 0x402000, 0x1000, "/usr/bin/prog", true, "abcd"}, {0x500000, 0x501000, 0, "//anon", false, ""}}
			if got := fmt.Sprint(s.Space.Mappings); got != fmt.Sprint(want) {
				t.Errorf("%s: got %v, want %v", tt.name, got, want)
			}
		}
	}
}

// A sample that was written to another buffer than the mappings, and comes first, is
// read after them.
func TestParseByTime(t *testing.T) {
	r := usual(binary.LittleEndian, "x86_64", 1<<7|1<<8, []uint64{0x7000, 0x400010})
	r.idAll = true
	for i, rec := range r.records { // the time of samples is 123
		if r.order.Uint32(rec) != recSample {
			trailer := testkit.New(r.order).D32(5, 5).D64(uint64(10+i), ident).Done()
			r.order.PutUint16(rec[6:], uint16(len(rec)+len(trailer)))
			r.records[i] = append(rec, trailer...)
		}
	}
	slices.Reverse(r.records)
	f, err := Parse(r.file())
	if err != nil || len(f.Samples) != 2 {
		t.Fatalf("got %+v, %v", f, err)
	}
	for i := range f.Samples {
		if s := f.Samples[i].Space; s.Comm != "prog" || len(s.Mappings) != 2 {
			t.Errorf("got %+v, want the mappings after exec", s)
		}
	}
}

func TestParseErrors(t *testing.T) {
	good := usual(binary.LittleEndian, "x86_64", 1<<7|1<<8, []uint64{0x7000, 0x400010})
	patch := func(at int, v byte) func() []byte {
		return func() []byte { b := good.file(); b[at] = v; return b }
	}
	with := func(rec []byte) func() []byte {
		return func() []byte {
			r := *good
			r.records = append(r.records[:len(r.records):len(r.records)], rec)
			return r.file()
		}
	}
	for name, tt := range map[string]struct {
		file func() []byte
		want string // of the error, or the problem
	}{
		"empty":         {func() []byte { return nil }, "not a perf.data file"},
		"text":          {func() []byte { return []byte("some text that is long") }, "not a perf.data file"},
		"pipe":          {func() []byte { return good.file()[:8:8] }, "the header has 0 bytes"},
		"cut":           {func() []byte { return good.file()[:90] }, "the header has 104 bytes"},
		"no attrs":      {patch(32, 0), "0 bytes of events"},
		"large attrs":   {patch(39, 0x7f), "is not in the file"},
		"no machine":    {patch(72, 0), "does not say which machine"},
		"other machine": {func() []byte { r := *good; r.machine = "riscv64"; return r.file() }, `"riscv64", not one of`},
		"record of 0":   {with(make([]byte, 8)), "a record of 0 bytes"},
		"short mmap":    {with(good.record(recMmap, 0, func(b *testkit.Bytes) { b.D32(5) })), "of type 1 is too short"},
		"short sample":  {with(good.record(recSample, 0, func(b *testkit.Bytes) { b.D64(ident, 1).D32(5, 5).D64(1).D64(1 << 62) })), "of type 9 is too short"},
		"compressed":    {with(good.record(recCompressed, 0, func(b *testkit.Bytes) { b.D64(0) })), "do not begin as zstd does"},
		"behind":        {with(good.record(recAuxtrace, 0, func(b *testkit.Bytes) { b.D64(1 << 63) })), "is followed by 9223372036854775808 bytes"},
	} {
		f, err := Parse(tt.file())
		if err == nil {
			for _, p := range f.Problems {
				err = p
			}
			if len(f.Samples) != 2 {
				t.Errorf("%s: got %d samples, want those before the damage", name, len(f.Samples))
			}
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

// piped is the same recording as perf writes it to a pipe: what a file has in its header
// is in records.
func (r *recording) piped() []byte {
	magic := magicLittle
	if r.order == binary.ByteOrder(binary.BigEndian) {
		magic = magicBig
	}
	b := testkit.New(r.order).Raw([]byte(magic)).D64(pipeSize)
	flags := uint64(0)
	if r.idAll {
		flags = 1 << sampleIDAll
	}
	b.Raw(r.record(recAttr, 0, func(b *testkit.Bytes) {
		b.D32(0, 112).D64(0, 0).D64(fields, 0, flags, 0, 0, 0, 0).D64(r.mask).Zero(112 - 88).D64(ident)
	}))
	b.Raw(r.record(recFeature, 0, func(b *testkit.Bytes) { b.D64(featArch).D32(16).Str(r.machine).Zero(16 - len(r.machine) - 1) }))
	b.Raw(r.record(recTracing, 0, func(b *testkit.Bytes) { b.D32(13) })).Raw([]byte("what is traced"))
	b.Zero(2)
	for _, rec := range r.records {
		b.Raw(rec)
	}
	return b.Done()
}

// What perf has written to a pipe, or compressed, has the same samples as a file.
func TestParsePiped(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		r := usual(order, "x86_64", 1<<7|1<<8, []uint64{0x7000, 0x400010})
		if order == binary.ByteOrder(binary.BigEndian) {
			r = usual(order, "s390x", 1<<15|1<<33, []uint64{0x7000, 0x400010})
		}
		want, err := Parse(r.file())
		if err != nil {
			t.Fatal(err)
		}
		packed := *r
		packed.records = r.packed(t)
		for name, data := range map[string][]byte{"piped": r.piped(), "compressed": packed.file(), "both": packed.piped()} {
			got, err := Parse(data)
			if err != nil || len(got.Problems) > 0 || len(got.Samples) != len(want.Samples) || got.Without != want.Without {
				t.Errorf("%s: got %+v, %v", name, got, err)
				continue
			}
			for i := range got.Samples {
				g, w := &got.Samples[i], &want.Samples[i]
				if got.Regs(g) != want.Regs(w) || string(g.Stack) != string(w.Stack) || fmt.Sprint(*g.Space) != fmt.Sprint(*w.Space) {
					t.Errorf("%s: got %+v of %+v, want %+v of %+v", name, g, g.Space, w, w.Space)
				}
			}
			got.Close()
		}
	}
}

// packed are the records in one stream of zstd that does not end, cut into records of both
// types in the middle of what it holds.
func (r *recording) packed(t *testing.T) (list [][]byte) {
	t.Helper()
	var stream bytes.Buffer
	w, err := zstd.NewWriter(&stream, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	for i, rec := range r.records {
		if i == 0 {
			list = append(list, rec)
			continue
		}
		if _, err := w.Write(rec[:len(rec)/2]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(rec[len(rec)/2:]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for n, rest := 0, stream.Bytes(); len(rest) > 0; n++ {
		part := rest[:min(len(rest), 50)]
		rest = rest[len(part):]
		if n%2 == 0 {
			list = append(list, r.record(recCompressed, 0, func(b *testkit.Bytes) { b.Raw(part) }))
		} else {
			list = append(list, r.record(recCompressed2, 0, func(b *testkit.Bytes) { b.D64(uint64(len(part))).Raw(part).Align(8) }))
		}
	}
	return list
}

// A child has the mappings of its parent, and neither has what the other maps later, also
// where there is room behind those that they share.
func TestForkThenMap(t *testing.T) {
	r := usual(binary.LittleEndian, "x86_64", 1<<7|1<<8, []uint64{0x7000, 0x400010})
	mmap := func(pid uint32, lo uint64) {
		r.add(recMmap, 0, func(b *testkit.Bytes) { b.D32(pid, pid).D64(lo<<32, 0x1000, 0).Str("more").Zero(3) })
	}
	mmap(5, 1) // the third, with room for a fourth
	r.add(recFork, 0, func(b *testkit.Bytes) { b.D32(7, 5, 7, 5).D64(0) })
	mmap(5, 2)
	mmap(7, 3)
	mmap(7, 4)
	f, err := Parse(r.file())
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]string{}
	for _, s := range f.Spaces {
		los := []uint64{}
		for _, m := range s.Mappings {
			los = append(los, m.Lo>>32)
		}
		got[s.PID] = fmt.Sprint(los)
	}
	for pid, want := range map[int]string{5: "[0 0 1 2]", 6: "[0 0]", 7: "[0 0 1 3 4]"} {
		if got[pid] != want {
			t.Errorf("process %d: got %s, want %s", pid, got[pid], want)
		}
	}
}

// The build-ids of files are known, of 20 bytes unless a record says how many.
func TestBuildIDs(t *testing.T) {
	r := usual(binary.LittleEndian, "x86_64", 1<<7|1<<8, []uint64{0x7000, 0x400010})
	id := func(misc uint16, size byte, name string) []byte {
		return r.record(recBuildID, misc, func(b *testkit.Bytes) { b.D32(5).Raw(bytes.Repeat([]byte{0xab}, 20)).D8(size, 0, 0, 0).Str(name) })
	}
	r.records = append([][]byte{id(0, 0, "/a"), id(miscBuildIDSize, 2, "/b"), id(miscBuildIDSize, 255, "/c")}, r.records...)
	f, err := Parse(r.piped())
	if long := strings.Repeat("ab", 20); err != nil || f.BuildIDs["/a"] != long || f.BuildIDs["/b"] != "abab" || f.BuildIDs["/c"] != long {
		t.Errorf("got %v, %v", f, err)
	}
}

// Any bytes are samples whose stacks are in the file, or an error.
func FuzzParse(f *testing.F) {
	f.Add(usual(binary.LittleEndian, "x86_64", 1<<7|1<<8, []uint64{0x7000, 0x400010}).file())
	f.Add(usual(binary.BigEndian, "s390x", 1<<15|1<<33, []uint64{0x7000, 0x400010}).file())
	f.Add(usual(binary.LittleEndian, "x86_64", 1<<7|1<<8, []uint64{0x7000, 0x400010}).piped())
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if (file == nil) == (err == nil) {
			t.Fatalf("got %v and %v", file, err)
		}
		if err != nil {
			return
		}
		total, mappings := 0, 0
		for i := range file.Samples {
			s := &file.Samples[i]
			total += len(s.Stack) + 8
			regs := file.Regs(s)
			if sp, ok := regs.Get(file.Arch.SP); !ok || sp != s.SP || s.Space == nil {
				t.Errorf("got %+v", s)
			}
		}
		for _, s := range file.Spaces {
			mappings += len(s.Mappings)
		}
		defer file.Close()
		if total > len(data)+len(file.unpacked) || mappings > maxMappings || len(file.Problems) > maxProblems {
			t.Errorf("got %d bytes of samples, %d mappings, %d problems of %d bytes", total, mappings, len(file.Problems), len(data))
		}
	})
}
