package info

import "fmt"

// MakeBase returns a base type that no debug information has: that of a number that was
// computed.
func MakeBase(name string, size uint64, encoding uint8) *Type {
	return &Type{Kind: Base, Size: size, Encoding: encoding, name: name, named: true, elem: voidType, pointed: true}
}

// MakePointer returns the type of pointers of size bytes to t.
func MakePointer(t *Type, size uint64) *Type {
	name := t.String()
	if name == "" || name[len(name)-1] != '*' {
		name += " "
	}
	return &Type{Kind: Pointer, Size: size, name: name + "*", named: true, elem: t, pointed: true}
}

// MakeArray returns the type of arrays of n elements.
func MakeArray(t *Type, n uint64) *Type {
	return &Type{
		Kind: Array, name: fmt.Sprintf("%s [%d]", t, n), named: true, elem: t, pointed: true,
		dims: []Bound{{Count: n, Known: true}},
	}
}

// MakeFunction returns the type of a function of which only the code is known.
func MakeFunction() *Type {
	return &Type{Kind: Function, name: "(function)", named: true, elem: voidType, pointed: true}
}

// VoidType returns the type void.
func VoidType() *Type { return voidType }
