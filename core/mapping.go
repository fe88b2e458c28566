package core

import (
	"cmp"
	"slices"

	"github.com/sfcore/sfcore/memreader"
)

// disjoint sorts mappings, and cuts off what an earlier one covers.
func disjoint(ms []Mapping) []Mapping {
	byAddr := func(a, b Mapping) int { return cmp.Compare(a.Lo, b.Lo) }
	if !slices.IsSortedFunc(ms, byAddr) {
		slices.SortStableFunc(ms, byAddr)
	}
	out, end := ms[:0], uint64(0)
	for _, m := range ms {
		if m.startAt(max(m.Lo, end)); m.Lo < m.Hi {
			out = append(out, m)
			end = m.Hi
		}
	}
	return out
}

// startAt cuts off the part below addr, which is not below m.Lo.
func (m *Mapping) startAt(addr uint64) {
	if m.Path != "" {
		m.Off += addr - m.Lo
	}
	m.Lo = addr
}

// join merges the mappings of files, which have names, with those of program
// headers, which have permissions. Both lists are disjoint. A part that is only
// in files is assumed to hold code.
func join(loads, files []Mapping) []Mapping {
	if len(files) == 0 { // as in cores with so many mappings that NT_FILE has no room for them
		return loads
	}
	out := make([]Mapping, 0, max(len(loads), len(files)))
	none := Mapping{Lo: ^uint64(0)} // where no mapping begins
	for len(loads) > 0 || len(files) > 0 {
		l, f := &none, &none
		if len(loads) > 0 {
			l = &loads[0]
		}
		if len(files) > 0 {
			f = &files[0]
		}
		m := *f
		switch {
		case l.Lo < f.Lo:
			m = Mapping{Lo: l.Lo, Hi: min(l.Hi, f.Lo), Exec: l.Exec}
		case f.Lo < l.Lo:
			m.Hi, m.Exec = min(f.Hi, l.Lo), true
		default:
			m.Hi, m.Exec = min(f.Hi, l.Hi), l.Exec
		}
		out = append(out, m)
		loads, files = after(loads, m.Hi), after(files, m.Hi)
	}
	return out
}

// after cuts off the part of ms below addr.
func after(ms []Mapping, addr uint64) []Mapping {
	if len(ms) > 0 && ms[0].Lo < addr {
		if ms[0].Hi <= addr {
			return ms[1:]
		}
		ms[0].startAt(addr)
	}
	return ms
}

// nameSpecial names mappings without a file, as /proc/pid/maps does.
func (i *Image) nameSpecial() {
	name := func(addr uint64, name string) {
		if m := i.Mapping(addr); m != nil && m.Path == "" {
			m.Path = name
		}
	}
	if addr, ok := i.Auxv.Get(ATSysinfoEhdr); ok {
		name(addr, "[vdso]")
	}
	if addr, ok := i.Auxv.Get(ATRandom); ok {
		name(addr, "[stack]")
	}
	if addr := i.Arch.VSyscall; addr != 0 {
		name(addr, "[vsyscall]")
	}
}

// truncation says what is missing from a file that has size bytes instead of
// size+missing.
func (i *Image) truncation(size, missing uint64, segs []memreader.Segment) *Truncation {
	if missing == 0 {
		return nil
	}
	t := &Truncation{Size: size, Missing: missing}
	n := 0
	for _, s := range segs {
		if s.Why != memreader.Truncated || uint64(len(s.Data)) == s.Size {
			continue
		}
		lo, hi := s.Addr+uint64(len(s.Data)), s.Addr+s.Size
		for n < len(i.Mappings) && i.Mappings[n].Hi <= lo {
			n++
		}
		for ; n < len(i.Mappings) && i.Mappings[n].Lo < hi; n++ {
			t.Mappings = append(t.Mappings, n)
		}
	}
	return t
}
