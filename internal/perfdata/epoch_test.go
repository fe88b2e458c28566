package perfdata

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

func shown(list []Mapping) string {
	var b strings.Builder
	for _, m := range list {
		fmt.Fprintf(&b, "%d-%d %s+%d, ", m.Lo, m.Hi, m.Path, m.Off)
	}
	return strings.TrimSuffix(b.String(), ", ")
}

func TestOverlay(t *testing.T) {
	code := func(lo, hi uint64, path string) Mapping { return Mapping{Lo: lo, Hi: hi, Path: path, Exec: true} }
	for name, tt := range map[string]struct {
		all       []Mapping
		want      string
		replacing int
	}{
		"nothing":                          {nil, "", -1},
		"beside each other":                {[]Mapping{code(20, 30, "b"), code(0, 10, "a")}, "0-10 a+0, 20-30 b+0", -1},
		"a part is replaced":               {[]Mapping{code(0, 30, "a"), code(10, 20, "b")}, "0-10 a+0, 10-20 b+0, 20-30 a+20", 1},
		"a larger one replaces":            {[]Mapping{code(10, 20, "a"), code(0, 30, "b")}, "0-30 b+0", 1},
		"the end is replaced":              {[]Mapping{code(0, 20, "a"), code(10, 30, "b")}, "0-10 a+0, 10-30 b+0", 1},
		"the start is replaced":            {[]Mapping{code(10, 30, "a"), code(0, 20, "b")}, "0-20 b+0, 20-30 a+10", 1},
		"replaced twice":                   {[]Mapping{code(0, 10, "a"), code(0, 10, "b"), code(0, 10, "c")}, "0-10 c+0", 2},
		"its own segment":                  {[]Mapping{code(0, 30, "a"), {Lo: 10, Hi: 20, Off: 10, Path: "a"}}, "0-10 a+0, 10-20 a+10, 20-30 a+20", -1},
		"what has no file is replaced":     {[]Mapping{code(0, 30, "//anon"), code(10, 20, "b")}, "0-10 //anon+0, 10-20 b+0, 20-30 //anon+20", -1},
		"replaced below a stack of others": {[]Mapping{code(0, 10, "a"), code(0, 10, "//anon"), code(0, 10, "//anon")}, "0-10 //anon+0", 2},
		"data is replaced":                 {[]Mapping{{Lo: 0, Hi: 10, Path: "a"}, code(0, 10, "b")}, "0-10 b+0", -1},
	} {
		seen, replacing := overlay(tt.all)
		if got := shown(seen); got != tt.want || replacing != tt.replacing {
			t.Errorf("%s: got %q, %d, want %q, %d", name, got, replacing, tt.want, tt.replacing)
		}
	}
}

// Each address has what was mapped there last.
func TestOverlayIsLatest(t *testing.T) {
	const size = 48
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	for range 2000 {
		var want [size]string
		var all []Mapping
		for i := range rnd.IntN(12) {
			lo := rnd.Uint64N(size - 1)
			m := Mapping{Lo: lo, Hi: lo + 1 + rnd.Uint64N(size-lo-1), Path: string(rune('a' + i%3)), Exec: i%2 == 0}
			all = append(all, m)
			for at := m.Lo; at < m.Hi; at++ {
				want[at] = fmt.Sprint(m.Path, at-m.Lo, m.Exec)
			}
		}
		var got [size]string
		seen, _ := overlay(all)
		for i, m := range seen {
			if i > 0 && m.Lo < seen[i-1].Hi {
				t.Fatalf("%v: %v is not behind %v", all, m, seen[i-1])
			}
			for at := m.Lo; at < m.Hi; at++ {
				got[at] = fmt.Sprint(m.Path, at-m.Lo+m.Off, m.Exec)
			}
		}
		if got != want {
			t.Fatalf("%s: got %v, want %v", shown(all), got, want)
		}
	}
}

// Samples that were taken before a file was replaced are of the file that was there.
func TestEpochs(t *testing.T) {
	space := &Space{}
	var samples []*Sample
	replace := func(path string) {
		space.Mappings = append(space.Mappings, Mapping{Lo: 0x1000, Hi: 0x2000, Path: path, Exec: true})
	}
	sample := func(n int) {
		for range n {
			samples = append(samples, &Sample{Space: space, mapped: len(space.Mappings)})
		}
	}
	sample(1)
	replace("a")
	space.Mappings = append(space.Mappings, Mapping{Lo: 0x3000, Hi: 0x4000, Path: "b", Exec: true})
	sample(1)
	replace("not seen")
	replace("c")
	sample(2)
	replace("a")
	replace("a") // by itself
	sample(3)
	epochs, whole := space.Epochs(samples)
	got := []string{}
	for _, e := range epochs {
		got = append(got, fmt.Sprintf("%d in %s", len(e.Samples), shown(e.Mappings)))
	}
	if want := "2 in 4096-8192 a+0, 12288-16384 b+0; 2 in 4096-8192 c+0, 12288-16384 b+0; 3 in 4096-8192 a+0, 12288-16384 b+0"; strings.Join(got, "; ") != want || !whole {
		t.Errorf("got %q, %v, want %q", strings.Join(got, "; "), whole, want)
	}
	for i := range 2 * maxEpochs {
		replace(fmt.Sprint(i))
		sample(1)
	}
	epochs, whole = space.Epochs(samples)
	if len(epochs) != maxEpochs || whole || len(epochs[0].Samples) != 7+maxEpochs+1 {
		t.Errorf("got %d epochs, %v, %d samples in the first", len(epochs), whole, len(epochs[0].Samples))
	}
}

// A sample is of the mappings that were made before it.
func TestSampleAmongMappings(t *testing.T) {
	r := usual(binary.LittleEndian, "x86_64", 1<<7|1<<8, []uint64{0x7000, 0x400010})
	r.idAll = true
	r.add(recMmap, 0, func(b *testkit.Bytes) { b.D32(5, 5).D64(0x400000, 0x2000, 0).Str("/bin/other").Zero(5) })
	for i, rec := range r.records { // the time of samples is 123
		if r.order.Uint32(rec) != recSample {
			trailer := testkit.New(r.order).D32(5, 5).D64(uint64(100+5*i), ident).Done()
			r.order.PutUint16(rec[6:], uint16(len(rec)+len(trailer)))
			r.records[i] = append(rec, trailer...)
		}
	}
	f, err := Parse(r.file())
	if err != nil {
		t.Fatal(err)
	}
	s := &f.Samples[0]
	epochs, _ := s.Space.Epochs([]*Sample{s})
	if len(s.Space.Mappings) != 3 || len(epochs) != 1 || epochs[0].Mappings[0].Path != "/usr/bin/prog" {
		t.Errorf("got %+v of %+v", epochs, s.Space.Mappings)
	}
}
