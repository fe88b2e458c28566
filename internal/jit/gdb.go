package jit

import (
	"errors"
	"fmt"

	"github.com/sfcore/sfcore/memreader"
)

// Symbol is the variable that holds the list that [List] reads.
const Symbol = "__jit_debug_descriptor"

const (
	// listVersion is the only version of the list.
	listVersion = 1

	// maxEntries bounds the list. Just-in-time compilers register an entry for
	// one or several functions, and a process has tens of thousands of these.
	maxEntries = 1 << 18
)

// Entry locates what describes the code of a just-in-time compiler in the memory of
// the process: an ELF image, or records of another kind, as of Erlang. Neither the address nor the size, which is in
// bytes, has been checked.
type Entry struct{ Addr, Size uint64 }

// List reads the list of gdb's JIT compilation interface, the newest entry
// first. descriptor is the address of [Symbol]. An error says why the list was
// not read to its end; the entries before that are returned with it.
//
//	struct jit_descriptor { uint32_t version, action_flag; struct jit_code_entry *relevant_entry, *first_entry; }
//	struct jit_code_entry { struct jit_code_entry *next_entry, *prev_entry; char *symfile_addr; uint64_t symfile_size; }
//
// [gdb manual, JIT Compilation Interface]
func List(words *memreader.Words, descriptor uint64) ([]Entry, error) {
	version, err := words.Uint(descriptor, 4)
	if err != nil {
		return nil, err
	}
	if version != listVersion {
		return nil, fmt.Errorf("the list has unknown version %d", version)
	}
	node, err := words.Uint64(descriptor + 16)
	var list []Entry
	seen := map[uint64]bool{}
	for ; node != 0 && err == nil; node, err = words.Uint64(node) {
		switch {
		case seen[node]:
			return list, errors.New("the list leads back to itself")
		case len(list) == maxEntries:
			return list, fmt.Errorf("the list has more entries than the limit of %d", maxEntries)
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
		list = append(list, Entry{addr, size})
	}
	return list, err
}
