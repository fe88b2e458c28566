package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"
)

// reportOfApport makes a report with a core of this many MiB of zeros.
func reportOfApport(size int) []byte {
	var members, core bytes.Buffer
	member := func(parts int, data []byte) {
		w, err := gzip.NewWriterLevel(&members, gzip.BestCompression)
		for ; err == nil && parts > 0; parts-- {
			_, err = w.Write(data)
		}
		if err != nil || w.Close() != nil {
			panic(err)
		}
	}
	const each = 64
	member(1, coreHead(uint64(size)<<20))
	core.Write(members.Bytes())
	members.Reset()
	member(each, make([]byte, 1<<20))
	for range size / each {
		core.Write(members.Bytes())
	}
	return []byte("ProblemType: Crash\nSignal: 11\nCoreDump: base64\n " + base64.StdEncoding.EncodeToString(core.Bytes()) + "\n")
}

// foreignStores are what other handlers are said to have kept.
func foreignStores() []input {
	importing := func(fill func(f *folder)) func(f *folder) []string {
		return func(f *folder) []string {
			fill(f)
			config := f.write("crash.toml", fmt.Appendf(nil, "store = %q\n", f.in("store")))
			return []string{"crash", "--config", config, "import", f.in("cores")}
		}
	}
	report := func(size int) func(f *folder) []string {
		return importing(func(f *folder) { f.write("cores/a.crash", reportOfApport(size)) })
	}
	return []input{
		{"import-inflated", "a report of apport whose core inflates to 10 GiB", false, report(10 << 10)},
		{"import-inflated-quick", "one of 256 MiB", true, report(256)},
		{"import-window", "xz and zstd with windows of 128 MiB", true, importing(func(f *folder) {
			f.write("cores/core.xz", []byte("\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x1e\x00\x00\x00"))
			f.write("cores/core.zst", append(zstdFrame(coreHead(0)), bytes.Repeat([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3, 1, 0, 0}, 20000)...))
		})},
		{"import-texts", "200 reports of apport with 1 MB of short lines", false, importing(func(f *folder) {
			for i := range 200 {
				f.write(fmt.Sprintf("cores/%d.crash", i), []byte("ProblemType: Crash\nSignal: 11\nX:\n"+strings.Repeat(" y\n", 340000)))
			}
		})},
		{"import-deep", "a core in directories of directories, and 20,000 names of abrt", false, importing(func(f *folder) {
			f.write("cores"+strings.Repeat("/d", 1000)+"/core", coreHead(0))
			for i := range 20000 {
				f.write(fmt.Sprintf("cores/ccpp-%d/analyzer", i), []byte("CCpp"))
			}
		})},
	}
}
