package info

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
// if the call is unknown. Errors are as for Lookup.
func (d *Data) CallSite(ret uint64) (*CallSite, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u := d.unitAt(ret - 1)
	if u == nil {
		return nil, d.work.take()
	}
	found := u.split().scopesAt(ret - 1)
	if len(found) == 0 {
		return nil, d.work.take()
	}
	return found[0].callSiteTo(ret), d.work.take()
}

// callSiteTo searches all entries below a function.
func (e *entry) callSiteTo(ret uint64) *CallSite {
	r := e.u.entries(e.attrs)
	e.skip(&r)
	if !e.children {
		return nil
	}
	for depth := 1; depth > 0; {
		c, ok := e.u.next(&r)
		if !ok {
			return nil
		}
		if c.abbrev == nil {
			depth--
			continue
		}
		if c.tag == tagCallSite || c.tag == tagGNUCallSite {
			if pc, ok := c.u.addr(c.attr(attrCallReturnPC, attrLowPC)); ok && pc == ret {
				return c.site()
			}
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
	return nil
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
