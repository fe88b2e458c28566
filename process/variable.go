package process

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sfcore/sfcore/internal/dwarf/container"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
	"github.com/sfcore/sfcore/report"
)

// Variable is an argument or a local variable of a frame, or a part of one. Its
// value is read when it is first asked for. A Variable is valid as long as its stack
// is, and is not safe for concurrent use.
type Variable struct {
	// Name is the name of the variable or member. It is "[3]", for example, for an
	// element, and "" for a part without a name.
	Name string
	// Argument is set for the arguments of a function.
	Argument bool
	// Base is set for the part of an object that belongs to a base class.
	Base bool
	// Hex is set for a value that is to be shown in hexadecimal.
	Hex bool

	process  *Process
	scope    *value.Scope
	declared *info.Variable // nil for a part
	object   *value.Object  // made when it is first needed; always set for a part

	expression *placed // nil for other variables
	err        error   // why the expression has no value

	path   string          // the expression for it; "" if there is none
	raw    bool            // it is shown by its members, though it is a container
	view   *container.View // nil if it is none
	viewed bool            // whether view was looked for
}

// Bounds of the description of one variable. [Variable.Parts] is not bound by them.
const (
	maxVarDepth    = 6
	maxVarElements = 64
	maxVarMembers  = 200
	maxVarParts    = 1000 // in all

	// maxFrameParts bounds the number of variables of a frame and their parts, and
	// of the frames that are inlined there. maxStackParts bounds those of a stack.
	// maxVarName bounds the size of a name or type, in bytes. With these bounds, a
	// frame fits into a message of the plugin.
	maxFrameParts = 2000
	maxStackParts = 1 << 18
	maxVarName    = 256
	// maxRunParts bounds the variables of all stacks that are walked together, so that
	// they take some seconds.
	maxRunParts = 1 << 20
	// partsMade is how many parts of an object are made before the first is described: there
	// may be none left after those of the first.
	partsMade = 16
	// stepsOfPart is how many steps to the elements of a container count as a part.
	stepsOfPart = 64
)

// read returns the variable in the form that package value uses.
func (v *Variable) read() *value.Object {
	switch {
	case v.object != nil:
	case v.expression != nil:
		o, err := v.expression.evaluate(v.process)
		v.object, v.scope, v.err = &o, o.Scope(), err
	default:
		o := v.scope.Object(v.declared)
		v.object = &o
	}
	return v.object
}

// container returns how the object is shown if a standard library has defined it, else
// nil.
func (v *Variable) container() *container.View {
	if !v.viewed && !v.raw {
		v.view, _ = container.Of(v.read())
	}
	v.viewed = true
	return v.view
}

// Scalar reports whether the variable has no parts: it is not a structure, an
// array, a container, or a pointer to something that can be shown.
func (v *Variable) Scalar() bool {
	if c := v.container(); c != nil {
		return c.Kind == container.Text
	}
	return v.read().Shape() == value.Scalar
}

// Array reports whether the parts are the elements of an array or a container.
func (v *Variable) Array() bool {
	if c := v.container(); c != nil {
		return c.Kind == container.Sequence
	}
	return v.read().Shape() == value.Elements
}

// Raw reports whether a part follows the others that shows the members of a container.
func (v *Variable) Raw() bool {
	c := v.container()
	return c != nil && c.Kind != container.Text
}

// IsRaw reports whether the variable shows the members of a container.
func (v *Variable) IsRaw() bool { return v.raw }

// Whole returns a string in full, quoted, up to 1 MiB. ok is false if the variable is no
// string, or cannot be read.
func (v *Variable) Whole() (text string, ok bool) {
	text, whole, ok := container.String(v.read())
	if !ok {
		text, whole, ok = v.read().WholeText()
	}
	if text = strconv.Quote(text); !whole {
		text += "..."
	}
	return text, ok
}

// Integer returns the value of an integer or a pointer. ok is false if the variable
// is neither, or has no value.
func (v *Variable) Integer() (n uint64, pointer, ok bool) {
	if c := v.container(); c != nil && c.Target != nil && c.Kind == container.Pointer {
		n, ok = c.Target.Address()
		return n, true, ok
	}
	return v.read().Integer()
}

// Len returns the number of parts, without the one that [Variable.Raw] tells of.
func (v *Variable) Len() (uint64, error) {
	if c := v.container(); c != nil {
		return c.Len, c.Err
	}
	return v.read().Len()
}

// Parts returns up to count parts, beginning with number from: the members of a
// structure, the elements of an array or a container, or what a pointer points to. Behind
// those of a container is the one that [Variable.Raw] tells of. If an error ends the list
// early, Parts returns the parts before it, too.
func (v *Variable) Parts(from, count uint64) ([]Variable, error) {
	c := v.container()
	if c == nil {
		objects, err := v.read().Parts(from, count)
		return v.parts(objects), err
	}
	objects, err := c.Parts(from, count)
	parts := v.parts(objects)
	if end := from + uint64(len(parts)); v.Raw() && end == c.Len && uint64(len(parts)) < count {
		raw := *v
		raw.Name, raw.Base, raw.object, raw.raw, raw.view, raw.viewed = "[raw]", false, v.read(), true, nil, true
		parts = append(parts, raw)
	}
	return parts, err
}

func (v *Variable) parts(objects []value.Object) []Variable {
	parts := make([]Variable, len(objects))
	for i := range objects {
		o := &objects[i]
		parts[i] = Variable{Name: o.Name, Base: o.Base, process: v.process, scope: v.scope, object: o, path: v.pathOf(o)}
	}
	return parts
}

// Describe describes the variable and its parts, within bounds.
func (v *Variable) Describe() report.Variable { return v.Preview(maxVarParts) }

// Preview is Describe for up to so many parts in all.
func (v *Variable) Preview(parts int) report.Variable {
	left := min(parts, maxVarParts)
	one := Scope{Variables: []Variable{*v}}
	list := v.process.describeVariables(&one, &left, false)
	*v = one.Variables[0] // as it was read
	for _, r := range list {
		return r
	}
	return report.Variable{} // the file with its type has shrunk
}

// describeVariables describes the variables of a function, with up to as many parts
// as are left.
func (p *Process) describeVariables(s *Scope, left *int, raw bool) []report.Variable {
	var list []report.Variable
	p.modules.Guard(p.img.Path, func() {
		for i := range s.Variables {
			if *left <= 0 {
				p.modules.Note(fmt.Errorf("%s has more variables than are shown", s.Function))
				break
			}
			v := &s.Variables[i]
			parts := min(maxVarParts, *left)
			*left -= parts
			r := describeVariable(v, &parts, raw)
			*left += parts
			r.Argument = v.Argument
			list = append(list, r)
		}
	})
	return list
}

func describeVariable(v *Variable, left *int, raw bool) report.Variable {
	if v.raw {
		return describeMembers(v.read(), 0, left, raw)
	}
	return describeObject(v.read(), 0, left, raw)
}

// describeObject describes an object, a container by what it holds unless raw is set.
func describeObject(o *value.Object, depth int, left *int, raw bool) report.Variable {
	if !raw {
		steps := stepsOf(o)
		view, ok := container.Of(o)
		*left -= (stepsOf(o) - steps) / stepsOfPart
		if ok {
			return describeContainer(o, view, depth, left)
		}
	}
	return describeMembers(o, depth, left, raw)
}

// stepsOf returns how many steps to the elements of containers the frame of an object has
// taken so far.
func stepsOf(o *value.Object) int {
	if s := o.Scope(); s != nil && s.Frame() != nil {
		return s.Frame().Steps
	}
	return 0
}

// describeContainer describes an object of a standard library.
func describeContainer(o *value.Object, view *container.View, depth int, left *int) report.Variable {
	*left--
	r := report.Variable{Name: shorten(o.Name), Base: o.Base, Type: shorten(o.Type.String()), Value: view.Text}
	if addr, ok := o.Address(); ok {
		r.Address = report.Known(addr)
	}
	if view.Err != nil {
		r.Missing = missing(view.Err)
	}
	if r.Missing != "" && view.Len == 0 || view.Kind == container.Text || view.Kind == container.Pointer || view.Len == 0 {
		return r
	}
	r.Elements = view.Kind == container.Sequence
	if depth >= maxVarDepth {
		r.More = view.Len
		return r
	}
	steps := stepsOf(o)
	parts, err := view.Parts(0, maxVarElements)
	*left -= (stepsOf(o) - steps) / stepsOfPart
	for i := range parts {
		if *left <= 0 {
			break
		}
		r.Members = append(r.Members, describeObject(&parts[i], depth+1, left, false))
	}
	if err != nil {
		r.Missing = missing(err)
	}
	r.More = view.Len - uint64(len(r.Members))
	if view.Single && len(r.Members) == 1 {
		held := r.Members[0]
		held.Name, held.Type, held.Base, held.Address = r.Name, r.Type, r.Base, r.Address
		return held
	}
	return r
}

// describeMembers describes an object by its members.
func describeMembers(o *value.Object, depth int, left *int, raw bool) report.Variable {
	*left--
	r := report.Variable{Name: shorten(o.Name), Base: o.Base}
	if o.Type != nil {
		r.Type = shorten(o.Type.String())
	}
	if addr, ok := o.Address(); ok {
		r.Address = report.Known(addr)
	}
	var err error
	if r.Value, err = o.Text(); err != nil {
		r.Missing = missing(err)
		return r
	}
	limit := uint64(maxVarMembers)
	switch o.Shape() {
	case value.Scalar:
		return r
	case value.Target:
		if !o.IsReference() {
			return r
		}
	case value.Elements:
		r.Elements = true
		limit = maxVarElements
		fallthrough
	case value.Members:
		if r.Value != "" {
			return r
		}
	}
	total, err := o.Len()
	if err == nil && depth < maxVarDepth {
		for from := uint64(0); err == nil && from < min(limit, total) && (from == 0 || *left > 0); from += partsMade {
			var parts []value.Object
			parts, err = o.Parts(from, min(partsMade, limit-from))
			for i := range parts {
				if *left <= 0 {
					break
				}
				r.Members = append(r.Members, describeObject(&parts[i], depth+1, left, raw))
			}
		}
	}
	if err != nil {
		r.Missing = missing(err)
	}
	r.More = total - uint64(len(r.Members))
	return r
}

// shorten cuts off the end of a long name.
func shorten(name string) string {
	if len(name) <= maxVarName {
		return name
	}
	return strings.ToValidUTF8(name[:maxVarName], "") + "..."
}

// missing says why there is no value.
func missing(err error) string {
	for _, reason := range []error{value.ErrOptimizedOut, value.ErrNotRecovered} {
		if errors.Is(err, reason) {
			return reason.Error()
		}
	}
	return err.Error()
}
