package sframe

import "math/bits"

// guide narrows a search among ascending addresses: it divides the range they
// span into buckets of equal size. Functions are spread evenly enough for a
// few of them to be left, where a search among all would take one
// unpredictable branch per power of two.
type guide struct {
	base  uint64
	shift uint8
	n     int
	// first is, for each bucket, the first of the sampled addresses that is in
	// it or in a later one; then comes the number of samples.
	first []uint32
}

// sampled is the distance of the addresses that a guide is made of. With one
// bucket per sample, a guide has half a byte per address.
const sampled = 8

// makeGuide returns a guide to n addresses, n > 0. start returns the address with a
// number.
func makeGuide(n int, start func(int) uint64) guide {
	samples := (n + sampled - 1) / sampled
	g := guide{base: start(0), n: n}
	span := start((samples-1)*sampled) - g.base
	g.shift = uint8(max(0, bits.Len64(span)-bits.Len(uint(samples))))
	g.first = make([]uint32, 0, span>>g.shift+2)
	for i := range samples {
		for bucket := (start(i*sampled) - g.base) >> g.shift; uint64(len(g.first)) <= bucket; {
			g.first = append(g.first, uint32(i))
		}
	}
	g.first = append(g.first, uint32(samples))
	return g
}

// bucket returns a range of indices: addresses before it are at most pc, and
// addresses after it are greater.
func (g *guide) bucket(pc uint64) (lo, hi int) {
	if pc < g.base {
		return 0, 0
	}
	i := min((pc-g.base)>>g.shift, uint64(len(g.first)-2))
	lo = int(g.first[i])
	return max(lo-1, 0) * sampled, min(int(g.first[i+1])*sampled, g.n)
}
