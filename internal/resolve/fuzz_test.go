package resolve

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// FuzzKept reads any bytes as the build-ids that an earlier run kept. None is
// used for a file that is not the one that was seen, and what is read is what
// is written again.
func FuzzKept(f *testing.F) {
	f.Add([]byte(keptHeader + "\n1 2 3 abcd \"/lib/a\"\n4 5 6 - \"/b c\\n\"\n"))
	f.Add([]byte(keptHeader + "\n1 2 3 4\n\n-1 -2 3 x \"\"\n1 2 -3 x \"y\"\n"))
	f.Add([]byte("sfcore build-ids 0\n1 2 3 abcd \"/lib/a\"\n"))
	dir := f.TempDir()
	opts := Options{CacheDir: dir, Paths: []string{dir}}
	file := openKept(opts).file
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 8192 {
			return // names are shorter, so that lines can be read when they are quoted
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		k := openKept(opts)
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
		for i := len(files); i < minKept; i++ { // fewer are not kept
			files = append(files, entry{name: filepath.Join(dir, strconv.Itoa(i))})
			ids = append(ids, "")
		}
		k.save(files, ids)
		again := openKept(opts)
		for i := range k.ids {
			if again.ids[i] != k.ids[i] {
				t.Errorf("%q: got %+v, want %+v", i, again.ids[i], k.ids[i])
			}
		}
	})
}
