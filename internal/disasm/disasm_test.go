package disasm

import (
	"sync"
	"testing"

	"github.com/sfcore/sfcore/arch"
)

func names(addr uint64) (string, uint64) {
	if addr-0x2000 < 0x100 {
		return "callee", 0x2000
	}
	return "", 0
}

func TestDecode(t *testing.T) {
	tests := []struct {
		name string
		arch *arch.Arch
		code string
		want Inst
	}{
		{"call", arch.AMD64, "\xe8\xfb\x0f\x00\x00", Inst{"callq 0x2000 <callee>", 5, true}},
		{"jump into", arch.AMD64, "\xe9\xff\x0f\x00\x00", Inst{"jmpq 0x2004 <callee+4>", 5, true}},
		{"rip-relative", arch.AMD64, "\x48\x8d\x05\xf9\x0f\x00\x00", Inst{"lea 0xff9(%rip),%rax  # 0x2000 <callee>", 7, true}},
		{"far below", arch.AMD64, "\x48\x8d\x85\x00\xef\xff\xff", Inst{"lea -0x1100(%rbp),%rax", 7, true}},
		{"near below", arch.AMD64, "\x48\x8b\x45\xf8", Inst{"mov -0x8(%rbp),%rax", 4, true}},
		{"far above", arch.AMD64, "\x48\x8d\x85\x00\x11\x00\x00", Inst{"lea 0x1100(%rbp),%rax", 7, true}},
		{"lowest", arch.AMD64, "\x8b\x04\xcd\x00\x00\x00\x80", Inst{"mov -0x80000000(,%rcx,8),%eax", 7, true}},
		{"endbr64", arch.AMD64, "\xf3\x0f\x1e\xfa", Inst{"endbr64", 4, true}},
		{"push", arch.AMD64, "\x55\x90", Inst{"push %rbp", 1, true}},
		{"no instruction", arch.AMD64, "\x06\x90", Inst{".byte 0x06", 1, false}},
		{"cut off", arch.AMD64, "\xe8\xfb", Inst{".byte 0xe8", 1, false}},
		{"bl", arch.AArch64, "\x00\x04\x00\x94", Inst{"bl 0x2000 <callee>", 4, true}},
		{"adrp", arch.AArch64BE, "\x00\x00\x00\xb0", Inst{"adrp x0, 0x2000 <callee>", 4, true}},
		{"no instruction", arch.AArch64, "\x00\x00\x00\x00", Inst{".inst 0x00000000", 4, false}},
		{"cut off", arch.AArch64, "\x00\x04", Inst{".byte 0x00, 0x04", 2, false}},
		{"brasl", arch.S390X, "\xc0\xe5\x00\x00\x08\x00", Inst{"brasl %r14,0x2000 <callee>", 6, true}},
		{"jump back", arch.S390X, "\xa7\xf4\xff\xfe", Inst{"j 0xffc", 4, true}},
		{"br", arch.S390X, "\x07\xfe", Inst{"br %r14", 2, true}},
		{"without a mask", arch.S390X, "\xe7\x00\x00\x00\x20\x5c", Inst{"vistr", 6, true}},
		{"no instruction", arch.S390X, "\x00\x00\x01", Inst{".byte 0x00, 0x00", 2, false}},
		{"cut off", arch.S390X, "\xc0\xe5\x00", Inst{".byte 0xc0, 0xe5, 0x00", 3, false}},
		{"nothing", arch.S390X, "", Inst{}},
	}
	for _, tt := range tests {
		t.Run(tt.arch.Name+"/"+tt.name, func(t *testing.T) {
			if got := Decode(tt.arch, []byte(tt.code), 0x1000, names); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			if size, valid := Measure(tt.arch, []byte(tt.code)); size != tt.want.Size || valid != tt.want.Valid {
				t.Errorf("measured: got %d, %v, want %+v", size, valid, tt.want)
			}
		})
	}
}

// Decoders share nothing that changes: the same bytes give the same instruction
// while others decode, and the race detector has nothing to report.
func TestDecodeConcurrently(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AMD64, arch.AArch64, arch.S390X} {
		code := []byte("\x07\xfe\x00\x14\x00\x00")
		want := Decode(a, code, 0x1000, names)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 100 {
					if got := Decode(a, code, 0x1000, names); got != want {
						t.Errorf("%s: got %+v, alone %+v", a.Name, got, want)
					}
				}
			})
		}
		all.Wait()
	}
}

// FuzzDecode checks that any bytes are an instruction or a directive, that
// neither claims bytes that were not given, and that bytes behind it are of no
// influence.
func FuzzDecode(f *testing.F) {
	for i := range byte(3) {
		f.Add(i, []byte("\xe8\xfb\x0f\x00\x00\x00\x00\x00"))
		f.Add(i, []byte("\xc0\xe5\x00\x00\x07\xff\x94\x00"))
	}
	f.Fuzz(func(t *testing.T, which byte, code []byte) {
		a := []*arch.Arch{arch.AMD64, arch.AArch64, arch.S390X}[which%3]
		got := Decode(a, code, 0x1000, names)
		switch {
		case len(code) == 0:
			if got != (Inst{}) {
				t.Fatalf("of nothing: got %+v", got)
			}
			return
		case got.Size < 1 || got.Size > min(len(code), MaxSize) || got.Text == "":
			t.Fatalf("% x: got %+v", code, got)
		}
		if size, valid := Measure(a, code); size != got.Size || valid != got.Valid {
			t.Fatalf("% x: got %+v, measured %d, %v", code, got, size, valid)
		}
		if again := Decode(a, code[:got.Size], 0x1000, names); got.Valid && again != got {
			t.Fatalf("% x: got %+v, of its own bytes %+v", code, got, again)
		}
	})
}
