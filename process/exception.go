package process

import (
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/cause"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/memreader"
)

// The exceptions of libstdc++ on 64-bit architectures: a __cxa_refcounted_exception, the
// _Unwind_Exception at its end, and the object that was thrown [gcc libstdc++-v3/libsupc++/
// unwind-cxx.h].
const (
	exceptionClass = 0x474e5543432b2b00 // "GNUCC++\0", of exceptions that were thrown first
	fromType       = 80                 // before the _Unwind_Exception: the type
	fromNext       = 48                 // the one that was caught before it and is not done with
	fromCount      = 96                 // the references, 32 bits
	toObject       = 32                 // behind it

	maxThrow  = 64 << 10 // bytes of the stack that are searched
	maxThrown = 8        // exceptions that are there at once
	maxBases  = 8        // of an exception's class
	maxType   = 512      // bytes of a type's name
	whatOfErr = 8        // where std::runtime_error and std::logic_error have their text
)

// thrown returns the exception that the frames from lo up to hi threw: the only one that
// they point to, but for those that were caught before it, which it points to. Those that
// are done with have no references any more.
func (p *Process) thrown(lo, hi uint64) *cause.Exception {
	words := &memreader.Words{R: p.Memory(), BigEndian: p.img.Arch.BigEndian}
	var found []uint64
	for at := lo &^ 7; at < min(hi, lo+maxThrow); at += 8 {
		v, err := words.Uint64(at)
		if err != nil {
			return nil
		}
		if slices.Contains(found, v) || v%16 != 0 || v < 1<<16 {
			continue
		}
		class, ok := p.load(words, v, 8)
		count, known := p.load(words, v-fromCount, 4)
		if !ok || !known || class != exceptionClass || count == 0 || count > 1<<16 {
			continue
		}
		if found = append(found, v); len(found) > maxThrown {
			return nil
		}
	}
	last := slices.DeleteFunc(slices.Clone(found), func(v uint64) bool {
		return slices.ContainsFunc(found, func(other uint64) bool {
			next, ok := p.load(words, other-fromNext, 8)
			return ok && next == v-fromType
		})
	})
	if len(last) != 1 {
		return nil
	}
	typ, ok := p.load(words, last[0]-fromType, 8)
	if !ok {
		return nil
	}
	return p.exception(words, typ, last[0]+toObject)
}

// exception reads a type and the object at an address.
func (p *Process) exception(words *memreader.Words, typ, object uint64) *cause.Exception {
	name := p.typeName(words, typ)
	if name == "" {
		return nil
	}
	e := &cause.Exception{Type: strings.TrimPrefix(symbol.Demangle("_ZTS"+name), "typeinfo name for ")}
	for range maxBases {
		if name == "St13runtime_error" || name == "St11logic_error" {
			if text, ok := p.load(words, object+whatOfErr, 8); ok {
				if what, err := words.CString(text, maxMessage); err == nil {
					e.What = what
				}
			}
			return e
		}
		if typ = p.onlyBase(words, typ); typ == 0 {
			return e
		}
		name = p.typeName(words, typ)
	}
	return e
}

// typeName returns the mangled name that a std::type_info has; "" if it is none.
func (p *Process) typeName(words *memreader.Words, typ uint64) string {
	at, ok := p.load(words, typ+8, 8)
	if m := p.modules.At(typ); !ok || m == nil {
		return ""
	}
	name, err := words.CString(at, maxType)
	if err != nil || len(name) == maxType || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return strings.TrimPrefix(name, "*")
}

// onlyBase returns the type of the one base class that an object begins with; 0 if the type
// is none with such a base.
func (p *Process) onlyBase(words *memreader.Words, typ uint64) uint64 {
	table, ok := p.load(words, typ, 8)
	m := p.modules.At(table)
	if !ok || m == nil {
		return 0
	}
	const single = "_ZTVN10__cxxabiv120__si_class_type_infoE"
	if at, ok := m.Address(single); !ok || at+16 != table {
		return 0
	}
	base, _ := p.load(words, typ+16, 8)
	return base
}
