package core

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

var arches = []*arch.Arch{arch.AMD64, arch.AArch64, arch.AArch64BE, arch.S390X}

// eachArch runs a test for every architecture and byte order.
func eachArch(t *testing.T, f func(t *testing.T, a *arch.Arch)) {
	for _, a := range arches {
		order := "LE"
		if a.BigEndian {
			order = "BE"
		}
		t.Run(a.Name+order, func(t *testing.T) { f(t, a) })
	}
}

// regs returns registers of which each has another value.
func regs(a *arch.Arch, seed uint64) *arch.Regs {
	var r arch.Regs
	for _, l := range slices.Concat(a.PrStatus, a.FPRegSet) {
		r.Set(l.Reg, seed<<32|uint64(l.Reg)+1)
	}
	return &r
}

const (
	codeAddr  = 0x40_0000
	dataAddr  = 0x41_0000
	stackAddr = 0x7fff_0000
	vdsoAddr  = 0x7fff_8000
)

// kernelCore makes a core as the kernel writes it, of two threads.
func kernelCore(a *arch.Arch) *testkit.Core {
	c := testkit.NewCore(a).
		Thread(102, 11, regs(a, 2)).
		Process(101, "prog", "prog -x arg").
		SigInfo(11, 1, 0xdead0000).
		Auxv(ATEntry, codeAddr+0x10, ATRandom, stackAddr+0x100, ATSysinfoEhdr, vdsoAddr).
		Files(4096,
			testkit.CoreFile{Lo: codeAddr, Hi: codeAddr + 0x2000, Path: "/bin/prog"},
			testkit.CoreFile{Lo: dataAddr, Hi: dataAddr + 0x1000, Off: 0x2000, Path: "/bin/prog (deleted)"})
	if a.PAC {
		c.Note("LINUX", ntARMPACMask, c.Data().D64(0x1111, 0x7f_0000_0000_0000).Done())
	}
	return c.Thread(101, 11, regs(a, 1)).
		Segment(codeAddr, 0x2000, true, []byte("first page")).
		Segment(dataAddr, 4, false, []byte("data")).
		Segment(stackAddr, 0x1000, false, []byte("stack")).
		Segment(vdsoAddr, 0x1000, true, []byte("vdso"))
}

func TestOpen(t *testing.T) {
	eachArch(t, func(t *testing.T, a *arch.Arch) {
		path := filepath.Join(t.TempDir(), "core")
		if err := os.WriteFile(path, kernelCore(a).Done(), 0o600); err != nil {
			t.Fatal(err)
		}
		img, err := Open(context.Background(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer closeImage(t, img)
		if img.Path != path || img.Arch != a || img.PID != 101 || img.Name != "prog" || img.Command != "prog -x arg" || img.Executable != "/bin/prog" {
			t.Errorf("got %+v", img)
		}
		if len(img.Problems) != 0 || img.Truncated != nil {
			t.Errorf("got problems %v, truncation %+v", img.Problems, img.Truncated)
		}
		want := Signal{Number: 11, Name: "SIGSEGV", Thread: 102, Code: 1, CodeName: "SEGV_MAPERR", Address: 0xdead0000, HasAddress: true}
		if img.Signal == nil || *img.Signal != want {
			t.Errorf("got signal %+v, want %+v", img.Signal, want)
		}

		mask := uint64(0)
		if a.PAC {
			mask = 0x7f_0000_0000_0000
		}
		for i, want := range []Thread{
			{ID: 102, Regs: *regs(a, 2), PACMask: mask, Signal: 11, Crashed: true},
			{ID: 101, Name: "prog", Regs: *regs(a, 1), PACMask: mask, Signal: 11},
		} {
			got := img.Threads[i]
			if got.ID != want.ID || got.Name != want.Name || got.PACMask != want.PACMask || got.Signal != want.Signal || got.Crashed != want.Crashed {
				t.Errorf("thread %d: got %+v, want %+v", i, got, want)
			}
			if !maps.Equal(maps.Collect(got.Regs.All()), maps.Collect(want.Regs.All())) {
				t.Errorf("thread %d: got registers %+v, want %+v", i, got.Regs, want.Regs)
			}
			if (got.FPRegSet != nil) != (a.FPRegSet != nil) || got.PrStatus == nil {
				t.Errorf("thread %d: got descriptors of %d and %d bytes", i, len(got.PrStatus), len(got.FPRegSet))
			}
		}

		mappings := []Mapping{
			{Lo: codeAddr, Hi: codeAddr + 0x2000, Path: "/bin/prog", Exec: true},
			{Lo: dataAddr, Hi: dataAddr + 4, Off: 0x2000, Path: "/bin/prog", Deleted: true},
			{Lo: dataAddr + 4, Hi: dataAddr + 0x1000, Off: 0x2004, Path: "/bin/prog", Deleted: true, Exec: true},
			{Lo: stackAddr, Hi: stackAddr + 0x1000, Path: "[stack]"},
			{Lo: vdsoAddr, Hi: vdsoAddr + 0x1000, Path: "[vdso]", Exec: true},
		}
		if !slices.Equal(img.Mappings, mappings) {
			t.Errorf("got mappings %+v, want %+v", img.Mappings, mappings)
		}
		if m := img.Mapping(stackAddr + 0xfff); m == nil || m.Path != "[stack]" {
			t.Errorf("got mapping %+v of the stack's last byte", m)
		}
		if m := img.Mapping(stackAddr + 0x1000); m != nil {
			t.Errorf("got mapping %+v beyond the stack", m)
		}

		p := make([]byte, 20)
		n, err := img.Mem.ReadMem(p, codeAddr)
		if fault, ok := errors.AsType[*memreader.FaultError](err); string(p[:n]) != "first page" || !ok || fault.Why != memreader.NotDumped {
			t.Errorf("got %q, %v, want the dumped bytes and a fault", p[:n], err)
		}
	})
}

// A core that ends early still gives its threads, and says which mappings
// have lost memory.
func TestOpenTruncated(t *testing.T) {
	eachArch(t, func(t *testing.T, a *arch.Arch) {
		data := kernelCore(a).Done()
		img, err := openBytes(data[:len(data)-len("ckvdso")])
		if err != nil {
			t.Fatal(err)
		}
		tr := img.Truncated
		if len(img.Threads) != 2 || tr == nil || tr.Missing != 6 || tr.Size != uint64(len(data))-6 || !slices.Equal(tr.Mappings, []int{3, 4}) {
			t.Errorf("got %d threads, truncation %+v", len(img.Threads), tr)
		}
		p := make([]byte, 5)
		n, err := img.Mem.ReadMem(p, stackAddr)
		if fault, ok := errors.AsType[*memreader.FaultError](err); string(p[:n]) != "sta" || !ok || fault.Why != memreader.Truncated {
			t.Errorf("got %q, %v, want three bytes and truncation", p[:n], err)
		}
		_, err = img.Mem.ReadMem(p, stackAddr+5)
		if fault, ok := errors.AsType[*memreader.FaultError](err); !ok || fault.Why != memreader.NotDumped {
			t.Errorf("got %v after the segment's bytes, want not dumped", err)
		}
		if len(img.Problems) != 1 || !strings.Contains(img.Problems[0].Error(), "truncated") {
			t.Errorf("got problems %v", img.Problems)
		}
	})
}

// Whatever a core is cut off at, it opens or tells why not.
func TestOpenCutAnywhere(t *testing.T) {
	data := kernelCore(arch.AArch64).Done()
	for n := range data {
		img, err := openBytes(data[:n:n])
		switch {
		case n < 64 && err == nil:
			t.Errorf("%d bytes: no error", n)
		case n >= 64 && err != nil:
			t.Errorf("%d bytes: %v", n, err)
		case err == nil && len(img.Problems) == 0:
			t.Errorf("%d of %d bytes: no problem", n, len(data))
		}
	}
}

func TestOpenNotACore(t *testing.T) {
	core := kernelCore(arch.AMD64).Done()
	patch := func(off int, v ...byte) string {
		b := slices.Clone(core)
		copy(b[off:], v)
		return string(b)
	}
	owner := func(name string) string { return string(testkit.NewCore(arch.AMD64).Note(name, 1, nil).Done()) }
	tests := []struct{ name, data, want string }{
		{"text", "hello\n", "this is a text file, not an ELF file; a core file is needed"},
		{"empty", "", "the file is empty; a core file is needed"},
		{"PE", "MZ\x90", "Windows (PE)"},
		{"archive", "!<arch>\n", "an archive"},
		{"executable", patch(16, 2), "this is an executable or a shared library; a core file is needed"},
		{"shared library", patch(16, 3), "an executable or a shared library"},
		{"object", patch(16, 1), "an object file"},
		{"other type", patch(16, 0, 0xfe), "type 65024"},
		{"32-bit", patch(4, 1), "this is a 32-bit ELF file; sfcore reads only 64-bit files"},
		{"class", patch(4, 7), "ELF: EI_CLASS at offset 0x4: 7 is not a known class"},
		{"byte order", patch(5, 9), "ELF: EI_DATA at offset 0x5: 9 is not a known byte order"},
		{"riscv64", patch(18, 243), "this is a core file of riscv64; sfcore reads those of amd64, aarch64 and s390x"},
		{"ppc64", patch(18, 21), "ppc64"},
		{"loongarch64", patch(18, 2, 1), "loongarch64"},
		{"little-endian s390x", patch(18, 22), "little-endian s390x"},
		{"unknown machine", patch(18, 0xfe), "ELF machine 254"},
		{"cut off", string(core[:20]), "ends after 20 of 64 bytes"},
		{"FreeBSD", owner("FreeBSD"), "this is a FreeBSD core file"},
		{"vmcore", owner("VMCOREINFO"), "this is a dump of the Linux kernel"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, []byte(tt.data), 0o600); err != nil {
				t.Fatal(err)
			}
			img, err := Open(context.Background(), path, Options{})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("got %v, %v, want %q", img, err, tt.want)
			}
		})
	}
}

// A file that is open is read whatever the path leads to, and stays open.
func TestOpenFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(name, kernelCore(arch.AMD64).Done(), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, path := range []string{filepath.Join(name, "none"), "-"} {
		img, err := Open(context.Background(), path, Options{File: file})
		if err != nil || img.Path != path || len(img.Threads) == 0 {
			t.Fatalf("%s: got %v, %v", path, img, err)
		}
		img.Close()
	}
	if _, err := file.Stat(); err != nil {
		t.Error(err)
	}
}

func TestOpenNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
		t.Skipf("mkfifo: %v %s", err, out)
	}
	for path, want := range map[string]string{
		dir:                          "is a directory",
		pipe:                         "is a pipe",
		filepath.Join(dir, "none"):   "no such file",
		filepath.Join(pipe, "below"): "not a directory",
	} {
		img, err := Open(context.Background(), path, Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), path) != 1 {
			t.Errorf("%s: got %v, %v, want %q and the path once", path, img, err, want)
		}
	}
}

func closeImage(t testing.TB, img *Image) {
	t.Helper()
	if err := img.Close(); err != nil {
		t.Error(err)
	}
}

func TestClose(t *testing.T) {
	released := 0
	img := &Image{OnClose: func() { released++ }}
	for range 2 {
		if err := img.Close(); err != nil {
			t.Error(err)
		}
	}
	if released != 1 {
		t.Errorf("released %d times, want once", released)
	}
}
