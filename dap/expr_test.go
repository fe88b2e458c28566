package dap

import (
	"errors"
	"strings"
	"testing"
)

// testScope has a register, a symbol, and memory whose words are their address
// plus 1.
var testScope = scope{
	register: func(name string) (uint64, bool, error) {
		switch name {
		case "pc":
			return 0x1000, true, nil
		case "rbx":
			return 0, true, newError(idExpression, "$rbx was not recovered")
		}
		return 0, false, nil
	},
	symbol: func(name string) (uint64, bool) { return 0x2000, name == "main" || name == "ns::f(int)" },
	load: func(addr uint64) (uint64, error) {
		if addr == 0 {
			return 0, errors.New("memory at 0x0: not mapped")
		}
		return addr + 1, nil
	},
}

func TestExpressions(t *testing.T) {
	for text, want := range map[string]uint64{
		"1": 1, " 0x10 ": 16, "0b11": 3, "017": 15, "18446744073709551615": 1<<64 - 1,
		"$pc": 0x1000, "pc": 0x1000, "$PC+8": 0x1008, "main": 0x2000, "&main": 0x2000, "'ns::f(int)' + 1": 0x2001,
		"*0x10": 17, "**0x10": 18, "*($pc + 8)": 0x1009, "*$pc + 8": 0x1009, "-1": 1<<64 - 1, "~0": 1<<64 - 1,
		"1+2*3": 7, "(1+2)*3": 9, "7-2-1": 4, "1<<4|1": 17, "6&3^1": 3, "100/7%4": 2, "1<<64": 0, "2*-1": 1<<64 - 2,
	} {
		if got, err := evaluateExpression(text, testScope); err != nil || got != want {
			t.Errorf("%s: got %#x, %v, want %#x", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "missing", "1 +": "missing", "$eax": "$eax", "$rbx": "recovered", "nosuch": `"nosuch"`, "1 2": `"2"`,
		"(1": "parenthesis", "*0": "not mapped", "1/0": "zero", "1%0": "zero", "0x": "0x", "1a": "1a",
		"'main": "closing", "!": `"!"`, "99999999999999999999": "64-bit", strings.Repeat("(", 1000): "nested",
		strings.Repeat("-", 1000) + "1": "nested", strings.Repeat("1+", 10000): "longer",
	} {
		_, err := evaluateExpression(text, testScope)
		if pe := (*protocolError)(nil); !errors.As(err, &pe) || pe.id != idExpression || !strings.Contains(pe.text, want) {
			t.Errorf("%.40s: got error %v, want one with %q", text, err, want)
		}
	}
}

func TestExamine(t *testing.T) {
	for text, want := range map[string]examine{
		"": {1, 8, 'x'}, "8gx": {8, 8, 'x'}, "2wd": {2, 4, 'd'}, "i": {1, 8, 'i'}, "16c": {16, 1, 'c'}, "s": {1, 8, 's'}, "0x": {0, 8, 'x'},
	} {
		if got, err := parseExamine(text); err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"z", "9999999999999999999999", "5000", "8g!"} {
		if got, err := parseExamine(text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
		}
	}
}

func FuzzExpression(f *testing.F) {
	for _, text := range []string{"*($pc+8)<<2", "'a'", "main|~-&1", "((((", "$", "x/8gx"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := evaluateExpression(text, testScope)
		again, errAgain := evaluateExpression(" ("+text+")", testScope)
		if pe := (*protocolError)(nil); err != nil && !errors.As(err, &pe) {
			t.Errorf("%q: got error %v, which is none of ours", text, err)
		}
		if err == nil && errAgain == nil && v != again {
			t.Errorf("%q: got %#x, in parentheses %#x", text, v, again)
		}
	})
}
