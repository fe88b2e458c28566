// Package container reads objects of the standard libraries of C++ and Rust as what they
// hold: strings, elements, keys and values, what smart pointers point to. It knows
// libstdc++, libc++ and Rust's std by the names of their members in debug information.
// Nothing is executed.
//
// An object whose members have other names than those that are known is no container
// here: it is shown as it is. A container is not believed: its pointers must be in order,
// and its links must lead to as many elements as it says. If not, it is damaged, or not
// yet initialised, and the view says so.
package container

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sfcore/sfcore/internal/dwarf/value"
)

// Kind is what a view shows.
type Kind uint8

// The kinds.
const (
	Sequence Kind = iota // elements
	Map                  // elements with keys
	Text                 // a string or a word; it has no elements
	Pointer              // a text and what it points to
	Holder               // parts with names, such as the value of an optional
)

// View is how an object of a standard library is shown.
type View struct {
	Kind Kind
	// Text is what a text or a pointer is shown as, or a container without elements.
	Text string
	// Len is the number of parts.
	Len uint64
	// Err says why the object cannot be shown, or shown in full.
	Err error
	// Target is what a pointer points to; nil if it points to nothing.
	Target *value.Object
	// Keys returns keys of a map, as Parts returns values.
	Keys func(from, count uint64) ([]value.Object, error)
	// Adjacent is set if the elements are next to each other in memory.
	Adjacent bool
	// Single is set if the only part stands for the whole: an atomic number.
	Single bool

	parts func(from, count uint64) ([]value.Object, error)
}

// Parts returns up to count parts, from an index on that counts from 0. The error says
// why there are fewer.
func (v *View) Parts(from, count uint64) ([]value.Object, error) {
	if v.parts == nil || from >= v.Len {
		return nil, v.Err
	}
	count = min(count, v.Len-from)
	if count == 0 {
		return nil, v.Err
	}
	return v.parts(from, count)
}

// maxElements bounds the elements that a container is believed to have.
const maxElements = 1 << 32

// maxWalked bounds the elements of a container that are passed over one by one to reach
// others: a list of a million takes a second.
const maxWalked = 1 << 20

// errDamaged says that an object contradicts itself.
var errDamaged = errors.New("damaged, or not initialised")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errDamaged, fmt.Sprintf(format, args...))
}

var errFar = fmt.Errorf("elements after the first %d are not shown", maxWalked)

// views are the readers by the names of types, without the arguments of templates and
// inline namespaces. A reader returns nil if the layout is not one that it knows.
var views map[string]func(o *value.Object, name string) *View

func init() { // not at the declaration: containers consist of containers
	views = map[string]func(o *value.Object, name string) *View{
		"std::basic_string": cxxString, "std::basic_string_view": cxxStringView,
		"std::vector": cxxVector, "std::array": cxxArray, "std::deque": cxxDeque,
		"std::list": cxxList, "std::forward_list": cxxForwardList,
		"std::map": cxxMap, "std::multimap": cxxMap, "std::set": cxxSet, "std::multiset": cxxSet,
		"std::unordered_map": cxxHashMap, "std::unordered_multimap": cxxHashMap,
		"std::unordered_set": cxxHashSet, "std::unordered_multiset": cxxHashSet,
		"std::unique_ptr": cxxUnique, "std::shared_ptr": cxxShared, "std::weak_ptr": cxxWeak,
		"std::optional": cxxOptional, "std::variant": cxxVariant, "std::tuple": cxxTuple,
		"std::span": cxxSpan, "std::function": cxxFunction, "std::atomic": cxxAtomic,
		"std::chrono::duration": cxxDuration, "std::chrono::time_point": cxxTimePoint,
		"std::stack": cxxAdaptor, "std::queue": cxxAdaptor, "std::priority_queue": cxxAdaptor,

		"alloc::string::String": rustString, "alloc::vec::Vec": rustVec,
		"alloc::collections::vec_deque::VecDeque": rustDeque, "alloc::boxed::Box": rustFat,
		"alloc::rc::Rc": rustCounted, "alloc::sync::Arc": rustCounted,
		"alloc::rc::Weak": rustCounted, "alloc::sync::Weak": rustCounted,
		"core::cell::Cell": rustCell, "core::cell::RefCell": rustCell, "core::cell::UnsafeCell": rustCell,
		"std::sync::poison::mutex::Mutex": rustLock, "std::sync::mutex::Mutex": rustLock,
		"std::sync::poison::rwlock::RwLock": rustLock, "std::sync::rwlock::RwLock": rustLock,
		"std::collections::hash::map::HashMap": rustHashMap, "std::collections::hash::set::HashSet": rustHashSet,
		"hashbrown::map::HashMap": rustHashMap, "hashbrown::set::HashSet": rustHashSet,
		"alloc::collections::btree::map::BTreeMap": rustTreeMap, "alloc::collections::btree::set::BTreeSet": rustTreeSet,
		"core::option::Option": rustVariant, "core::result::Result": rustVariant,
	}
}

// Of returns the view of an object; ok is false if it has none.
func Of(o *value.Object) (v *View, ok bool) {
	if o.Type == nil || o.Shape() != value.Members || o.Err() != nil {
		return nil, false
	}
	t := o.Type.Strip()
	if t.Declared {
		return nil, false
	}
	name := t.String()
	view := views[family(name)]
	switch {
	case view != nil:
	case strings.HasPrefix(name, "&"):
		view = rustFat
	case strings.HasPrefix(name, "core::sync::atomic::Atomic"):
		view = rustAtomic
	default:
		return nil, false
	}
	v = view(o, name)
	return v, v != nil
}

// family returns the name of a template without its arguments and inline namespaces:
// "std::map" of "std::__1::map<int, a::b>".
func family(name string) string {
	if i := strings.IndexByte(name, '<'); i >= 0 {
		name = name[:i]
	}
	rest, ok := strings.CutPrefix(name, "std::__")
	if !ok {
		return name
	}
	if _, last, ok := strings.Cut(rest, "::"); ok && !strings.Contains(last, "__") {
		return "std::" + last
	}
	return name
}

// layout reads members of an object. After the first member that is not there, or that
// cannot be read, it returns zero values.
type layout struct {
	unknown bool  // a member of such a name is not there
	err     error // why a member cannot be read
}

// at returns a member of a member of an object, and so on.
func (l *layout) at(o *value.Object, path ...string) value.Object {
	m := *o
	for _, name := range path {
		next, ok, err := m.Member(name)
		if !ok {
			l.unknown = l.unknown || err == nil
			l.fail(err)
			return value.Object{}
		}
		m = next
	}
	return m
}

// has reports whether there is such a member.
func has(o *value.Object, path ...string) bool {
	var l layout
	l.at(o, path...)
	return !l.unknown && l.err == nil
}

func (l *layout) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

func (l *layout) done() bool { return l.unknown || l.err != nil }

// num returns the number in a member: an integer or a pointer.
func (l *layout) num(o *value.Object, path ...string) uint64 {
	m := l.at(o, path...)
	if l.done() {
		return 0
	}
	v, err := m.Number()
	l.fail(err)
	return v
}

// addr returns where a member is.
func (l *layout) addr(o *value.Object, path ...string) uint64 {
	m := l.at(o, path...)
	if l.done() {
		return 0
	}
	a, ok := m.Address()
	if !ok {
		l.fail(errNotInMemory)
	}
	return a
}

var errNotInMemory = errors.New("it is not in memory")

// broken returns the view of an object whose members were not all read; ok is false if
// they were.
func (l *layout) broken(kind Kind) (v *View, ok bool) {
	switch {
	case l.unknown:
		return nil, true
	case l.err != nil:
		return &View{Kind: kind, Err: l.err}, true
	}
	return nil, false
}

func index(i uint64) string { return "[" + strconv.FormatUint(i, 10) + "]" }

// sized returns the view of n elements, or says that there cannot be as many.
func sized(kind Kind, n uint64) *View {
	v := &View{Kind: kind, Len: n}
	switch {
	case n > maxElements:
		v.Err, v.Len = damaged("it cannot have %d elements", n), 0
	case n == 0:
		v.Text = "{}"
	}
	return v
}
