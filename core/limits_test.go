package core

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
)

// A limit says what the worst input costs, as docs/robustness.md has it. To change one
// is a choice: this test is to be changed with it.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want int64
	}{
		{"threads", maxThreads, 262_144},
		{"threads with short notes", maxShortThreads, 1000},
		{"bytes of NT_PRSTATUS of a thread", minPrStatus, 336},
		{"problems", maxProblems, 100},
		{"entries of the auxiliary vector", maxAuxv, 1024},
		{"bytes of a path", int64(maxPath), 4106},
		{"bytes of a decompressed core", DefaultMaxDecompressed, 274_877_906_944},
		{"bytes of a byte", maxRatio, 1000},
		{"bytes of a bomb", minBomb, 1_073_741_824},
		{"zeros", maxZeros, 4_294_967_296},
		{"bytes in memory", maxInMemory, 268_435_456},
		{"bytes at a time", chunkSize, 1_048_576},
		{"bytes of an ELF header", ehdrSize, 64},
		{"images", maxLoaded, 8192},
		{"mappings of images", maxLoadedMaps, 131_072},
		{"bytes of program headers", headerBytes, 4096},
		{"bytes of the dynamic linker", maxLinker, 1_048_576},
		{"bytes of the vDSO", maxVDSO, 1_048_576},
		{"bytes of arguments", maxArguments, 524_288},
		{"bytes of a page", minPage, 4096},
		{"bytes that are searched for one image", maxScan, 268_435_456},
		{"pages that are searched for all", maxScanned, 262_144},
		{"bytes between segments", maxGap, 4_194_304},
		{"share of the tail of a stack", tailShare, 64},
		{"bytes below SP", redZone, 128},
		{"bytes above SP with a signal frame", maxAltScan, 65_536},
		{"the smallest alternate stack", minAltStack, 2048},
		{"the largest alternate stack", maxAltStack, 16_777_216},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, tt.got, tt.want)
		}
	}
}

// What sfcore cannot read is named as others name it [gABI: e_machine].
func TestMachineNames(t *testing.T) {
	for machine, want := range map[uint16]string{
		2: "sparc", 3: "i386", 8: "mips", 15: "parisc", 20: "ppc", 21: "ppc64", 40: "arm", 43: "sparc64", 50: "ia64",
		243: "riscv64", 258: "loongarch64", 0x9026: "alpha", 7: "ELF machine 7",
	} {
		if got := machineName(machine, false); got != want {
			t.Errorf("%d: got %s, want %s", machine, got, want)
		}
	}
	if got := machineName(arch.AMD64.Machine, true); got != "big-endian amd64" {
		t.Errorf("got %s", got)
	}
	if got := machineName(arch.S390X.Machine, false); got != "little-endian s390x" {
		t.Errorf("got %s", got)
	}
}

// Codes have the names of the kernel's headers.
func TestSignalCodeNames(t *testing.T) {
	for _, tt := range []struct {
		number, code int
		want         string
	}{
		{11, 0, "SI_USER"},
		{11, 0x80, "SI_KERNEL"},
		{11, -1, "SI_QUEUE"},
		{11, -2, "SI_TIMER"},
		{11, -3, "SI_MESGQ"},
		{11, -4, "SI_ASYNCIO"},
		{11, -5, "SI_SIGIO"},
		{11, -6, "SI_TKILL"},
		{11, -7, "SI_DETHREAD"},
		{11, -60, "SI_ASYNCNL"},
		{11, 1, "SEGV_MAPERR"},
		{11, 10, "SEGV_CPERR"},
		{11, 11, ""},
		{4, 1, "ILL_ILLOPC"},
		{8, 1, "FPE_INTDIV"},
		{7, 5, "BUS_MCEERR_AO"},
		{5, 1, "TRAP_BRKPT"},
		{17, 6, "CLD_CONTINUED"},
		{29, 1, "POLL_IN"},
		{31, 2, "SYS_USER_DISPATCH"},
		{1, 1, ""},
	} {
		if got := signalCodeName(tt.number, tt.code); got != tt.want {
			t.Errorf("signal %d, code %d: got %q, want %q", tt.number, tt.code, got, tt.want)
		}
	}
}
