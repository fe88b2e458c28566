package process

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/dwarf/value"
	"github.com/sfcore/sfcore/internal/expression"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/report"
)

// Place is where an expression is evaluated.
type Place struct {
	// Stack is the stack of a thread, with its registers recovered as for
	// [Process.Scopes]; nil if there is none.
	Stack *Stack
	// Frame is the index of the physical frame, and Inlined how many functions are
	// inlined in the one that is meant; 0 for the innermost.
	Frame, Inlined int
	// Register returns a register of the frame by its name, and whether there is one;
	// nil for the registers that every frame has.
	Register func(name string) (v uint64, ok bool, err error)
	// Nearby limits names to the variables of the frame and of its module.
	Nearby bool
}

// Evaluate returns what an expression of C, C++ or Rust stands for. It is evaluated when
// it is first asked for; [Variable.Err] says why it has no value. An expression that ends
// with ",!" is of an object as its members show it, ",x" is of one in hexadecimal.
func (at *Place) Evaluate(p *Process, text string) Variable {
	text, format := cutFormat(text)
	return Variable{
		Name: text, process: p, path: text, raw: format == '!', Hex: format == 'x',
		expression: &placed{at: *at, text: text},
	}
}

// Globals returns the names of up to most variables of the unit of the frame that are not
// local to a function, as an expression takes them. Call it within [Guard].
func (at *Place) Globals(p *Process, most int) []string {
	if at.Stack == nil || at.Frame >= len(at.Stack.Frames) {
		return nil
	}
	pc := at.Stack.Frames[at.Frame].LookupPC()
	m := p.modules.At(pc)
	if m == nil || m.Source() == nil {
		return nil
	}
	list, err := m.Source().Variables(pc-m.Bias, most)
	if err != nil {
		p.modules.Note(fmt.Errorf("%s: %w", m.Path, err))
	}
	var names []string
	for i := range list {
		path := slices.DeleteFunc(slices.Clone(list[i].Path), func(part string) bool { return part == "" })
		if name := strings.Join(path, "::"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// placed is an expression and where it is evaluated.
type placed struct {
	at   Place
	text string
}

func (x *placed) evaluate(p *Process) (value.Object, error) {
	env := p.environment(&x.at)
	o, err := env.Evaluate(x.text)
	if err != nil {
		return env.Scope.Lost(x.text, err), err
	}
	return o, nil
}

// Err says why an expression has no value. It returns nil for other variables.
func (v *Variable) Err() error {
	v.read()
	return v.err
}

// Line writes the value on one line. r is what Describe returned.
func (v *Variable) Line(r *report.Variable) string {
	if n, _, ok := v.Integer(); ok && v.Hex {
		return fmt.Sprintf("%#x", n)
	}
	return r.Text()
}

// cutFormat cuts off what follows the last comma, if it is a format.
func cutFormat(text string) (string, byte) {
	text = strings.TrimSpace(text)
	for _, f := range "x!d" {
		if rest, ok := strings.CutSuffix(text, ","+string(f)); ok {
			return strings.TrimSpace(rest), byte(f)
		}
	}
	return text, 0
}

func (p *Process) environment(at *Place) *expression.Env {
	env := &expression.Env{
		Register: at.Register, Nearby: at.Nearby,
		Symbol: func(name string) (uint64, bool, bool) {
			addr, ok := p.Address(name)
			m := p.img.Mapping(addr)
			return addr, m != nil && m.Exec, ok
		},
	}
	if env.Register == nil {
		env.Register = func(name string) (uint64, bool, error) { return p.register(at, name) }
	}
	var own *module.Module
	if at.Stack != nil && at.Frame < len(at.Stack.Frames) {
		pc := at.Stack.Frames[at.Frame].LookupPC()
		own = p.modules.At(pc)
		if f := p.valueFrame(at.Stack, at.Frame); f != nil {
			env.Scope, env.PC = f.Static(), pc-own.Bias
			if scopes, _ := f.Scopes(); at.Inlined < len(scopes) {
				env.Scope = &scopes[at.Inlined]
				env.Function = symbol.Demangle(env.Scope.Func)
			}
		}
	}
	if env.Scope == nil {
		env.Scope = (&value.Frame{Arch: p.img.Arch, Mem: p.Memory(), Name: p.codeName}).Static()
	}
	env.Modules = p.staticScopes(own)
	return env
}

// staticScopes yields scopes for the variables of modules: of one module, of the program,
// then of the others.
func (p *Process) staticScopes(own *module.Module) iter.Seq[*value.Scope] {
	return func(yield func(*value.Scope) bool) {
		give := func(m *module.Module) bool {
			data := m.Source()
			if data == nil {
				return true
			}
			f := value.Frame{Arch: p.img.Arch, Mem: p.Memory(), Data: data, Bias: m.Bias, PC: m.Bias, Name: p.codeName}
			return yield(f.Static())
		}
		if own != nil && !give(own) {
			return
		}
		for _, main := range []bool{true, false} {
			for m := range p.modules.All() {
				if m != own && m.Main == main && !give(m) {
					return
				}
			}
		}
	}
}
