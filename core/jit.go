package core

import (
	"errors"
	"fmt"

	"github.com/sfcore/sfcore/memreader"
)

// JITSymbol is the variable that holds the list that [JITList] reads.
const JITSymbol = "__jit_debug_descriptor"

const (
	// jitVersion is the only version of the list.
	jitVersion = 1

	// maxJITEntries bounds the list. Just-in-time compilers register an entry for
	// one or several functions, and a process has tens of thousands of these.
	maxJITEntries = 1 << 18
)

// JITEntry locates an ELF image in the memory of the process that describes the
// code of a just-in-time compiler. Neither the address nor the size, which is in
// bytes, has been checked.
type JITEntry struct{ Addr, Size uint64 }

// JITList reads the list of gdb's JIT compilation interface, the newest entry
// first. descriptor is the address of [JITSymbol]. An error says why the list was
// not read to its end; the entries before that are returned with it.
//
//	struct jit_descriptor { uint32_t version, action_flag; struct jit_code_entry *relevant_entry, *first_entry; }
//	struct jit_code_entry { struct jit_code_entry *next_entry, *prev_entry; char *symfile_addr; uint64_t symfile_size; }
//
// [gdb manual, JIT Compilation Interface]
func JITList(words *memreader.Words, descriptor uint64) ([]JITEntry, error) {
	version, err := words.Uint(descriptor, 4)
	if err != nil {
		return nil, err
	}
	if version != jitVersion {
		return nil, fmt.Errorf("the list has unknown version %d", version)
	}
	node, err := words.Uint64(descriptor + 16)
	var list []JITEntry
	seen := map[uint64]bool{}
	for ; node != 0 && err == nil; node, err = words.Uint64(node) {
		switch {
		case seen[node]:
			return list, errors.New("the list leads back to itself")
		case len(list) == maxJITEntries:
			return list, fmt.Errorf("the list has more entries than the limit of %d", maxJITEntries)
		}
		seen[node] = true
		addr, err := words.Uint64(node + 16)
		if err != nil {
			return list, err
		}
		size, err := words.Uint64(node + 24)
		if err != nil {
			return list, err
		}
		list = append(list, JITEntry{addr, size})
	}
	return list, err
}
