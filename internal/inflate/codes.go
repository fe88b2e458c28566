package inflate

import (
	"encoding/binary"
	"io"
)

const (
	// refill is how many bits are at hand at least after as many bytes were taken as fit.
	refill = 56
	// margin is how many bytes of a stream are left to edge: two refills read so many.
	margin = 16
)

// codes decodes symbols until out has at least n bytes or the block ends. out has Slack
// bytes of memory behind n.
func (s *Stream) codes(out []byte, n int) ([]byte, error) {
	out, err := s.run(out, n)
	for err == nil && len(out) < n && s.state == inCodes {
		if len(s.in)-s.pos >= margin {
			return out, nil
		}
		out, err = s.edge(out)
	}
	return out, err
}

// fill takes as many bytes as fit into hold; the low six bits of bits say how many bits
// are there.
func fill(in []byte, pos int, hold uint64, bits uint) (int, uint64, uint) {
	return pos + int(^bits>>3&7), hold | binary.LittleEndian.Uint64(in[pos:])<<(bits&63), bits | refill
}

// run decodes symbols as long as margin bytes of the stream follow. It finds the meaning
// of the next code before it copies, so that the processor does both at a time.
func (s *Stream) run(out []byte, n int) ([]byte, error) {
	buf, w := out[:cap(out)], len(out)
	in, pos, hold, bits := s.in, s.pos, s.hold, s.bits
	lit, dist := (*[rootSize]entry)(s.lit.entries[:]), (*[rootSize]entry)(s.dist.entries[:])
	var err error
	if w >= n || len(in)-pos < margin {
		return out, nil
	}
	pos, hold, bits = fill(in, pos, hold, bits)
	e := lit[hold&(rootSize-1)]
	for w < n && len(in)-pos >= margin {
		if e&isLiteral != 0 {
			buf[w] = byte(e >> 16)
			w++
			hold >>= e & 63
			bits -= uint(e)
			if e = lit[hold&(rootSize-1)]; e&isLiteral != 0 {
				buf[w] = byte(e >> 16)
				w++
				hold >>= e & 63
				bits -= uint(e)
				e = lit[hold&(rootSize-1)]
				pos, hold, bits = fill(in, pos, hold, bits)
				continue
			}
			// A copy takes up to 48 bits.
			pos, hold, bits = fill(in, pos, hold, bits)
		}
		if e&isSecond != 0 {
			e = s.lit.entries[e.value()+uint(hold>>rootBits)&(1<<e.size()-1)]
		}
		was := hold
		hold >>= e & 63
		bits -= uint(e)
		if e&isCopy == 0 {
			if e&isLiteral != 0 {
				buf[w] = byte(e >> 16)
				w++
				pos, hold, bits = fill(in, pos, hold, bits)
				e = lit[hold&(rootSize-1)]
				continue
			}
			if err = ErrFormat; e&isEnd != 0 {
				s.state, err = atBlock, nil
			}
			break
		}
		length := int(e.value() + uint(was&(1<<(e&63)-1)>>e.code()))
		e = dist[hold&(rootSize-1)]
		if e&isSecond != 0 {
			e = s.dist.entries[e.value()+uint(hold>>rootBits)&(1<<e.size()-1)]
		}
		was = hold
		hold >>= e & 63
		bits -= uint(e)
		distance := int(e.value() + uint(was&(1<<(e&63)-1)>>e.code()))
		if distance > w || e == 0 {
			err = ErrFormat
			break
		}
		pos, hold, bits = fill(in, pos, hold, bits)
		e = lit[hold&(rootSize-1)]
		to, from := buf[w:w+length+8], buf[w-distance:]
		w += length
		if distance >= 8 {
			for {
				binary.LittleEndian.PutUint64(to, binary.LittleEndian.Uint64(from))
				if length <= 8 {
					break
				}
				length -= 8
				to, from = to[8:], from[8:]
			}
			continue
		}
		for i := range from[:length:length] {
			to[i] = from[i]
		}
	}
	s.pos, s.hold, s.bits = pos, hold&(1<<(bits&63)-1), bits&63
	return buf[:w], err
}

// edge decodes one symbol, at the end of the stream.
func (s *Stream) edge(out []byte) ([]byte, error) {
	for s.bits < refill && s.pos < len(s.in) {
		s.hold |= uint64(s.in[s.pos]) << s.bits
		s.pos++
		s.bits += 8
	}
	hold, bits := s.hold, s.bits
	next := func(t *table) (e entry, value int, err error) {
		e = t.entries[hold&(rootSize-1)]
		if e&isSecond != 0 {
			e = t.entries[e.value()+uint(hold>>rootBits)&(1<<e.size()-1)]
		}
		switch {
		case e.size() > bits:
			return e, 0, io.ErrUnexpectedEOF
		case e == 0:
			return e, 0, ErrFormat
		}
		value = int(e.value() + uint(hold&(1<<e.size()-1)>>e.code()))
		hold >>= e.size()
		bits -= e.size()
		return e, value, nil
	}
	e, value, err := next(s.lit)
	switch {
	case err != nil:
		return out, err
	case e&isLiteral != 0:
		out = append(out, byte(value))
	case e&isEnd != 0:
		s.state = atBlock
	default:
		_, distance, err := next(s.dist)
		if err != nil {
			return out, err
		}
		if distance > len(out) {
			return out, ErrFormat
		}
		for range value {
			out = append(out, out[len(out)-distance])
		}
	}
	s.hold, s.bits = hold, bits
	return out, nil
}
