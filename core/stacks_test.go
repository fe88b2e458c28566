package core

import (
	"slices"
	"testing"

	"github.com/sfcore/sfcore/arch"
)

func TestStackSpans(t *testing.T) {
	maps := []procMapping{
		{Mapping: Mapping{Lo: 0x1000, Hi: 0x5000}},
		{Mapping: Mapping{Lo: 0x5000, Hi: 0x6000}},
		{Mapping: Mapping{Lo: 0x10000, Hi: 0x20000}},
		{Mapping: Mapping{Lo: ^uint64(0xfff), Hi: ^uint64(0)}},
	}
	tests := []struct {
		name          string
		sps           []uint64
		budget, total uint64
		want          []span
	}{
		{"to the end", []uint64{0x4f00}, 1 << 20, 1 << 30, []span{{0x4e80, 0x5000, 0x5000}}},
		{"budget", []uint64{0x11000}, 0x100, 1 << 30, []span{{0x10f80, 0x11100, 0x20000}, {0x1fffc, 0x20000, 0x20000}}},
		{"red zone ends at the mapping", []uint64{0x5010}, 1 << 20, 1 << 30, []span{{0x5000, 0x6000, 0x6000}}},
		{"none", nil, 1 << 20, 1 << 30, nil},
		{"nowhere, and somewhere", []uint64{8, 0x4f00}, 1 << 20, 1 << 30, []span{{0x4e80, 0x5000, 0x5000}}},
		{"no tail", []uint64{0x11000}, 0x20, 1 << 30, []span{{0x10f80, 0x11020, 0x20000}}},
		{"nowhere", []uint64{0, 0x6000, 0xfff, ^uint64(0)}, 1 << 20, 1 << 30, nil},
		{"two in one mapping", []uint64{0x12000, 0x11000, 0x11000}, 0x1000, 1 << 30, []span{{0x10f80, 0x13000, 0x20000}, {0x1ffc0, 0x20000, 0x20000}}},
		{"two apart", []uint64{0x18000, 0x11000}, 0x100, 1 << 30, []span{{0x10f80, 0x11100, 0x20000}, {0x17f80, 0x18100, 0x20000}, {0x1fffc, 0x20000, 0x20000}}},
		{"nearly all", []uint64{0x1fe00}, 0x1ff, 1 << 30, []span{{0x1fd80, 0x20000, 0x20000}}},
		{"neighbours stay apart", []uint64{0x4f00, 0x5010}, 1 << 20, 1 << 30, []span{{0x4e80, 0x5000, 0x5000}, {0x5000, 0x6000, 0x6000}}},
		{"total", []uint64{0x11000, 0x18000}, 1 << 20, 0x208, []span{{0x10f80, 0x11100, 0x20000}, {0x17f80, 0x18100, 0x20000}, {0x1fffc, 0x20000, 0x20000}}},
		{"top of the address space", []uint64{^uint64(0xff)}, ^uint64(0), 1 << 30, []span{{^uint64(0x17f), ^uint64(0), ^uint64(0)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := spansWithin(tt.sps, maps, eachBudget(tt.sps, maps, tt.budget, tt.total)); !slices.Equal(got, tt.want) {
				t.Errorf("got %#x, want %#x", got, tt.want)
			}
		})
	}
}

func TestEachBudget(t *testing.T) {
	maps := []procMapping{{Mapping: Mapping{Lo: 0x1000, Hi: 0x101000}}, {Mapping: Mapping{Lo: 0x200000, Hi: 0x300000}}}
	for _, tt := range []struct {
		name                string
		sps                 []uint64
		budget, total, want uint64
	}{
		{"enough", []uint64{0x100000, 0x2ff000}, 0x8000, 1 << 30, 0x8000},
		{"none", nil, 0x8000, 0, 0x8000},
		{"nowhere", []uint64{0x10}, 0x8000, 0, 0x8000},
		{"small stacks are whole", []uint64{0x100f00, 0x100f00, 0x200000}, 1 << 20, 65 * 0x100, 64*0x100 - 2*0x100},
		{"large stacks share", []uint64{0x1000, 0x200000, 0x2fff00}, 1 << 20, 65 * 0x100, (64*0x100 - 0x100) / 2},
		{"just enough", []uint64{0x100000, 0x2ff000}, 1 << 20, 65 * 0x80, 1 << 20},
		{"two that are too large", []uint64{0xff800, 0x2fe800}, 1 << 20, 65 * 0x80, 0x1000},
		{"the budget counts", []uint64{0x1000, 0x200000, 0x2fff00}, 0x200, 65 * 0x100, 0x200},
	} {
		if got := eachBudget(tt.sps, maps, tt.budget, tt.total); got != tt.want {
			t.Errorf("%s: got %#x, want %#x", tt.name, got, tt.want)
		}
	}
}

func TestFirstStack(t *testing.T) {
	maps := []procMapping{{Mapping: Mapping{Lo: 0x1000, Hi: 0x5000}}, {Mapping: Mapping{Lo: 0x10000, Hi: 0x20000, Path: "[stack]"}}}
	for _, tt := range []struct {
		sps, want []uint64
		maps      []procMapping
		budget    uint64
	}{
		{[]uint64{0x4000}, []uint64{0x4000, 0x1ff00}, maps, 0x100},
		{[]uint64{0x4000}, []uint64{0x4000, 0x10000}, maps, 1 << 20},
		{[]uint64{0x4000, 0x12000}, []uint64{0x4000, 0x12000}, maps, 0x100},
		{[]uint64{0x4000}, []uint64{0x4000}, maps[:1], 0x100},
		{nil, []uint64{0x1ff00}, maps[1:], 0x100},
	} {
		if got := withFirstStack(tt.sps, tt.maps, tt.budget); !slices.Equal(got, tt.want) {
			t.Errorf("budget %#x: got %#x, want %#x", tt.budget, got, tt.want)
		}
	}
}

func TestWithout(t *testing.T) {
	others := []copied{{span: span{10, 20, 50}}, {span: span{30, 40, 50}}}
	tests := []struct {
		name string
		s    span
		want []span
	}{
		{"apart", span{41, 50, 50}, []span{{41, 50, 50}}},
		{"from the beginning", span{10, 25, 50}, []span{{20, 25, 50}}},
		{"to the end", span{25, 40, 50}, []span{{25, 30, 50}}},
		{"up to it", span{5, 10, 50}, []span{{5, 10, 50}}},
		{"covered", span{12, 18, 50}, nil},
		{"around both", span{5, 45, 50}, []span{{5, 10, 50}, {20, 30, 50}, {40, 45, 50}}},
		{"between", span{20, 30, 50}, []span{{20, 30, 50}}},
		{"over one end", span{35, 45, 50}, []span{{40, 45, 50}}},
		{"below", span{0, 10, 50}, []span{{0, 10, 50}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := without([]span{tt.s}, others); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	t.Run("many spans", func(t *testing.T) {
		spans := []span{{0, 4, 4}, {4, 12, 12}, {12, 14, 14}, {14, 35, 35}, {38, 42, 42}, {60, 70, 70}}
		want := []span{{0, 4, 4}, {4, 10, 12}, {20, 30, 35}, {40, 42, 42}, {60, 70, 70}}
		if got := without(spans, others); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// A signal frame on an alternate stack is found by uc_stack, which describes
// the stack that it is on.
func TestInterruptedSP(t *testing.T) {
	const base, size, sp, old = 0x7000_0000, 0x4000, 0x7000_3008, 0x7fff_0000_1230
	for _, a := range []*arch.Arch{arch.AMD64, arch.AArch64, arch.S390X} {
		frame := func(ssSP, ssSize, oldSP uint64) []byte {
			b := make([]byte, 0x800)
			order := byteOrder(a)
			const at = 0x210
			order.PutUint64(b[at:], ssSP)
			order.PutUint64(b[at+16:], ssSize)
			order.PutUint64(b[at+a.AltStackToSP:], oldSP)
			return b
		}
		tests := []struct {
			name  string
			stack []byte
			ok    bool
		}{
			{"found", frame(base, size, old), true},
			{"interrupted on the same stack", frame(base, size, base+0x1000), false},
			{"another stack", frame(base+0x10000, size, old), false},
			{"too small a stack", frame(sp-8, 1024, old), false},
			{"too large a stack", frame(base, 1<<40, old), false},
			{"no signal", make([]byte, 0x800), false},
			{"cut off", frame(base, size, old)[:0x210+a.AltStackToSP], false},
			{"nothing", nil, false},
		}
		for _, tt := range tests {
			t.Run(a.Name+"/"+tt.name, func(t *testing.T) {
				got, ok := interruptedSP(a, sp, tt.stack)
				if ok != tt.ok || ok && got != old {
					t.Errorf("got %#x, %v, want %#x, %v", got, ok, uint64(old), tt.ok)
				}
			})
		}
	}
}

func TestStackAt(t *testing.T) {
	stacks := []copied{{span: span{10, 20, 50}, data: []byte("abcdefghij")}, {span: span{30, 40, 50}, data: []byte("klm")}}
	for sp, want := range map[uint64]string{9: "", 10: "abcdefghij", 19: "j", 20: "", 29: "", 30: "klm", 32: "m", 33: "", 39: "", 40: ""} {
		if got := string(stackAt(stacks, sp)); got != want {
			t.Errorf("%d: got %q, want %q", sp, got, want)
		}
	}
	if stackAt(nil, 10) != nil || stackAt(stacks, 25) != nil || stackAt(stacks, 35) == nil {
		t.Error("a stack whose bytes were not copied is not told from none")
	}
}

// The settings of an alternate stack have limits, and the stack that they describe
// holds them, but not what was interrupted.
func TestInterruptedSPLimits(t *testing.T) {
	const at, old = 0x210, 0x7fff_0000_1230
	a := arch.AMD64
	for _, tt := range []struct {
		name       string
		sp, at     uint64 // stack pointer, and where the settings are above it
		base, size uint64
		old        uint64
		length     uint64 // of the stack, 0 for all
		before     uint64 // a word before the settings that looks like an address
		ok         bool
	}{
		{"usual", 0x7000_3000, at, 0x7000_0000, 0x4000, old, 0, 0, true},
		{"SP between words", 0x7000_3005, at + 3, 0x7000_0000, 0x4000, old, 0, 0, true},
		{"SP before a word", 0x7000_3007, at + 1, 0x7000_0000, 0x4000, old, 0, 0, true},
		{"the settings first", 0x7000_3000, 0, 0x7000_0000, 0x4000, old, 0, 0, true},
		{"the end of what was copied", 0x7000_3000, at, 0x7000_0000, 0x4000, old, at + uint64(a.AltStackToSP) + 8, 0, true},
		{"a byte too few", 0x7000_3000, at, 0x7000_0000, 0x4000, old, at + uint64(a.AltStackToSP) + 7, 0, false},
		{"far above", 0x7000_3000, maxAltScan - uint64(a.AltStackToSP) - 8, 0x7000_0000, 0x20000, old, 0, 0, true},
		{"too far above", 0x7000_3000, maxAltScan - uint64(a.AltStackToSP), 0x7000_0000, 0x20000, old, 0, 0, false},
		{"SP at the bottom", 0x7000_0000, at, 0x7000_0000, 0x4000, old, 0, 0, true},
		{"near the bottom", 0x7000_0100, at, 0x7000_0000, 0x4000, old, 0, 0, true},
		{"SP below the stack", 0x7000_3000, at, 0x7000_3008, 0x4000, old, 0, 0, false},
		{"the smallest stack", 0x7000_0000, at, 0x7000_0000, minAltStack, old, 0, 0, true},
		{"too small a stack", 0x7000_0000, at, 0x7000_0000, minAltStack - 1, old, 0, 0, false},
		{"the largest stack", 0x7000_0000, at, 0x7000_0000, maxAltStack, old, 0, 0, true},
		{"too large a stack", 0x7000_0000, at, 0x7000_0000, maxAltStack + 1, old, 0, 0, false},
		{"the settings at the end", 0x7000_3000, 0xff8, 0x7000_0000, 0x4000, old, 0, 0, true},
		{"the settings behind the end", 0x7000_3000, 0x1000, 0x7000_0000, 0x4000, old, 0, 0, false},
		{"far from the bottom", 0x7000_0000 + maxAltStack - at - 8, at, 0x7000_0000, maxAltStack, old, 0, 0, true},
		{"too far from the bottom", 0x7000_0000 + maxAltStack - at, at, 0x7000_0000, maxAltStack, old, 0, 0, false},
		{"interrupted just above", 0x7000_3000, at, 0x7000_0000, 0x4000, 0x7000_4000, 0, 0, true},
		{"interrupted at the end", 0x7000_3000, at, 0x7000_0000, 0x4000, 0x7000_3fff, 0, 0, false},
		{"behind an address", 0x7000_3000, at, 0x7000_0000, 0x4000, old, 0, 0x7000_0000, true},
	} {
		stack := make([]byte, maxAltScan+0x1000)
		order := byteOrder(a)
		if tt.before != 0 {
			order.PutUint64(stack[tt.at-0x100:], tt.before)
		}
		order.PutUint64(stack[tt.at:], tt.base)
		order.PutUint64(stack[tt.at+16:], tt.size)
		order.PutUint64(stack[tt.at+uint64(a.AltStackToSP):], tt.old)
		if tt.length > 0 {
			stack = stack[:tt.length]
		}
		if got, ok := interruptedSP(a, tt.sp, stack); ok != tt.ok || ok && got != tt.old {
			t.Errorf("%s: got %#x, %v, want %v", tt.name, got, ok, tt.ok)
		}
	}
}
