package main

import (
	"bufio"

	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/sframe"
)

// jsonLister lists as docs/sframe-json.md says, one function at a time.
type jsonLister struct {
	out        *bufio.Writer
	inSection  bool
	inTable    bool // in the current section there is a table
	inFunction bool // in the current table there is a function
}

type jsonTable struct {
	Offset  int64    `json:"offset"`
	Version uint8    `json:"version"`
	Flags   []string `json:"flags"`
	ABI     string   `json:"abi"`
	FixedFP int8     `json:"fixedFP"`
	FixedRA int8     `json:"fixedRA"`
	AuxLen  uint8    `json:"auxLen"`
	NumFDEs uint32   `json:"numFDEs"`
	NumFREs uint32   `json:"numFREs"`
}

type jsonFunction struct {
	Start    report.Addr `json:"start"`
	Size     uint32      `json:"size"`
	Type     string      `json:"type"`
	RepSize  uint8       `json:"repSize"`
	Signal   bool        `json:"signal"`
	Flex     bool        `json:"flex"`
	PauthKey string      `json:"pauthKey,omitempty"`
	Name     string      `json:"name,omitempty"`
	Rows     []jsonRow   `json:"rows"`
}

type jsonRow struct {
	Offset uint32  `json:"offset"`
	Info   uint8   `json:"info"`
	Words  []int64 `json:"words"`
	CFA    string  `json:"cfa,omitempty"`
	FP     string  `json:"fp,omitempty"`
	RA     string  `json:"ra"`
}

func newJSONLister(out *bufio.Writer, file string) *jsonLister {
	w := &jsonLister{out: out}
	w.write(`{"schema":"sfcore.sframe/1","file":`, jsonString(file), `,"sections":[`)
	return w
}

// jsonString encodes a string as a value for [members].
type jsonString string

// abiName is "amd64-le", "aarch64-le", "aarch64-be" or "s390x-be".
func abiName(a *arch.Arch) string {
	if a.BigEndian {
		return a.Name + "-be"
	}
	return a.Name + "-le"
}

func (w *jsonLister) write(parts ...any) { _, _ = w.out.Write(document.Members(parts...)) }

func (w *jsonLister) section(l *listed) {
	if w.inSection {
		w.closeSection()
		w.write(",\n")
	}
	w.inSection = true
	w.write(`{"name":".sframe","address":`, report.Addr(l.section.Addr()), `,"file":`, jsonString(l.file), `,"tables":[`)
}

func (w *jsonLister) table(t *sframe.Table) {
	w.closeTable()
	if w.inTable {
		w.write(",")
	}
	w.inTable, w.inFunction = true, false
	flags := []string{}
	if t.Flags != 0 {
		flags = flagNames(t.Flags)
	}
	head := document.Encode(jsonTable{t.Off, uint8(t.Version), flags, abiName(t.Arch), t.FixedFP, t.FixedRA, t.AuxLen, t.NumFDEs, t.NumFREs})
	_, _ = w.out.Write(head[:len(head)-1]) // without its closing brace
	w.write(`,"functions":[`)
}

func (w *jsonLister) function(f *listedFunc) {
	j := jsonFunction{
		Start: report.Addr(f.start), Size: f.Size, Type: "pcinc", RepSize: f.RepSize,
		Signal: f.Signal(), Flex: f.Flexible(), Name: f.name, Rows: make([]jsonRow, len(f.rows)),
	}
	if f.PCMask() {
		j.Type = "pcmask"
	}
	if f.Table().Arch.PAC {
		j.PauthKey = "A"
		if f.KeyB() {
			j.PauthKey = "B"
		}
	}
	for i := range f.rows {
		r := &f.rows[i]
		j.Rows[i] = jsonRow{r.Start, r.Info, words(f, r), r.CFA, r.FP, r.RA}
	}
	if w.inFunction {
		w.write(",\n")
	}
	w.inFunction = true
	w.write(j)
}

// words returns the data words of a row: signed, but for control words.
func words(f *listedFunc, r *listedRow) []int64 {
	w := make([]int64, r.Count())
	for i := range w {
		w[i] = int64(r.Word(i))
		if f.Flexible() && (i == 0 || i == 2 || i == 3 && len(w) == 5 || i == 4 && len(w) == 6) {
			w[i] = int64(r.Control(i))
		}
	}
	return w
}

func (w *jsonLister) closeTable() {
	if w.inTable {
		w.write("]}")
	}
}

func (w *jsonLister) closeSection() {
	w.closeTable()
	w.inTable = false
	w.write("]}")
}

func (w *jsonLister) end(problems []string) {
	if w.inSection {
		w.closeSection()
	}
	if problems == nil {
		problems = []string{}
	}
	w.write(`],"problems":`, problems, "}\n")
}
