package core

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// open opens a core that a test has built.
func openBuilt(t *testing.T, c *testkit.Core) *Image {
	t.Helper()
	img, err := openBytes(c.Done())
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// wantProblems checks that there is one problem for each string, containing it.
func wantProblems(t *testing.T, img *Image, want ...string) {
	t.Helper()
	if len(img.Problems) != len(want) {
		t.Fatalf("got problems %q, want %q", img.Problems, want)
	}
	for i, w := range want {
		if !strings.Contains(img.Problems[i].Error(), w) {
			t.Errorf("got problem %q, want %q", img.Problems[i], w)
		}
	}
}

// describeThreads writes the ids of the threads, the crashed one with a star.
func describeThreads(img *Image) string {
	var b strings.Builder
	for _, th := range img.Threads {
		fmt.Fprintf(&b, " %d", th.ID)
		if th.Crashed {
			b.WriteString("*")
		}
	}
	return strings.TrimSpace(b.String())
}

func TestCrashedThread(t *testing.T) {
	eachArch(t, func(t *testing.T, a *arch.Arch) {
		r := regs(a, 0)
		tests := []struct {
			name    string
			core    *testkit.Core
			threads string
			signal  string // number, name, code, thread
		}{
			{
				"kernel: all have the signal, the first crashed",
				testkit.NewCore(a).Thread(3, 6, r).SigInfo(6, -6, 0).Thread(1, 6, r).Thread(2, 6, r),
				"3* 1 2", "6 SIGABRT -6 SI_TKILL 3",
			},
			{
				"qemu-user: one has the signal",
				testkit.NewCore(a).Thread(1, 0, r).Thread(2, 11, r).Thread(3, 0, r),
				"1 2* 3", "11 SIGSEGV 0  2",
			},
			{
				"gcore: each thread has its siginfo",
				testkit.NewCore(a).Thread(2, 5, r).SigInfo(5, 1, 0x1000).Thread(1, 5, r).SigInfo(19, 0, 0),
				"2* 1", "5 SIGTRAP 1 TRAP_BRKPT 2",
			},
			{"no signal", testkit.NewCore(a).Thread(1, 0, r).Thread(2, 0, r), "1 2", ""},
			{"siginfo before the threads", testkit.NewCore(a).SigInfo(7, 2, 0).Thread(1, 7, r), "1*", "7 SIGBUS 2 BUS_ADRERR 1"},
			{
				"notes in several segments",
				testkit.NewCore(a).Thread(1, 11, r).NoteSegment().SigInfo(11, 2, 0).NoteSegment().Thread(2, 11, r),
				"1* 2", "11 SIGSEGV 2 SEGV_ACCERR 1",
			},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				img := openBuilt(t, tt.core)
				wantProblems(t, img)
				if got := describeThreads(img); got != tt.threads {
					t.Errorf("got threads %q, want %q", got, tt.threads)
				}
				signal := ""
				if s := img.Signal; s != nil {
					signal = fmt.Sprintf("%d %s %d %s %d", s.Number, s.Name, s.Code, s.CodeName, s.Thread)
				}
				if signal != tt.signal {
					t.Errorf("got signal %q, want %q", signal, tt.signal)
				}
			})
		}
	})
}

func TestDamagedNotes(t *testing.T) {
	a := arch.AArch64
	r := regs(a, 0)
	tests := []struct {
		name     string
		core     *testkit.Core
		threads  string
		problems []string
	}{
		{"no threads", testkit.NewCore(a).Process(1, "a", "b"), "", []string{"no threads"}},
		{"no notes", testkit.NewCore(a), "", []string{"no threads"}},
		{
			"thread without registers",
			testkit.NewCore(a).Note("CORE", ntPRStatus, make([]byte, arch.PrStatusRegs)).Thread(7, 0, r),
			"7",
			[]string{"pr_reg at offset 0xfc: thread 0 is left out: NT_PRSTATUS has only 112 bytes, too few for registers"},
		},
		{"id and nothing else", testkit.NewCore(a).Note("CORE", ntPRStatus, make([]byte, 36)).Thread(7, 0, r), "7", []string{"ELF: pr_reg at offset 0xfc: thread 0 is left out: NT_PRSTATUS has only 36 bytes, too few for registers"}},
		{"some registers", testkit.NewCore(a).Note("CORE", ntPRStatus, make([]byte, arch.PrStatusRegs+8)).Thread(7, 0, r), "0 7", []string{"ELF: pr_reg at offset 0xfc: thread 0: NT_PRSTATUS has only 120 bytes, too few for all registers"}},
		{"thread without the end of its id", testkit.NewCore(a).Note("CORE", ntPRStatus, make([]byte, 35)).Thread(7, 0, r), "7", []string{"ELF: pr_pid at offset 0x8c: NT_PRSTATUS has only 35 bytes, too few for a thread id"}},
		{"NT_PRPSINFO cut off", testkit.NewCore(a).Thread(7, 0, r).Note("CORE", ntPRPSInfo, make([]byte, 135)), "7", []string{"ELF: pr_psargs at offset 0x228: NT_PRPSINFO has 135 of 136 bytes"}},
		{"thread without id", testkit.NewCore(a).Note("CORE", ntPRStatus, make([]byte, 35)).Thread(7, 0, r), "7", []string{"too few for a thread id"}},
		{"equal ids", testkit.NewCore(a).Thread(7, 0, r).Thread(7, 0, r), "7 7", []string{"ELF: pr_pid at offset 0x248: NT_PRSTATUS: more than one thread has the id 7"}},
		{"short NT_PRPSINFO", testkit.NewCore(a).Thread(7, 0, r).Note("CORE", ntPRPSInfo, make([]byte, 135)), "7", []string{"135 of 136 bytes"}},
		{"short NT_SIGINFO", testkit.NewCore(a).Thread(7, 9, r).Note("CORE", ntSigInfo, make([]byte, 20)), "7*", []string{"ELF: siginfo_t at offset 0x228: NT_SIGINFO has 20 bytes, but needs at least 24"}},
		{"empty NT_SIGINFO", testkit.NewCore(a).Thread(7, 9, r).SigInfo(0, 0, 0), "7*", nil},
		{"short NT_ARM_PAC_MASK", testkit.NewCore(a).Thread(7, 0, r).Note("LINUX", ntARMPACMask, make([]byte, 15)), "7", []string{"ELF: insn_mask at offset 0x228: NT_ARM_PAC_MASK has 15 of 16 bytes"}},
		{"short NT_FPREGSET", testkit.NewCore(arch.S390X).Thread(7, 0, regs(arch.S390X, 0)).Note("CORE", ntFPRegSet, make([]byte, 64)), "7", []string{"ELF: fpregset at offset 0x28c: thread 7: NT_FPREGSET has only 64 bytes, too few for all registers"}},
		{"odd NT_AUXV", testkit.NewCore(a).Thread(7, 0, r).Note("CORE", ntAuxv, make([]byte, 15)), "7", nil},
		{"NT_FILE", testkit.NewCore(a).Thread(7, 0, r).Note("CORE", ntFile, nil), "7", []string{"NT_FILE of 0 bytes"}},
		{"other owner", testkit.NewCore(a).Thread(7, 0, r).Note("GDB", ntPRStatus, nil).Note("", ntPRStatus, nil), "7", nil},
		{"thread's notes before any thread", testkit.NewCore(a).Note("CORE", ntFPRegSet, nil).Note("LINUX", ntX86XState, nil).
			Note("LINUX", ntARMPACMask, make([]byte, 16)).Thread(7, 0, r), "7", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			img := openBuilt(t, tt.core)
			wantProblems(t, img, tt.problems...)
			if got := describeThreads(img); got != tt.threads {
				t.Errorf("got threads %q, want %q", got, tt.threads)
			}
		})
	}
}

// A register that the core does not hold is unknown, not zero.
func TestUnknownRegisters(t *testing.T) {
	eachArch(t, func(t *testing.T, a *arch.Arch) {
		img := openBuilt(t, testkit.NewCore(a).Note("CORE", ntPRStatus, make([]byte, arch.PrStatusRegs+3*8)))
		known := 0
		for _, l := range a.PrStatus {
			if l.Off < arch.PrStatusRegs+3*8 {
				known++
			}
		}
		got := 0
		for range img.Threads[0].Regs.All() {
			got++
		}
		if got != known || known == len(a.PrStatus) {
			t.Errorf("got %d known registers, want %d of %d", got, known, len(a.PrStatus))
		}
	})
}

// A note that is cut off has what is in it, in whatever order that is looked for.
func TestSetRegs(t *testing.T) {
	var got arch.Regs
	table := []arch.RegLoc{{Reg: 1, Off: 8}, {Reg: 2, Off: 1}, {Reg: 3, Off: 0}}
	if all := setRegs(&got, table, []byte("\x01\x00\x00\x00\x00\x00\x00\x00"), binary.LittleEndian); all {
		t.Error("got all registers of a note that is cut off")
	}
	var want arch.Regs
	want.Set(3, 1)
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Without NT_SIGINFO, the code is in NT_PRSTATUS if anywhere: valgrind writes it.
func TestCodeOfPrStatus(t *testing.T) {
	for code, want := range map[uint32]Signal{
		0:          {Number: 11, Name: "SIGSEGV", Thread: 7},
		2:          {Number: 11, Name: "SIGSEGV", Thread: 7, Code: 2, CodeName: "SEGV_ACCERR"},
		0xfffffffa: {Number: 11, Name: "SIGSEGV", Thread: 7, Code: -6, CodeName: "SI_TKILL"},
	} {
		desc := make([]byte, minPrStatus)
		binary.LittleEndian.PutUint32(desc[4:], code)
		binary.LittleEndian.PutUint16(desc[arch.PrStatusSignal:], 11)
		binary.LittleEndian.PutUint32(desc[arch.PrStatusPID:], 7)
		img := openBuilt(t, testkit.NewCore(arch.AMD64).Note("CORE", ntPRStatus, desc))
		if img.Signal == nil || *img.Signal != want {
			t.Errorf("code %d: got %+v, want %+v", code, img.Signal, want)
		}
	}
}

func TestInsnMask(t *testing.T) {
	desc := testkit.New(binary.BigEndian).D64(1, 0x7f<<48).Done()
	for n, want := range map[int]uint64{0: 0, 15: 0, 16: 0x7f << 48} {
		if got := insnMask(desc[:n], binary.BigEndian); got != want {
			t.Errorf("%d bytes: got %#x, want %#x", n, got, want)
		}
	}
}

func TestPACMask(t *testing.T) {
	mask := testkit.NewCore(arch.AArch64BE).Data().D64(1, 0x7f<<48).Done()
	r := regs(arch.AArch64BE, 0)
	tests := []struct {
		name string
		core *testkit.Core
		want []uint64
	}{
		{"no note", testkit.NewCore(arch.AArch64BE).Thread(1, 0, r), []uint64{arch.AArch64BE.PACMask}},
		{
			"of one thread, for all",
			testkit.NewCore(arch.AArch64BE).Thread(1, 0, r).Thread(2, 0, r).Note("LINUX", ntARMPACMask, mask).Thread(3, 0, r),
			[]uint64{0x7f << 48, 0x7f << 48, 0x7f << 48},
		},
		{
			"of two threads, and the first for others",
			testkit.NewCore(arch.AArch64BE).Thread(1, 0, r).Thread(2, 0, r).Note("LINUX", ntARMPACMask, mask).Thread(3, 0, r).Note("LINUX", ntARMPACMask, testkit.NewCore(arch.AArch64BE).Data().D64(1, 0x3f<<48).Done()),
			[]uint64{0x7f << 48, 0x7f << 48, 0x3f << 48},
		},
		{"amd64", testkit.NewCore(arch.AMD64).Thread(1, 0, regs(arch.AMD64, 0)), []uint64{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []uint64
			for _, th := range openBuilt(t, tt.core).Threads {
				got = append(got, th.PACMask)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %#x, want %#x", got, tt.want)
			}
		})
	}
}

func TestProblemsBounded(t *testing.T) {
	c := testkit.NewCore(arch.AMD64).Thread(1, 0, regs(arch.AMD64, 0))
	for range maxProblems + 5 {
		c.Note("CORE", ntFile, nil)
	}
	img := openBuilt(t, c)
	if n := len(img.Problems); n != maxProblems+1 || img.Problems[n-1].Error() != "5 more problems" {
		t.Errorf("got %d problems, the last of which is %q", n, img.Problems[n-1])
	}
}

// Even one problem that is left out is told, and one thread.
func TestOneMore(t *testing.T) {
	c := testkit.NewCore(arch.AMD64).Thread(1, 0, regs(arch.AMD64, 0))
	for range maxProblems + 1 {
		c.Note("CORE", ntFile, nil)
	}
	img := openBuilt(t, c)
	if n := len(img.Problems); n != maxProblems+1 || img.Problems[n-1].Error() != "1 more problems" {
		t.Errorf("got %d problems, the last of which is %q", n, img.Problems[n-1])
	}
	c = testkit.NewCore(arch.AMD64)
	const size = arch.PrStatusRegs + 27*8
	for i := range maxShortThreads + 1 {
		desc := make([]byte, size)
		binary.LittleEndian.PutUint32(desc[arch.PrStatusPID:], uint32(i+1))
		c.Note("CORE", ntPRStatus, desc)
	}
	img = openBuilt(t, c)
	wantProblems(t, img, fmt.Sprintf("1 threads are left out: with %d bytes of NT_PRSTATUS there may be 1000", (maxShortThreads+1)*size))
}

// The numbers of notes, and what is in them, are the kernel's [elf.h, linux
// include/uapi/linux/auxvec.h].
func TestNoteNumbers(t *testing.T) {
	r := regs(arch.AMD64, 0)
	siginfo := testkit.New(binary.LittleEndian).D32(11, 0, 1, 0).D64(0x123).Done()
	c := testkit.NewCore(arch.AMD64).Thread(7, 11, r).Note("CORE", 0x53494749, siginfo).Note("LINUX", 0x202, []byte("xstate")).Note("CORE", 2, []byte("fp")).
		Auxv(3, 0x30, 5, 0x50, 7, 0x70, 9, 0x90, 11, 0xb0, 25, 0x190, 31, 0x1f0, 33, 0x210).Auxv(3, 0x31, 6, 1)
	img := openBuilt(t, c)
	wantProblems(t, img)
	th := &img.Threads[0]
	if string(th.XState) != "xstate" || string(th.FPRegSet) != "fp" || string(th.SigInfo) != string(siginfo) || img.Signal.Address != 0x123 {
		t.Errorf("got %+v, signal %+v", th, img.Signal)
	}
	for typ, want := range map[uint64]uint64{ATPhdr: 0x30, ATPhnum: 0x50, ATBase: 0x70, ATEntry: 0x90, ATUID: 0xb0, ATRandom: 0x190, ATExecfn: 0x1f0, ATSysinfoEhdr: 0x210} {
		if got, ok := img.Auxv.Get(typ); got != want || !ok {
			t.Errorf("auxiliary vector, type %d: got %#x, %v, want %#x", typ, got, ok, want)
		}
	}
	if _, ok := img.Auxv.Get(6); ok {
		t.Error("got an entry of a second vector")
	}
	// PT_NOTE that ends in a note.
	data := testkit.NewCore(arch.AMD64).Thread(7, 11, r).Note("CORE", 6, nil).Done()
	binary.LittleEndian.PutUint32(data[len(data)-16:], 100)
	img, err := openBytes(data)
	if err != nil || len(img.Threads) != 1 || len(img.Problems) != 1 {
		t.Errorf("got %v, %v", img, err)
	}
}

func TestCommand(t *testing.T) {
	for args, want := range map[string]string{
		"prog -x ":                "prog -x",
		"prog\x00-x\x00":          "prog -x",
		strings.Repeat("x", 100):  strings.Repeat("x", 79),
		"":                        "",
		"prog with  inner spaces": "prog with  inner spaces",
	} {
		img := openBuilt(t, testkit.NewCore(arch.S390X).Process(1, "a name longer than 15", args).Thread(1, 0, regs(arch.S390X, 0)))
		if img.Command != want || img.Name != "a name longer t" {
			t.Errorf("%q: got %q of %q, want %q", args, img.Command, img.Name, want)
		}
	}
}

func TestExecutable(t *testing.T) {
	a := arch.S390X
	execfn := append([]byte("./prog"), 0)
	tests := []struct {
		name string
		core *testkit.Core
		want string
	}{
		{"the file with the entry point", testkit.NewCore(a).Auxv(ATEntry, 0x1008, ATExecfn, 0x5000).
			Files(1, testkit.CoreFile{Lo: 0x1000, Hi: 0x2000, Path: "/opt/prog"}).Segment(0x5000, 64, false, execfn), "/opt/prog"},
		{"AT_EXECFN", testkit.NewCore(a).Auxv(ATEntry, 0x1008, ATExecfn, 0x5000).Segment(0x5000, 64, false, execfn), "./prog"},
		{"a segment at the entry point, which has no name", testkit.NewCore(a).Auxv(ATEntry, 0x5000, ATExecfn, 0x5000).Segment(0x5000, 64, false, execfn), "./prog"},
		{"a file and a name at address 0", testkit.NewCore(a).Auxv(ATRandom, 0x100).
			Files(1, testkit.CoreFile{Lo: 0, Hi: 0x1000, Path: "/opt/zero"}).Segment(0, 64, false, execfn), ""},
		{"AT_EXECFN cut off", testkit.NewCore(a).Auxv(ATExecfn, 0x5000).Segment(0x5000, 64, false, execfn[:4]), ""},
		{"AT_EXECFN elsewhere", testkit.NewCore(a).Auxv(ATExecfn, 0x9000), ""},
		{"nothing", testkit.NewCore(a), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := openBuilt(t, tt.core).Executable; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAuxv(t *testing.T) {
	eachArch(t, func(t *testing.T, a *arch.Arch) {
		c := testkit.NewCore(a)
		desc := c.Data().D64(6, 4096, 9, 0x1000, 9, 0x2000, 0, 0, 25, 1).Done()
		auxv := openBuilt(t, c.Note("CORE", ntAuxv, desc)).Auxv
		if want := (Auxv{{6, 4096}, {9, 0x1000}, {9, 0x2000}}); !slices.Equal(auxv, want) {
			t.Errorf("got %v, want %v, which AT_NULL ends", auxv, want)
		}
		if v, ok := auxv.Get(ATEntry); v != 0x1000 || !ok {
			t.Errorf("got AT_ENTRY %#x, %v", v, ok)
		}
		if v, ok := auxv.Get(ATRandom); v != 0 || ok {
			t.Errorf("got AT_RANDOM %#x, %v", v, ok)
		}
	})
	order := elfOrder(arch.AMD64)
	desc := testkit.NewCore(arch.AMD64).Data().D64(6, 4096, 7, 1).Done()
	for n, want := range map[int]int{0: 0, 15: 0, 16: 1, 31: 1, 32: 2} {
		if got := len(parseAuxv(desc[:n], order)); got != want {
			t.Errorf("%d bytes: got %d entries, want %d", n, got, want)
		}
	}
	if n := len(parseAuxv(slices.Repeat([]byte{1}, 100_000), elfOrder(arch.AMD64))); n != maxAuxv {
		t.Errorf("got %d entries, want the limit of %d", n, maxAuxv)
	}
}

// FuzzNotes reads any bytes as the notes of a core. What is made of them must
// not be larger than a multiple of them.
func FuzzNotes(f *testing.F) {
	for i, a := range arches {
		c := kernelCore(a).Done()
		elf, err := elfx.Parse(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), elf.SegmentData(&elf.Progs[0]))
	}
	f.Fuzz(func(t *testing.T, i uint8, data []byte) {
		a := arches[int(i)%len(arches)]
		order := elfOrder(a)
		img := &Image{Arch: a}
		elf := &elfx.File{}
		if parsed, err := elfx.Parse(testkit.NewCore(a).Done()); err != nil {
			t.Fatal(err)
		} else {
			elf = parsed
		}
		elf.Data, elf.Progs = data, []elfx.Prog{{Type: elfx.ProgNote, Filesz: uint64(len(data)), Align: 4}}
		n := notes{img: img, order: order}
		if err := n.read(elf); err != nil {
			return
		}
		if len(img.Threads)*(arch.PrStatusPID+4) > len(data) || len(n.files)*24 > len(data) || len(img.Problems) > maxProblems+1 {
			t.Errorf("%d threads, %d files, %d problems of %d bytes", len(img.Threads), len(n.files), len(img.Problems), len(data))
		}
		crashed := 0
		for i := range img.Threads {
			if img.Threads[i].Crashed {
				crashed++
			}
		}
		if (crashed == 1) != (img.Signal != nil) || crashed > 1 {
			t.Errorf("%d threads crashed, signal %v", crashed, img.Signal)
		}
		paths := 0
		for i := range n.files {
			if i == 0 || n.files[i].Path != n.files[i-1].Path {
				paths += len(n.files[i].Path)
			}
		}
		if paths > len(data) {
			t.Errorf("paths of %d bytes from %d", paths, len(data))
		}
	})
}

// Threads beyond a bound are left out, and told.
func TestManyThreads(t *testing.T) {
	for _, tt := range []struct {
		name              string
		notes, size, want int
	}{
		{"many", maxThreads + 3, minPrStatus, maxThreads},
		{"short", 4000, arch.PrStatusRegs + 8, 4000 * (arch.PrStatusRegs + 8) / minPrStatus},
		{"few and short", maxShortThreads, arch.PrStatusRegs + 8, maxShortThreads},
		{"more than a few", 5000, minPrStatus, 5000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := testkit.NewCore(arch.AMD64)
			desc := make([]byte, tt.size)
			for i := range tt.notes {
				binary.LittleEndian.PutUint32(desc[arch.PrStatusPID:], uint32(i+1))
				c.Note("CORE", ntPRStatus, desc)
			}
			c.Note("CORE", ntPRPSInfo, make([]byte, prEnd))
			img := openBuilt(t, c)
			told := false
			for _, p := range img.Problems {
				told = told || strings.HasSuffix(p.Error(), fmt.Sprintf(" there may be %d", tt.want))
			}
			if len(img.Threads) != tt.want || told != (tt.want < tt.notes) {
				t.Errorf("got %d threads, want %d; told: %v", len(img.Threads), tt.want, told)
			}
			if img.Problems == nil == (tt.size < minPrStatus || tt.want < tt.notes) {
				t.Errorf("got problems %q", img.Problems)
			}
		})
	}
}
