package report

// Scene is where a thread stopped: its registers, what they point to, and the
// instructions there.
type Scene struct {
	Registers []Register `json:"registers"`
	// Instructions are those around the one that the thread was executing, which has
	// Current. They are left out if the code is not known.
	Instructions []Instruction `json:"instructions,omitempty"`
	// Accesses are what that instruction accesses in memory, if that is known.
	Accesses []Access `json:"accesses,omitempty"`
}

// Register is a register of the thread.
type Register struct {
	Name  string `json:"name"`
	Value Addr   `json:"value"`
	Target
}

// Access is an operand of an instruction in memory.
type Access struct {
	Address Addr `json:"address"`
	Size    int  `json:"size,omitempty"` // in bytes
	Read    bool `json:"read,omitempty"`
	Write   bool `json:"write,omitempty"`
	Target
}

// Target is what is at an address. It is zero for numbers that hardly are addresses.
type Target struct {
	Kind Kind `json:"kind,omitempty"`
	// Text says it in words: "numbers+0x8 in server", "stack of thread 12".
	Text string `json:"text,omitempty"`
}

// Kind is the kind of memory that is at an address.
type Kind string

// The kinds of memory.
const (
	KindCode     Kind = "code"     // of a module
	KindData     Kind = "data"     // of a module
	KindStack    Kind = "stack"    // of a thread, in use
	KindHeap     Kind = "heap"     // of malloc
	KindFreed    Kind = "freed"    // of malloc, which says that it is free
	KindFile     Kind = "file"     // that is mapped, and no module
	KindMemory   Kind = "memory"   // that is mapped, without a file
	KindUnmapped Kind = "unmapped" // nothing is mapped there
)

// Instruction is a machine instruction.
type Instruction struct {
	Address Addr   `json:"address"`
	Bytes   string `json:"bytes"` // in hexadecimal
	Text    string `json:"text"`
	// Function and Offset are where it is.
	Function string  `json:"function,omitempty"`
	Offset   OptAddr `json:"offset,omitzero"`
	Current  bool    `json:"current,omitempty"`
}

// SourceLine is a line of a source file.
type SourceLine struct {
	Number int    `json:"number"` // from 1
	Text   string `json:"text"`
}
