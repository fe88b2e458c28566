package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	godap "github.com/google/go-dap"
	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/dap"
	"github.com/sfcore/sfcore/dap/daptest"
	"github.com/sfcore/sfcore/internal/delve/delvetest"
	"github.com/sfcore/sfcore/internal/display"
)

// hostileNames are what the names of a case become: of the same length, so that
// no table has to change.
var hostileNames = [][2]string{
	{"/srv/corpus/cases", "/s\x1b]0;x\x07\x1b[2J\x9b5///"},  // titles, erasing, an 8-bit control
	{"/srv/corpus/src", "/s\xe2\x80\xaea\xc2\x9b7m\r\nxyz"}, // right to left, a control in UTF-8
	{"boom", "\x1b[1m"},
	{"threads", "t\x1b[8m\x7fs"},
	{"main.", "m\x1b[K."},
	{"worker", "w\x1b[2Kx"},
	{"crash_leaf", "\u200d\u2028\u061c\u00ad"},   // invisible, and a line of its own
	{"thread_entry", "\U000e0041\ufeff\u2029xy"}, // a tag
}

// hostileCase copies a case and gives it hostile names.
func hostileCase(t *testing.T, dir string) (core, exe string) {
	t.Helper()
	hostile := func(data []byte) []byte {
		for _, names := range hostileNames {
			if len(names[0]) != len(names[1]) {
				t.Fatalf("%q is not as long as %q", names[1], names[0])
			}
			data = bytes.ReplaceAll(data, []byte(names[0]), []byte(names[1]))
		}
		return data
	}
	packed, err := os.ReadFile(filepath.Join(dir, "core.zst"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	data, err := d.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	core, exe = filepath.Join(to, "core"), filepath.Join(to, "exe", "x\x1b[31m\x07")
	programs, err := filepath.Glob(filepath.Join(dir, "exe", "*"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("got %d programs, %v", len(programs), err)
	}
	program, err := os.ReadFile(programs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Dir(exe), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{core: hostile(data), exe: hostile(program)} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Skipf("this system has no such file names: %v", err)
		}
	}
	return core, exe
}

// What a core, a program or a path is called reaches a terminal without control
// characters, in every text that sfcore prints.
func TestHostileNames(t *testing.T) {
	delvetest.Here(t)
	core, exe := hostileCase(t, filepath.Join(coresDir, "amd64-v3-threads"))
	goCore, goExe := hostileCase(t, filepath.Join(goroutinesDir, "amd64"))
	cut := filepath.Join(t.TempDir(), "core\x1b[2J")
	data, err := os.ReadFile(core)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "no\x1b[2J\nsuch")
	path := []string{"--path", filepath.Dir(exe)}
	seen := false
	for _, args := range [][]string{
		append([]string{"bt", core}, path...),
		append([]string{"bt", "-v", "--source", "1", core}, path...),
		append([]string{"bt", "--format", "folded", core}, path...),
		append([]string{"bt", "--format", "json", core}, path...),
		append([]string{"bt", "--format", "jsonl", "-v", core}, path...),
		append([]string{"info", "--format", "json", core}, path...),
		{"goroutines", "--format", "json", "--path", filepath.Dir(goExe), goCore},
		{"sframe", "dump", "--format", "json", exe},
		{"sframe", "check", "--format", "json", exe},
		{"sframe", "compare", "--format", "json", exe},
		{"sframe", "coverage", "--format", "json", exe},
		{"bt", "-v", core},
		append([]string{"bt", cut}, path...),
		{"bt", missing},
		{"bt", exe},
		{"bt", core, missing},
		append([]string{"info", core}, path...),
		{"info", core},
		append([]string{"info", cut}, path...),
		{"bt", "-v", "--path", filepath.Dir(goExe), goCore},
		{"goroutines", "--path", filepath.Dir(goExe), goCore},
		{"goroutines", "--locals", "--group", "--path", filepath.Dir(goExe), goCore},
		{"goroutines", "--all", "--path", filepath.Dir(goExe), goCore},
		{"sframe", "dump", exe},
		append([]string{"sframe", "dump", core}, path...),
		{"sframe", "dump", missing},
		{"sframe", "dump", "--raw", exe},
		{"sframe", "check", exe},
		append([]string{"sframe", "check", core}, path...),
		{"sframe", "compare", "--all", exe},
		append([]string{"sframe", "compare", core}, path...),
		{"sframe", "coverage", exe},
		append([]string{"sframe", "coverage", core}, path...),
		{"sframe", "synth", "-o", missing + "/x", exe},
		{"sframe", "synth", "-o", exe + "y", exe},
		{missing},
		{"bt", "--format", "\x1b[2J", core},
		{"bt", "--\x1b[2J", core},
	} {
		stdout, stderr, _ := sfcore(args...)
		for _, text := range []string{stdout, stderr} {
			seen = seen || strings.Contains(text, `\u001b`)
			for i, r := range text {
				raw := r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd")
				if display.Unsafe(r) && r != '\n' && r != '\t' || raw {
					t.Errorf("%q: got %q", args, text[max(0, i-60):min(len(text), i+20)])
					break
				}
			}
		}
	}
	if !seen {
		t.Error("no name was escaped: this tests nothing")
	}
}

// What an editor is told of such names has no such characters either. Only paths
// of sources are as they are: the editor opens them.
func TestHostileNamesInEditors(t *testing.T) {
	core, exe := hostileCase(t, filepath.Join(coresDir, "amd64-v3-threads"))
	client, adapter := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- (&dap.Server{Open: openForDAP}).Serve(t.Context(), adapter, adapter) }()
	var read bytes.Buffer
	c := daptest.New(io.TeeReader(client, &read), client)
	do := func(command string, args map[string]any) map[string]any {
		t.Helper()
		var body map[string]any
		_ = c.Do(command, args, &body) // errors are read, too
		return body
	}
	list := func(body map[string]any, key string) (all []map[string]any) {
		items, _ := body[key].([]any)
		for _, item := range items {
			all = append(all, item.(map[string]any))
		}
		return all
	}
	do("initialize", map[string]any{"adapterID": "x"})
	do("attach", map[string]any{"coreFile": core, "paths": []string{filepath.Dir(exe)}})
	do("configurationDone", nil)
	do("modules", nil)
	do("loadedSources", nil)
	for _, th := range list(do("threads", nil), "threads")[:2] {
		do("exceptionInfo", map[string]any{"threadId": th["id"]})
		for _, f := range list(do("stackTrace", map[string]any{"threadId": th["id"]}), "stackFrames") {
			for _, s := range list(do("scopes", map[string]any{"frameId": f["id"]}), "scopes") {
				do("variables", map[string]any{"variablesReference": s["variablesReference"]})
			}
			if source, ok := f["source"].(map[string]any); ok {
				do("source", map[string]any{"source": source, "sourceReference": source["sourceReference"]})
			}
			for _, text := range []string{"bt", "bt all", "info threads", "info modules", "info mappings", "info problems", "info signal", "sframe", "info symbol $pc", "$pc", "x/4gx $sp", "x/4i $pc", "\x1b\u202e"} {
				do("evaluate", map[string]any{"expression": text, "context": "repl", "frameId": f["id"]})
			}
			do("disassemble", map[string]any{"memoryReference": f["instructionPointerReference"], "instructionCount": 8})
		}
	}
	do("completions", map[string]any{"text": "", "column": 1})
	do("attach", map[string]any{"coreFile": core + "\u202e"})
	do("disconnect", nil)
	if err := <-done; err != nil {
		t.Error(err)
	}
	_ = client.Close()
	<-c.Ended()
	escaped := 0
	for r := bufio.NewReader(&read); ; {
		content, err := godap.ReadBaseMessage(r)
		if err != nil {
			break
		}
		var m any
		if err := json.Unmarshal(content, &m); err != nil {
			t.Fatal(err)
		}
		eachText(m, "", func(key, text string) {
			escaped += strings.Count(text, `\u`)
			if i := strings.IndexFunc(text, func(r rune) bool { return display.Unsafe(r) && r != '\n' && r != '\t' }); i >= 0 {
				t.Errorf("%s: got %q", key, text[max(0, i-80):min(len(text), i+20)])
			}
		})
	}
	if escaped == 0 {
		t.Error("no name was escaped: this tests nothing")
	}
}

// eachText calls f with all strings of a JSON value, but for the paths of sources.
func eachText(v any, key string, f func(key, text string)) {
	switch v := v.(type) {
	case string:
		f(key, v)
	case []any:
		for _, item := range v {
			eachText(item, key, f)
		}
	case map[string]any:
		for k, item := range v {
			if !strings.HasSuffix(key, ".source") || k != "path" {
				eachText(item, key+"."+k, f)
			}
		}
	}
}
