package inflate

import (
	"io"
	"sync"
)

// Limits of codes [RFC 1951, 3.2.5].
const (
	endOfBlock   = 256
	firstLength  = 257
	lastLength   = 285
	maxDistances = 30
)

// literals are the meanings of symbols for literals and lengths; distances those of
// symbols for distances; orders those of symbols for lengths of codes.
var literals, distances, orders = meanings()

func meanings() (lit [maxSymbols]entry, dist [32]entry, order [19]entry) {
	for i := range endOfBlock {
		lit[i] = entry(i)<<16 | isLiteral
	}
	lit[endOfBlock] = isEnd
	base, extra := entry(3), entry(0)
	for i := firstLength; i < lastLength; i++ {
		if n := i - firstLength; n >= 8 && n%4 == 0 {
			extra++
		}
		lit[i] = base<<16 | isCopy | extra
		base += 1 << extra
	}
	lit[lastLength] = 258<<16 | isCopy
	base, extra = 1, 0
	for i := range maxDistances {
		if i >= 4 && i%2 == 0 {
			extra++
		}
		dist[i] = base<<16 | isCopy | extra
		base += 1 << extra
	}
	for i := range order {
		order[i] = entry(i)<<16 | isLiteral
	}
	return lit, dist, order
}

// fixedTables are those of blocks with fixed codes [RFC 1951, 3.2.6].
var fixedTables = sync.OnceValue(func() *[2]table {
	var lit [maxSymbols]uint8
	for i := range lit {
		switch {
		case i < 144:
			lit[i] = 8
		case i < 256:
			lit[i] = 9
		case i < 280:
			lit[i] = 7
		default:
			lit[i] = 8
		}
	}
	var dist [32]uint8
	for i := range dist {
		dist[i] = 5
	}
	t := new([2]table)
	t[0].build(lit[:], literals[:])
	t[1].build(dist[:], distances[:])
	return t
})

// codeOrder is the order in which lengths of codes of lengths are written.
var codeOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// dynamic reads the tables of a block [RFC 1951, 3.2.7].
func (s *Stream) dynamic() error {
	head, err := s.take(14)
	if err != nil {
		return err
	}
	nlit, ndist, n := int(head&31)+firstLength, int(head>>5&31)+1, int(head>>10)+4
	if nlit > lastLength+1 || ndist > maxDistances {
		return ErrFormat
	}
	var codes [19]uint8
	for _, i := range codeOrder[:n] {
		v, err := s.take(3)
		if err != nil {
			return err
		}
		codes[i] = uint8(v)
	}
	if s.own == nil {
		s.own = new([2]table)
	}
	s.lit, s.dist = &s.own[0], &s.own[1]
	if !s.lit.build(codes[:], orders[:]) {
		return ErrFormat
	}
	var lengths [lastLength + 1 + maxDistances]uint8
	for i := 0; i < nlit+ndist; {
		symbol, err := s.symbol(s.lit)
		if err != nil {
			return err
		}
		if symbol < 16 {
			lengths[i] = uint8(symbol)
			i++
			continue
		}
		repeat := [3]struct{ least, extra uint }{{3, 2}, {3, 3}, {11, 7}}[symbol-16]
		length := uint8(0)
		if symbol == 16 {
			if i == 0 {
				return ErrFormat
			}
			length = lengths[i-1]
		}
		more, err := s.take(repeat.extra)
		if err != nil {
			return err
		}
		times := int(repeat.least) + int(more)
		if times > nlit+ndist-i {
			return ErrFormat
		}
		for range times {
			lengths[i] = length
			i++
		}
	}
	if !s.lit.build(lengths[:nlit], literals[:]) || !s.dist.build(lengths[nlit:nlit+ndist], distances[:]) {
		return ErrFormat
	}
	return nil
}

// symbol reads a literal of a table without second tables.
func (s *Stream) symbol(t *table) (uint, error) {
	for {
		e := t.entries[s.hold&(rootSize-1)]
		if e != 0 && e.code() <= s.bits {
			s.hold >>= e.code()
			s.bits -= e.code()
			return e.value(), nil
		}
		if s.bits >= 8 {
			return 0, ErrFormat
		}
		if s.pos == len(s.in) {
			return 0, io.ErrUnexpectedEOF
		}
		s.hold |= uint64(s.in[s.pos]) << s.bits
		s.pos++
		s.bits += 8
	}
}
