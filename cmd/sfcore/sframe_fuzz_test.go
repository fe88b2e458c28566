package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/sframe"
)

// Any section that has a table can be listed, in text and in JSON that is
// JSON, and checked. What is listed is bounded by the section.
func FuzzDump(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join(vectorsDir, "*", "*plt.sframe"))
	for _, name := range append(files, filepath.Join(vectorsDir, "hostile/fre-15-words.sframe"), filepath.Join(vectorsDir, "amd64-lld-concat/mixed-v2e1-v3.sframe")) {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint64(0x1010))
	}
	f.Fuzz(func(t *testing.T, data []byte, pc uint64) {
		s, err := sframe.Parse(data, 0x2000, sframe.Options{})
		if err != nil {
			return
		}
		l := &listed{file: "x", format: "binary", section: s}
		for _, only := range []filter{{}, {pc: &pc}} {
			var text, doc bytes.Buffer
			textOut, docOut := bufio.NewWriter(&text), bufio.NewWriter(&doc)
			for _, w := range []lister{&textLister{out: textOut}, newJSONLister(docOut, "x")} {
				d := &dumper{lister: w, only: only}
				d.section(l)
				d.end(d.problems)
			}
			_ = textOut.Flush()
			_ = docOut.Flush()
			if !json.Valid(doc.Bytes()) {
				t.Fatalf("not JSON: %s", doc.Bytes())
			}
			if limit := 4096 + 200*maxSharing*len(data); text.Len() > limit {
				t.Fatalf("%d bytes give %d of text", len(data), text.Len())
			}
		}
		for _, finding := range findings(s, nil) {
			if finding.ID == "" || finding.Off < 0 || finding.Off > int64(len(data)) {
				t.Fatalf("got %+v", finding)
			}
		}
	})
}
