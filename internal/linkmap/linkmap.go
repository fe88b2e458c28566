// Package linkmap reads the dynamic linker's list of what it has loaded from the
// memory of a process.
package linkmap

import (
	"iter"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

const (
	// maxEntries bounds the list: a forged one may not end.
	maxEntries = 1 << 16

	// maxDynamic bounds the entries of a dynamic section. Each needed library is
	// one, and no linker writes more than a hundred others.
	maxDynamic = 1 << 16

	// maxPath is PATH_MAX of Linux.
	maxPath = 4096

	dynNull  = 0  // DT_NULL
	dynDebug = 21 // DT_DEBUG
)

// Entry is an entry of the list: the program, whose name is
// usually empty, a library, or the vDSO, whose name is not a path.
type Entry struct {
	Name string
	// Bias is the run-time address minus the link-time address. Dynamic is the
	// run-time address of the dynamic section.
	Bias, Dynamic uint64
}

// RDebug returns the address of the dynamic linker's struct r_debug, which the
// program's DT_DEBUG holds in memory. bias is the program's load bias.
func RDebug(words *memreader.Words, f *elfx.File, bias uint64) (uint64, bool) {
	p := f.Prog(elfx.ProgDynamic)
	if p == nil {
		return 0, false
	}
	for off := uint64(0); off < min(p.Memsz, 16*maxDynamic); off += 16 {
		tag, err := words.Uint64(p.Vaddr + bias + off)
		if err != nil || tag == dynNull {
			return 0, false
		}
		if tag == dynDebug {
			v, err := words.Uint64(p.Vaddr + bias + off + 8)
			return v, err == nil && v != 0
		}
	}
	return 0, false
}

// All yields the list that the struct r_debug at an address leads to, the
// program first, as far as it can be read. It ends where the list leads back.
//
//	struct r_debug { int r_version; struct link_map *r_map; ... }
//	struct link_map { l_addr; char *l_name; l_ld; l_next; l_prev; } [link.h]
func All(words *memreader.Words, rdebug uint64) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		node, err := words.Uint64(rdebug + 8)
		seen := map[uint64]bool{}
		for len(seen) < maxEntries && err == nil && node != 0 && !seen[node] {
			seen[node] = true
			bias, err1 := words.Uint64(node)
			nameAt, err2 := words.Uint64(node + 8)
			if err1 == nil && err2 == nil {
				name, _ := words.CString(nameAt, maxPath)
				dynamic, _ := words.Uint64(node + 16)
				if !yield(Entry{name, bias, dynamic}) {
					return
				}
			}
			node, err = words.Uint64(node + 24)
		}
	}
}
