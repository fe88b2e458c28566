package info

import "iter"

// CallSite describes a call [DWARF 5, 3.4].
type CallSite struct {
	// Func is the name of the called function, as in [Location]. It is "" if the
	// function depends on Target, which may be unknown too.
	Func string
	// Target computes the function's run-time address, in the caller.
	Target Expr
	Params []CallParameter
}

// CallParameter is a value that was passed.
type CallParameter struct {
	// Where locates the value in the callee.
	Where []byte
	// Value computes it, in the caller.
	Value Expr
}

// maxParams bounds the parameters of a call.
const maxParams = 256

// CallSite describes the call that returns to a link-time address. It returns nil
// if the call is unknown. The caller must not change it. Errors are as for Lookup.
func (d *Data) CallSite(ret uint64) (*CallSite, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if site, ok := d.calls.get(ret); ok {
		return site, nil
	}
	site := d.callSiteTo(ret)
	err := d.work.take()
	if err == nil {
		n := 0
		if site != nil {
			n = len(site.Params)
		}
		d.calls.put(ret, site, n)
	}
	return site, err
}

func (d *Data) callSiteTo(ret uint64) *CallSite {
	u := d.unitAt(ret - 1)
	if u == nil {
		return nil
	}
	found := u.split().scopesAt(ret - 1)
	if len(found) == 0 {
		return nil
	}
	return found[0].callSiteTo(ret)
}

// Tails are the tail calls of a function: jumps that end it.
type Tails struct {
	// Func is the name of the function, as in [Location], and Entry its link-time
	// address; 0 if unknown.
	Func  string
	Entry uint64
	// All is set if Calls has all of them.
	All   bool
	Calls []TailCall
}

// TailCall is a jump to another function that ends its own.
type TailCall struct {
	// PC is the link-time address of the jump or, unless Exact is set, the one behind
	// it.
	PC    uint64
	Exact bool
	// Func is the name of the function that it leads to, "" if that depends on
	// registers. Entry is its link-time address, 0 if its code is not in the same
	// debug information.
	Func  string
	Entry uint64
}

// maxTails bounds the tail calls of a function that are listed.
const maxTails = 1 << 10

// TailCalls returns the tail calls of the function at a link-time address. It returns
// nil if the function is unknown. Errors are as for Lookup.
func (d *Data) TailCalls(addr uint64) (*Tails, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u := d.unitAt(addr)
	if u == nil {
		return nil, d.work.take()
	}
	code := u.split()
	found := code.scopesAt(addr)
	if len(found) == 0 {
		return nil, d.work.take()
	}
	e := &found[0]
	t := &Tails{
		Func: code.funcName(e), Entry: e.entryPC(),
		All: e.flag(attrCallAllCalls, attrCallAllTails, attrCallAllSource, attrGNUAllCalls, attrGNUAllTails, attrGNUAllSource),
	}
	for c := range e.callSites() {
		if !c.flag(attrCallTailCall, attrGNUTailCall) {
			continue
		}
		if len(t.Calls) == maxTails {
			t.All = false
			break
		}
		t.Calls = append(t.Calls, c.tailCall())
	}
	return t, d.work.take()
}

func (e *entry) tailCall() (t TailCall) {
	if pc, ok := e.u.addr(e.attr(attrCallPC)); ok {
		t.PC, t.Exact = pc, true
	} else {
		t.PC, _ = e.u.addr(e.attr(attrCallReturnPC, attrLowPC))
	}
	if fn, ok := e.u.refer(e.attr(attrCallOrigin, attrAbstractOrigin)); ok {
		t.Func, t.Entry = fn.u.funcName(&fn), fn.entryPC()
	}
	return t
}

// entryPC returns where a function begins, 0 if unknown: the lowest address unless it
// has several ranges.
func (e *entry) entryPC() uint64 {
	pc, _ := e.u.addr(e.attr(attrLowPC))
	if pc == 0 {
		for lo := range e.ranges() {
			return lo // compilers write the part with the entry first
		}
	}
	return pc
}

// flag reports whether one of the flags is set.
func (e *entry) flag(names ...uint32) bool {
	for _, name := range names {
		if v := e.attr(name); v.known() && v.num != 0 {
			return true
		}
	}
	return false
}

// callSiteTo returns the call that returns to an address, or the tail call that
// jumps at it or before it.
func (e *entry) callSiteTo(ret uint64) *CallSite {
	for c := range e.callSites() {
		if pc, ok := c.u.addr(c.attr(attrCallReturnPC, attrLowPC, attrCallPC)); ok && pc == ret {
			return c.site()
		}
	}
	return nil
}

// callSites yields the call site entries below a function.
func (e *entry) callSites() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		r := e.u.entries(e.attrs)
		e.skip(&r)
		if !e.children {
			return
		}
		for depth := 1; depth > 0; {
			c, ok := e.u.next(&r)
			if !ok {
				return
			}
			if c.abbrev == nil {
				depth--
				continue
			}
			if (c.tag == tagCallSite || c.tag == tagGNUCallSite) && !yield(c) {
				return
			}
			if c.tag == tagSubprogram {
				c.skipTree(&r)
				continue
			}
			c.skip(&r)
			if c.children {
				depth++
			}
		}
	}
}

// site describes the call of e, a call site entry.
func (e *entry) site() *CallSite {
	s := &CallSite{}
	if fn, ok := e.u.refer(e.attr(attrCallOrigin, attrAbstractOrigin)); ok {
		s.Func = fn.u.funcName(&fn)
	}
	s.Target = e.expr(attrCallTarget, attrGNUCallTarget)
	for c := range e.childEntries() {
		if c.tag != tagCallSiteParameter && c.tag != tagGNUCallSiteParam || len(s.Params) >= maxParams {
			continue
		}
		where := c.expr(attrLocation)
		p := CallParameter{Where: where.Code, Value: c.expr(attrCallValue, attrGNUCallValue)}
		if where.Known() && p.Value.Known() {
			s.Params = append(s.Params, p)
		}
	}
	return s
}

// expr returns an attribute that is an expression.
func (e *entry) expr(names ...uint32) Expr {
	v := e.attr(names...)
	switch v.form {
	case formExprloc, formBlock, formBlock1, formBlock2, formBlock4:
		return Expr{Code: v.data, unit: e.u}
	}
	return Expr{}
}
