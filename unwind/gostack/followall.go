package gostack

import (
	"encoding/binary"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

const (
	// wholeG and wholeM are at least the sizes of g and m in all versions, in bytes:
	// delve reads all of them.
	wholeG = 512
	wholeM = 2 << 10

	// part is the size of a segment of the list, in bytes. Of large segments only a
	// part may be copied.
	part = 1 << 16

	// maxFollowed bounds the goroutines that are followed. A million takes about a
	// second.
	maxFollowed = 1 << 20
)

// StopTime is how long a process should be held at most to copy what FollowAll returns.
const StopTime = 10 * time.Second

// FollowAll is Follow, and returns the runtime's list of goroutines, their structures
// and the used parts of their stacks as well. vars is the memory in which programs
// have their variables; only Addr and Size are used. Without a list of goroutines,
// FollowAll is Follow.
func FollowAll(a *arch.Arch, threads []arch.Regs, vars []memreader.Segment, mem memreader.Reader) []memreader.Segment {
	found := Follow(a, threads, vars, mem)
	if found == nil {
		return nil // no program in Go
	}
	return append(found, followList(a, vars, mem)...)
}

// followList returns the list of goroutines and what belongs to it.
func followList(a *arch.Arch, vars []memreader.Segment, mem memreader.Reader) []memreader.Segment {
	l := lister{Program: &Program{Arch: a, Mem: mem, Data: vars}, mem: memreader.Words{R: mem, BigEndian: a.BigEndian}}
	if l.search(); l.allgs.n == 0 {
		return nil
	}
	var found []memreader.Segment
	n := min(l.allgs.n, maxFollowed)
	for at := uint64(0); at < n*8; at += part {
		found = append(found, memreader.Segment{Addr: l.allgs.addr + at, Size: min(part, n*8-at)})
	}
	var order binary.ByteOrder = binary.LittleEndian
	if a.BigEndian {
		order = binary.BigEndian
	}
	list, _ := memreader.ReadFull(mem, l.allgs.addr, int(n*8))
	seen := map[uint64]bool{}
	var g [gSize]byte
	for ; len(list) >= 8; list = list[8:] {
		addr := order.Uint64(list)
		if k, _ := mem.ReadMem(g[:], addr); k < gSize || order.Uint64(g[gSchedG:]) != addr {
			continue
		}
		found = append(found, memreader.Segment{Addr: addr, Size: wholeG})
		if m := order.Uint64(g[gM:]); m != 0 && !seen[m] {
			seen[m] = true
			found = append(found, memreader.Segment{Addr: m, Size: wholeM})
		}
		bounds := stack{order.Uint64(g[:]), order.Uint64(g[gStackHi:])}
		if sp := order.Uint64(g[gSchedSP:]); bounds.contains(sp) {
			lo := sp - min(below, sp-bounds.lo)
			found = append(found, memreader.Segment{Addr: lo, Size: bounds.hi - lo})
		}
	}
	return found
}
