package places

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// unit has a function at 0x1000 that ends with two tail calls, and one at 0x1010.
const unit = `unit 5
compile_unit language=12 low_pc=0x1000 high_pc=0x1000
  subprogram #g name=g low_pc=0x1010 high_pc=0x10 call_all_calls
  subprogram #f name=f low_pc=0x1000 high_pc=0x10 call_all_calls
    call_site call_pc=0x1008 call_tail_call call_origin=#g
    call_site call_return_pc=0x100c call_tail_call
`

// debugFile writes a file with the debug information of a text and a build-id.
func debugFile(t testing.TB, name, text string) *elfx.File {
	t.Helper()
	order := binary.LittleEndian
	note := testkit.New(order).D32(4, 4, 3).Raw([]byte("GNU\x00\x01\x02\x03\x04")).Done()
	dwarf := testkit.DWARF{Order: order, Text: text}
	data := dwarf.File(62, testkit.ELFSection{Name: ".note.gnu.build-id", Type: elfx.SectNote, Data: note, Align: 4})
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return openFile(t, name)
}

func openFile(t testing.TB, name string) *elfx.File {
	t.Helper()
	f, release, err := elfx.Open(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return f
}

// empty is debug information that knows nothing.
func empty(t testing.TB) *info.Data {
	return info.New(debugFile(t, filepath.Join(t.TempDir(), "empty"), "unit 5\ncompile_unit language=12\n"), info.Options{})
}

// ask asks all that is known of the functions of unit.
func ask(t testing.TB, table *Table, d *info.Data) string {
	t.Helper()
	var b strings.Builder
	for _, addr := range []uint64{0x1004, 0x1014, 0x5000} {
		locs, err := table.Lookup(d, addr)
		if err != nil {
			t.Fatal(err)
		}
		tails, err := table.TailCalls(d, addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%#x %+v %+v\n", addr, locs, tails)
	}
	return b.String()
}

// TestRemembered asks again, in other tables, where debug information tells nothing.
func TestRemembered(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	f := debugFile(t, filepath.Join(t.TempDir(), "debug"), unit)
	d, none := info.New(f, info.Options{}), empty(t)
	want := ask(t, nil, d)
	if !strings.Contains(want, "Func:f") || !strings.Contains(want, "Func:g") || !strings.Contains(want, "PC:4104") {
		t.Fatalf("got %s", want)
	}
	first := Open(dir, f)
	if got := ask(t, first, d); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	first.Save(minWork - 1)
	if got := ask(t, Open(dir, f), none); got == want {
		t.Error("answers that took little work are kept")
	}
	first.Save(minWork)
	again := Open(dir, f)
	if got := ask(t, again, none); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if locs, err := again.Lookup(d, 0x1005); err != nil || len(locs) != 1 {
		t.Fatalf("got %v, %v", locs, err)
	}
	again.Save(minWork)
	third := Open(dir, f)
	if locs, err := third.Lookup(none, 0x1005); err != nil || len(locs) != 1 || ask(t, third, none) != want {
		t.Errorf("answers are lost when others are added: %v, %v", locs, err)
	}
}

// TestRefused opens answers that are not to be used: of another version of the file,
// damaged, of others, without a build-id.
func TestRefused(t *testing.T) {
	where := t.TempDir()
	dir, name := filepath.Join(where, "cache"), filepath.Join(where, "debug")
	f := debugFile(t, name, unit)
	d, none := info.New(f, info.Options{}), empty(t)
	table := Open(dir, f)
	want := ask(t, table, d)
	table.Save(minWork)
	kept := table.name
	good, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	known := func(f *elfx.File) bool { return ask(t, Open(dir, f), none) == want }
	if !known(f) {
		t.Fatal("the answers are not used")
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if err := os.WriteFile(kept, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if known(f) {
			t.Fatalf("answers that are damaged at %#x are used", i)
		}
	}
	if err := os.WriteFile(kept, good[:len(good)-1], 0o600); err != nil || known(f) {
		t.Errorf("answers that are cut off are used, or %v", err)
	}
	if err := os.WriteFile(kept, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if f.Stamp.Inode++; known(f) {
		t.Error("answers for another inode are used")
	}
	f.Stamp.Inode--
	if err := os.Chtimes(name, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if known(openFile(t, name)) {
		t.Error("answers for an older version of the file are used")
	}
	if f.Stamp = (elfx.Stamp{}); Open(dir, f) != nil {
		t.Error("a file of unknown version has answers")
	}
	if Open("", openFile(t, name)) != nil {
		t.Error("there are answers without a directory")
	}
	if os.Geteuid() != 0 {
		return
	}
	f = openFile(t, name)
	table = Open(dir, f)
	ask(t, table, d)
	table.Save(minWork)
	if !known(f) {
		t.Fatal("the answers are not used")
	}
	if err := os.Chown(table.name, 65534, -1); err != nil || known(f) {
		t.Errorf("answers of another user are used, or %v", err)
	}
	if err := os.Chown(dir, 65534, -1); err != nil || Open(dir, f) != nil {
		t.Errorf("the directory of another user is used, or %v", err)
	}
}

// TestShared has several tables of a directory that save at once.
func TestShared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	f := debugFile(t, filepath.Join(t.TempDir(), "debug"), unit)
	d, none := info.New(f, info.Options{}), empty(t)
	want := ask(t, nil, d)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				table := Open(dir, f)
				if got := ask(t, table, d); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				table.add(question{uint64(time.Now().UnixNano()), placesAt}, nil)
				table.Save(minWork)
			}
		})
	}
	all.Wait()
	if got := ask(t, Open(dir, f), none); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
}

// TestEvict has more files than are kept.
func TestEvict(t *testing.T) {
	dir := t.TempDir()
	const n, size = 9, maxTotal / 8
	for i := range n {
		name := filepath.Join(dir, fmt.Sprint(prefix, i))
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		if err := os.Chtimes(name, time.Time{}, time.Unix(int64(1000-i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "other"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	evict(dir)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 7 || left[0].Name() != "other" || left[6].Name() != prefix+"5" {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestBounds keeps no more than fits.
func TestBounds(t *testing.T) {
	from := source{"01", elfx.Stamp{Size: 1}}
	w := writer{text: []byte("\x00" + from.text() + "\x00"), offsets: map[string]uint32{"": 0}}
	for i := range uint64(maxEntries + 10) {
		w.add(question{i, placesAt}, make([]record, 5))
	}
	w.add(question{1 << 40, placesAt}, make([]record, maxParts+1))
	w.add(question{1 << 42, placesAt}, []record{{name: strings.Repeat("x", maxStrings)}})
	data := w.file()
	a, ok := parse(data, from)
	if !ok || len(data) > maxFile || a.len() != maxRecords/5 {
		t.Errorf("got %d entries in %d bytes, %v", a.len(), len(data), ok)
	}
	more := map[question][]record{}
	for i := range uint64(maxEntries) {
		more[question{i, tailsAt}] = nil
	}
	a, ok = parse(a.with(more, from), from)
	if _, old := a.find(question{1, placesAt}); !ok || a.len() != maxEntries || old {
		t.Errorf("got %d entries, %v, and the old ones are there: %v", a.len(), ok, old)
	}
}

// TestHeld asks for what would take gigabytes if it was kept for the next run.
func TestHeld(t *testing.T) {
	var table Table
	list := make([]record, 1000)
	for i := range list {
		list[i].name = strings.Repeat("x", 64<<10)
	}
	for i := range uint64(100) {
		table.add(question{i, placesAt}, list)
	}
	if len(table.fresh) > 0 {
		t.Errorf("got %d answers of %d bytes each", len(table.fresh), 1000*64<<10)
	}
	for i := range uint64(maxHeld / 100) {
		table.add(question{i, placesAt}, list[:1])
	}
	if n := len(table.fresh); n == 0 || n > maxHeld/(64<<10) || table.held > maxHeld {
		t.Errorf("got %d answers of 64 KiB, %d bytes", n, table.held)
	}
}

// TestManyRecords asks again and again for what consists of many inlined calls.
func TestManyRecords(t *testing.T) {
	from := source{"01", elfx.Stamp{Size: 1}}
	var none answers
	q := question{1, placesAt}
	name := strings.Repeat("x", 1<<10)
	list := make([]record, maxParts)
	for i := range list {
		list[i] = record{name: name, file: name[1:]}
	}
	known, ok := parse(none.with(map[question][]record{q: list}, from), from)
	if !ok {
		t.Fatal("what was written is refused")
	}
	table, n := Table{known: known}, 0
	for range 2 * maxRead / maxParts {
		got, ok := table.find(q)
		if !ok {
			break
		}
		if n++; n == 1 && !reflect.DeepEqual(got, list) {
			t.Fatal("what was written is read as something else")
		}
	}
	if want := maxRead/maxParts + 1; n != want {
		t.Errorf("answered %d times, want %d", n, want)
	}
}

func FuzzParse(f *testing.F) {
	from := source{"0102", elfx.Stamp{Size: 1, Modified: 2}}
	var none answers
	f.Add(none.with(map[question][]record{
		{1, placesAt}: {{"f", "f.c", 1, [2]uint32{2, 3}, true}, {name: "g\x00h"}}, {1, tailsAt}: {{name: "f"}}, {9, placesAt}: nil,
	}, from))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= sumEnd { // else hardly any would be read
			binary.LittleEndian.PutUint32(data[len(magic):], crc32.Checksum(data[sumEnd:], castagnoli))
		}
		a, ok := parse(data, from)
		if !ok {
			if a.len() > 0 {
				t.Fatal("there are answers in a file that is refused")
			}
			return
		}
		b, ok := parse(a.with(nil, from), from)
		if !ok {
			t.Fatal("what was written is refused")
		}
		for i := range a.len() {
			q, first, n := a.entry(i)
			want := a.decode(first, n)
			got, ok := a.find(q)
			if !ok || !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, %v, want %v", got, ok, want)
			}
			if got, ok := b.find(q); !ok || !reflect.DeepEqual(got, want) {
				t.Fatalf("written and read: got %v, %v, want %v", got, ok, want)
			}
			_ = tailsOf(got)
		}
	})
}
