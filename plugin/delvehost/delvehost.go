// Package delvehost is for programs that are built on delve's packages. It lets
// sfcore's plugin unwind a process that delve holds: delve keeps the process, and
// the plugin asks for registers and memory.
//
// Programs that run "dlv --headless" do not need it: see "sfcore bt --dlv".
package delvehost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/plugin"
)

// Open opens the selected process of one of delve's groups in a plugin. The
// process must stay stopped until the session is closed, because its memory is
// read from another goroutine until then.
//
// If delve has a core file open, p.Core must name it: the plugin opens the file
// itself, because delve reads the program's bytes at the addresses of libraries.
// Of the rest of p only Options is used.
func Open(ctx context.Context, c *plugin.Client, group *proc.TargetGroup, p plugin.Spec) (*plugin.Session, error) {
	if recorded, trace := group.Recorded(); recorded && trace == "" {
		if p.Core == "" {
			return nil, errors.New("delve has a core file open: name it in plugin.Spec.Core")
		}
		return c.Open(ctx, plugin.Spec{Core: p.Core, Options: p.Options})
	}
	img, err := image(group.Selected)
	if err != nil {
		return nil, err
	}
	return c.OpenImage(ctx, img, p.Options)
}

// image makes the image of a live process.
func image(t *proc.Target) (*core.Image, error) {
	if ok, err := t.Valid(); !ok {
		return nil, err
	}
	a, err := archNamed(t.BinInfo().Arch.Name)
	if err != nil {
		return nil, err
	}
	img := &core.Image{Arch: a, PID: t.Pid(), Command: t.CmdLine, Mem: newMemory(t)}
	for _, th := range t.ThreadList() {
		img.Threads = append(img.Threads, thread(a, t, th))
	}
	current := t.CurrentThread().ThreadID()
	slices.SortFunc(img.Threads, func(a, b core.Thread) int { // delve's order is random
		switch current {
		case a.ID:
			return -1
		case b.ID:
			return 1
		}
		return cmp.Compare(a.ID, b.ID)
	})
	var list []core.Loaded
	for i, im := range t.BinInfo().Images {
		if i == 0 {
			img.Executable = executable(im.Path)
			img.Name = path.Base(img.Executable)
			list = append(list, core.Loaded{Path: img.Executable, Bias: im.StaticBase})
		} else {
			list = append(list, core.Loaded{Path: im.Path, Bias: im.StaticBase})
		}
	}
	img.FindLoaded(list)
	return img, nil
}

// archNamed returns the architecture that delve calls name.
func archNamed(name string) (*arch.Arch, error) {
	for a := range arch.All() {
		if a.Delve != "" && a.Delve == name {
			return a, nil
		}
	}
	return nil, fmt.Errorf("sfcore does not know the architecture that delve calls %s", name)
}

// executable returns the path of the program. For a process that delve attached
// to, delve has only the path of a link.
func executable(name string) string {
	if strings.HasPrefix(name, "/proc/") {
		if target, err := os.Readlink(name); err == nil {
			return target
		}
	}
	return name
}

// thread gets the registers of a thread. delve counts them as DWARF does, and
// PC of arm64 as sfcore does.
func thread(a *arch.Arch, t *proc.Target, th proc.Thread) core.Thread {
	out := core.Thread{ID: th.ThreadID()}
	regs, err := th.Registers()
	if err != nil {
		out.Err = err
		return out
	}
	list := t.BinInfo().Arch.RegistersToDwarfRegisters(0, regs)
	for n, name := range a.Regs {
		if r := list.Reg(uint64(n)); r != nil && name != "" {
			out.Regs.Set(arch.Reg(n), r.Uint64Val)
		}
	}
	return out
}
