package signature

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"sync"
)

//go:embed rules.txt
var shipped string

// Rules say which functions tell nothing about a crash, because they come with its
// kind: what raises a signal, throws, allocates, or starts a thread. The zero Rules
// leave nothing out.
type Rules struct {
	// Version names the rules. It is a part of what is hashed.
	Version string

	exact map[string]*rule
	globs []*glob // the first that matches is used
}

// rule leaves functions out.
type rule struct{ reason, pattern string }

// glob is a rule whose pattern has at least one *.
type glob struct {
	rule
	parts []string // of the pattern, between the *
}

// Default returns the rules that come with this version.
var Default = sync.OnceValue(func() *Rules {
	r, err := ReadRules("rules.txt", strings.NewReader(shipped))
	if err != nil {
		panic(err)
	}
	return r
})

const (
	maxRules   = 10_000
	maxPattern = 1000 // bytes of a line
)

// ReadRules reads rules: lines of "version NAME" and "skip REASON PATTERN", where * in a
// pattern stands for any characters; # begins a comment. name is for errors, which name
// the line.
func ReadRules(name string, in io.Reader) (*Rules, error) {
	r := &Rules{exact: map[string]*rule{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxPattern)
	n := 0
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%s:%d: %s", name, n, fmt.Sprintf(format, args...))
	}
	for lines.Scan() {
		n++
		line, _, _ := strings.Cut(lines.Text(), "#")
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		reason, pattern, _ := strings.Cut(strings.TrimSpace(rest), " ")
		pattern = strings.TrimSpace(pattern)
		switch {
		case verb == "":
		case verb == "version" && reason != "" && pattern == "" && r.Version == "":
			r.Version = reason
		case verb == "version":
			return nil, bad("the line must be \"version NAME\", once")
		case verb != "skip":
			return nil, bad("a line begins with %q; use version or skip", verb)
		case pattern == "":
			return nil, bad("the line must be \"skip REASON PATTERN\"")
		case len(r.exact)+len(r.globs) == maxRules:
			return nil, bad("there are more than %d rules", maxRules)
		case strings.Contains(pattern, "*"):
			r.globs = append(r.globs, &glob{rule{reason, pattern}, strings.Split(pattern, "*")})
		default:
			r.exact[pattern] = &rule{reason, pattern}
		}
	}
	if err := lines.Err(); err != nil {
		n++
		return nil, bad("%v", err)
	}
	if r.Version == "" {
		return nil, fmt.Errorf("%s: there is no line \"version NAME\"", name)
	}
	return r, nil
}

// match returns the rule that leaves a function out, or nil. name is its plain name.
func (r *Rules) match(name string) *rule {
	if found := r.exact[name]; found != nil {
		return found
	}
	for _, g := range r.globs {
		if g.matches(name) {
			return &g.rule
		}
	}
	return nil
}

// matches reports whether a name has the form of the pattern.
func (g *glob) matches(name string) bool {
	first, last := g.parts[0], g.parts[len(g.parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range g.parts[1 : len(g.parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return true
}
