package resolve

import (
	"bytes"
	"testing"
)

// FuzzKept reads any bytes as the build-ids that an earlier run kept. None is
// used for a file that is not the one that was seen, and what is read is what
// is written again.
func FuzzKept(f *testing.F) {
	f.Add([]byte(keptHeader + "\n1 2 3 abcd \"/lib/a\"\n4 5 6 - \"/b c\\n\"\n"))
	f.Add([]byte(keptHeader + "\n1 2 3 4\n\n-1 -2 3 x \"\"\n1 2 -3 x \"y\"\n"))
	f.Add([]byte("sfcore build-ids 0\n1 2 3 abcd \"/lib/a\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 8192 {
			return // names are shorter, so that lines can be read when they are quoted
		}
		k := &kept{ids: map[string]keptID{}}
		k.read(bytes.NewReader(data))
		if len(k.ids) > len(data)/8 {
			t.Fatalf("%d build-ids of %d bytes", len(k.ids), len(data))
		}
		var files []entry
		var ids []string
		for name, kept := range k.ids {
			e := entry{name: name, stamp: kept.stamp}
			if id, ok := k.lookup(&e); !ok || id != kept.id {
				t.Errorf("%q: got %q, %v, want %q", name, id, ok, kept.id)
			}
			e.stamp.mtime++
			if id, ok := k.lookup(&e); ok {
				t.Errorf("%q: got %q for a file of another time", name, id)
			}
			e.stamp.mtime--
			files, ids = append(files, e), append(ids, kept.id)
		}
		var out bytes.Buffer
		if err := writeKept(&out, files, ids); err != nil {
			t.Fatal(err)
		}
		again := &kept{ids: map[string]keptID{}}
		again.read(&out)
		if len(again.ids) != len(k.ids) {
			t.Errorf("got %d build-ids, want %d", len(again.ids), len(k.ids))
		}
		for i := range k.ids {
			if again.ids[i] != k.ids[i] {
				t.Errorf("%q: got %+v, want %+v", i, again.ids[i], k.ids[i])
			}
		}
	})
}
