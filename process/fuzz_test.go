package process_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/process"
)

// FuzzReport opens any bytes as a core and makes the whole report of it, with
// the files of a core of the corpus. A report says the same after it went
// through JSON, its stacks hold together, and the same core gives it again.
func FuzzReport(f *testing.F) {
	// Cores with a signal handler or registered code, and short stacks, without the zeros in them: a
	// deep stack takes five times as long.
	names := []string{"amd64-v3-sig-leaf", "aarch64-v3-sig-leaf", "s390x-v3-sig-leaf", "amd64-none-jit", "s390x-qemuuser-none-jit"}
	largest := 0
	for which, name := range names {
		packed, err := os.ReadFile(filepath.Join(coresDir, name, "core.zst"))
		if err != nil {
			f.Fatal(err)
		}
		d, err := zstd.NewReader(nil)
		if err != nil {
			f.Fatal(err)
		}
		defer d.Close()
		seed, err := d.DecodeAll(packed, nil)
		if err != nil {
			f.Fatal(err)
		}
		seed = squeeze(f, seed)
		largest = max(largest, len(seed))
		f.Add(uint8(which), seed, uint32(0), uint64(0))
		f.Add(uint8(which), seed[:len(seed)/2], uint32(0), uint64(0))
		f.Add(uint8(which), seed, uint32(32), ^uint64(0))
		f.Add(uint8(which), seed, uint32(len(seed)-4000), uint64(0x4141414141414141))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, which uint8, data []byte, at uint32, flip uint64) {
		if len(data) > 2*largest {
			return
		}
		exe := filepath.Join(coresDir, names[int(which)%len(names)], "exe")
		data = bytes.Clone(data)
		for i := range min(8, max(0, len(data)-int(at))) {
			data[int(at)+i] ^= byte(flip >> (8 * i))
		}
		file := filepath.Join(dir, "core")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		first := fuzzReport(t, file, exe)
		if first == nil {
			return
		}
		var back report.Document
		if err := json.Unmarshal(first, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(&back)
		if err != nil {
			t.Fatal(err)
		}
		// Bytes that are no UTF-8 are escaped once, and a character from then on.
		plain := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`\ufffd`), []byte("\ufffd")) }
		if !bytes.Equal(plain(first), plain(again)) {
			t.Errorf("the report differs after it went through JSON:\n%s\n%s", first, again)
		}
		if second := fuzzReport(t, file, exe); !bytes.Equal(first, second) {
			t.Errorf("two reports of one core differ:\n%s\n%s", first, second)
		}
	})
}

// squeeze returns a core without the pages at the start and end of segments
// that are zero.
func squeeze(f *testing.F, core []byte) []byte {
	f.Helper()
	file, err := elfx.Parse(core)
	if err != nil {
		f.Fatal(err)
	}
	const page, phdrSize, phdrAt = 4096, 56, 64
	var order binary.AppendByteOrder = binary.LittleEndian
	if file.BigEndian {
		order = binary.BigEndian
	}
	headers, end := []byte(nil), phdrAt+phdrSize*len(file.Progs)
	var contents []byte
	for _, p := range file.Progs {
		data := core[p.Off:][:p.Filesz]
		for p.Type == elfx.ProgLoad && len(data) >= page && bytes.Count(data[:page], []byte{0}) == page {
			data, p.Vaddr, p.Memsz = data[page:], p.Vaddr+page, p.Memsz-page
		}
		if p.Type == elfx.ProgLoad {
			data = bytes.TrimRight(data, "\x00")
		}
		headers = order.AppendUint32(order.AppendUint32(headers, p.Type), p.Flags)
		for _, v := range []uint64{uint64(end + len(contents)), p.Vaddr, 0, uint64(len(data)), p.Memsz, 1} {
			headers = order.AppendUint64(headers, v)
		}
		contents = append(contents, data...)
	}
	squeezed := slices.Concat(core[:phdrAt], headers, contents)
	copy(squeezed[32:], order.AppendUint64(nil, phdrAt)) // e_phoff
	copy(squeezed[40:], make([]byte, 8))                 // e_shoff
	copy(squeezed[58:], make([]byte, 6))                 // e_shentsize, e_shnum, e_shstrndx
	return squeezed
}

// FuzzReportJSON reads any bytes as a report: what was understood is written so
// that it is read as the same again.
func FuzzReportJSON(f *testing.F) {
	for _, seed := range []string{
		`{"schema":"sfcore.report/1","arch":"amd64","threads":[{"tid":1,"frames":[{"index":0,"pc":"0x401000","method":"registers","trust":"full"}],"stop":{"reason":"outermost"}}]}`,
		`{"modules":[{"path":"a\u0000\ud800","base":"0xffffffffffffffff"}],"problems":["\u001b[31m"]}`,
		`{"threads":[{"frames":[{"cfa":null,"function_offset":"0x","pc":"-1"}]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r report.Document
		if json.Unmarshal(data, &r) != nil {
			return
		}
		first, err := json.Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}
		var back report.Document
		if err := json.Unmarshal(first, &back); err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		again, err := json.Marshal(&back)
		if err != nil || !bytes.Equal(first, again) {
			t.Errorf("got %s, want %s, %v", again, first, err)
		}
	})
}

// fuzzReport returns the report of a core as JSON, nil if it cannot be opened.
func fuzzReport(t *testing.T, file, exe string) []byte {
	t.Helper()
	img, err := core.Open(context.Background(), file, core.Options{MaxDecompressed: 1 << 24})
	if err != nil {
		return nil
	}
	tg := process.New(img, process.Options{Paths: []string{exe}, Sysroot: exe})
	defer tg.Close()
	r, err := tg.Report(context.Background(), tg.Threads())
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Threads {
		th := &r.Threads[i]
		if th.Frames == nil {
			t.Errorf("thread %d: %+v", th.TID, th)
		}
		trust := unwind.Full
		for n := range th.Frames {
			fr := &th.Frames[n]
			if fr.Index != n || fr.Trust > trust {
				t.Errorf("thread %d frame %d: index %d, trust %v after %v", th.TID, n, fr.Index, fr.Trust, trust)
			}
			trust = fr.Trust
		}
	}
	doc, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
