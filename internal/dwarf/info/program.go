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

// state is the state of the registers of a program, as far as it is needed, beside the
// position in the program.
type state struct {
	row     row
	opIndex uint64
}

// begin is the state at the beginning of a sequence.
func begin() state { return state{row: row{file: 1, line: 1}} }

// run runs the program from a state on, to the end of a sequence or until emit returns
// false. It calls emit for each row, which is in the state; for the last one, the address
// after the sequence, end is set. It reports whether the sequence ended.
func (t *lineTable) run(r *reader, at *state, emit func(end bool) bool) bool {
	w := &t.u.file.d.work
	s := &at.row
	advance := func(ops uint64) {
		if t.maxOps == 1 {
			s.addr += t.minInst * ops
			return
		}
		s.addr += t.minInst * ((at.opIndex + ops) / t.maxOps)
		at.opIndex = (at.opIndex + ops) % t.maxOps
	}
	for r.more() && w.spend(1) {
		op := uint64(r.byte())
		if op >= t.opcodeBase {
			op -= t.opcodeBase
			advance(op / t.lineRange)
			s.line += uint64(t.lineBase + int64(op%t.lineRange))
			if !emit(false) {
				return false
			}
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
				emit(true)
				return true
			case lneSetAddress:
				if len(body) <= 9 {
					s.addr, at.opIndex = integer(body[1:], r.big), 0
				}
			}
			r.pos = begin + n
		case lnsCopy:
			if !emit(false) {
				return false
			}
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
			s.addr, at.opIndex = s.addr+r.uint(2), 0
		default:
			for range t.operands[op-1] {
				r.skipLEB()
			}
		}
	}
	return false
}
