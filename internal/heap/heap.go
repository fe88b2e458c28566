// Package heap reads the heap of glibc's malloc in the memory of a process: which block an
// address is in, and whether malloc says that it is free.
package heap

import "github.com/sfcore/sfcore/memreader"

// Block is what malloc returned to a caller once.
type Block struct {
	Addr, Size uint64 // in bytes, as far as a caller may use it
	// Free is set if malloc says that the block is free. If it is not set, that is
	// unknown: small blocks are kept in lists that nothing but libc's variables lead to.
	Free bool
}

// The layout of glibc on 64-bit architectures [glibc malloc/malloc.c: malloc_chunk,
// tcache_perthread_struct].
const (
	header    = 16 // from a chunk to what the caller gets
	minChunk  = 32
	alignment = 16
	prevInUse = 1 // in the size of the chunk behind
	otherHeap = 6 // IS_MMAPPED, NON_MAIN_ARENA
	flags     = 7

	cacheBins = 64
	cacheSize = 0x290 // of the chunk of tcache_perthread_struct, from glibc 2.30 to 2.41

	// maxChunks bounds the walk: a heap of 64 MiB may have as many.
	maxChunks = 1 << 21
	// maxCached bounds the blocks in a list of the cache, which has 7 unless it was tuned.
	maxCached = 1 << 12
)

// Find returns the block that contains an address of the heap that begins at lo and ends
// at hi, the break of the program. It returns false unless all chunks of the heap fit
// together, or if the address is in none.
func Find(mem *memreader.Words, lo, hi, addr uint64) (Block, bool) {
	var found, size uint64
	free := false
	for at, n := lo, 0; ; n++ {
		head, err := mem.Uint64(at + 8)
		if err != nil || n == maxChunks || head&otherHeap != 0 || at == lo && head&prevInUse == 0 {
			return Block{}, false
		}
		if found != 0 && at == found+size && head&prevInUse == 0 {
			before, err := mem.Uint64(at) // which a free chunk repeats
			if err != nil || before != size {
				return Block{}, false
			}
			free = true
		}
		chunk := head &^ flags
		if chunk < minChunk || chunk%alignment != 0 || chunk > hi-at {
			return Block{}, false
		}
		if chunk == hi-at { // the top, which nobody has
			break
		}
		if addr >= at+header && addr-at < chunk+8 {
			found, size = at, chunk
		}
		at += chunk
	}
	if found == 0 {
		return Block{}, false
	}
	b := Block{found + header, size - 8, free}
	b.Free = b.Free || cached(mem, lo, hi, b.Addr, size)
	return b, true
}

// cached reports whether the block at addr, in a chunk of a size, is in the list of free
// blocks that the first thread keeps for itself. Its lists are in the first block.
func cached(mem *memreader.Words, lo, hi, addr, size uint64) bool {
	head, err := mem.Uint64(lo + 8)
	bin := (size - minChunk) / alignment
	if err != nil || head&^flags != cacheSize || bin >= cacheBins {
		return false
	}
	lists := lo + header
	count, err := mem.Uint(lists+2*bin, 2)
	first, bad := mem.Uint64(lists + 2*cacheBins + 8*bin)
	if err != nil || bad != nil || count > maxCached {
		return false
	}
	return inList(mem, lo, hi, first, addr, size, count, true) || inList(mem, lo, hi, first, addr, size, count, false)
}

// inList reports whether a list of count blocks contains the block at addr. From glibc
// 2.32 on, what points to the next one is mangled.
func inList(mem *memreader.Words, lo, hi, at, addr, size, count uint64, mangled bool) (found bool) {
	for range count {
		if at < lo+header || at >= hi || at%alignment != 0 {
			return false
		}
		head, err := mem.Uint64(at - 8)
		next, bad := mem.Uint64(at)
		if err != nil || bad != nil || head&^flags != size {
			return false
		}
		found = found || at == addr
		if mangled {
			next ^= at >> 12
		}
		at = next
	}
	return found && at == 0
}
