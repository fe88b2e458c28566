package module

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

const coresDir = "../../testdata/cores"

// openCore opens a recorded core.
func openCore(t *testing.T, name string) *core.Image {
	t.Helper()
	img, err := core.Open(context.Background(), filepath.Join(coresDir, name, "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// filesOf has the files of a recorded core.
func filesOf(t *testing.T, name string) Options {
	opts := Options{Sysroot: t.TempDir()}
	for _, sub := range []string{"exe", "debug"} {
		if dir := filepath.Join(coresDir, name, sub); exists(dir) {
			opts.Paths = append(opts.Paths, dir)
		}
	}
	if dir := filepath.Join(coresDir, name, "sysroot"); exists(dir) {
		opts.Sysroot = dir
	}
	return opts
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// headless is memory without the pages in which files begin.
type headless struct {
	memreader.Reader
	img *core.Image
}

func (m headless) ReadMem(p []byte, addr uint64) (int, error) {
	for i := range m.img.Mappings {
		if at := &m.img.Mappings[i]; at.Path != "" && at.Off == 0 && addr-at.Lo < minPage {
			return 0, &memreader.FaultError{Addr: addr, Why: memreader.NotDumped}
		}
	}
	return m.Reader.ReadMem(p, addr)
}

// TestModulesOfCores has all that is found for the modules of recorded cores: with
// their files, without any, with those of another program, where the core names no
// files, and where it has no headers. The golden files have what it should be.
func TestModulesOfCores(t *testing.T) {
	whole := func(t *testing.T, name string) (*core.Image, Options) { return openCore(t, name), filesOf(t, name) }
	bare := func(t *testing.T, name string) (*core.Image, Options) {
		return openCore(t, name), Options{Sysroot: t.TempDir()}
	}
	nameless := func(t *testing.T, name string) (*core.Image, Options) {
		img := openCore(t, name)
		for i := range img.Mappings {
			img.Mappings[i].Path = ""
		}
		return img, filesOf(t, name)
	}
	beheaded := func(t *testing.T, name string) (*core.Image, Options) {
		img := openCore(t, name)
		img.Mem = headless{img.Mem, img}
		return img, filesOf(t, name)
	}
	unread := func(t *testing.T, name string) (*core.Image, Options) { // only the auxiliary vector tells of the program
		img, opts := nameless(t, name)
		img.Mem = memreader.NewSpace(nil)
		return img, opts
	}
	others := func(t *testing.T, name string) (*core.Image, Options) {
		_, opts := whole(t, "amd64-v2-plt-1")
		return openCore(t, name), opts
	}
	for _, tt := range []struct {
		how   string
		open  func(*testing.T, string) (*core.Image, Options)
		cores []string
	}{
		{"files", whole, []string{
			"aarch64-qemuuser-v2-sig-alt", "aarch64-v3-plt-1", "aarch64-v3-pnxnum", "aarch64be-v3-deep", "amd64-none-notables", "amd64-v2-cxx",
			"amd64-v2-nosframe", "amd64-v2-stripped-debuglink", "amd64-v2-stripped-minidebug", "amd64-v2-stripped-none", "amd64-v2e1-clang-lld-concat",
			"amd64-v2e1-debian-cpio", "amd64-v3-libcdyn-1", "amd64-v3-mixedver", "amd64-v3-pltgcore", "amd64-v3-pltibt-2", "amd64-v3-valgrind", "s390x-v3-plt-1",
		}},
		{"memory", bare, []string{"aarch64be-v3-deep", "amd64-v2-cxx", "amd64-v2e1-debian-cpio", "amd64-v3-libcdyn-1", "amd64-v3-plt-1", "s390x-v3-plt-1"}},
		{"nameless", nameless, []string{"aarch64-v3-plt-1", "amd64-v2e1-debian-cpio", "amd64-v3-libcdyn-1", "amd64-v3-plt-1", "s390x-v3-plt-1"}},
		{"no-headers", beheaded, []string{"aarch64-v3-plt-1", "amd64-v2e1-debian-cpio", "amd64-v3-libcdyn-1", "amd64-v3-plt-1", "s390x-v3-plt-1"}},
		{"no-memory", unread, []string{"amd64-v3-libcdyn-1", "amd64-v3-plt-1"}},
		{"others", others, []string{"aarch64-v3-plt-1", "amd64-v3-plt-1"}},
	} {
		for _, name := range tt.cores {
			t.Run(tt.how+"/"+name, func(t *testing.T) {
				img, opts := tt.open(t, name)
				set := Find(img, opts)
				defer set.Close()
				got := strings.ReplaceAll(describeSet(set), opts.Sysroot, "SYSROOT")
				if dir, err := filepath.Abs(coresDir); err == nil {
					got = strings.ReplaceAll(got, dir, coresDir)
				}
				testkit.Golden(t, filepath.Join("testdata", "modules", tt.how+"-"+name+".golden"), []byte(got))
			})
		}
	}
}

// describeSet writes what is known of all modules, of the address space, and of the code
// that the threads are in.
func describeSet(set *Set) string {
	var b strings.Builder
	for m := range set.All() {
		fmt.Fprintf(&b, "%s: %s, id %s, %#x to %#x, bias %#x, main %v, %s\n", m.Name(), m.Path, m.ID(), m.Lo, m.Hi, m.Bias, m.Main, m.Match)
		fmt.Fprintf(&b, "\tfiles %+v, debug %q\n", m.Files, m.DebugFile())
		tables := &m.Tables
		fmt.Fprintf(&b, "\ttables: SFrame %v, CFI %d, Go %v, writable %v, entry %#x\n", tables.SFrame != nil, len(tables.CFI), tables.Go != nil, tables.Writable, tables.Entry)
		for _, s := range tables.Slots {
			fmt.Fprintf(&b, "\tslots %#x to %#x\n", s.Lo, s.Hi)
		}
		for _, name := range []string{"main", "_start", "lib_leaf"} {
			if addr, ok := m.Address(name); ok {
				fmt.Fprintf(&b, "\t%s at %#x in %q\n", name, addr, tables.Section(addr))
			}
		}
		described, err := json.Marshal(set.Describe(m))
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "\t%s\n", described)
	}
	for i := range set.spans {
		if s := &set.spans[i]; s.executable || s.site != nil {
			p := set.Place(s.lo)
			code := make([]byte, 8)
			n, err := set.Memory().ReadMem(code, s.lo+0x100)
			fmt.Fprintf(&b, "%#x to %#x: executable %v, module %v, bytes %x, %v\n", p.Lo, p.Hi, p.Executable, p.Module != nil, code[:n], err)
		}
	}
	for i := range set.img.Threads {
		at, ok := set.img.Threads[i].Regs.Get(set.img.Arch.PC)
		if !ok {
			continue
		}
		for _, l := range set.Locate(at, nil) {
			fmt.Fprintf(&b, "thread %d: %s+%#x %s:%d:%d by %v, inlined %v\n", set.img.Threads[i].ID, l.Func, l.Offset, l.File, l.Line, l.Column, l.From, l.Inlined)
		}
	}
	if addr, ok := set.Address("main"); ok {
		fmt.Fprintf(&b, "main at %#x\n", addr)
	}
	fmt.Fprintf(&b, "Go %v, %d modules\n", set.WithGo() != nil, set.Len())
	for _, err := range set.Problems() {
		fmt.Fprintf(&b, "problem: %v\n", err)
	}
	return b.String()
}
