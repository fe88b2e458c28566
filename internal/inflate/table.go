package inflate

import "math/bits"

// table finds the symbol of a Huffman code by the next bits of the stream. Codes that
// are longer than rootBits have their symbol in a second table, which the entry of
// their first bits leads to.
type table struct {
	entries [rootSize + maxSecond]entry
	second  int // where the next second table may begin
}

const (
	rootBits = 11
	rootSize = 1 << rootBits
	maxBits  = 15 // of a code
	// maxSecond bounds the entries of second tables: each code longer than rootBits is
	// in a table of at most 1<<(maxBits-rootBits) entries, which has two codes or more.
	maxSecond = maxSymbols / 2 << (maxBits - rootBits)

	maxSymbols = 288
)

// entry says what a code stands for:
//
//	bits 0 to 7: how many bits it takes, with those that follow the code
//	bits 8 to 11: how many bits the code has
//	bits 12 to 15: a kind
//	bits 16 to 31: a literal, the least length or distance, or the place of a second table
//
// 0 is no code.
type entry uint32

const (
	isLiteral entry = 1 << (12 + iota)
	isCopy          // of a length, or a distance
	isEnd           // of the block
	isSecond        // bits 0 to 7 are how many bits lead to an entry of the second table
)

func (e entry) size() uint  { return uint(e & 0xff) }
func (e entry) code() uint  { return uint(e >> 8 & 15) }
func (e entry) value() uint { return uint(e >> 16) }

// build makes the table of codes of so many bits each, 0 for none. meaning are the
// entries for symbols, without the bits of codes; it is 0 for symbols that may not occur.
// A table may have no code, or one of one bit; else every sequence of bits must be one.
func (t *table) build(lengths []uint8, meaning []entry) bool {
	var count [maxBits + 1]int
	longest := uint8(0)
	for _, n := range lengths {
		count[n]++
		longest = max(longest, n)
	}
	count[0] = 0
	clear(t.entries[:rootSize])
	t.second = rootSize
	if longest == 0 {
		return true
	}
	var next [maxBits + 1]int
	code := 0
	for n := 1; n <= int(longest); n++ {
		code <<= 1
		next[n] = code
		code += count[n]
	}
	if code != 1<<longest && (code != 1 || longest != 1) {
		return false
	}
	for symbol, n := range lengths {
		if n == 0 {
			continue
		}
		reversed := int(bits.Reverse16(uint16(next[n])) >> (16 - n))
		next[n]++
		e := meaning[symbol]
		if e != 0 {
			e += entry(n) | entry(n)<<8
		}
		if n <= rootBits {
			for i := reversed; i < rootSize; i += 1 << n {
				t.entries[i] = e
			}
			continue
		}
		root := reversed & (rootSize - 1)
		if t.entries[root] == 0 {
			size := longest - rootBits
			t.entries[root] = entry(t.second)<<16 | isSecond | entry(size)
			clear(t.entries[t.second : t.second+1<<size])
			t.second += 1 << size
		}
		at := t.entries[root]
		for i := reversed >> rootBits; i < 1<<at.size(); i += 1 << (n - rootBits) {
			t.entries[int(at.value())+i] = e
		}
	}
	return true
}
