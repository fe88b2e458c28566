package dap

import (
	"strings"
)

// aliases are commands of gdb, lldb and delve, and what sfcore calls the same. A longer
// one comes before its beginning.
var aliases = [][2]string{
	{"thread apply all backtrace", "bt all"},
	{"thread apply all bt full", "bt all"},
	{"thread apply all bt", "bt all"},
	{"thread apply all where", "bt all"},
	{"thread backtrace all", "bt all"},
	{"thread backtrace unique", "bt --group"},
	{"thread backtrace", "bt"},
	{"thread list", "info threads"},
	{"bt -all", "bt all"},
	{"backtrace", "bt"},
	{"where", "bt"},
	{"stack", "bt"},
	{"info stack", "bt"},
	{"threads", "info threads"},
	{"frame variable", "info locals"},
	{"frame select", "frame"},
	{"frame info", "frame"},
	{"info frame", "frame"},
	{"f", "frame"},
	{"locals", "info locals"},
	{"args", "info args"},
	{"regs", "info registers"},
	{"register read", "info registers"},
	{"info all-registers", "info registers"},
	{"info sharedlibrary", "info modules"},
	{"info sharedlib", "info modules"},
	{"info dll", "info modules"},
	{"info files", "info modules"},
	{"image list", "info modules"},
	{"target modules list", "info modules"},
	{"libraries", "info modules"},
	{"image lookup --address", "info symbol"},
	{"image lookup -a", "info symbol"},
	{"info proc mappings", "info mappings"},
	{"info signals", "info signal"},
	{"info program", "info signal"},
	{"info goroutines", "goroutines"},
	{"grs", "goroutines"},
	{"memory read", "x/8gx"},
	{"disas", "disassemble"},
	{"di", "disassemble"},
	{"source list", "list"},
	{"ls", "list"},
	{"l", "list"},
	{"expression", "print"},
	{"expr", "print"},
	{"inspect", "print"},
	{"output", "print"},
	{"po", "print"},
	{"add-symbol-file", "path"},
	{"symbol-file", "path"},
	{"settings append target.exec-search-paths", "path"},
}

// ambiguous are aliases that a variable may well be called. The variable wins.
var ambiguous = map[string]bool{"f": true, "l": true, "di": true, "ls": true, "args": true, "regs": true, "stack": true, "threads": true, "locals": true, "output": true, "expr": true}

// translate replaces a command of another debugger by that of sfcore.
func translate(text string) string {
	for _, alias := range aliases {
		if rest, ok := strings.CutPrefix(text, alias[0]); ok && (rest == "" || rest[0] == ' ' || rest[0] == '/') {
			return alias[1] + rest
		}
	}
	return text
}

// says is what to do in place of commands that sfcore does not have, by their first word.
var says = map[string]string{
	"bt full":   "choose a frame with frame N, then info locals; sfcore bt --locals writes all in a terminal",
	"thread":    "select the thread in the call stack of the editor; bt TID shows its stack, and info threads lists all",
	"t":         "select the thread in the call stack of the editor; bt TID shows its stack, and info threads lists all",
	"goroutine": "goroutines lists all of them with their stacks",
	"ptype":     "write whatis EXPRESSION for the type of a value, and open the value in Variables for its members",
	"display":   "add the expression to Watch in the editor",
	"undisplay": "remove the expression from Watch in the editor",
	"quit":      endSession,
	"q":         endSession,
	"exit":      endSession,
	"detach":    endSession,
	"kill":      endSession,
	"file":      openAnother,
	"core-file": openAnother,
	"core":      openAnother,
	"target":    openAnother,
	"attach":    openAnother,
	"directory": "set \"sourcePaths\" or \"sourceMap\" in the launch configuration",
	"dir":       "set \"sourcePaths\" or \"sourceMap\" in the launch configuration",
	"set":       "sfcore only reads the process. Options are keys of the launch configuration: see docs/editors.md",
	"settings":  "options are keys of the launch configuration: see docs/editors.md",
	"show":      "options are keys of the launch configuration: see docs/editors.md",
	"shell":     "sfcore runs no commands",
	"python":    "sfcore runs no scripts",
	"script":    "sfcore runs no scripts",
	"source":    "sfcore runs no scripts; list shows source lines",
	"apropos":   "write help for the list of commands",
}

const (
	endSession  = "end the session in the editor: Stop or Disconnect"
	openAnother = "end this session, and open another core file or process; path DIRECTORY adds files to this one"
	notExecuted = "sfcore shows the process and does not execute it"
)

func init() {
	for _, word := range []string{
		"continue", "c", "step", "s", "stepi", "si", "next", "n", "nexti", "ni", "finish", "until", "advance", "run", "r", "start", "starti", "jump", "signal", "process", "call",
		"break", "b", "tbreak", "breakpoint", "rbreak", "watch", "watchpoint", "rwatch", "delete", "condition", "on", "trace", "stepout", "so", "step-instruction", "reverse-step", "reverse-continue", "rewind", "checkpoint",
	} {
		says[word] = notExecuted
	}
}

// sayInstead returns what to do in place of a command that sfcore does not have; "" if
// the text is none.
func sayInstead(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return says[word]
}
