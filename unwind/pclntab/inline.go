package pclntab

import "slices"

// Call is a function whose code is at an address, and the line in it.
type Call struct {
	// Func is its name, with its package's path. The bytes must not be modified.
	Func []byte
	// File is the source file, Line its line, from 1; "" and 0 if unknown.
	File string
	Line int
}

// Offsets in Func.data and in an inlined call, in bytes, from Go 1.20 on
// [src/runtime/runtime2.go: _func; symtabinl.go: inlinedCall].
const (
	npcdataOff   = 24
	nfuncdataOff = 39
	pcdataOff    = 40

	inlTreeIndex = 2 // of pcdata
	inlTree      = 3 // of funcdata

	callSize   = 16
	callName   = 4
	callParent = 8

	// maxInlined bounds the calls that are inlined at one address. A damaged tree
	// may lead back to itself.
	maxInlined = 256
	// maxCalls bounds the calls that a table gives in all. Of each address they are
	// asked for once or a few times.
	maxCalls = 1 << 22
)

// WithFuncData returns the table with the data that its funcdata offsets refer to:
// what is at moduledata.gofunc. Without it, [Func.Inlined] finds nothing.
func (t *Table) WithFuncData(data []byte) *Table {
	with := *t
	with.funcdata = data
	return &with
}

// Names returns the offset, from the beginning of the table, of the names of
// functions.
func (t *Table) Names() uint64 { return t.namesAt }

// Inlined appends the calls that are inlined at addr to dst, the innermost first, and
// then the function itself. It appends nothing if the table of calls is not known, as
// before Go 1.20, or if there is none at addr.
func (f *Func) Inlined(addr uint64, dst []Call) []Call {
	if f.table.calls.Load() >= maxCalls {
		return dst
	}
	calls := f.inlined(addr, dst)
	f.table.calls.Add(int64(len(calls) - len(dst)))
	return calls
}

func (f *Func) inlined(addr uint64, dst []Call) []Call {
	tree := f.inlTree()
	if tree == nil {
		return dst
	}
	first := len(dst)
	index := f.value(f.table.order.Uint32(f.data[pcdataOff+4*inlTreeIndex:]), addr)
	for index >= 0 && len(dst)-first < maxInlined {
		at := uint64(index) * callSize
		if at > uint64(len(tree)) || uint64(len(tree))-at < callSize {
			return slices.Delete(dst, first, len(dst))
		}
		c := Call{Func: name(f.table.names, f.table.order.Uint32(tree[at+callName:]))}
		c.File, c.Line = f.Line(addr)
		dst = append(dst, c)
		addr = f.Entry + uint64(f.table.order.Uint32(tree[at+callParent:]))
		index = f.value(f.table.order.Uint32(f.data[pcdataOff+4*inlTreeIndex:]), addr)
	}
	if len(dst) > first {
		c := Call{Func: f.Name()}
		c.File, c.Line = f.Line(addr)
		dst = append(dst, c)
	}
	return dst
}

// inlTree returns the inlined calls of the function, and what follows them; nil if
// there are none.
func (f *Func) inlTree() []byte {
	t := f.table
	if t.magic != magic120 || len(f.data) < pcdataOff {
		return nil
	}
	npcdata := uint64(t.order.Uint32(f.data[npcdataOff:]))
	if npcdata <= inlTreeIndex || f.data[nfuncdataOff] <= inlTree {
		return nil
	}
	at := pcdataOff + 4*(npcdata+inlTree)
	if at > uint64(len(f.data)) || uint64(len(f.data))-at < 4 {
		return nil
	}
	off := uint64(t.order.Uint32(f.data[at:]))
	if off >= uint64(len(t.funcdata)) {
		return nil
	}
	return t.funcdata[off:]
}
