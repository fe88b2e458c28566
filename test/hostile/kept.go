package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// kept are caches in which something else is than sfcore has written.
func kept() []input {
	// cached has a file where the build-ids of a directory of symbols are kept.
	cached := func(put func(f *folder, name string)) func(f *folder) []string {
		return func(f *folder) []string {
			f.write("symbols/lib1.so", withID("00000000000000000001"))
			sum := sha256.Sum256([]byte(f.in("symbols") + "\x00"))
			name := "sfcore/build-ids-" + hex.EncodeToString(sum[:8])
			f.check(os.MkdirAll(f.in("sfcore"), 0o700))
			put(f, name)
			return f.bt(libraries(100), "--path", f.in("symbols"))
		}
	}
	// indexed has a file where the index of a store of crashes is.
	indexed := func(put func(f *folder)) func(f *folder) []string {
		return func(f *folder) []string {
			args := f.crashes(100, func(int) string { return `{"schema":"sfcore.crash/1","kind":"k","signal":"SIGSEGV"}` }, "top")
			put(f)
			return args
		}
	}
	junk := func(size int) []byte {
		return bytes.Repeat([]byte("SQLite format 3\x00\x10\x00\x01\x01\x00\x40\x20\x20\xff"), size/25)
	}
	return []input{
		{"cache-lines", "2,000,000 build-ids that an earlier run is said to have kept", false, cached(func(f *folder, name string) {
			var b bytes.Buffer
			b.WriteString("sfcore build-ids 1\n")
			for i := range 2000000 {
				fmt.Fprintf(&b, "1 2 %d %040d \"/lib/%d\"\n", i, i, i)
			}
			f.write(name, b.Bytes())
		})},
		{"cache-line", "a line of 1 GiB there", false, cached(func(f *folder, name string) { f.sparse(name, []byte("sfcore build-ids 1\n"), 1<<30) })},
		{"cache-pipe", "a pipe there", true, cached(func(f *folder, name string) { f.pipes(name) })},
		{"cache-link", "a link to a device there", true, cached(func(f *folder, name string) { f.symlink("/dev/zero", name) })},
		{"cache-directory", "a directory there", true, cached(func(f *folder, name string) { f.write(filepath.Join(name, "x"), nil) })},
		{"index-junk", "an index of crashes that is 64 MB of the heads of databases", false, indexed(func(f *folder) { f.write("store/index.db", junk(64<<20)) })},
		{"index-sparse", "an index of crashes that is a hole of 1 TiB", true, indexed(func(f *folder) { f.sparse("store/index.db", junk(100)[:25], 1<<40) })},
		{"index-journal", "a journal of 64 MB of junk beside an index of crashes", false, indexed(func(f *folder) {
			f.write("store/index.db", nil)
			f.write("store/index.db-wal", append([]byte("\x37\x7f\x06\x82\x00\x2d\xe2\x18\x00\x00\x10\x00"), junk(64<<20)...))
		})},
		{"index-pipe", "an index of crashes that is a pipe", true, indexed(func(f *folder) { f.pipes("store/index.db") })},
		{"index-links", "an index of crashes and its journal that are links to a device and to another file", true, indexed(func(f *folder) {
			f.symlink("/dev/zero", "store/index.db")
			f.symlink(f.in("crash.toml"), "store/index.db-wal")
		})},
	}
}
