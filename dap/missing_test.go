package dap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	godap "github.com/google/go-dap"
)

// page returns the text in place of the source of a frame, and the line that the frame
// shows.
func (c *tester) page(f *godap.StackFrame) (text, line string) {
	c.Helper()
	var body godap.SourceResponseBody
	c.do("source", map[string]any{"sourceReference": f.Source.SourceReference}, &body)
	lines := strings.Split(body.Content, "\n")
	if f.Line < 1 || f.Line > len(lines) {
		c.Fatalf("%s: line %d of %d", f.Name, f.Line, len(lines))
	}
	return body.Content, lines[f.Line-1]
}

// A frame whose source is not here has its file and line, and a page at this line that
// says what is missing.
func TestMissingSource(t *testing.T) {
	config := corpus("amd64-v3-threads")
	config["sourceMap"] = map[string]string{"/srv/corpus": "/no/such"}
	c, stopped := open(t, config)
	frames := c.frames(stopped.ThreadId)
	for i, want := range []struct {
		name string
		line int
	}{{"fs.h", 61}, {"threads.c", 9}} {
		f := &frames[i]
		if f.Source.Name != want.name || f.Line != want.line || f.Source.SourceReference == 0 {
			t.Errorf("frame %d: got %+v:%d, want %+v", i, f.Source, f.Line, want)
		}
		text, line := c.page(f)
		if !strings.HasPrefix(line, want.name) || !strings.Contains(line, "not on this machine") {
			t.Errorf("frame %d: got line %q", i, line)
		}
		for _, part := range []string{
			"837269e200526cbe1f3cd6b452b40fd1f9b02c33", "/no/such/src/" + want.name, `"debuginfod" is off`, `"sourceMap": {"/srv/corpus/src"`, "around ",
		} {
			if !strings.Contains(text, part) {
				t.Errorf("frame %d: the page does not have %q:\n%s", i, part, strings.TrimLeft(text, "\n"))
			}
		}
	}
}

// Every frame can be selected, also where the program is missing, and says which file it
// is.
func TestMissingProgram(t *testing.T) {
	config := corpus("amd64-v3-threads")
	delete(config, "paths")
	config["sysroot"] = "/no/such/root"
	c, stopped := open(t, config)
	f := &c.frames(stopped.ThreadId)[0]
	text, line := c.page(f)
	if !strings.HasPrefix(line, "0x4011a5 is in threads,") {
		t.Errorf("got %q", line)
	}
	for _, part := range []string{
		"837269e200526cbe1f3cd6b452b40fd1f9b02c33", "/srv/corpus/cases/amd64-v3-threads/exe/threads", `below /no/such/root, the "sysroot"`, `"paths" is empty`, `"path DIRECTORY"`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the page does not have %q:\n%s", part, text)
		}
	}
}

// Who wants files to be fetched, and has named no server, is not told to want it.
func TestMissingServers(t *testing.T) {
	t.Setenv("DEBUGINFOD_URLS", "")
	config := corpus("amd64-v3-threads")
	config["sourceMap"] = map[string]string{"/srv/corpus": "/no/such"}
	config["debuginfod"] = true
	c, stopped := open(t, config)
	text, _ := c.page(&c.frames(stopped.ThreadId)[0])
	if !strings.Contains(text, "on no server, since DEBUGINFOD_URLS names none") || strings.Contains(text, `"debuginfod": true`) {
		t.Errorf("got %s", strings.TrimLeft(text, "\n"))
	}
}

// A call of null has no module, and a page all the same.
func TestNoModule(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-null-1"))
	f := &c.frames(stopped.ThreadId)[0]
	if _, line := c.page(f); line != "Nothing is mapped at 0x0: this is not the address of code." {
		t.Errorf("got %q for %+v", line, f)
	}
}

// write makes files, each with its own name as text.
func write(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		name = filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(name), 0o700)
		if err == nil {
			err = os.WriteFile(name, []byte(name), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestWorkspace(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "app/src/fs.h", "app/src/main.c", "app/lib/main.c", "a/util/x.c", "b/util/x.c", "only.c", ".git/hidden.c", "node_modules/m/hidden.c")
	for recorded, want := range map[string]string{
		"/ci/job/app/src/fs.h":     "app/src/fs.h",
		"/ci/src/main.c":           "app/src/main.c",
		"/ci/job/lib/main.c":       "app/lib/main.c",
		"/ci/job/main.c":           "", // two, and only the name is the same
		"/ci/job/only.c":           "only.c",
		"./only.c":                 "", // as libraries of the system have it
		"/usr/src/debug/only.c":    "",
		"./src/fs.h":               "app/src/fs.h",
		"/ci/util/x.c":             "a/util/x.c b/util/x.c",
		"/ci/b/util/x.c":           "b/util/x.c",
		"/ci/hidden.c":             "",
		"/ci/app/src/../src/fs.h":  "app/src/fs.h",
		"/ci/nothing.c":            "",
		"":                         "",
		"/":                        "",
		"fs.h":                     "",
		filepath.Join(dir, "fs.h"): "app/src/fs.h", // nothing else has the name
	} {
		w := &workspace{dirs: []string{dir, "/no/such", "/"}}
		var got []string
		for _, name := range w.find(t.Context(), recorded) {
			got = append(got, strings.TrimPrefix(name, dir+"/"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, want %q", recorded, got, want)
		}
	}
}

// Sources are found by the end of their path in "sourcePaths", or else in "cwd".
func TestSourcePaths(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "work/corpus/src/fs.h", "work/corpus/src/threads.c", "copy/src/fs.h", "copy2/src/fs.h")
	for key, value := range map[string]any{"cwd": filepath.Join(dir, "work"), "sourcePaths": []string{filepath.Join(dir, "work/corpus")}} {
		config := corpus("amd64-v3-threads")
		config["coreFile"], _ = filepath.Abs(config["coreFile"].(string))
		config["paths"] = []string{filepath.Join(filepath.Dir(config["coreFile"].(string)), "exe")}
		delete(config, "sysroot")
		config[key] = value
		c, stopped := open(t, config)
		f := c.frames(stopped.ThreadId)[0]
		if want := filepath.Join(dir, "work/corpus/src/fs.h"); f.Source.Path != want || f.Source.Origin != "found for /srv/corpus/src/fs.h" || f.Line != 61 {
			t.Errorf("%s: got %+v, want %s", key, f.Source, want)
		}
	}
	config := corpus("amd64-v3-threads")
	config["sourcePaths"] = []string{filepath.Join(dir, "copy"), filepath.Join(dir, "copy2")}
	c, stopped := open(t, config)
	f := c.frames(stopped.ThreadId)[0]
	text, _ := c.page(&f)
	if want := "end alike, so that none of them was taken:\n  " + filepath.Join(dir, "copy/src/fs.h") + "\n  " + filepath.Join(dir, "copy2/src/fs.h"); !strings.Contains(text, want) {
		t.Errorf("got %s, want %q", strings.TrimLeft(text, "\n"), want)
	}
}
