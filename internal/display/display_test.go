package display

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"plain name<int>":           "plain name<int>",
		"tab\there":                 "tab\there",
		"na\u00efve \u65e5\u672c":   "na\u00efve \u65e5\u672c",
		"\x1b[2J\n\x7f":             `\u001b[2J\u000a\u007f`,
		"\u009b2J":                  `\u009b2J`,
		"\x9b2J\xff":                `\x9b2J\xff`,
		"\ufffd":                    "\ufffd", // written by somebody else
		"a\u202eb\u2066c\u061cd":    `a\u202eb\u2066c\u061cd`,
		"\u00ad\u200b\u200d\ufeff":  `\u00ad\u200b\u200d\ufeff`,
		"\u2028\u2029":              `\u2028\u2029`,
		"\U000e0041x\U000e01ef":     `\udb40\udc41x\udb40\uddef`,
		"\u115f\u3164\u034f\ufe0f.": `\u115f\u3164\u034f\ufe0f.`,
	} {
		if got := Text(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestUnsafe holds the judgement against the categories that must not be shown.
func TestUnsafe(t *testing.T) {
	n := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		must := unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
		if must && !Unsafe(r) {
			t.Errorf("%U is shown as it is", r)
		}
		if Unsafe(r) {
			n++
			if unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
				t.Errorf("%U is escaped, and can be seen", r)
			}
		}
	}
	if n < 65+150 {
		t.Errorf("only %d characters are unsafe", n)
	}
}

// FuzzDisplay expects text without unsafe characters, and JSON that means the same.
func FuzzDisplay(f *testing.F) {
	for _, s := range []string{"a\u202e\x9b\ufffd", "\\\u2028\"\U000e0041<&>", "\x7f\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shown := Text(s)
		for i, r := range shown {
			if Unsafe(r) && r != '\t' || r == utf8.RuneError && !strings.HasPrefix(shown[i:], "\ufffd") {
				t.Errorf("%q: got %q", s, shown)
			}
		}
		doc, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		var want, got map[string]string
		if err := json.Unmarshal(doc, &want); err != nil {
			t.Fatal(err)
		}
		safe := JSON(doc)
		for _, r := range string(safe) {
			if Unsafe(r) {
				t.Errorf("%q: got %q", doc, safe)
			}
		}
		if err := json.Unmarshal(safe, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: got %q, %v, want %q", doc, got, err, want)
		}
	})
}
