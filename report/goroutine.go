package report

// GoroutinesSchema names the version of the JSON form of goroutines, which
// docs/goroutines.md describes.
const GoroutinesSchema = "sfcore.goroutines/1"

// Goroutine is a goroutine and its stack, or a group of those with the same stack.
type Goroutine struct {
	ID         int64            `json:"id"`
	IDs        []int64          `json:"ids,omitempty"` // of all goroutines in a group
	Status     string           `json:"status,omitempty"`
	WaitReason string           `json:"waitReason,omitempty"`
	WaitsFor   *WaitsFor        `json:"waitsFor,omitempty"` // nil if it is not known
	TID        int              `json:"tid,omitempty"`
	Runtime    bool             `json:"runtime,omitempty"`
	Start      *Place           `json:"start,omitempty"`
	Created    *Place           `json:"created,omitempty"`
	Frames     []GoroutineFrame `json:"frames"`
	Stop       Stop             `json:"stop"`
	// Delve says what delve sees, if it differs.
	Delve *DelveStack `json:"delve,omitempty"`
}

// Place is a place in the program. Fields that are unknown are left out.
type Place struct {
	PC       Addr   `json:"pc"`
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
}

// GoroutineFrame is a frame of a goroutine, with the variables that delve found.
type GoroutineFrame struct {
	Frame
	Variables []GoVariable `json:"variables,omitempty"`
}

// GoVariable is an argument or a local variable of a Go function.
type GoVariable struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Argument bool   `json:"argument,omitempty"`
	// Value is the value in Go syntax, on one line. It is "" if the value is not
	// known; Err then says why.
	Value string `json:"value,omitempty"`
	Err   string `json:"err,omitempty"`
}

// DelveStack says how delve's stack differs. It has Frames in place of our frames
// with indexes From <= i < To.
type DelveStack struct {
	From   int     `json:"from"`
	To     int     `json:"to"`
	Frames []Place `json:"frames"`
	Err    string  `json:"error,omitempty"`
}

// LeavesOut reports whether delve has no frames that we do not have.
func (d *DelveStack) LeavesOut() bool { return len(d.Frames) == 0 && d.Err == "" }
