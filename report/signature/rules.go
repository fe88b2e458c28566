package signature

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
)

//go:embed rules.txt
var shipped string

// Rules say which frames tell nothing about a crash, because they come with its kind:
// what raises a signal, throws, allocates, or starts a thread. The zero Rules leave
// nothing out.
type Rules struct {
	// Version names the rules. It is a part of what is hashed.
	Version string

	functions patterns // by plain names
	modules   patterns // by names of files
}

// rule leaves frames out.
type rule struct {
	reason, pattern string
	file            string
	line            int
}

// overflowed is the reason of functions that notice that the stack overflowed, which
// the signal then does not tell.
const overflowed = "overflow"

func (r *rule) String() string {
	return fmt.Sprintf("rule %s: %s (%s:%d)", r.reason, r.pattern, r.file, r.line)
}

// patterns are the rules for names of one sort.
type patterns struct {
	exact map[string]*rule
	globs []*glob // the first that matches is used
}

// glob is a rule whose pattern has at least one *.
type glob struct {
	*rule
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

// ReadRules reads rules: lines of "version NAME", "skip REASON FUNCTION" and "module
// REASON FILE", where * in a function or file stands for any characters; # begins a
// comment, at the beginning of a line or behind a space. name is for errors, which name
// the line.
func ReadRules(name string, in io.Reader) (*Rules, error) {
	r := new(Rules)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxPattern)
	n := 0
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%s:%d: %s", name, n, fmt.Sprintf(format, args...))
	}
	for lines.Scan() {
		n++
		verb, reason, pattern := fields(lines.Text())
		to := &r.functions
		switch verb {
		case "":
			continue
		case "version":
			if reason == "" || pattern != "" || r.Version != "" {
				return nil, bad("the line must be \"version NAME\", once")
			}
			r.Version = reason
			continue
		case "skip":
		case "module":
			to = &r.modules
		default:
			return nil, bad("a line begins with %q; use version, skip or module", verb)
		}
		if pattern == "" {
			return nil, bad("the line must be \"%s REASON PATTERN\"", verb)
		}
		if len(r.functions.exact)+len(r.modules.exact) == maxRules {
			return nil, bad("there are more than %d rules", maxRules)
		}
		added := &rule{reason, pattern, filepath.Base(name), n}
		if before := to.add(added); before != nil {
			return nil, bad("pattern %q is that of line %d", pattern, before.line)
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

// fields returns the fields of a line without its comment. The last has the rest.
func fields(line string) (verb, reason, pattern string) {
	line = " " + strings.ReplaceAll(line, "\t", " ")
	line, _, _ = strings.Cut(line, " #")
	verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	reason, pattern, _ = strings.Cut(strings.TrimSpace(rest), " ")
	return verb, reason, strings.TrimSpace(pattern)
}

// add adds a rule. It returns a rule that has the pattern already.
func (p *patterns) add(r *rule) (before *rule) {
	if p.exact == nil {
		p.exact = map[string]*rule{}
	}
	if before := p.exact[r.pattern]; before != nil {
		return before
	}
	p.exact[r.pattern] = r
	if strings.Contains(r.pattern, "*") {
		p.globs = append(p.globs, &glob{r, strings.Split(r.pattern, "*")})
	}
	return nil
}

// match returns the rule for a name, or nil.
func (p *patterns) match(name string) *rule {
	if found := p.exact[name]; found != nil {
		return found
	}
	for _, g := range p.globs {
		if g.matches(name) {
			return g.rule
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
