package picture_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/sfcore/sfcore/internal/picture/crowd"
)

// Many threads fit: the page of 10,000 stacks of 50 frames, of which 5,000 are
// different, takes at most 5 MB.
func TestPageSize(t *testing.T) {
	var out bytes.Buffer
	if err := crowd.Collection().WriteHTML(&out, "1.0"); err != nil {
		t.Fatal(err)
	}
	if n := out.Len(); n < 1e6 || n > 5e6 {
		t.Errorf("got %d bytes, want at most 5,000,000", n)
	}
	_, doc, _ := bytes.Cut(out.Bytes(), []byte(`<script type="application/json" id="data">`))
	doc, _, _ = bytes.Cut(doc, []byte("</script>"))
	var data struct{ Stacks struct{ Node []int } }
	if err := json.Unmarshal(doc, &data); err != nil {
		t.Fatal(err)
	}
	different := map[int]bool{}
	for _, n := range data.Stacks.Node {
		different[n] = true
	}
	if len(data.Stacks.Node) != 10000 || len(different) != 5000 {
		t.Errorf("got %d threads, %d different stacks, want 10000 and 5000", len(data.Stacks.Node), len(different))
	}
}
