package symbol

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

const (
	// maxMangled bounds the names that are demangled, in bytes. The demangler
	// needs time in the square of it.
	maxMangled = 4096
	// maxDemangledLog2 bounds what comes out: substitutions double the length
	// with every few bytes of the name.
	maxDemangledLog2 = 13
	// maxPackWork bounds the nodes that parameter packs expand to.
	maxPackWork = 1 << 18
)

// Demangle returns the source form of a C++ (Itanium ABI) or Rust name. It returns a
// name unchanged that is not mangled, or that would take too long. It cuts off
// results of more than 8 KiB. Function names ending in @plt keep that ending.
func Demangle(name string) string {
	base, plt := strings.CutSuffix(name, "@plt")
	if len(base) < 3 || base[0] != '_' || base[1] != 'Z' && base[1] != 'R' || len(base) > maxMangled {
		return name
	}
	source := ""
	if base[1] == 'R' {
		source = demangled(base)
	} else {
		source = demangledCXX(legacyRust(base))
	}
	if source == "" {
		return name
	}
	if plt {
		source += "@plt"
	}
	return source
}

// demangled returns "" if the demangler refuses a name or panics. It was not written
// for hostile names, and a name is not worth a crash.
func demangled(name string, options ...demangle.Option) (source string) {
	defer func() {
		if recover() != nil {
			source = ""
		}
	}()
	source, err := demangle.ToString(name, append(options, demangle.MaxLength(maxDemangledLog2))...)
	if err != nil {
		return ""
	}
	return source
}

// demangledCXX keeps names from the demangler that would take it hours. The
// demangler copies the contents of a pack expansion for each argument of the pack,
// and packs may be nested. So pack expansions are counted first. If they promise
// too much work, the name is cut off before the first of them. That is usually
// among the parameter types, which are then left out.
func demangledCXX(name string) string {
	if packWork(strings.Count(name, "Dp")+strings.Count(name, "sp"), len(name)) <= maxPackWork {
		return demangled(name)
	}
	masked, m := maskIdentifiers(name)
	source := ""
	if packWork(m.expansions, m.units) <= maxPackWork {
		source = demangled(masked)
	} else {
		source = demangled(masked[:m.first], demangle.NoParams)
	}
	return unmask.Replace(source)
}

// packWork bounds the nodes that nested pack expansions make, of packs with up to
// args arguments.
func packWork(expansions, args int) int {
	if expansions == 0 {
		return 0
	}
	n := args
	for ; expansions > 0 && n <= maxPackWork; expansions-- {
		n *= args
	}
	return n
}

// mangled is what maskIdentifiers finds in a name.
type mangled struct {
	expansions int // pack expansions: Dp and sp
	first      int // offset of the first one
	units      int // identifiers, and other bytes: more than a pack has arguments
}

// The letters that begin pack expansions are masked within identifiers. If this
// code takes something for an identifier and the demangler does not, then the
// demangler meets a meaningless byte, but no pack expansion.
var (
	mask   = strings.NewReplacer("D", "\x01", "s", "\x02")
	unmask = strings.NewReplacer("\x01", "D", "\x02", "s")
)

func maskIdentifiers(name string) (masked string, m mangled) {
	var b strings.Builder
	for i := 0; i < len(name); {
		c := name[i]
		if c == '.' { // clone suffixes
			b.WriteString(name[i:])
			break
		}
		m.units++
		if n := numbered(name[i:]); n > 0 {
			b.WriteString(name[i : i+n])
			i += n
			continue
		}
		if c < '0' || c > '9' {
			if strings.HasPrefix(name[i:], "Dp") || strings.HasPrefix(name[i:], "sp") {
				if m.expansions == 0 {
					m.first = i
				}
				m.expansions++
			}
			b.WriteByte(c)
			i++
			continue
		}
		n := 0
		for ; i < len(name) && name[i] >= '0' && name[i] <= '9' && n < maxMangled; i++ {
			n = n*10 + int(name[i]-'0')
			b.WriteByte(name[i])
		}
		n = min(n, len(name)-i)
		b.WriteString(mask.Replace(name[i : i+n]))
		i += n
	}
	return b.String(), m
}

// numbered returns the length of a substitution (S1A_), a template parameter (T1_)
// or an array bound (A16_) at the beginning of s. Their digits do not begin an
// identifier.
func numbered(s string) int {
	digits := "0123456789"
	switch s[0] {
	case 'S':
		digits += "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	case 'T', 'A':
	default:
		return 0
	}
	rest := strings.TrimLeft(s[1:], digits)
	if rest == "" || rest[0] != '_' {
		return 0
	}
	return len(s) - len(rest) + 1
}
