package container

import (
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
)

func rustString(o *value.Object, _ string) *View {
	var l layout
	vec := l.at(o, "vec")
	s := &str{o.Scope(), charType, rustBuffer(&vec, &l), l.num(o, "vec", "len")}
	return textView(s, &l)
}

// rustBuffer returns where the elements of a Vec or a VecDeque are.
func rustBuffer(o *value.Object, l *layout) uint64 {
	if l.done() {
		return 0
	}
	path := []string{"buf", "inner", "ptr"} // since 1.82
	if !has(o, path...) {
		path = []string{"buf", "ptr"}
	}
	return rustPointer(o, l, path...)
}

// rustPointer returns the number in a pointer that is wrapped in structures.
func rustPointer(o *value.Object, l *layout, path ...string) uint64 {
	p := l.at(o, path...)
	for range 3 { // Unique of NonNull
		if l.done() || p.Shape() != value.Members {
			break
		}
		p = l.at(&p, "pointer")
	}
	return l.num(&p)
}

func rustVec(o *value.Object, _ string) *View {
	elem := firstArg(o.Type)
	if elem == nil {
		return nil
	}
	var l layout
	addr, n := rustBuffer(o, &l), l.num(o, "len")
	if v, ok := l.broken(Sequence); ok {
		return v
	}
	return rustRun(o, elem, addr, n)
}

// rustRun is run, also for elements without a size.
func rustRun(o *value.Object, elem *info.Type, addr, n uint64) *View {
	if n > 0 && o.Scope().SizeOf(elem) == 0 {
		return &View{Kind: Text, Text: fmt.Sprintf("%d elements without a size", n)}
	}
	return run(o, elem, addr, n)
}

func rustDeque(o *value.Object, _ string) *View {
	elem := firstArg(o.Type)
	if elem == nil {
		return nil
	}
	var l layout
	first := []string{"head"}
	if wrapped := append(first, "__0"); has(o, wrapped...) { // a WrappedIndex since 1.97
		first = wrapped
	}
	addr, head, n := rustBuffer(o, &l), l.num(o, first...), l.num(o, "len")
	size, capacity := o.Scope().SizeOf(elem), rustCapacity(o, &l)
	if v, ok := l.broken(Sequence); ok {
		return v
	}
	if size == 0 {
		return nil
	}
	if n > capacity || n > 0 && head >= capacity {
		return &View{Kind: Sequence, Err: damaged("%d elements from number %d on, in room for %d", n, head, capacity)}
	}
	v := sized(Sequence, n)
	v.parts = func(from, count uint64) ([]value.Object, error) {
		return made(from, count, func(i uint64) (value.Object, error) {
			at := head + i
			if at >= capacity {
				at -= capacity
			}
			return o.Scope().At(index(i), elem, addr+at*size), nil
		})
	}
	return v
}

func rustCapacity(o *value.Object, l *layout) uint64 {
	path := []string{"buf", "inner", "cap"}
	if !has(o, path...) {
		path = []string{"buf", "cap"}
	}
	c := l.at(o, path...)
	for range 3 {
		if l.done() || c.Shape() != value.Members {
			break
		}
		c = l.at(&c, "__0")
	}
	return l.num(&c)
}

// isRustStr reports whether a type is a reference or a box of a str.
func isRustStr(name string) bool {
	return name == "&str" || name == "&mut str" || strings.HasPrefix(name, "alloc::boxed::Box<str,") || name == "alloc::boxed::Box<str>"
}

// rustFat reads pointers with a length or with a table of methods.
func rustFat(o *value.Object, name string) *View {
	var l layout
	if has(o, "vtable") {
		addr, table := l.num(o, "pointer"), l.num(o, "vtable")
		if v, ok := l.broken(Pointer); ok {
			return v
		}
		return rustDyn(o, addr, table)
	}
	if !has(o, "length") {
		return nil
	}
	addr, n := l.num(o, "data_ptr"), l.num(o, "length")
	if v, ok := l.broken(Sequence); ok {
		return v
	}
	if isRustStr(name) {
		s := &str{o.Scope(), charType, addr, n}
		return s.view()
	}
	pointer := l.at(o, "data_ptr")
	elem := pointer.Type.Strip().Elem()
	if strings.Contains(name, "str") && elem.Size == 1 && !strings.Contains(name, "[") {
		return nil // CStr, OsStr, Path: not text for certain
	}
	return rustRun(o, elem, addr, n)
}

// rustDyn shows the object behind a pointer to a trait. Each table of methods is a
// variable, which says for which type it is.
func rustDyn(o *value.Object, addr, table uint64) *View {
	f := o.Scope().Frame()
	v := &View{Kind: Pointer, Text: fmt.Sprintf("%#x", addr)}
	if f.Data == nil {
		return v
	}
	list, _ := f.Data.Find("{vtable}")
	for i := range list {
		if list[i].Kind != info.DeclVariable {
			continue
		}
		d := list[i].Variable()
		at := o.Scope().Object(&d)
		if where, ok := at.Address(); !ok || where != table || d.Type == nil {
			continue
		}
		if t := d.Type.Strip().Containing(); t != nil {
			return pointing(o, t, addr, " as "+t.String())
		}
	}
	return v
}

func rustCounted(o *value.Object, name string) *View {
	var l layout
	p := l.at(o, "ptr", "pointer")
	if v, ok := l.broken(Pointer); ok {
		return v
	}
	if p.Type.Strip().Kind != info.Pointer {
		return nil // of a slice or a trait
	}
	block := l.target(&p)
	held := "value"
	if !has(&block, held) {
		held = "data"
	}
	strong, weak := rustNumber(&block, &l, "strong"), rustNumber(&block, &l, "weak")
	to := l.at(&block, held)
	if v, ok := l.broken(Pointer); ok {
		return v
	}
	if strong == 0 && strings.Contains(family(name), "Weak") {
		return &View{Kind: Text, Text: "expired"}
	}
	if strong == 0 || weak == 0 || strong > maxElements || weak > maxElements {
		return &View{Kind: Pointer, Err: damaged("it is counted %d times, and weakly %d times", strong, weak)}
	}
	addr, ok := to.Address()
	if !ok {
		return nil
	}
	return pointing(o, to.Type, addr, fmt.Sprintf(" (strong %d, weak %d)", strong, weak-1))
}

// rustNumber returns the number in a member that is wrapped in cells.
func rustNumber(o *value.Object, l *layout, name string) uint64 {
	n := l.at(o, name)
	for range 4 {
		if l.done() || n.Shape() != value.Members {
			break
		}
		inner := "value"
		if has(&n, "v") {
			inner = "v"
		}
		n = l.at(&n, inner)
	}
	return l.num(&n)
}

func rustCell(o *value.Object, _ string) *View {
	var l layout
	held := l.at(o, "value")
	if v, ok := l.broken(Holder); ok {
		return v
	}
	return rustHeld(o, held)
}

// rustHeld is the view of what cells hold, one within the other.
func rustHeld(o *value.Object, held value.Object) *View {
	if held.Type == nil {
		return nil
	}
	if family(held.Type.Strip().String()) == "core::cell::UnsafeCell" {
		inner, ok, err := held.Member("value")
		if !ok || err != nil {
			return nil
		}
		held = inner
	}
	v := alone(named(held, "value"))
	if n := has(o, "borrow"); n {
		var l layout
		if count := int64(rustNumber(o, &l, "borrow")); !l.done() && count != 0 {
			v.Text = fmt.Sprintf("borrowed %d times", count)
			if count < 0 {
				v.Text = "borrowed mutably"
			}
		}
	}
	return v
}

func rustLock(o *value.Object, _ string) *View {
	var l layout
	held := l.at(o, "data", "value")
	if v, ok := l.broken(Holder); ok {
		return v
	}
	return alone(named(held, "value"))
}

func rustAtomic(o *value.Object, _ string) *View {
	var l layout
	held := l.at(o, "v", "value")
	if v, ok := l.broken(Holder); ok {
		return v
	}
	return alone(named(held, "value"))
}

// rustVariant shows an Option or a Result by what it holds.
func rustVariant(o *value.Object, _ string) *View {
	m, found, err := o.Variant()
	switch {
	case !found:
		return nil
	case err != nil:
		return &View{Kind: Holder, Err: err}
	}
	held, ok, err := m.Member("__0")
	switch {
	case err != nil:
		return &View{Kind: Holder, Err: err}
	case !ok && m.Name == "None":
		return &View{Kind: Text, Text: "None"}
	case !ok:
		return nil
	}
	return holding(named(held, m.Name))
}
