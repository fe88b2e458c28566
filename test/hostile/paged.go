package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// paged are pages of crashes whose reports are as large as a page reads.
func paged() []input {
	// A group of crashes with the same report, whose thread that crashed is given.
	group := func(crashes int, thread string, do func(s *site)) func(f *folder) []string {
		return func(f *folder) []string {
			args := f.serve(crashes, func(i int) string {
				return fmt.Sprintf(`{"schema":"sfcore.crash/1","id":"20260101-000000.000-%d","time":"2026-01-01T00:00:00Z","pid":%d,"kind":"k","signal":"SIGSEGV","program":"/p",`+
					`"signature":{"address":"%032d","fine":"%032d","coarse":"%032d","title":"t"}}`, i+1, i+1, 1, 2, 3)
			}, do)
			// 60 MiB of text, which may be as much because some of it cannot be compressed.
			slow := hex.EncodeToString(noise(3 << 20))
			text := reportHead + `,"x":"` + slow + `","threads":[` + thread + strings.Repeat(","+thread, (54<<20)/len(thread)) + `]` + reportTail
			report := zstdFrame([]byte(text))
			first := f.write("store/20260101-000000.000-1.jsonl.zst", report)
			for i := 1; i < crashes; i++ {
				f.check(os.Link(first, f.in(fmt.Sprintf("store/20260101-000000.000-%d.jsonl.zst", i+1))))
			}
			return args
		}
	}
	frames := `{"tid":1,"crashed":true,"frames":[` + strings.Repeat(`{"index":0,"pc":"0x1","method":"cfi","trust":"full","function":"f","file":"/a/b.c","line":1},`, 1000) + `{}]}`
	register := `{"name":"r","value":"0x1","text":"` + strings.Repeat("<", 100) + `"}`
	scene := `{"tid":1,"crashed":true,"scene":{"registers":[` + register + strings.Repeat(","+register, 2000) + `]},"frames":[{}]}`
	key := strings.Repeat("0", 31) + "3"
	return []input{
		{"serve-merge", "the page of a group of 40 crashes with reports of 60 MB", false, group(40, frames, func(s *site) { s.get("/group/" + key) })},
		{"serve-scenes", "4 pages and 4 documents of a crash whose threads have 2,000 registers, in a report of 60 MB", false, group(4, scene, func(s *site) {
			together(8, func(i int) { s.get("/crash/20260101-000000.000-1" + []string{"", ".json"}[i%2]) })
		})},
	}
}

// noise are bytes that cannot be compressed, the same each time.
func noise(n int) []byte {
	var b bytes.Buffer
	for x := uint64(1); b.Len() < n; {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b.WriteByte(byte(x >> 32))
	}
	return b.Bytes()
}
