package report

// Module is a module and what was found for it.
type Module struct {
	Path     string   `json:"path"`
	File     string   `json:"file,omitempty"`
	Debug    string   `json:"debugFile,omitempty"`
	BuildID  string   `json:"buildId,omitempty"`
	Base     Addr     `json:"base"`
	End      Addr     `json:"end"`
	Bias     Addr     `json:"loadBias"`
	Match    string   `json:"match"` // a Match
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
