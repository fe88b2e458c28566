package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/crash/foreign"
	"github.com/sfcore/sfcore/internal/elfx"
)

// keptCores lists the crashes that handlers of this machine have kept and the caller may
// read, below a root, and says where it looked.
func keptCores(ctx context.Context, root string) (found []foundCore, looked []string) {
	found, dir := ownCrashes()
	looked = []string{dir}
	for _, kind := range []foreign.Kind{foreign.Systemd, foreign.Apport, foreign.Abrt} {
		where := "the store of " + string(kind)
		list, err := foreign.Read(ctx, string(kind), root)
		if err == nil && len(list.Problems) > 0 { // as if the journal cannot be read
			where += " (" + plain(list.Problems[0]) + ")"
		}
		looked = append(looked, where)
		if err != nil {
			continue
		}
		for i := range list.Crashes {
			c := &list.Crashes[i]
			f := foundCore{file: c.File, program: c.Program, pid: c.PID, time: c.Time, keeper: string(kind), why: c.Missing}
			if f.why == "" && c.Form != foreign.CoreForm {
				f.unpack = unpacker(c)
			}
			if f.why != "" || c.File == "" || readable(c.File) {
				found = append(found, f)
			}
		}
	}
	pattern, err := os.ReadFile(filepath.Join(root, "proc/sys/kernel/core_pattern"))
	if err != nil {
		return found, looked
	}
	cores, where := patternCores(ctx, strings.TrimSpace(string(pattern)))
	return append(found, cores...), append(looked, where...)
}

// unpacker returns what takes the core of a crash out of a report of apport, or of the
// journal.
func unpacker(c *foreign.Crash) func(context.Context, *os.File, int64) error {
	return func(ctx context.Context, out *os.File, most int64) error {
		in, done, err := c.Open(ctx)
		if err != nil {
			return err
		}
		defer done()
		_, err = foreign.Unpack(out, in, c.Form, most)
		return err
	}
}

// readable reports whether a file may be read.
func readable(name string) bool {
	f, err := elfx.OpenRegular(name)
	if err == nil {
		f.Close()
	}
	return err == nil
}

const (
	// maxPatternCores bounds the files that are looked at in a directory: the newest.
	maxPatternCores = 1000
	// maxNamedCores bounds those that are opened to learn of which program they are.
	maxNamedCores = 20
	// corePattern is what the kernel writes for a pattern without a name [core(5)].
	corePattern = "core"
)

// specifierAt matches what stands for something in kernel.core_pattern [core(5)].
var specifierAt = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[a-zA-Z]`) })

// patternCores lists the cores that the kernel writes itself, by the pattern for their
// names: in its directory or, if it has none, in the current one.
func patternCores(ctx context.Context, pattern string) (found []foundCore, looked []string) {
	if pattern == "" || pattern[0] == '|' || pattern[0] == '@' {
		pattern = corePattern
	}
	dir, base := filepath.Split(pattern)
	if dir = cmp.Or(dir, "."); strings.Contains(dir, "%") {
		return nil, nil // each process has its own
	}
	var name strings.Builder
	var specifiers []byte
	rest := base
	for at := specifierAt().FindStringIndex(rest); at != nil; at = specifierAt().FindStringIndex(rest) {
		name.WriteString(regexp.QuoteMeta(rest[:at[0]]) + `(.*?)`)
		specifiers = append(specifiers, rest[at[0]+1])
		rest = rest[at[1]:]
	}
	names, err := regexp.Compile(`^` + name.String() + regexp.QuoteMeta(rest) + `(?:\.\d+)?(?:\.(?:zst|gz|lz4|xz))?$`)
	if err != nil {
		return nil, nil
	}
	looked = []string{base + " in " + dir + ", by kernel.core_pattern"}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, looked
	}
	for _, e := range entries {
		m := names.FindStringSubmatch(e.Name())
		if m == nil || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil || info.Size() == 0 {
			continue
		}
		f := foundCore{file: filepath.Join(dir, e.Name()), time: info.ModTime(), keeper: kernel}
		for i, specifier := range specifiers {
			switch specifier {
			case 'E': // slashes are written as exclamation marks
				f.program = strings.ReplaceAll(m[i+1], "!", "/")
			case 'P':
				f.pid, _ = strconv.Atoi(m[i+1])
			}
		}
		if readable(f.file) {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b foundCore) int { return b.time.Compare(a.time) })
	found = found[:min(len(found), maxPatternCores)]
	nameCores(ctx, found)
	return found, looked
}

// nameCores asks the newest cores which program they are of, if their names do not tell.
func nameCores(ctx context.Context, found []foundCore) {
	for i := range found[:min(len(found), maxNamedCores)] {
		f := &found[i]
		if f.program != "" || !uncompressedName(f.file) {
			continue
		}
		img, err := core.Open(ctx, f.file, core.Options{})
		if err != nil {
			f.why = err.Error()
			continue
		}
		f.program, f.pid = cmp.Or(img.Executable, img.Name), img.PID
		_ = img.Close()
	}
}
