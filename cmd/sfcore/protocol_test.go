package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
)

// optionRow is a row of the table of docs/plugin.md: what hosts say in place of flags.
type optionRow struct {
	flags []string
	cells [2]string // of the second version and of the first
}

// quoted finds what is written as code.
var quoted = regexp.MustCompile("`([^`]+)`")

func optionTable(t *testing.T) (rows []optionRow) {
	t.Helper()
	text, err := os.ReadFile("../../docs/plugin.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Options\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, lines, _ := strings.Cut(section, "|---|---|---|\n")
	for line := range strings.Lines(lines) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 {
			continue
		}
		r := optionRow{cells: [2]string{strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])}}
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			r.flags = append(r.flags, strings.TrimPrefix(m[1], "--"))
		}
		rows = append(rows, r)
	}
	return rows
}

// Every flag of the commands that the plugin serves is a field of a request, or a call, or
// has a reason why it is not; and every field of the requests is there.
func TestFlagsOfProtocol(t *testing.T) {
	flags := map[string]bool{}
	for _, cmd := range []*cobra.Command{
		newBtCommand(), newInfoCommand(), newPrintCommand(), newGoroutinesCommand(), newDumpCommand(), newPluginCommand(),
	} {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	}
	if len(flags) < 40 {
		t.Errorf("got %d flags", len(flags))
	}
	versions := [2]protoreflect.FileDescriptor{protov2.File_sfcore_plugin_v2_plugin_proto, proto.File_sfcore_proto}
	var named [2]map[string]bool
	for i := range named {
		named[i] = map[string]bool{}
	}
	for _, r := range optionTable(t) {
		for _, name := range r.flags {
			if !flags[name] {
				t.Errorf("--%s: no command has this flag, or it has two rows", name)
			}
			delete(flags, name)
		}
		for i, cell := range r.cells {
			if cell == "" {
				t.Errorf("%v: neither an option nor a reason", r.flags)
			}
			for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
				if !hasName(versions[i], m[1]) {
					t.Errorf("%v: version %d has no %s", r.flags, 2-i, m[1])
				}
				named[i][m[1]] = true
			}
		}
	}
	for name := range flags {
		t.Errorf("--%s: not in the table of docs/plugin.md", name)
	}
	for i, file := range versions {
		for _, name := range []protoreflect.Name{
			"OpenRequest", "StacksRequest", "GroupsRequest", "EvaluateRequest", "GoroutinesRequest", "DumpSFrameRequest", "WaitsRequest",
		} {
			m := file.Messages().ByName(name)
			for j := 0; m != nil && j < m.Fields().Len(); j++ {
				if field := m.Fields().Get(j).Name(); field != "session" && !named[i][string(name)+"."+string(field)] {
					t.Errorf("version %d: %s.%s: not in the table of docs/plugin.md", 2-i, name, field)
				}
			}
		}
	}
}

// hasName reports whether a file has Message.field or, for one word that begins with a
// capital letter, a method. Other words are for the reader.
func hasName(file protoreflect.FileDescriptor, name string) bool {
	message, field, ok := strings.Cut(name, ".")
	switch {
	case ok:
		return hasField(file, message, field)
	case name[0] < 'A' || name[0] > 'Z':
		return true
	}
	for i := range file.Services().Len() {
		if file.Services().Get(i).Methods().ByName(protoreflect.Name(name)) != nil {
			return true
		}
	}
	return false
}

// hasField looks in a file and in those that it imports.
func hasField(file protoreflect.FileDescriptor, message, field string) bool {
	if m := file.Messages().ByName(protoreflect.Name(message)); m != nil {
		return m.Fields().ByName(protoreflect.Name(field)) != nil
	}
	for i := range file.Imports().Len() {
		if hasField(file.Imports().Get(i).FileDescriptor, message, field) {
			return true
		}
	}
	return false
}
