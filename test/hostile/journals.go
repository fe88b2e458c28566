package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
)

// journal has sfcore import from systemd, whose journal is what a script prints.
func (f *folder) journal(list, export string) []string {
	script := f.write("bin/journalctl", fmt.Appendf(nil, "#!/bin/sh\ncd %q\ncase \"$*\" in\n*output=json*) %s;;\n*) %s;;\nesac\n", f.path, list, export))
	f.check(os.Chmod(script, 0o700))
	f.env = append(f.env, "PATH="+f.in("bin")+":/usr/bin:/bin")
	config := f.write("crash.toml", fmt.Appendf(nil, "store = %q\n", f.in("store")))
	f.write("root/empty", nil)
	return []string{"crash", "--config", config, "import", "--root", f.in("root"), "systemd"}
}

// journals are journals of systemd, to which every process may write.
func journals() []input {
	const entry = `{"__CURSOR":"s","_TRANSPORT":"journal","_UID":"0","COREDUMP_SIGNAL":"11","COREDUMP_PID":"7","COREDUMP_UID":"0"`
	listed := func(n int, line string) func(f *folder) []string {
		return func(f *folder) []string {
			f.write("list", []byte(strings.Repeat(line+"\n", n)))
			return f.journal("exec cat list", "exec true")
		}
	}
	// The core of an entry is what prints bytes, of which there are this many.
	core := func(size uint64, bytes string) func(f *folder) []string {
		return func(f *folder) []string {
			f.write("list", []byte(entry+`,"COREDUMP":null}`+"\n"))
			f.write("head", append(binary.LittleEndian.AppendUint64([]byte("COREDUMP\n"), size), coreHead(size)...))
			return f.journal("exec cat list", "cat head; "+bytes)
		}
	}
	return []input{
		{"journal-entries", "600,000 entries of crashes without cores", false, listed(600000, entry+"}")},
		{"journal-names", "8,000 entries with names of 60 KB", false, listed(8000, entry+`,"COREDUMP_EXE":"`+strings.Repeat(`\u001b`, 10000)+`"}`)},
		{"journal-numbers", "400 entries with a name of 300,000 numbers", false, listed(400, entry+`,"COREDUMP_EXE":[`+strings.Repeat("65,", 300000)+`66]}`)},
		{"journal-fields", "400 entries with 80,000 fields", false, listed(400, entry+strings.Repeat(`,"x":"y"`, 80000)+`}`)},
		{"journal-brackets", "an entry of 1,000,000 brackets", true, listed(1, `{"x":`+strings.Repeat("[", 1000000))},
		{"journal-line", "a line of 1 GiB", false, func(f *folder) []string { return f.journal("exec head -c 1073741824 /dev/zero", "exec true") }},
		{"journal-endless", "entries without an end", false, func(f *folder) []string {
			return f.journal("exec yes '"+entry+`,"COREDUMP_EXE":"`+strings.Repeat("/x", 1000)+`"}'`, "exec true")
		}},
		{"journal-zeros", "a core of 1 TiB of zeros in the journal", false, core(1<<40, "exec cat /dev/zero")},
		{"journal-bytes", "a core of 1 TiB in the journal that is text without an end", false, core(1<<40, "exec yes")},
		{"journal-text", "a field without an end before the core", false, func(f *folder) []string {
			f.write("list", []byte(entry+`,"COREDUMP":null}`+"\n"))
			return f.journal("exec cat list", "printf X=; exec cat /dev/zero")
		}},
		{"journal-still", "a core that stops after its head", false, core(1<<30, "exec sleep 60")},
	}
}
