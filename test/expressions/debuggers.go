package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// debugger is asked for the values of expressions. It answers each; an answer that
// begins with "error" is a message.
type debugger struct {
	name string
	ask  func(c *crash, q []question) []string
}

func askSfcore(program string, c *crash, q []question) []string {
	args := append([]string{"print", "--format", "json", "--function", c.function, "--path", c.exe, c.core}, expressions(q)...)
	out, _ := exec.Command(program, args...).Output() // some fail, as they must
	var list []struct{ Text, Error string }
	_ = json.Unmarshal(out, &list)
	var answers []string
	for _, a := range list {
		if a.Error != "" {
			a.Text = "error: " + a.Error
		}
		answers = append(answers, a.Text)
	}
	return answers
}

const gdbScript = `
import gdb, json
f = gdb.newest_frame()
while f and not (f.name() or "").split("(")[0] == %q:
    f = f.older()
if f: f.select()
answers = []
for e in json.loads(%q):
    try: answers.append(gdb.execute("print " + e, to_string=True).strip().split(" = ", 1)[-1])
    except gdb.error as why: answers.append("error: " + str(why))
print("@@" + json.dumps(answers))
`

func askGDB(c *crash, q []question) []string {
	list, _ := json.Marshal(expressions(q))
	script := c.core + ".py"
	if err := os.WriteFile(script, []byte(fmt.Sprintf(gdbScript, c.function, list)), 0o600); err != nil {
		return nil
	}
	out, _ := exec.Command("gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-x", script, c.exe, c.core).Output()
	_, rest, _ := strings.Cut(string(out), "@@")
	var answers []string
	_ = json.Unmarshal([]byte(rest), &answers)
	return answers
}

func expressions(q []question) []string {
	var list []string
	for i := range q {
		list = append(list, q[i].expr)
	}
	return list
}

// variablePath is what lldb takes for a path of variables.
var variablePath = regexp.MustCompile(`^[*&]?[\w.>\[\]-]+$`)

// askLLDB does what lldb-dap does: first a path of variables, then an expression.
func askLLDB(c *crash, q []question) []string {
	var b strings.Builder
	b.WriteString("settings set target.max-string-summary-length 4096\n")
	fmt.Fprintf(&b, "frame select %s\n", lldbFrame(c))
	for i := range q {
		fmt.Fprintf(&b, "script print('@@%d')\n", 2*i)
		if variablePath.MatchString(q[i].expr) {
			fmt.Fprintf(&b, "frame variable -- %s\n", q[i].expr)
		}
		fmt.Fprintf(&b, "script print('@@%d')\nexpression -- %s\n", 2*i+1, q[i].expr)
	}
	b.WriteString("script print('@@end')\n")
	script := c.core + ".lldb"
	if err := os.WriteFile(script, []byte(b.String()), 0o600); err != nil {
		return nil
	}
	parts := strings.Split(lldb(c, "command source -e 0 "+script), "@@")
	answers := slices.Repeat([]string{"error: no answer"}, len(q))
	for _, part := range parts {
		var n int
		if _, err := fmt.Sscanf(part, "%d\n", &n); err != nil || n/2 >= len(q) {
			continue
		}
		text := lldbValue(part)
		if i := n / 2; n%2 == 0 || strings.HasPrefix(answers[i], "error") {
			answers[i] = text
		}
	}
	return answers
}

// lldb runs a command on the core.
func lldb(c *crash, command string) string {
	cmd := exec.Command("lldb", "--no-lldbinit", "--batch", "--core", c.core, c.exe, "-o", command)
	if python, _ := filepath.Glob("/usr/lib/llvm-*/lib/python3*/*-packages"); len(python) > 0 { // Debian 12's does not find its own
		cmd.Env = append(os.Environ(), "PYTHONPATH="+python[len(python)-1])
	}
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// lldbFrame returns the number of the frame of the function.
func lldbFrame(c *crash) string {
	for _, line := range strings.Split(lldb(c, "thread backtrace"), "\n") {
		_, name, _ := strings.Cut(line, "`")
		if _, number, ok := strings.Cut(line, "frame #"); ok && strings.HasPrefix(name, c.function) {
			number, _, _ := strings.Cut(number, ":")
			return number
		}
	}
	return "0"
}

// lldbValue takes the echo of the commands and the type from an answer.
func lldbValue(part string) string {
	var lines []string
	for _, line := range strings.Split(part, "\n")[1:] {
		if !strings.HasPrefix(line, "(lldb)") {
			lines = append(lines, line)
		}
	}
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	if strings.Contains(text, "error: ") || text == "" {
		return "error: " + text
	}
	_, value, ok := strings.Cut(text, " = ")
	if !ok {
		return text
	}
	return value
}
