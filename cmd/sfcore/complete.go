package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
)

// maxCompletions bounds what a shell is offered.
const maxCompletions = 1000

// completePID offers the processes of the caller, with their names.
func completePID(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	const proc = "/proc"
	var found []string
	entries, _ := os.ReadDir(proc)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || !mine(filepath.Join(proc, e.Name())) || len(found) == maxCompletions {
			continue
		}
		if _, err := os.Readlink(filepath.Join(proc, e.Name(), "exe")); errors.Is(err, fs.ErrNotExist) {
			continue // a thread of the kernel, or a zombie
		}
		comm, err := os.ReadFile(filepath.Join(proc, e.Name(), "comm"))
		name := strings.TrimSpace(string(comm))
		if err == nil && (strings.HasPrefix(e.Name(), begun) || strings.HasPrefix(name, begun)) {
			found = append(found, e.Name()+"\t"+plain(name))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeThread offers the threads of the process or core that the command line names.
func completeThread(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	var found []string
	offer := func(tid int, name string) {
		if text := strconv.Itoa(tid); strings.HasPrefix(text, begun) && len(found) < maxCompletions {
			found = append(found, strings.TrimSuffix(text+"\t"+plain(name), "\t"))
		}
	}
	if pid := cmd.Flag("pid"); pid != nil && pid.Changed {
		dir := fmt.Sprintf("/proc/%s/task", pid.Value)
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			tid, err := strconv.Atoi(e.Name())
			comm, bad := os.ReadFile(filepath.Join(dir, e.Name(), "comm"))
			if err == nil && bad == nil {
				offer(tid, strings.TrimSpace(string(comm)))
			}
		}
	} else if len(args) > 0 && uncompressedName(args[0]) {
		img, err := core.Open(cmd.Context(), args[0], core.Options{})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for i := range img.Threads {
			offer(img.Threads[i].ID, img.Threads[i].Name)
		}
		_ = img.Close()
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// uncompressedName reports whether a file is not named as a compressed one, which would
// have to be unpacked first.
func uncompressedName(file string) bool {
	return !slices.Contains([]string{".zst", ".gz", ".lz4", ".xz"}, filepath.Ext(file))
}
