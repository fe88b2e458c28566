package report

// Match says how a module's file was recognised.
type Match string

// The ways in which a module's file is recognised, best first.
const (
	MatchBuildID  Match = "build-id" // the file's build-id is the one in memory
	MatchPath     Match = "path"     // there is no build-id in memory; name and program headers agree
	MatchMemory   Match = "memory"   // no file was found; the image in memory is used
	MatchMismatch Match = "mismatch" // no file was found, except some of another build with this name
	MatchMissing  Match = "missing"  // no file was found
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
	Symbols  string   `json:"symbols"` // one of the From constants of package symbol
	Lines    bool     `json:"lines"`   // whether there is debug information
	Problems []string `json:"problems,omitempty"`
}

// SFrame describes a module's .sframe.
type SFrame struct {
	Version   int      `json:"version"`
	Flags     []string `json:"flags"`
	Functions uint64   `json:"functions"`
	Tables    int      `json:"tables,omitempty"` // the number of tables, if there are several
	File      string   `json:"file,omitempty"`   // the sidecar that it was read from
	Problem   string   `json:"problem,omitempty"`
}
