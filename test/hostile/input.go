package main

import "slices"

// input is a constructed input.
type input struct {
	name  string
	what  string // what would be expensive, in one line
	quick bool   // for the gate: it is made and read in about a second
	// make writes the files, and returns the arguments of sfcore.
	make func(f *folder) []string
}

// inputs returns all inputs.
func inputs() []input {
	return slices.Concat(inflated(), mapped(), walked(), inlined(), described(), named(), threaded(), packed(), tabled(), expressed(), united(), framed(), jitted(), noted(), golang(), compared(), spoken(), sectioned(), stored(), shrunk(), crashes(), foreignStores(), hosted(), searched(), renamed(), served(), paged(), lined(), journals(), kept(), judged(), recorded(), reported(), contained(), waiting(), asked(), visited())
}
