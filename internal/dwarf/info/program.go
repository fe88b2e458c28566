package info

// Operations of line number programs [DWARF 5, 7.22].
const (
	lnsCopy             = 1
	lnsAdvancePC        = 2
	lnsAdvanceLine      = 3
	lnsSetFile          = 4
	lnsSetColumn        = 5
	lnsConstAddPC       = 8
	lnsFixedAdvancePC   = 9
	lneEndSequence      = 1
	lneSetAddress       = 2
	specialConstOperand = 255
)

// run runs the program to the end of a sequence, giving emit each row; the
// last one, for which end is set, is the address after the sequence. It
// reports whether the sequence ended.
func (t *lineTable) run(r *reader, emit func(row row, end bool)) bool {
	w := &t.u.file.d.work
	s := row{file: 1, line: 1}
	opIndex := uint64(0)
	advance := func(ops uint64) {
		if t.maxOps == 1 {
			s.addr += t.minInst * ops
			return
		}
		s.addr += t.minInst * ((opIndex + ops) / t.maxOps)
		opIndex = (opIndex + ops) % t.maxOps
	}
	for r.more() && w.spend(1) {
		op := uint64(r.byte())
		if op >= t.opcodeBase {
			op -= t.opcodeBase
			advance(op / t.lineRange)
			s.line += uint64(t.lineBase + int64(op%t.lineRange))
			emit(s, false)
			continue
		}
		switch op {
		case 0:
			n := r.uleb()
			begin := r.pos
			body := r.take(n)
			if len(body) == 0 {
				continue
			}
			switch body[0] {
			case lneEndSequence:
				emit(s, true)
				return true
			case lneSetAddress:
				if len(body) <= 9 {
					s.addr, opIndex = integer(body[1:], r.big), 0
				}
			}
			r.pos = begin + n
		case lnsCopy:
			emit(s, false)
		case lnsAdvancePC:
			advance(r.uleb())
		case lnsAdvanceLine:
			s.line += uint64(r.sleb())
		case lnsSetFile:
			s.file = r.uleb()
		case lnsSetColumn:
			s.column = r.uleb()
		case lnsConstAddPC:
			advance((specialConstOperand - t.opcodeBase) / t.lineRange)
		case lnsFixedAdvancePC:
			s.addr, opIndex = s.addr+r.uint(2), 0
		default:
			for range t.operands[op-1] {
				r.skipLEB()
			}
		}
	}
	return false
}
