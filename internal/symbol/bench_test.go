package symbol

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
)

// largeProgram has 110,000 symbols, as node has: three of four are functions,
// in the order of object files, not of addresses.
func largeProgram(b *testing.B) (f *elfx.File, addrs []uint64) {
	b.Helper()
	const n, size = 110_000, 64
	e := program(binary.LittleEndian)
	e.Sections[1].Data = nil
	e.Sections[1].Addr, e.Sections[1].NobitsSize = 1<<20, n*size
	order := rand.New(rand.NewSource(1)).Perm(n)
	for i, at := range order {
		kind := uint8(function)
		if i%4 == 0 {
			kind = object
		}
		e.Symbols = append(e.Symbols, text(fmt.Sprint("_ZN4node6symbolE", at), global|kind, 1<<20+uint64(at)*size, size-8))
	}
	for i := range 20 {
		addrs = append(addrs, 1<<20+uint64(order[i*4+1])*size+5)
	}
	return parse(b, e.File()), addrs
}

// BenchmarkLookup asks what names cost: one and 20 in a new process, with an
// index, and again.
func BenchmarkLookup(b *testing.B) {
	f, addrs := largeProgram(b)
	b.Run("cold", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if funcAt(New(f), addrs[0]) == "" {
				b.Fatal("no name")
			}
		}
	})
	b.Run("batch", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			New(f).Prepare(addrs)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(addrs)), "ns/name")
	})
	b.Run("index", func(b *testing.B) {
		b.ReportAllocs()
		t := New(f).tables[0]
		t.syms(New(f))
		for b.Loop() {
			t.newIndex()
		}
	})
	b.Run("indexed", func(b *testing.B) {
		b.ReportAllocs()
		o := New(f)
		o.tables[0].reads = maxReads
		o.Prepare(addrs)
		for b.Loop() {
			clear(o.known)
			o.Lookup(addrs[1], nil)
		}
	})
	b.Run("warm", func(b *testing.B) {
		b.ReportAllocs()
		o := New(f)
		o.Prepare(addrs)
		var dst []Location
		for b.Loop() {
			dst = o.Lookup(addrs[1], dst[:0])
		}
	})
}

func BenchmarkDemangle(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Demangle("_ZNSt6vectorISt4pairIN8v8_crdtp4spanIhEESt10unique_ptrINS1_16DomainDispatcherESt14default_deleteIS5_EEESaIS9_EE17_M_realloc_insertIJS9_EEEvN9__gnu_cxx17__normal_iteratorIPS9_SB_EEDpOT_")
	}
}
