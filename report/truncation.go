package report

// Truncation says what was lost with the end of a core file.
type Truncation struct {
	// Mappings are the mappings that have lost memory. Up to 1000 are listed;
	// MappingCount is the number of all.
	Mappings     []Mapping `json:"mappings"`
	MappingCount int       `json:"mappingCount"`
	// Threads are the ids of the threads whose walk failed because it needed that
	// memory.
	Threads []int `json:"threads"`
}

// Mapping is a range of addresses that the process had mapped: Start <= addr < End.
type Mapping struct {
	Start Addr   `json:"start"`
	End   Addr   `json:"end"`
	Path  string `json:"path,omitempty"`
}
