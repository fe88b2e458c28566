package report

// Match says how a module's file was recognised.
type Match string

// How a module's file was recognised, best first.
const (
	MatchBuildID  Match = "build-id" // its build-id is the one in memory
	MatchPath     Match = "path"     // no build-ids to compare; name and program headers agree
	MatchMemory   Match = "memory"   // no file; the image in memory is used
	MatchMismatch Match = "mismatch" // no file; those of this name are of another build
	MatchMissing  Match = "missing"  // no file
)

// Module is a module and what was found for it.
type Module struct {
	Path     string   `json:"path"`
	File     string   `json:"file,omitempty"`
	Debug    string   `json:"debugFile,omitempty"`
	BuildID  string   `json:"buildId,omitempty"`
	Base     Addr     `json:"base"`
	End      Addr     `json:"end"`
	Bias     Addr     `json:"loadBias"`
	Match    Match    `json:"match"`
	SFrame   *SFrame  `json:"sframe,omitempty"`
	CFI      bool     `json:"cfi"`
	Symbols  string   `json:"symbols"` // a From constant of package symbol
	Lines    bool     `json:"lines"`   // there is debug information
	Problems []string `json:"problems,omitempty"`
}

// SFrame describes a module's .sframe.
type SFrame struct {
	Version   int      `json:"version"`
	Flags     []string `json:"flags"`
	Functions uint64   `json:"functions"`
	Tables    int      `json:"tables,omitempty"` // where there are several
	File      string   `json:"file,omitempty"`   // the sidecar that it is from
	Problem   string   `json:"problem,omitempty"`
}
