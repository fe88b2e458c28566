package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tally counts answers.
type tally struct {
	right int
	none  int // a message where there is a value
	wrong int // another value, or a value where there is none
}

func (t *tally) add(o tally) {
	t.right, t.none, t.wrong = t.right+o.right, t.none+o.none, t.wrong+o.wrong
}

func (t tally) sum() int { return t.right + t.none + t.wrong }

func (t tally) String() string {
	return fmt.Sprintf("%d right, %d without a value, %d wrong", t.right, t.none, t.wrong)
}

func judge(debugger, program string, questions []question, answers []string, verbose bool) (t tally) {
	for i, q := range questions {
		answer := "error: no answer"
		if i < len(answers) {
			answer = answers[i]
		}
		verdict := ""
		switch failed := isMessage(answer); {
		case failed && q.want == "error", !failed && right(answer, q.want):
			t.right++
			continue
		case failed:
			t.none++
			verdict = "no value"
		default:
			t.wrong++
			verdict = "wrong"
		}
		if verbose {
			fmt.Printf("\n%s, %s: %s: %s is %s, not %s", debugger, program, verdict, q.expr, strings.Join(strings.Fields(answer), " "), q.want)
		}
	}
	return t
}

// isMessage reports whether an answer says that there is no value.
func isMessage(answer string) bool {
	for _, m := range []string{"error", "<optimized out>", "<optimised out>", "<unavailable", "Cannot access"} {
		if strings.HasPrefix(answer, m) {
			return true
		}
	}
	return false
}

// right compares an answer with the value.
func right(answer, want string) bool {
	switch want {
	case "error":
		return false
	case "none":
		return nothing.MatchString(answer)
	case "{}":
		return len(leaves(answer, true)) == 0
	}
	wanted := leaves(want, false)
	onlyValues := !slices.ContainsFunc(wanted, func(l leaf) bool { return l.kind == 'w' })
	for _, labels := range []bool{true, false} {
		got := leaves(answer, labels)
		if onlyValues {
			got = slices.DeleteFunc(got, func(l leaf) bool { return l.kind == 'w' })
		}
		if !strings.HasPrefix(want, "{") && len(got) > 1 {
			got = got[:1]
		}
		if strings.HasPrefix(want, "{twice") {
			return strings.Contains(answer, "twice")
		}
		if slices.EqualFunc(got, wanted, equal) {
			return true
		}
	}
	return false
}

var nothing = regexp.MustCompile(`nullptr|nullopt|None|0x0\b|^empty|no contained value|Has Value=false|get\(\) = 0x0|\(none\)|^nullptr`)

// leaf is a number, a string, a character or a word.
type leaf struct {
	kind byte // n, s, c or w
	text string
}

var (
	noise = regexp.MustCompile(`of length \d+(, capacity \d+)?|with \d+ elements?|size=\d+|\d+ elements? in|@?0x[0-9a-f]+`)
	label = regexp.MustCompile(`\[\d+\] = |\[[a-z ]+\] = |\b[A-Za-z_]\w* = |\b\w+ = |\b__\d+: |\b\w+: `)
	token = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|[A-Za-z_][\w:]*`)
)

// leaves returns what an answer consists of, without types, addresses and the names of
// members. Indexes are left out with labels; else they are taken for keys.
func leaves(answer string, labels bool) []leaf {
	if i := strings.IndexByte(answer, '{'); i > 0 && answer[0] != '"' && answer[0] != '\'' {
		answer = answer[i:]
	}
	answer = noise.ReplaceAllString(answer, "")
	if labels {
		answer = label.ReplaceAllString(answer, "")
	} else {
		answer = regexp.MustCompile(`\b(first|second|id|name|value|__0|__1|__cc) = `).ReplaceAllString(answer, "")
	}
	var list []leaf
	end := 0 // of the token before
	for _, at := range token.FindAllStringIndex(answer, -1) {
		text := answer[at[0]:at[1]]
		l, between := leaf{'w', text}, answer[end:at[0]]
		end = at[1]
		switch {
		case text[0] == '"':
			l.kind = 's'
			if s, err := strconv.Unquote(text); err == nil {
				l.text = s
			}
		case text[0] == '\'':
			l.kind = 'c'
			if n := len(list); n > 0 && list[n-1].kind == 'n' && between == " " { // 99 'c'
				list[n-1].text += " " + text
				continue
			}
		case text == "true", text == "false":
			l = leaf{'n', map[string]string{"true": "1", "false": "0"}[text]}
		case text[0] == '-' || text[0] >= '0' && text[0] <= '9':
			l.kind = 'n'
		}
		list = append(list, l)
	}
	return list
}

func equal(got, want leaf) bool {
	switch want.kind {
	case 'n':
		g, _, _ := strings.Cut(got.text, " ")
		if got.kind == 'c' {
			if r, _, _, err := strconv.UnquoteChar(got.text[1:], '\''); err == nil {
				g = fmt.Sprint(r)
			}
		}
		if g == want.text {
			return true
		}
		x, errX := strconv.ParseFloat(g, 64)
		y, errY := strconv.ParseFloat(want.text, 64)
		return errX == nil && errY == nil && len(g) < 18 && math.Abs(x-y) <= 1e-6*math.Abs(y)
	case 'c':
		return got.text == want.text || strings.HasSuffix(got.text, " "+want.text)
	case 'w':
		return got.text == want.text || strings.HasSuffix(got.text, "::"+want.text)
	}
	return got == want
}
