package expression

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/internal/dwarf/container"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
)

// Evaluate returns the object that an expression stands for. Its name is the
// expression.
func (env *Env) Evaluate(text string) (value.Object, error) {
	text = strings.TrimSpace(text)
	n, err := env.parse(text)
	if err != nil {
		return value.Object{}, err
	}
	e := evaluation{env, text}
	r, err := e.eval(n)
	if err != nil {
		return value.Object{}, err
	}
	if r.n != nil {
		r.o = env.write(r.n)
	}
	err = r.o.Err()
	if shape := r.o.Shape(); err == nil && (shape == value.Scalar || shape == value.Target) {
		_, err = r.o.Text()
	}
	if err != nil {
		return value.Object{}, e.failed(n, err)
	}
	r.o.Name = text
	return r.o, nil
}

// evaluation is the evaluation of one text.
type evaluation struct {
	*Env
	text string
}

// operand is the value of a part of an expression: an object, or a number that was
// computed.
type operand struct {
	o value.Object
	n *num
}

// failed names the part of the expression that has no value.
func (e *evaluation) failed(n *node, err error) error {
	if already := (*Error)(nil); errors.As(err, &already) {
		return err
	}
	return &Error{Part: e.text[n.from:n.to], Err: err}
}

func (e *evaluation) eval(n *node) (operand, error) {
	r, err := e.evalNode(n)
	if err != nil {
		return operand{}, e.failed(n, err)
	}
	return r, nil
}

func (e *evaluation) evalNode(n *node) (operand, error) {
	switch n.op {
	case "()":
		return e.eval(n.args[0])
	case opName, opGlobal:
		o, err := e.name(n)
		return operand{o: o}, err
	case opInteger:
		v, err := parseInteger(n.text)
		if err == nil && e.isRust() && v.literal {
			v.t = rustBase("i32")
			if fit(v.i, v.t).Cmp(v.i) != 0 {
				v.t = rustBase("i128")
			}
		}
		return operand{n: v}, err
	case opFloat:
		v, err := parseFloat(n.text)
		if err == nil && e.isRust() && v.literal {
			v.t = rustBase("f64")
		}
		return operand{n: v}, err
	case opChar:
		return e.character(n)
	case opText:
		return operand{}, errText
	case opRegister:
		return e.register(n.text)
	case opMember, opArrow:
		return e.member(n)
	case opIndex:
		return e.index(n)
	case opSlice, opClosed, opRepeat:
		return e.slice(n)
	case opCast, opBits:
		return e.cast(n)
	case opSizeof:
		return e.sizeof(n)
	case opChoose:
		c, err := e.number(n.args[0])
		if err != nil {
			return operand{}, err
		}
		if c.isTrue() {
			return e.eval(n.args[1])
		}
		return e.eval(n.args[2])
	case "&&", "||":
		return e.logic(n)
	case opDeref:
		return e.deref(n)
	case opAddr:
		return e.address(n)
	case opNeg, opPlus, opNot, opInvert:
		v, err := e.number(n.args[0])
		if err != nil {
			return operand{}, err
		}
		v, err = e.negate(n.op, v)
		return operand{n: v}, err
	}
	return e.binary(n)
}

var errText = errors.New("a string is no value here: to compare one would need a call")

func (e *evaluation) character(n *node) (operand, error) {
	r, err := parseChar(n.text)
	if err != nil {
		return operand{}, err
	}
	t := charType
	switch {
	case e.isRust() && (n.from+1 >= n.to || e.text[n.from] != 'b'):
		t = rustBase("char")
	case e.isRust():
		t = rustBase("u8")
	case e.text[n.from] != '\'' || r > 0x7f:
		t = info.MakeBase("char32_t", 4, info.UTF)
	}
	v, err := parseInteger(fmt.Sprint(r))
	if err != nil {
		return operand{}, err
	}
	return operand{n: &num{t: t, i: v.i}}, nil
}

func (e *evaluation) register(name string) (operand, error) {
	if e.Register == nil {
		return operand{}, errors.New("no frame is selected")
	}
	v, ok, err := e.Register(strings.ToLower(name))
	if err != nil {
		return operand{}, err
	}
	if !ok {
		return operand{}, fmt.Errorf("there is no register of this name")
	}
	return operand{o: e.Scope.MadeWord("", registerType, v)}, nil
}

// name finds what a name stands for.
func (e *evaluation) name(n *node) (value.Object, error) {
	last := n.path[len(n.path)-1]
	if n.op == opName && len(n.path) == 1 {
		if v := e.local(last); v != nil {
			return e.Scope.Object(v), nil
		}
		switch last {
		case "true", "false":
			return e.write(e.truth(last == "true")), nil
		case "nullptr":
			return e.Scope.MadeWord("", info.MakePointer(info.VoidType(), pointerSize), 0), nil
		}
		if m, ok := e.ofThis(last); ok {
			return m, nil
		}
	}
	o, ok, err := e.named(n.path, n.op == opGlobal, n.text)
	if ok || err != nil {
		return o, err
	}
	if f := e.find(n.path, n.op == opGlobal, n.text, info.DeclFunction); len(f) > 0 && !e.Nearby {
		return e.function(f[0].Code() + f[0].scope.Frame().Bias), nil
	}
	if last == "NULL" && len(n.path) == 1 && !e.isRust() {
		return e.Scope.MadeWord("", info.MakePointer(info.VoidType(), pointerSize), 0), nil
	}
	if addr, code, ok := e.symbol(n); ok {
		if code {
			return e.function(addr), nil
		}
		return o, fmt.Errorf("it is at %#x, but its type is not known: cast its address, as in *(int *)&%s", addr, last)
	}
	return o, errors.New("there is no variable of this name")
}

func (e *evaluation) function(addr uint64) value.Object {
	return e.Scope.MadeWord("", info.MakePointer(info.MakeFunction(), pointerSize), addr)
}

// symbol looks a name up in the symbol tables.
func (e *evaluation) symbol(n *node) (addr uint64, code, ok bool) {
	if e.Symbol == nil || e.Nearby || len(n.path) != 1 || n.text != "" {
		return 0, false, false
	}
	return e.Symbol(n.path[0])
}

// ofThis returns a member of the object that a method of C++ is called for.
func (e *evaluation) ofThis(name string) (m value.Object, ok bool) {
	this := e.local("this")
	if this == nil {
		return m, false
	}
	o := e.Scope.Object(this)
	object, err := o.Target()
	if err != nil {
		return m, false
	}
	m, ok, _ = object.Member(name)
	return m, ok
}

// object evaluates to an object: a reference of C++ to what it refers to.
func (e *evaluation) object(n *node) (value.Object, error) {
	r, err := e.eval(n)
	if err != nil {
		return r.o, err
	}
	if r.n != nil {
		return e.write(r.n), nil
	}
	if r.o.IsReference() {
		to, err := r.o.Target()
		if err != nil {
			return to, e.failed(n, err)
		}
		return to, nil
	}
	return r.o, nil
}

// number evaluates to a number. An array is the address of its first element.
func (e *evaluation) number(n *node) (*num, error) {
	r, err := e.eval(n)
	if err != nil {
		return nil, err
	}
	if r.n != nil {
		return r.n, nil
	}
	v, err := e.numberOf(&r.o)
	if err != nil {
		return nil, e.failed(n, err)
	}
	return v, nil
}

func (e *evaluation) numberOf(o *value.Object) (*num, error) {
	for range maxNesting {
		if o.IsReference() || e.isRust() && isRustReference(o) {
			to, err := o.Target()
			if err != nil {
				return nil, err
			}
			o = &to
			continue
		}
		if o.Type != nil && o.Type.Strip().Kind == info.Array {
			return e.decay(o)
		}
		if o.Shape() == value.Members {
			if v, ok := container.Of(o); ok && v.Single {
				parts, err := v.Parts(0, 1)
				if err == nil && len(parts) == 1 {
					o = &parts[0]
					continue
				}
			}
		}
		break
	}
	return read(o)
}

// isRustReference reports whether an object is a "&T", which operators look through.
func isRustReference(o *value.Object) bool {
	return o.Type != nil && o.Type.Kind == info.Pointer && strings.HasPrefix(o.Type.String(), "&")
}

var errNoAddress = errors.New("it is not in memory, so it has no address")

// decay makes a pointer to its first element of an array.
func (e *evaluation) decay(o *value.Object) (*num, error) {
	if err := o.Err(); err != nil {
		return nil, err
	}
	addr, ok := o.Address()
	if !ok {
		return nil, errNoAddress
	}
	elem := o.Type.Strip().Elem()
	return read(ptr(e.Scope.MadeWord("", info.MakePointer(elem, pointerSize), addr)))
}

func ptr(o value.Object) *value.Object { return &o }

func (e *evaluation) logic(n *node) (operand, error) {
	a, err := e.number(n.args[0])
	if err != nil {
		return operand{}, err
	}
	if a.isTrue() == (n.op == "||") {
		return operand{n: e.truth(a.isTrue())}, nil
	}
	b, err := e.number(n.args[1])
	if err != nil {
		return operand{}, err
	}
	return operand{n: e.truth(b.isTrue())}, nil
}

func (e *evaluation) binary(n *node) (operand, error) {
	a, err := e.number(n.args[0])
	if err != nil {
		return operand{}, err
	}
	b, err := e.number(n.args[1])
	if err != nil {
		return operand{}, err
	}
	if a.isPointer() || b.isPointer() {
		v, err := e.pointers(n.op, a, b)
		return operand{n: v}, err
	}
	v, err := e.calculate(n.op, a, b)
	return operand{n: v}, err
}

func (e *evaluation) sizeof(n *node) (operand, error) {
	t := n.typ
	size := uint64(0)
	if t != nil {
		size = e.Scope.SizeOf(t)
	} else {
		o, err := e.object(n.args[0])
		if err != nil {
			return operand{}, err
		}
		size = o.Size()
	}
	if size == 0 {
		return operand{}, errors.New("its size is not known")
	}
	return operand{o: e.Scope.MadeWord("", ulongType, size)}, nil
}
