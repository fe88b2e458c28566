package report

// Truncation says what was lost with the end of a core file.
type Truncation struct {
	// Mappings are those that have lost memory, up to 1000 of them;
	// MappingCount is their number.
	Mappings     []Mapping `json:"mappings"`
	MappingCount int       `json:"mappingCount"`
	// Threads are the ids of the threads whose stacks end where that memory
	// begins.
	Threads []int `json:"threads"`
}

// Mapping is a range of addresses that the process had mapped: End is the
// one after the last.
type Mapping struct {
	Start Addr   `json:"start"`
	End   Addr   `json:"end"`
	Path  string `json:"path,omitempty"`
}
