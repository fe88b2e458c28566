package symbol

import (
	"strings"
	"testing"
	"time"
)

func TestDemangle(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"main", "main"},
		{"", ""},
		{"_Z", "_Z"},
		{"_Znope", "_Znope"},
		{"_start", "_start"},
		{"_ZN5outer5driveERKSt6vectorIiSaIiEE", "outer::drive(std::vector<int, std::allocator<int> > const&)"},
		{"_ZN9__gnu_cxx27__verbose_terminate_handlerEv.cold", "__gnu_cxx::__verbose_terminate_handler() [clone .cold]"},
		{"_Znam@plt", "operator new[](unsigned long)@plt"},
		{"strlen@plt", "strlen@plt"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
		{"_ZN3std3sys9backtrace28__rust_begin_short_backtrace17h0123456789abcdefE", "std::sys::backtrace::__rust_begin_short_backtrace"},
		{"_ZN1a2_b17h0123456789abcdefE.llvm.123", "a::_b"},
		{"_ZN41_$LT$T$u20$as$u20$core..convert..From$GT$4from17h0123456789abcdefE", "<T as core::convert::From>::from"},
		{"_ZN1a2_b3fooEv", "a::_b::foo()"},
		{"_ZNE17h", "_ZNE17h"},
		{"_ZN0E17h", "_ZN0E17h"},
		{"_ZN1a99_b17h0123456789abcdefE", "_ZN1a99_b17h0123456789abcdefE"},
		{"_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example"},
		{"_RNvNtCs1234_7mycrate3foo3bar@plt", "mycrate::foo::bar@plt"},
		{"runtime.(*mcache).refill", "runtime.(*mcache).refill"},
		{"_ZNSt6vectorIiSaIiEE12emplace_backIJiEEERiDpOT_", "int& std::vector<int, std::allocator<int> >::emplace_back<int>(int&&)"},
		// "sp" within identifiers is no pack expansion, however often it stands there.
		{
			"_ZN12v8_inspector8response8dispatch5spaceERNS0_7displayES2_A16_NS0_4spanE",
			"v8_inspector::response::dispatch::space(v8_inspector::response::display&, v8_inspector::response::display, v8_inspector::response::span [16])",
		},
	} {
		if got := Demangle(tt.name); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestDemangleBounded has names that took the demangler minutes, or all memory.
func TestDemangleBounded(t *testing.T) {
	rep := strings.Repeat
	doubled := "_Z1fPi"
	for _, sub := range []string{"S_", "S0_", "S1_", "S2_", "S3_", "S4_", "S5_", "S6_", "S7_", "S8_", "S9_", "SA_", "SB_", "SC_", "SD_", "SE_", "SF_", "SG_"} {
		doubled += "Fv" + sub + sub + "E"
	}
	for _, tt := range []struct{ name, mangled, prefix string }{
		{"nested packs", "_Z1fIJ" + rep("i", 10) + "EEv" + rep("Dp1aIT_", 10) + rep("E", 10), "f<int, int,"},
		{"a large pack", "_Z1fIJ" + rep("i", 4000) + "EEvDpT_", "f<int, int,"},
		{"many expansions", "_Z1fIJ" + rep("i", 2000) + "EEv" + rep("DpT_", 400), "f<int, int,"},
		{"expansions hidden as identifiers", "_Z1fIJ" + rep("i", 100) + "E" + rep("Li8EDp1aIT_", 8) + rep("E", 8) + "Evv", "_Z1f"},
		{"expansions in the name", "_Z1fIJ" + rep("i", 100) + "EIDp1aIT_Dp1bIT_Dp1cIT_EEEEEvv", "_Z1f"},
		{"doubling", doubled, "f(int*, void (int*, int*),"},
		{"depth", "_Z1f" + rep("P", 4000) + "i", "f(int****"},
		{"depth of Rust", "_RINvC1a1b" + rep("T", 2000) + rep("E", 2000) + "E", "a::b::<((("},
		{"length", "_Z" + rep("9", 5000), "_Z999"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			got := Demangle(tt.mangled)
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			if len(got) > 1<<maxDemangledLog2 && got != tt.mangled {
				t.Errorf("got %d bytes, want at most %d", len(got), 1<<maxDemangledLog2)
			}
			if !strings.HasPrefix(got, tt.prefix) {
				t.Errorf("got %.60s..., want %s...", got, tt.prefix)
			}
		})
	}
}

func TestMaskIdentifiers(t *testing.T) {
	masked, m := maskIdentifiers("_ZN4DspsIiEEDpOT_spS1D_A12_3spD.sp")
	if want := "_ZN4\x01\x02p\x02IiEEDpOT_spS1D_A12_3\x02p\x01.sp"; masked != want {
		t.Errorf("got  %q, want %q", masked, want)
	}
	if got := unmask.Replace(masked); got != "_ZN4DspsIiEEDpOT_spS1D_A12_3spD.sp" {
		t.Errorf("unmasked: got %q", got)
	}
	if m.expansions != 2 || m.first != 12 {
		t.Errorf("got %+v, want 2 expansions, the first at 12", m)
	}
}

// Identifiers that begin with an underscore get another one, in names of Rust only.
func TestLegacyRust(t *testing.T) {
	const hash = "17h0123456789abcdef"
	for name, want := range map[string]string{
		"_ZN1a2_b" + hash + "E":              "_ZN1a3__b" + hash + "E",
		"_ZN1a2_b" + hash + "E.llvm.1":       "_ZN1a3__b" + hash + "E.llvm.1",
		"_ZN1a2_b" + hash:                    "_ZN1a3__b" + hash,
		"_ZN3_$a2_b" + hash + "E":            "_ZN3_$a3__b" + hash + "E",
		"_ZN4x17h2_b17g0123456789abcdefE":    "",
		"_ZN1a2_b17g0123456789abcdefE":       "",
		"_ZN1a2_b17h0123456789abcdegE":       "",
		"_ZN1a2_b17hg123456789abcdefE":       "",
		"_ZN1a2_b18h0123456789abcdefaE":      "",
		"_ZN1a2_b17h0123456789abcdef1cE":     "",
		"_ZN1a2_b" + hash + "99999999999999": "",
		"_ZN1a2_b17h0123456789abcde":         "",
		"_Z1a2_b" + hash + "E":               "",
		"_ZN1a2_b3fooE":                      "",
		"_ZNa" + hash + "E":                  "",
		"_ZN":                                "",
	} {
		if want == "" {
			want = name
		}
		if got := legacyRust(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// What parameter packs expand to is reckoned before: too much at least, never too
// little.
func TestPackWork(t *testing.T) {
	for _, tt := range []struct{ expansions, args, want int }{
		{0, 1000, 0}, {1, 1, 1}, {1, 10, 100}, {2, 10, 1000}, {3, 10, 10000}, {1, 1 << 9, maxPackWork}, {2, 1 << 9, maxPackWork << 9}, {1000, 1 << 9, maxPackWork << 9}, {1000, 1, 1},
	} {
		if got := packWork(tt.expansions, tt.args); got != tt.want {
			t.Errorf("%d expansions of %d: got %d, want %d", tt.expansions, tt.args, got, tt.want)
		}
	}
}

// The digits of substitutions, template parameters and array bounds begin no
// identifier.
func TestNumbered(t *testing.T) {
	for s, want := range map[string]int{
		"S_": 2, "S_x": 2, "S1A_x": 4, "SZ9_": 4, "T_": 2, "T1_1a": 3, "A16_i": 4, "A_i": 2,
		"TA_": 0, "AZ_": 0, "S": 0, "S1": 0, "Sx_": 0, "S1a_": 0, "B1_": 0, "1_": 0, "_": 0,
	} {
		if got := numbered(s); got != want {
			t.Errorf("%s: got %d, want %d", s, got, want)
		}
	}
	for name, want := range map[string]struct {
		masked string
		m      mangled
	}{
		"":              {"", mangled{}},
		"i":             {"i", mangled{0, 0, 1}},
		"2Dp":           {"2\x01p", mangled{0, 0, 1}},
		"2Dpsp":         {"2\x01psp", mangled{1, 3, 3}},
		"DpDp":          {"DpDp", mangled{2, 0, 4}},
		"aspDp":         {"aspDp", mangled{2, 1, 5}},
		"S0_2spT_":      {"S0_2\x02pT_", mangled{0, 0, 3}},
		"9Dp":           {"9\x01p", mangled{0, 0, 1}},
		"12345678901Ds": {"12345678901\x01\x02", mangled{0, 0, 1}},
		"Dp.Dp1sp":      {"Dp.Dp1sp", mangled{1, 0, 2}},
		"0Dp":           {"0Dp", mangled{1, 1, 3}},
	} {
		if masked, m := maskIdentifiers(name); masked != want.masked || m != want.m {
			t.Errorf("%q: got %q, %+v, want %q, %+v", name, masked, m, want.masked, want.m)
		}
	}
}

// Names up to a length are demangled, and cut off at another.
func TestDemangleLimits(t *testing.T) {
	stars := strings.Repeat("P", maxMangled-5)
	if got := Demangle("_Z1f" + stars + "i"); got != "f(int"+strings.Repeat("*", maxMangled-5)+")" {
		t.Errorf("got %.40s... of %d bytes", got, len(got))
	}
	if name := "_Z1f" + stars + "Pi"; Demangle(name) != name {
		t.Errorf("got %.40s...", Demangle(name))
	}
	if name := "_Z1f" + stars + "Pi@plt"; Demangle(name) != name {
		t.Errorf("got %.40s...", Demangle(name))
	}
	if got := Demangle("_Z1f" + stars + "i@plt"); !strings.HasSuffix(got, ")@plt") {
		t.Errorf("got %.40s... of %d bytes", got, len(got))
	}
	for name, want := range map[string]string{"_Z": "_Z", "_R": "_R", "Z1fv": "Z1fv", "_Q1fv": "_Q1fv", "_Z1fv": "f()", "_ZN1aE": "a", "_Z@plt": "_Z@plt"} {
		if got := Demangle(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
