package container

import (
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
)

// holding is the view of parts that are there already.
func holding(parts ...value.Object) *View {
	return &View{Kind: Holder, Len: uint64(len(parts)), parts: func(from, count uint64) ([]value.Object, error) {
		return parts[from : from+count], nil
	}}
}

// alone is the view of the only part of an object, which stands for the whole.
func alone(part value.Object) *View {
	v := holding(part)
	v.Single = true
	return v
}

func named(o value.Object, name string) value.Object {
	o.Name, o.Base = name, false
	return o
}

// pointing is the view of a smart pointer. more says what else is known of it.
func pointing(o *value.Object, target *info.Type, addr uint64, more string) *View {
	v := &View{Kind: Pointer, Text: fmt.Sprintf("%#x%s", addr, more)}
	if addr == 0 {
		v.Text = "nullptr"
		return v
	}
	switch s := target.Strip(); s.Kind {
	case info.Void, info.Function, info.Unsupported, info.Unspecified:
		return v
	default:
	}
	to := o.Scope().At("*"+o.Name, target, addr)
	v.Target, v.Len = &to, 1
	v.parts = func(uint64, uint64) ([]value.Object, error) { return []value.Object{to}, nil }
	return v
}

func cxxUnique(o *value.Object, _ string) *View {
	target := firstArg(o.Type)
	if target == nil || target.Strip().Kind == info.Array {
		return nil
	}
	var l layout
	var addr uint64
	if has(o, "_M_t") {
		pair := l.at(o, "_M_t", "_M_t")
		if l.done() {
			return nil
		}
		heads := tupleHeads(&pair, &l)
		if len(heads) == 0 {
			return nil
		}
		addr = l.num(&heads[0])
	} else {
		addr = l.num(o, compressed(o, "__ptr_", "__ptr_")...)
	}
	if v, ok := l.broken(Pointer); ok {
		return v
	}
	return pointing(o, target, addr, "")
}

func cxxShared(o *value.Object, _ string) *View {
	v, uses := cxxCounted(o)
	if v != nil && v.Err == nil && v.Len > 0 && uses == 0 {
		v.Err = damaged("it points to an object that nobody owns")
	}
	return v
}

func cxxWeak(o *value.Object, _ string) *View {
	v, uses := cxxCounted(o)
	if v != nil && v.Err == nil && v.Len > 0 && uses == 0 {
		return &View{Kind: Text, Text: "expired"}
	}
	return v
}

func cxxCounted(o *value.Object) (*View, uint64) {
	target := firstArg(o.Type)
	if target == nil || target.Strip().Kind == info.Array {
		return nil, 0
	}
	var l layout
	var addr, uses, block uint64
	if has(o, "_M_ptr") {
		addr, block = l.num(o, "_M_ptr"), l.num(o, "_M_refcount", "_M_pi")
		if block != 0 {
			uses = l.num(ptr(l.target(o, "_M_refcount", "_M_pi")), "_M_use_count")
		}
	} else {
		addr, block = l.num(o, "__ptr_"), l.num(o, "__cntrl_")
		if block != 0 {
			uses = l.num(ptr(l.target(o, "__cntrl_")), "__shared_owners_") + 1
		}
	}
	if v, ok := l.broken(Pointer); ok {
		return v, 0
	}
	if block == 0 {
		return pointing(o, target, addr, ""), 1 // an alias of something without an owner
	}
	return pointing(o, target, addr, fmt.Sprintf(" (use count %d)", int32(uses))), uses & 0xffffffff
}

func ptr(o value.Object) *value.Object { return &o }

// target returns what a pointer in a member points to.
func (l *layout) target(o *value.Object, path ...string) value.Object {
	p := l.at(o, path...)
	if l.done() {
		return value.Object{}
	}
	to, err := p.Target()
	l.fail(err)
	return to
}

func cxxOptional(o *value.Object, _ string) *View {
	var l layout
	var engaged uint64
	var path []string
	if has(o, "_M_payload") {
		engaged, path = l.num(o, "_M_payload", "_M_engaged"), []string{"_M_payload", "_M_payload", "_M_value"}
	} else {
		engaged, path = l.num(o, "__engaged_"), []string{"__val_"}
	}
	if v, ok := l.broken(Holder); ok {
		return v
	}
	switch {
	case engaged == 0:
		return &View{Kind: Text, Text: "nullopt"}
	case engaged != 1:
		return &View{Kind: Holder, Err: damaged("its flag is %d", engaged)}
	}
	held := l.at(o, path...)
	if v, ok := l.broken(Holder); ok {
		return v
	}
	v := holding(named(held, "value"))
	v.Target = &held
	return v
}

// maxAlternatives bounds the types that a variant or a tuple has.
const maxAlternatives = 1024

func cxxVariant(o *value.Object, _ string) *View {
	args := o.Type.Strip().TemplateArgs()
	var l layout
	var i uint64
	gnu := has(o, "_M_index")
	if gnu {
		i = l.num(o, "_M_index")
	} else {
		impl := "__impl_"
		if has(o, "__impl") {
			impl = "__impl"
		}
		i = l.num(o, impl, "__index")
		inner := l.at(o, impl)
		o = &inner
	}
	if v, ok := l.broken(Holder); ok {
		return v
	}
	if i == 0xff || i == 0xffff || i == 0xffffffff {
		return &View{Kind: Text, Text: "valueless"}
	}
	if i >= maxAlternatives || len(args) > 0 && (i >= uint64(len(args)) || !args[i].IsType) {
		return &View{Kind: Holder, Err: damaged("its index is %d, of %d types", i, len(args))}
	}
	at := l.at(o, "_M_u")
	first, rest, store := "_M_first", "_M_rest", "_M_storage"
	if !gnu {
		l = layout{}
		at = l.at(o, "__data")
		first, rest, store = "__head", "__tail", "__value"
	}
	for range i {
		at = l.at(&at, rest)
	}
	held := l.at(&at, first, store)
	if v, ok := l.broken(Holder); ok {
		return v
	}
	if strings.Contains(family(held.Type.Strip().String()), "__aligned_membuf") { // room for it
		t := firstArg(held.Type)
		addr, ok := held.Address()
		if t == nil || !ok {
			return nil
		}
		held = o.Scope().At("", t, addr)
	}
	name := held.Type.Strip().String()
	if len(args) > 0 {
		name = args[i].Type.String()
	}
	return holding(named(held, name))
}

// tupleHeads returns the elements of a tuple.
func tupleHeads(o *value.Object, l *layout) []value.Object {
	if has(o, "__base_") {
		return tupleLeaves(o, l)
	}
	var heads []value.Object
	at := *o
	for range maxAlternatives {
		parts, err := at.Parts(0, maxAlternatives)
		if err != nil {
			l.fail(err)
			return nil
		}
		var next, head *value.Object
		for i := range parts {
			if !parts[i].Base || parts[i].Type == nil {
				continue
			}
			switch name := parts[i].Type.String(); {
			case strings.HasPrefix(name, "std::_Tuple_impl<"):
				next = &parts[i]
			case strings.HasPrefix(name, "std::_Head_base<"):
				head = &parts[i]
			}
		}
		if head != nil {
			if has(head, "_M_head_impl") {
				heads = append(heads, l.at(head, "_M_head_impl"))
			} else {
				heads = append(heads, *head) // an empty class
			}
		}
		if next == nil {
			return heads
		}
		at = *next
	}
	return heads
}

func tupleLeaves(o *value.Object, l *layout) []value.Object {
	base := l.at(o, "__base_")
	if l.done() {
		return nil
	}
	parts, err := base.Parts(0, maxAlternatives)
	l.fail(err)
	var leaves []value.Object
	for i := range parts {
		if !parts[i].Base || parts[i].Type == nil || !strings.Contains(parts[i].Type.String(), "__tuple_leaf<") {
			continue
		}
		leaf := parts[i]
		if has(&leaf, "__value_") {
			leaf = l.at(&leaf, "__value_")
		}
		leaves = append(leaves, leaf)
	}
	return leaves
}

func cxxTuple(o *value.Object, _ string) *View {
	var l layout
	heads := tupleHeads(o, &l)
	n := 0
	for _, a := range o.Type.Strip().TemplateArgs() {
		if a.IsType {
			n++
		}
	}
	if v, ok := l.broken(Holder); ok {
		return v
	}
	if n != len(heads) && n > 0 { // GCC leaves all types out where a pack is deduced
		return nil
	}
	for i := range heads {
		heads[i] = named(heads[i], index(uint64(i)))
	}
	if len(heads) == 0 {
		return sized(Sequence, 0)
	}
	v := holding(heads...)
	v.Kind = Sequence
	return v
}

func cxxAtomic(o *value.Object, _ string) *View {
	for _, path := range [][]string{{"_M_i"}, {"_M_base", "_M_i"}, {"_M_b", "_M_p"}, {"__a_", "__a_value"}} {
		if has(o, path...) {
			var l layout
			return alone(named(l.at(o, path...), "value"))
		}
	}
	return nil
}

// units are names of std::chrono's units, by their length in seconds.
var units = map[[2]uint64]string{
	{1, 1_000_000_000}: "ns", {1, 1_000_000}: "us", {1, 1000}: "ms", {1, 1}: "s", {60, 1}: "min", {3600, 1}: "h", {86400, 1}: "d",
}

func cxxDuration(o *value.Object, _ string) *View {
	args := o.Type.Strip().TemplateArgs()
	if len(args) < 2 || !args[1].IsType {
		return nil
	}
	ratio := args[1].Type.Strip().TemplateArgs()
	if len(ratio) < 2 {
		return nil
	}
	unit := units[[2]uint64{ratio[0].Value, ratio[1].Value}]
	if unit == "" {
		unit = fmt.Sprintf("* %d/%d s", ratio[0].Value, ratio[1].Value)
	}
	name := "__r"
	if has(o, "__rep_") {
		name = "__rep_"
	}
	var l layout
	count := l.at(o, name)
	if v, ok := l.broken(Text); ok {
		return v
	}
	text, err := count.Text()
	if err != nil {
		return &View{Kind: Text, Err: err}
	}
	return &View{Kind: Text, Text: text + " " + unit}
}

func cxxTimePoint(o *value.Object, _ string) *View {
	name := "__d"
	if has(o, "__d_") {
		name = "__d_"
	}
	var l layout
	d := l.at(o, name)
	if l.done() {
		return nil
	}
	v, ok := Of(&d)
	if !ok {
		return nil
	}
	if v.Err == nil {
		v.Text += " after its epoch"
	}
	return v
}

// cxxFunction names what a std::function calls. The names of its own functions say of
// which type that is.
func cxxFunction(o *value.Object, _ string) *View {
	name := o.Scope().Frame().Name
	if name == nil {
		return nil
	}
	var l layout
	if has(o, "_M_manager") {
		manager := l.num(o, "_M_manager")
		invoker := l.num(o, "_M_invoker")
		stored := l.addr(o, "_M_functor")
		if v, ok := l.broken(Text); ok {
			return v
		}
		if manager == 0 {
			return &View{Kind: Text, Text: "empty"}
		}
		return callee(o, name(invoker), "_Function_handler<", 1, stored, name)
	}
	held := l.num(o, "__f_", "__f_")
	if v, ok := l.broken(Text); ok {
		return v
	}
	if held == 0 {
		return &View{Kind: Text, Text: "empty"}
	}
	table, err := word(o, held)
	if err != nil {
		return &View{Kind: Text, Err: err}
	}
	for slot := range uint64(maxSlots) {
		method, err := word(o, table+8*slot)
		if err != nil {
			return &View{Kind: Text, Err: err}
		}
		if v := callee(o, name(method), "__func<", 0, held+8, name); v != nil {
			return v
		}
	}
	return nil
}

// maxSlots bounds the methods of what a std::function of libc++ holds that are asked for
// their names. There are nine; some may be those of a base class.
const maxSlots = 9

// callee reads the type of a callable from the arguments of a template, in the name of
// one of its methods. For a pointer to a function it is the function that counts.
func callee(o *value.Object, method, template string, n int, stored uint64, name func(uint64) string) *View {
	_, args, ok := strings.Cut(method, template)
	if !ok {
		return nil
	}
	list := splitArgs(args)
	if n >= len(list) {
		return nil
	}
	target := list[n]
	if !strings.Contains(target, "(*)(") {
		return &View{Kind: Text, Text: target}
	}
	code, err := word(o, stored)
	if err != nil {
		return &View{Kind: Text, Err: err}
	}
	if f := name(code); f != "" {
		target = f
	}
	return &View{Kind: Text, Text: fmt.Sprintf("%#x <%s>", code, target)}
}

// splitArgs splits the arguments of a template, whose "<" was before them.
func splitArgs(s string) []string {
	var list []string
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '<', '(', '[', '{':
			depth++
		case '>', ')', ']', '}':
			if depth--; depth < 0 {
				return append(list, strings.TrimSpace(s[from:i]))
			}
		case ',':
			if depth == 0 {
				list = append(list, strings.TrimSpace(s[from:i]))
				from = i + 1
			}
		}
	}
	return nil
}
