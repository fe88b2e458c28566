package backend

import (
	"reflect"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"

	"github.com/sfcore/sfcore/internal/delve/wire"
)

// loadConfig is how much of a variable is shown: what fits a line or two.
var loadConfig = proc.LoadConfig{FollowPointers: true, MaxVariableRecurse: 1, MaxStringLen: 64, MaxArrayValues: 16, MaxStructFields: 16}

const (
	// maxVariables bounds those of a frame.
	maxVariables = 256

	// maxValue bounds the text of one, in bytes.
	maxValue = 2048
)

// variables returns the arguments and local variables of frames[0], whose
// callers follow it.
func (l *lister) variables(g *proc.G, frames []proc.Stackframe) []wire.Variable {
	fn := frames[0].Call.Fn
	if fn == nil || !l.setup.Runtime && ofRuntime(fn.PackageName()) {
		return nil
	}
	threadID := 0
	if g.Thread != nil {
		threadID = g.Thread.ThreadID()
	}
	scope := proc.FrameToScope(l.target, l.target.Memory(), g, threadID, frames...)
	var list []wire.Variable
	for _, kind := range []func(proc.LoadConfig) ([]*proc.Variable, error){scope.FunctionArguments, scope.LocalVariables} {
		vars, err := kind(loadConfig)
		if err != nil {
			continue // as in assembly
		}
		for _, v := range vars[:min(len(vars), maxVariables)] {
			list = append(list, variable(v))
		}
	}
	return list
}

// ofRuntime reports whether a package is Go's runtime.
func ofRuntime(pkg string) bool {
	return pkg == "runtime" || strings.HasPrefix(pkg, "internal/runtime/")
}

// notThere are delve's errors for a variable that debug information gives no
// location.
var notThere = []string{"could not find loclist entry", "empty OP stack"}

func variable(v *proc.Variable) wire.Variable {
	c := api.ConvertVar(v)
	r := wire.Variable{Name: v.Name, Type: c.Type, Argument: v.Flags&proc.VariableArgument != 0}
	switch {
	case v.Unreadable != nil && slices.ContainsFunc(notThere, func(s string) bool { return strings.Contains(v.Unreadable.Error(), s) }):
		r.Err = "optimised out"
	case v.Unreadable != nil:
		r.Err = "not recovered: " + v.Unreadable.Error()
	default:
		r.Value = strings.TrimPrefix(c.SinglelineString(), c.Type+" ")
		if v.Kind == reflect.Pointer && strings.HasPrefix(r.Value, "{") {
			r.Value = "&" + r.Value
		}
		if len(r.Value) > maxValue {
			r.Value = r.Value[:maxValue] + "..."
		}
	}
	return r
}
