package dap

import (
	"strings"
	"testing"

	godap "github.com/google/go-dap"
)

// The usual words of other debuggers do what they do there, or say what to type.
func TestWordsOfOthers(t *testing.T) {
	config := corpus("amd64-v3-threads")
	config["sourceMap"] = map[string]string{"/srv/corpus/src": cores + "amd64-v3-threads/src"}
	config["cwd"] = absolute(t, ".")
	config["coreFile"], config["paths"] = absolute(t, config["coreFile"].(string)), []string{absolute(t, cores+"amd64-v3-threads/exe")}
	c, stopped := open(t, config)
	frame := c.frames(stopped.ThreadId)[1].Id // crash_leaf
	bt := c.evaluate(frame, "repl", "bt")
	for text, want := range map[string]string{
		"where": bt, "backtrace": bt, "thread backtrace": bt, "info stack": bt, "bt 4": bt,
		"bt 1":                            "boom+5",
		"thread apply all bt":             "thread ",
		"thread backtrace all":            "thread ",
		"info threads":                    "SIGSEGV",
		"thread list":                     "SIGSEGV",
		"info sharedlibrary":              "/exe/threads",
		"image list":                      "/exe/threads",
		"info proc mappings":              "threads",
		"info reg rip":                    "rip      0x4012c2 <crash_leaf+",
		"register read rip rsp":           "rsp ",
		"info locals":                     "q = {",
		"frame variable":                  "q = {",
		"info args":                       "n = 99",
		"args":                            "n = 99",
		"whatis n":                        "int",
		"expr n + 1":                      "100",
		"p n":                             "99",
		"p/x n":                           "0x63",
		"x/2gx $sp":                       "0x",
		"memory read $sp":                 "0x",
		"list":                            ">     9  ",
		"list 1":                          ">     1  ",
		"l":                               ">     9  ",
		"disassemble":                     "crash_leaf in ",
		"disas /s":                        "crash_leaf in ",
		"disassemble/r boom":              "boom in ",
		"di -n boom":                      "boom in ",
		"frame":                           "1  crash_leaf+18 (threads) /srv/corpus/src/threads.c:9 [sframe, full]",
		"frame 0":                         "0  boom+5 (threads) /srv/corpus/src/fs.h:61 [registers, full]",
		"image lookup --address 0x4012c2": "crash_leaf+",
	} {
		if got := c.evaluate(frame, "repl", text); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want something with %q", text, got, want)
		}
		c.evaluate(frame, "repl", "frame 1")
	}
	for text, want := range map[string]string{
		"thread 3": "select the thread in the call stack", "next": "does not execute it", "c": "does not execute it", "break main": "does not execute it",
		"quit": "Stop or Disconnect", "display n": "Watch", "directory /src": `"sourcePaths"`, "bt full": "info locals", "info breakpoints": "info shows one of",
		"frame main": "the number of a frame", "frame 77": "no frame 77", "up x": "number of frames", "list x": "a line", "list 5000": "threads.c has no line 5000", "whatis nothing": "nothing",
		"info registers nothing": "no register nothing", "core-file x": "end this session", "set var n = 1": "only reads",
	} {
		if r := c.refused("evaluate", map[string]any{"expression": text, "frameId": frame, "context": "repl"}, 0); !strings.Contains(r.Message, want) {
			t.Errorf("%s: got %q, want something with %q", text, r.Message, want)
		}
	}
}

// A frame that is chosen in the console is that of the commands and expressions after it,
// until the editor shows another.
func TestUpAndDown(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-threads"))
	frames := c.frames(stopped.ThreadId)
	shown := frames[0].Id
	for _, step := range []struct{ text, want string }{
		{"print $pc", "0x4011a5"},
		{"up", "1  crash_leaf"},
		{"print $pc", "0x4012c2"},
		{"p n", "99"},
		{"up 2", "3  thread_entry"},
		{"down", "2  crasher"},
		{"frame", "2  crasher"},
		{"info symbol $pc", "crasher+"},
		{"down 9", "0  boom"},
		{"up 100", "3  thread_entry"},
	} {
		if got := c.evaluate(shown, "repl", step.text); !strings.HasPrefix(got, step.want) {
			t.Errorf("%s: got %q, want %q", step.text, got, step.want)
		}
	}
	if r := c.refused("evaluate", map[string]any{"expression": "up", "frameId": shown, "context": "repl"}, idReference); !strings.Contains(r.Message, "outermost") {
		t.Errorf("got %q", r.Message)
	}
	if got := c.evaluate(shown, "watch", "$pc"); !strings.HasPrefix(got, "0x4011a5") {
		t.Errorf("a watch is where the editor is: got %s", got)
	}
	if got := c.evaluate(frames[1].Id, "repl", "print $pc"); !strings.HasPrefix(got, "0x4012c2") {
		t.Errorf("the editor shows another frame: got %s", got)
	}
}

// A variable wins over a word of one letter.
func TestVariableOrWord(t *testing.T) {
	c, frames := locals(t, "amd64-O0")
	if got := c.evaluate(frames[1].Id, "repl", "c"); !strings.Contains(got, "BLUE") {
		t.Errorf("got %s", got)
	}
}

// The console begins with what this is, what stopped it, and what is missing, each once.
func TestBanner(t *testing.T) {
	config := corpus("amd64-v3-threads")
	delete(config, "paths")
	config["sysroot"] = "/no/such/root"
	c, _ := open(t, config)
	c.do("configurationDone", nil, nil) // as some clients send it again
	var text string
	categories := map[string]string{}
	for !strings.Contains(text, "Not on this machine") {
		var o godap.OutputEventBody
		c.event("output", &o)
		text += o.Output
		categories[o.Output] = o.Category
	}
	for _, want := range []string{
		"sfcore: core file of threads, process 14136, amd64, 10 threads. Nothing is executed; help lists",
		"SIGSEGV (SEGV_MAPERR) at 0x8: ",
		"Not on this machine: threads (build-id 837269e200526cbe1f3cd6b452b40fd1f9b02c33)",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("got %d times %q in %s", strings.Count(text, want), want, text)
		}
	}
	for output, category := range categories {
		if want := map[bool]string{true: "important", false: "console"}[strings.HasPrefix(output, "Not on")]; category != want {
			t.Errorf("got category %s of %q", category, output)
		}
	}
}

// A file of another build is told of once.
func TestMismatchOnce(t *testing.T) {
	config := corpus("amd64-v3-threads")
	config["program"] = cores + "amd64-v3-deep/exe/deep"
	delete(config, "paths")
	config["sysroot"] = "/no/such/root"
	c, stopped := open(t, config)
	c.frames(stopped.ThreadId)
	var all []string
	for len(all) == 0 || !strings.HasPrefix(all[len(all)-1], "Not on") {
		var o godap.OutputEventBody
		c.event("output", &o)
		all = append(all, o.Output)
	}
	if text := strings.Join(all, ""); strings.Count(text, "not used: ") != 1 {
		t.Errorf("got %s", text)
	}
}

// After a refused step the client hears that the thread stands still.
func TestRefusedStep(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-threads"))
	var threads godap.ThreadsResponseBody
	c.do("threads", nil, &threads)
	other := threads.Threads[3].Id
	for _, command := range []string{"next", "stepIn", "stepOut", "stepBack", "continue", "reverseContinue"} {
		c.refused(command, map[string]any{"threadId": other}, idExecution)
		var again godap.StoppedEventBody
		c.event("stopped", &again)
		if again.ThreadId != other || !again.PreserveFocusHint || again.Reason != stopped.Reason || !again.AllThreadsStopped {
			t.Errorf("%s: got %+v", command, again)
		}
	}
}

// A variable wins over a word that another debugger has for a command.
func TestVariableOrAlias(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-corrupt-1"))
	for _, f := range c.frames(stopped.ThreadId) {
		if f.Name == "victim" {
			if got := c.evaluate(f.Id, "repl", "f"); !strings.HasPrefix(got, "0x") {
				t.Errorf("got %q, want the variable f", got)
			}
			return
		}
	}
	t.Error("there is no frame of victim")
}
