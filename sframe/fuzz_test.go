package sframe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sfcore/sfcore/arch"
)

// addSeeds adds every kind of section that there is.
func addSeeds(f *testing.F, add func(data []byte)) {
	for _, name := range vectors(f) {
		data, err := os.ReadFile(filepath.Join("testdata", name+".sframe"))
		if err != nil {
			f.Fatal(err)
		}
		add(data)
	}
	for v := range layouts {
		for _, abi := range abisOf(Version(v)) {
			raw := plain(Version(v), abi)
			raw.funcs[1].info |= infoPCMask
			raw.funcs[1].rep = 16
			add(raw.bytes().Done())
		}
	}
	for _, c := range faults {
		b := c.table().bytes()
		data := b.Done()
		if c.field != "" {
			plant(b, data, c.field, c.size, c.value)
		}
		add(data)
	}
	_, data := three()
	add(data)
}

// maxFuzzRows bounds what one fuzz input is listed of: functions may share
// rows, so a list can be far longer than the section.
const maxFuzzRows = 1 << 14

// Any bytes are a section or an error, and all of a section can be listed.
func FuzzParse(f *testing.F) {
	addSeeds(f, func(data []byte) { f.Add(data, false) })
	f.Fuzz(func(t *testing.T, data []byte, ctf bool) {
		s, err := Parse(data, rawAddr, Options{CTFFrame: ctf})
		if (s == nil) == (err == nil) {
			t.Fatalf("got %v and %v", s, err)
		}
		if err != nil {
			checkError(t, data, err)
			return
		}
		for table, err := range s.Tables() {
			checkError(t, data, err)
			if err == nil && (table.Arch != s.Arch() || table.ABI.Arch() != s.Arch()) {
				t.Errorf("got arch %v of %v", table.Arch, s.Arch())
			}
		}
		rows := 0
		for fn, err := range s.Funcs() {
			checkError(t, data, err)
			for e, err := range s.FREs(fn) {
				checkError(t, data, err)
				if err == nil {
					var row arch.Row
					_, e1 := fn.Columns(&e)
					e2 := fn.Row(&e, &row)
					checkError(t, data, e1)
					checkError(t, data, e2)
				}
				if rows++; rows > maxFuzzRows {
					return
				}
			}
		}
		for _, finding := range s.Validate() {
			checkError(t, data, &finding.FormatError)
			if finding.Severity != kinds[finding.ID].severity {
				t.Errorf("got severity %v of %s", finding.Severity, finding.ID)
			}
		}
	})
}

// checkError fails unless err is nil or names a place in the data and a field.
func checkError(t *testing.T, data []byte, err error) {
	t.Helper()
	if err == nil {
		return
	}
	fe, ok := errors.AsType[*FormatError](err)
	if !ok || fe.Off < 0 || fe.Off > int64(len(data)) || fe.Field == "" || fe.Msg == "" || kinds[fe.ID].meaning == "" {
		t.Errorf("got %#v", err)
	}
}

// linearFind does what Find says, with lists only.
func linearFind(s *Section, pc uint64, row *arch.Row) (found bool, err error) {
	var best Func
	var bestErr, damage error
	for f, err := range s.Funcs() {
		switch {
		case f.table == nil:
			if damage == nil {
				damage = err
			}
		case f.Size == 0 || f.Start > pc:
		case best.Size == 0, f.Start > best.Start, f.Start == best.Start && f.Size > best.Size:
			best, bestErr = f, err
		}
	}
	if best.Size == 0 || pc-best.Start >= uint64(best.Size) {
		return false, damage
	}
	if bestErr != nil {
		return false, bestErr
	}
	if best.NumFREs == 0 {
		return best.withoutRows(row)
	}
	off := pc - best.Start
	if best.PCMask() {
		off %= uint64(best.maskBlock())
	}
	var last *FRE
	for e, err := range s.FREs(best) {
		if (err == nil || e.Off != 0) && uint64(e.Start) > off {
			break
		}
		if last != nil && (err == nil || e.Off != 0) && e.Start <= last.Start {
			return false, errors.New("not ascending")
		}
		if err != nil {
			return false, err
		}
		last = &e
	}
	if last == nil {
		return false, nil
	}
	if err := best.Row(last, row); err != nil {
		return false, err
	}
	return true, nil
}

// Find finds what a linear scan finds, and fails where it fails.
func FuzzFind(f *testing.F) {
	addSeeds(f, func(data []byte) { f.Add(data, uint64(0x1008)) })
	f.Fuzz(func(t *testing.T, data []byte, pc uint64) {
		s, err := Parse(data, rawAddr, Options{})
		if err != nil {
			return
		}
		pcs := []uint64{pc, 0, ^uint64(0)}
		for fn := range s.Funcs() {
			end := fn.Start + uint64(fn.Size)
			pcs = append(pcs, fn.Start-1, fn.Start, fn.Start+pc%16, end-1, end)
			if len(pcs) > 100 {
				break
			}
		}
		for _, pc := range pcs {
			var got, want arch.Row
			found, err := s.Find(pc, &got)
			if found && err != nil {
				t.Errorf("Find(%#x): got a row and %v", pc, err)
			}
			wantFound, wantErr := linearFind(s, pc, &want)
			if found != wantFound || (err == nil) != (wantErr == nil) || found && !reflect.DeepEqual(got, want) {
				t.Errorf("Find(%#x): got %v, %v, %v, want %v, %v, %v", pc, got, found, err, want, wantFound, wantErr)
			}
		}
	})
}

// Tables in order are searched in place with a guide, others by an index. Both
// must agree with a linear scan, among many functions with ties and overlaps.
func TestFindAgainstLinear(t *testing.T) {
	for name, gap := range map[string]func(i int) (start uint64, size uint32){
		"even":       func(i int) (uint64, uint32) { return 0x40 * uint64(i), 0x30 },
		"ties":       func(i int) (uint64, uint32) { return 0x40 * uint64(i/3), 0x10 * uint32((i+1)%3) },
		"many ties":  func(i int) (uint64, uint32) { return 0x40 * uint64(i/30), uint32(i % 30) },
		"overlaps":   func(i int) (uint64, uint32) { return 0x20 * uint64(i), 0x100 - uint32(i) },
		"descending": func(i int) (uint64, uint32) { return 0x8000 - 0x40*uint64(i), 0x30 },
		"clustered":  func(i int) (uint64, uint32) { return uint64(i%7)<<24 | 0x40*uint64(i), 0x38 },
		"one apart":  func(i int) (uint64, uint32) { return 0x10 * uint64(i) * uint64(i/250*0xffff+1), 0x10 },
	} {
		raw := plain(V3, AMD64LE)
		f := raw.funcs[0]
		raw.funcs = nil
		for i := range 300 {
			f.start, f.size = gap(i)
			f.start += 0x1000
			raw.funcs = append(raw.funcs, f)
		}
		s := parseRaw(t, raw.bytes().Done())
		t.Run(fmt.Sprintf("%s, index %v", name, s.indexed()), func(t *testing.T) {
			for _, f := range raw.funcs {
				for _, pc := range []uint64{f.start - 1, f.start, f.start + 9, f.start + uint64(f.size) - 1, f.start + uint64(f.size)} {
					var got, want arch.Row
					found, err := s.Find(pc, &got)
					wantFound, _ := linearFind(s, pc, &want)
					if found != wantFound || err != nil || !reflect.DeepEqual(got, want) {
						t.Fatalf("Find(%#x): got %v, %v, want %v", pc, found, err, wantFound)
					}
				}
			}
		})
	}
}

func (s *Section) indexed() bool {
	s.once.Do(s.load)
	return s.lookup.index != nil
}
