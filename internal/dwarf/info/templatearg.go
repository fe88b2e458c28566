package info

// TemplateArg is an argument of a template or a generic type: a type, or a value of
// one.
type TemplateArg struct {
	Name  string // of the parameter
	Type  *Type
	Value uint64
	// IsType is set if the argument is a type.
	IsType bool
}

// maxArgs bounds the arguments of a template. Tuples of generated code have some
// hundred.
const maxArgs = 1024

// TemplateArgs returns the arguments of the template that t is an instance of; those of
// a parameter pack follow each other.
func (t *Type) TemplateArgs() []TemplateArg {
	if t.d == nil {
		return nil
	}
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	var list []TemplateArg
	add := func(c *entry) {
		if c.tag != tagTemplateType && c.tag != tagTemplateValue || len(list) >= maxArgs {
			return
		}
		a := TemplateArg{IsType: c.tag == tagTemplateType, Type: voidType}
		for name, v := range c.attributes() {
			switch name {
			case attrName:
				a.Name = c.u.str(v)
			case attrType:
				if to, ok := c.u.refer(v); ok {
					a.Type = t.d.typeOf(to)
				}
			case attrConstValue:
				a.Value = v.num
			}
		}
		list = append(list, a)
	}
	for c := range t.e.childEntries() {
		if c.tag != tagGNUParameterPack {
			add(&c)
			continue
		}
		for p := range c.childEntries() {
			add(&p)
		}
	}
	return list
}

// Containing returns the class that t belongs to by DW_AT_containing_type: that of a
// pointer to a member, and of a table of methods the type that it is for. It returns nil
// if there is none.
func (t *Type) Containing() *Type {
	if t.d == nil {
		return nil
	}
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	if c, ok := t.e.u.refer(t.e.attr(attrContainingType)); ok {
		return t.d.typeOf(c)
	}
	return nil
}
