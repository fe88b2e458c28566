package page

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/report"
)

// The page of a group reads no more of reports than it may, and of threads it shows
// registers as far as machines have them.
func TestLargeGroup(t *testing.T) {
	s := newSite(t)
	register := fmt.Sprintf(`{"name":"r","value":"0x1","kind":"code","text":%q}`, strings.Repeat("t", 2*maxText))
	text := []byte(fmt.Sprintf(`{"schema":%q,"x":%q,"threads":[{"tid":1,"crashed":true,"scene":{"registers":[%s]},"frames":[{"index":0,"pc":"0x1","function":"f"}]}],"modules":[],"problems":[]}`,
		report.Schema, strings.Repeat("x", maxRead*3/8), register+strings.Repeat(","+register, 2*maxScene)))
	read := 0
	s.Report = func(_ context.Context, _ string, left *document.Budget) (*report.Document, error) {
		read++
		docs, err := document.ReadBytes("report", text, left)
		if err != nil || len(docs) != 1 {
			t.Fatalf("got %d reports, %v", len(docs), err)
		}
		return docs[0], nil
	}
	var d groupDoc
	if w := get(s, "/group/c1c1.json", nil); json.Unmarshal(w.Body.Bytes(), &d) != nil || w.Code != 200 {
		t.Fatal(w.Code, w.Body.String())
	}
	if read != 3 || d.Icicle.Stacks != 3 {
		t.Errorf("%d reports of %d bytes were read, and %d stacks drawn, want 3", read, len(text), d.Icicle.Stacks)
	}
	scene := d.Example.Threads[0].Scene
	if scene == nil || len(scene.Registers) != maxScene || len(scene.Registers[0].Text) > maxText+3 || scene.Registers[0].Kind != report.KindCode {
		t.Errorf("got the scene %+v", scene)
	}
}
