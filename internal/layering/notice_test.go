package layering

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// licences are recognised by what only their text says.
var licences = []struct{ name, text string }{
	{"Apache-2.0", "Apache License Version 2.0"},
	{"BSD", "Redistribution and use in source and binary forms"},
	{"CC0-1.0", "CC0 1.0 Universal"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"MPL-2.0", "Mozilla Public License"},
}

const noticeHead = `sfcore is licensed under the Apache License, Version 2.0: see LICENSE.

Its programs contain code of the modules below, unchanged, in the versions that
go.mod names. "go mod download" fetches their sources, with the licences in full
and the names of the authors. That is also where the sources are of what is under
the Mozilla Public License 2.0 (MPL-2.0), whose text is at
https://mozilla.org/MPL/2.0/. COPYING.md of filepath-securejoin says which of its
files that is. The programs also contain Go's standard library (BSD) and, on
Windows, github.com/inconshreveable/mousetrap (Apache-2.0).

go test ./internal/layering compares this list with what the programs contain.

`

// TestNotice compares NOTICE with the licences of what is linked into the programs.
func TestNotice(t *testing.T) {
	dirs, programs := map[string]string{}, map[string][]string{}
	for _, program := range slices.Sorted(maps.Keys(linked)) {
		for _, dep := range dependencies(t, "../../"+program) {
			if m := dep.Module; !dep.Standard && !isOurs(m.Path) && !slices.Contains(programs[m.Path], program) {
				dirs[m.Path] = m.Dir
				programs[m.Path] = append(programs[m.Path], program)
			}
		}
	}
	text, notices := noticeHead, ""
	for _, path := range slices.Sorted(maps.Keys(dirs)) {
		names, notice := licence(t, dirs[path])
		if names == "" {
			t.Errorf("%s has no known licence", path)
		}
		text += fmt.Sprintf("%s: %s (%s)\n", path, names, strings.ReplaceAll(strings.Join(programs[path], ", "), "cmd/", ""))
		if notice != "" {
			notices += fmt.Sprintf("\n%s:\n\n%s", path, notice)
		}
	}
	testkit.Golden(t, "../../NOTICE", []byte(text+notices))
}

// licence returns the names of the licences of a module, and its NOTICE.
func licence(t *testing.T, dir string) (names, notice string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range files {
		name := strings.ToUpper(f.Name())
		if f.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") && !strings.HasPrefix(name, "NOTICE") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "NOTICE") {
			notice = string(data)
			continue
		}
		text := strings.ToLower(strings.Join(strings.Fields(string(data)), " "))
		for _, l := range licences {
			if strings.Contains(text, strings.ToLower(l.text)) {
				found[l.name] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " and "), notice
}
