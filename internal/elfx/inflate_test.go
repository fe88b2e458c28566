package elfx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/internal/inflate"
	"github.com/sfcore/sfcore/internal/testkit"
)

// packedZeros is a file with sections, all of the same bytes, which inflate to size
// zeros.
func packedZeros(t *testing.T, size int, sections ...Section) *File {
	t.Helper()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := testkit.New(binary.LittleEndian).D32(compressZstd, 0).D64(uint64(size), 1).Raw(enc.EncodeAll(make([]byte, size), nil))
	body := b.Zero(max(0, size/maxRatio+1-b.Len())).Done()
	im := image{sections: []Section{{}}, body: body}
	for _, s := range sections {
		s.Type, s.Off, s.Size = SectProgbits, bodyOff, uint64(len(body))
		s.Flags |= SectCompressed
		im.sections = append(im.sections, s)
	}
	im.sections = append(im.sections, Section{})
	f, err := Parse(im.build(binary.LittleEndian))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What was inflated is kept, and shared by sections with the same bytes. Sections
// that are loaded are never inflated.
func TestInflatedOnce(t *testing.T) {
	f := packedZeros(t, 1<<20, Section{Name: ".a"}, Section{Name: ".b"}, Section{Name: ".eh_frame", Flags: SectAlloc})
	a, err := f.SectionData(f.Section(".a"))
	if err != nil || len(a) != 1<<20 {
		t.Fatalf("got %d bytes, %v", len(a), err)
	}
	for _, name := range []string{".a", ".b"} {
		if again, err := f.SectionData(f.Section(name)); err != nil || &again[0] != &a[0] {
			t.Errorf("%s: inflated again, or %v", name, err)
		}
	}
	if got, err := f.SectionData(f.Section(".eh_frame")); got != nil || err == nil || !strings.Contains(err.Error(), "sh_flags") {
		t.Errorf("a loaded section: got %d bytes, %v, want an error", len(got), err)
	}
}

// Files with one budget inflate no more together than it has. What grows no more
// than usual takes nothing of it.
func TestBudget(t *testing.T) {
	const size = maxExcess/2 + 64<<20
	var budget Budget
	first, second := packedZeros(t, size, Section{Name: ".a"}), packedZeros(t, size, Section{Name: ".b"})
	first.Budget, second.Budget = &budget, &budget
	if data, err := first.SectionData(first.Section(".a")); err != nil || len(data) != size {
		t.Errorf("got %d bytes, %v", len(data), err)
	}
	data, err := second.SectionData(second.Section(".b"))
	if data != nil || err == nil || !strings.Contains(err.Error(), "section .b: after ") || !strings.Contains(err.Error(), "grows more than 8-fold") {
		t.Errorf("got %d bytes, %v, want an error", len(data), err)
	}
	if used := budget.used; used < maxExcess-2*step || used > maxExcess {
		t.Errorf("got %d bytes of the budget used", used)
	}
	usual := packedZeros(t, 1<<10, Section{Name: ".c"})
	usual.Budget = &budget
	if data, err := usual.SectionData(usual.Section(".c")); err != nil || len(data) != 1<<10 {
		t.Errorf("got %d bytes, %v", len(data), err)
	}
}

// TestAllowance has what grows for nothing: as many bytes as a file has, in all sections
// together, and none of what was unpacked from it.
func TestAllowance(t *testing.T) {
	f := packedZeros(t, 1<<10, Section{Name: ".a"})
	inflate := func(f *File, packed int) (taken uint64) {
		before := f.Budget.used
		in := bytes.NewReader(make([]byte, packed))
		_, _ = in.Seek(0, io.SeekEnd)
		if _, err := f.Inflate(&slowReader{left: 8 * packed, chunk: 8 * packed}, in, uint64(8*packed)); err != nil {
			t.Fatal(err)
		}
		return f.Budget.used - before
	}
	const left = 100
	if taken := inflate(f, len(f.Data)-left); taken != 0 {
		t.Errorf("got %d bytes of the budget taken by what is free", taken)
	}
	if taken := inflate(f, 3*left); taken != timesXZ*16*left {
		t.Errorf("got %d bytes of the budget taken, want what is not free: %d", taken, timesXZ*16*left)
	}
	inner, err := f.ParseWithin(f.Data)
	if err != nil || inner.Budget != f.Budget {
		t.Fatalf("got %+v, %v", inner, err)
	}
	if taken := inflate(inner, left); taken != timesXZ*8*left {
		t.Errorf("got %d bytes of the budget taken from within, want %d", taken, timesXZ*8*left)
	}
	if inner, err := f.ParseWithin(nil); inner != nil || err == nil {
		t.Errorf("got %+v, %v", inner, err)
	}
}

// A file that cannot pay for the next step is not unpacked any further to find out.
func TestMayBecome(t *testing.T) {
	const most = maxExcess
	for name, tt := range map[string]struct {
		g          growth
		left, used uint64
		size       uint64
		ok         bool
	}{
		"for nothing":        {growth{}, 10, most, 80, true},
		"a byte more":        {growth{}, 10, most, 81, false},
		"of the budget":      {growth{}, 10, most - 1, 81, true},
		"was paid":           {growth{free: 10, taken: 7}, 0, most, 87, true},
		"was paid, and more": {growth{free: 10, taken: 7}, 0, most, 88, false},
	} {
		tt.g.of, tt.g.times = &allowance{left: tt.left}, 1
		if err := tt.g.mayBecome(&Budget{used: tt.used}, 0, tt.size); (err == nil) != tt.ok {
			t.Errorf("%s: got %v", name, err)
		}
	}
	f := packedZeros(t, 1<<20, Section{Name: ".a"})
	f.Budget.used = most
	r := slowReader{left: 1000, chunk: 1000}
	if _, err := f.Inflate(&r, bytes.NewReader(nil), 2*usualRatio*uint64(len(f.Data))); err == nil || len(r.asked) > 0 {
		t.Errorf("got %v, asked %d times", err, len(r.asked))
	}
	if data, err := f.SectionData(f.Section(".a")); data != nil || err == nil || !strings.Contains(err.Error(), "after 0 bytes have become 0, it is given up") {
		t.Errorf("got %d bytes, %v", len(data), err)
	}
}

// slowReader yields so many bytes in all, each time at most chunk, and notes how many
// it was asked for.
type slowReader struct {
	left, chunk int
	asked       []int
	end         error
}

func (r *slowReader) Read(p []byte) (int, error) {
	r.asked = append(r.asked, len(p))
	n := min(len(p), r.chunk, r.left)
	if r.left -= n; r.left == 0 {
		return n, r.end
	}
	return n, nil
}

// TestInflateBudget has what is taken of a budget while contents grow: what is more than
// eight times what was read, once, and of xz four times.
func TestInflateBudget(t *testing.T) {
	const most = 256 << 20
	packed := bytes.NewReader(make([]byte, 10))
	for name, tt := range map[string]struct {
		read int // of the ten bytes
		used uint64
		size uint64
		want uint64 // of the budget, at last
		err  string
	}{
		"nothing read":          {0, 0, 300, 1200, ""},
		"a part is free":        {10, 0, 300, 880, ""},
		"all is free":           {10, 0, 80, 0, ""},
		"a byte more":           {10, 0, 81, 4, ""},
		"up to the bound":       {0, most - 1200, 300, most, ""},
		"a byte beyond it":      {0, most - 1199, 300, most - 79, "after 0 bytes have become 300, it is given up: what grows more than 8-fold, in all files together, may take 268435456 bytes beyond that"},
		"nothing of it is left": {2, most, 300, most, "after 0 bytes have become 0, it is given up: what grows more than 8-fold, in all files together, may take 268435456 bytes beyond that"},
	} {
		_, _ = packed.Seek(int64(tt.read), io.SeekStart)
		b := Budget{used: tt.used}
		f := &File{Budget: &b, allowance: &allowance{left: 10}}
		got, err := f.Inflate(&slowReader{left: 1000, chunk: 100}, packed, tt.size)
		if b.used != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: got %d bytes used, %v, want %d, %q", name, b.used, err, tt.want, tt.err)
		}
		if err == nil && uint64(len(got)) != tt.size || err != nil && got != nil {
			t.Errorf("%s: got %d bytes, %v, want %d", name, len(got), err, tt.size)
		}
	}
}

// TestInflateSteps has how much is read at a time, and what comes of streams that end.
func TestInflateSteps(t *testing.T) {
	for name, tt := range map[string]struct {
		r     slowReader
		size  uint64
		want  int
		err   error
		asked int // at most, at a time
	}{
		"whole":      {slowReader{left: 3 << 20, chunk: 3 << 20}, 3 << 20, 3 << 20, nil, 1 << 20},
		"ends early": {slowReader{left: 1000, chunk: 1 << 20, end: io.EOF}, 3 << 20, 1000, nil, 1 << 20},
		"breaks":     {slowReader{left: 1000, chunk: 1 << 20, end: io.ErrClosedPipe}, 3 << 20, 1000, io.ErrClosedPipe, 1 << 20},
		"is longer":  {slowReader{left: 1000, chunk: 1000}, 10, 10, nil, 10},
		"of nothing": {slowReader{left: 1000, chunk: 1000}, 0, 0, nil, 0},
	} {
		got, err := (&File{Budget: new(Budget), allowance: &allowance{left: 3 << 20}}).Inflate(&tt.r, bytes.NewReader(make([]byte, 3<<20)), tt.size)
		if len(got) != tt.want || !errors.Is(err, tt.err) || tt.err == nil && err != nil {
			t.Errorf("%s: got %d bytes, %v, want %d, %v", name, len(got), err, tt.want, tt.err)
		}
		if most := slices.Max(append(tt.r.asked, 0)); most != tt.asked {
			t.Errorf("%s: asked for %d bytes at a time, want %d", name, most, tt.asked)
		}
	}
}

// TestDecompressLimits has sizes at their bounds, with a kind that is not known, which
// is looked at only then.
func TestDecompressLimits(t *testing.T) {
	const most = 2 << 30
	for name, order := range orders {
		for _, tt := range []struct {
			packed int
			size   uint64
			want   string
		}{
			{100, 103200, "77 is not a known compression"},
			{100, 103201, "103201 bytes are more than the limit of 103200"},
			{most/1032 + 1, most, "77 is not a known compression"},
			{most/1032 + 1, most + 1, "2147483649 bytes are more than the limit of 2147483648"},
			{24, 24, "77 is not a known compression"},
			{23, 0, "the header is cut off"},
		} {
			data := testkit.New(order).D32(77, 0).D64(tt.size, 1).Zero(max(0, tt.packed-24)).Done()[:tt.packed]
			f := &File{order: order}
			out, err := f.openPacked(data).prefix(1, nil)
			if out != nil || err == nil || err.Msg != tt.want {
				t.Errorf("%s, %d bytes of %d: got %v, want %s", name, tt.size, tt.packed, err, tt.want)
			}
		}
	}
}

// What the decompressor says of a stream is handed on, not that it ended early.
func TestDecompressErrors(t *testing.T) {
	order := binary.LittleEndian
	frame := func(window uint8) []byte { // a window, and a last block of one raw byte
		return testkit.New(order).D32(0xfd2fb528).D8(0, window).D8(9, 0, 0, 'x').Done()
	}
	for name, tt := range map[string]struct {
		kind   uint32
		stream []byte
		want   string
	}{
		"zlib":             {1, []byte("not zlib, certainly"), "the zlib stream is damaged"},
		"zstd":             {2, []byte("not zstd, certainly"), "magic number mismatch"},
		"too large window": {2, frame(17<<3 | 1), "window size exceeded"},
		"ends early":       {2, frame(0), "unexpected EOF"},
	} {
		f := &File{order: order, Budget: new(Budget), allowance: new(allowance)}
		_, err := f.openPacked(testkit.New(order).D32(tt.kind, 0).D64(5, 1).Raw(tt.stream).Done()).prefix(5, new(Budget))
		if err == nil || !strings.Contains(err.Msg, tt.want) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
}

// TestSectionPrefix asks for more and more of a compressed section: each time that much
// comes, not all of it, and what came before stays as it is.
func TestSectionPrefix(t *testing.T) {
	text := make([]byte, 600_000)
	for i := range text {
		text[i] = byte(i * i >> 9)
	}
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, _ = w.Write(text)
	_ = w.Close()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for kind, stream := range map[uint32][]byte{compressZlib: z.Bytes(), compressZstd: enc.EncodeAll(text, nil)} {
		order := binary.LittleEndian
		body := testkit.New(order).D32(kind, 0).D64(uint64(len(text)), 1).Raw(stream).Done()
		im := image{sections: []Section{{}, {Name: ".a", Type: SectProgbits, Flags: SectCompressed, Off: bodyOff, Size: uint64(len(body))}, {}}, body: body}
		f, err := Parse(im.build(order))
		if err != nil {
			t.Fatal(err)
		}
		s := f.Section(".a")
		var parts [][]byte
		for n := 1; n < len(text); n *= 3 {
			got, err := f.SectionPrefix(s, uint64(n))
			if err != nil || len(got) < n || len(got) > n+1000 || !bytes.HasPrefix(text, got) {
				t.Fatalf("kind %d: got %d bytes, %v, want %d", kind, len(got), err, n)
			}
			parts = append(parts, got)
		}
		if got, err := f.SectionData(s); err != nil || !bytes.Equal(got, text) {
			t.Errorf("kind %d: got %d bytes, %v, of the whole", kind, len(got), err)
		}
		for _, p := range parts {
			if !bytes.HasPrefix(text, p) {
				t.Errorf("kind %d: the first %d bytes have changed", kind, len(p))
			}
		}
	}
}

// A stream whose file shrank while it was read is not continued.
func TestPackedFaulted(t *testing.T) {
	p := &packed{size: 10, in: 10, growth: growth{of: new(allowance), times: 1}, read: func() uint64 { return 0 }}
	p.more = func([]byte, int) ([]byte, error) { panic("a fault") }
	func() {
		defer func() { _ = recover() }()
		_, _ = p.prefix(5, new(Budget))
	}()
	p.more = func(out []byte, n int) ([]byte, error) { return append(out, make([]byte, n)...), nil }
	if got, err := p.prefix(5, new(Budget)); len(got) > 0 || err != faulted {
		t.Errorf("got %d bytes, %v, want %v", len(got), err, faulted)
	}
}

// Contents are copied into larger memory while they are small. Later there is memory for
// all that was asked for, or for what the budget allows.
func TestGrowAtOnce(t *testing.T) {
	const left = 64 << 20
	for _, tt := range []struct{ have, asked, want uint64 }{
		{atOnce - step, 1 << 30, 2*atOnce - step},
		{atOnce, 1 << 30, left},
		{atOnce, 40 << 20, 40 << 20},
		{atOnce, atOnce + 1, 2*atOnce + step},
		{left, 1 << 30, left + step},
	} {
		p := packed{out: make([]byte, tt.have), size: maxDecompressed, growth: growth{of: &allowance{}, times: 1}}
		p.grow(tt.asked, &Budget{used: maxExcess - left})
		if got := uint64(cap(p.out)) - inflate.Slack; got < tt.want || got > tt.want+tt.want/8 {
			t.Errorf("%d bytes of %d: got memory for %d, want %d", tt.have, tt.asked, got, tt.want)
		}
	}
}

// A section that was inflated, or that cannot be, keeps no decoder, which has buffers.
func TestNoDecoderKept(t *testing.T) {
	f := packedZeros(t, 3*step, Section{Name: ".a"})
	decoder := func(f *File, n uint64) (kept bool, err error) {
		_, err = f.SectionPrefix(f.Section(".a"), n)
		for _, p := range f.inflated.known {
			kept = kept || p.more != nil
		}
		return kept, err
	}
	if kept, err := decoder(f, 1); !kept || err != nil {
		t.Errorf("inflated in part: got a decoder %v, %v", kept, err)
	}
	for range 2 {
		if kept, err := decoder(f, 3*step); kept || err != nil {
			t.Errorf("inflated: got a decoder %v, %v", kept, err)
		}
	}
	poor := packedZeros(t, 3*step, Section{Name: ".a"})
	poor.Budget = &Budget{used: maxExcess}
	if kept, err := decoder(poor, 3*step); kept || err == nil {
		t.Errorf("without budget: got a decoder %v, %v", kept, err)
	}
}
