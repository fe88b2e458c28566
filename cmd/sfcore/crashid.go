package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/crash/store"
)

// storeVariable names the directory of another store than the usual one.
const storeVariable = "SFCORE_STORE"

// byID puts files of the store in the place of the ids of crashes: the core, or without
// core what shows the stacks, too. Whatever is the name of a file stays.
func byID(args []string, core bool) ([]string, error) {
	args = slices.Clone(args)
	dir := cmp.Or(os.Getenv(storeVariable), store.Dir)
	for i, id := range args {
		if !store.ValidID(id) || !strings.Contains(id, "-") {
			continue
		}
		if _, err := os.Lstat(id); err == nil {
			continue
		}
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		s, err := store.Open(dir, store.Limits{})
		if err != nil {
			return nil, err
		}
		if core {
			args[i] = s.Core(id)
		} else {
			args[i] = cmp.Or(s.Report(id), s.Core(id))
		}
		if args[i] == "" {
			what := "report"
			if core {
				what = "core"
			}
			return nil, fmt.Errorf("%s: no such file, and no %s of a crash with this id is in %s; sfcore crash list shows what is", id, what, dir)
		}
	}
	return args, nil
}

// coreByID is byID for the core that an editor asks for, which may have put a directory
// before the id.
func coreByID(name string) (string, error) {
	if _, err := os.Lstat(name); err == nil {
		return name, nil
	}
	id := filepath.Base(name)
	found, err := byID([]string{id}, true)
	if err != nil || found[0] == id {
		return name, err
	}
	return found[0], nil
}
