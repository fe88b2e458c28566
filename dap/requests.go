package dap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// handler fulfils a request. The body of the response may be nil.
type handler func(s *session, ctx context.Context, args json.RawMessage) (any, error)

// handlers has every request that is known, also those that are refused.
var handlers map[string]handler

func init() { // not at the declaration: handlers look at what they may offer
	handlers = map[string]handler{
		"initialize":        on("initialize", (*session).initialize),
		"launch":            (*session).open,
		"attach":            (*session).open,
		"configurationDone": on("configurationDone", (*session).configurationDone),
		"disconnect":        on("disconnect", (*session).disconnect),
		"continue":          on("continue", (*session).resume),
		"pause":             on("pause", (*session).pause),

		"threads":       on("threads", (*session).threadList),
		"stackTrace":    on("stackTrace", (*session).stackTrace),
		"allStacks":     on("allStacks", (*session).allStacks),
		"exceptionInfo": on("exceptionInfo", (*session).exceptionInfo),
		"scopes":        on("scopes", (*session).scopes),
		"variables":     on("variables", (*session).variables),
		"evaluate":      on("evaluate", (*session).evaluate),
		"completions":   on("completions", (*session).completions),

		"readMemory":    on("readMemory", (*session).readMemory),
		"disassemble":   on("disassemble", (*session).disassemble),
		"modules":       on("modules", (*session).moduleList),
		"loadedSources": on("loadedSources", (*session).loadedSources),
		"source":        on("source", (*session).source),

		"setBreakpoints":          on("setBreakpoints", (*session).setBreakpoints),
		"setExceptionBreakpoints": on("setExceptionBreakpoints", (*session).setExceptionBreakpoints),
	}
	for _, command := range []string{"next", "stepIn", "stepOut", "stepBack", "reverseContinue", "goto", "restartFrame"} {
		handlers[command] = on(command, (*session).step)
	}
	for _, command := range []string{"setFunctionBreakpoints", "setDataBreakpoints", "setInstructionBreakpoints", "dataBreakpointInfo", "breakpointLocations"} {
		handlers[command] = refuse("sfcore does not execute the process, so no breakpoint would ever be reached")
	}
	for _, command := range []string{"setVariable", "setExpression", "writeMemory"} {
		handlers[command] = refuse("sfcore only reads the process: values cannot be changed")
	}
	for _, command := range []string{"terminate", "terminateThreads", "restart"} {
		handlers[command] = refuse("sfcore did not start the process and does not end it; disconnect instead")
	}
}

// on makes a handler of a function that takes decoded arguments. Absent ones
// are zero.
func on[A any](command string, f func(s *session, ctx context.Context, args *A) (any, error)) handler {
	return func(s *session, ctx context.Context, raw json.RawMessage) (any, error) {
		args := new(A)
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, args); err != nil {
				return nil, newError(idArguments, "%s: %s", command, explainJSON(err))
			}
		}
		return f(s, ctx, args)
	}
}

func refuse(sentence string) handler {
	return func(*session, context.Context, json.RawMessage) (any, error) {
		return nil, newError(idExecution, "%s", sentence)
	}
}

// none are arguments of a request that has none.
type none struct{}

// explainJSON puts a decoding error into words of the protocol.
func explainJSON(err error) string {
	if te := (*json.UnmarshalTypeError)(nil); errors.As(err, &te) && te.Field != "" {
		return fmt.Sprintf("%q cannot be a %s", te.Field, te.Value)
	} else if te != nil && err.Error() == te.Error() {
		return fmt.Sprintf("an object is needed, not a value of the kind %s", te.Value)
	}
	return err.Error()
}
