package gate

import (
	"bytes"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// The JSON of a report, and that of a baseline, are as the schemas in docs/schemas say, and
// have no other members.
func TestSchemas(t *testing.T) {
	var out bytes.Buffer
	if err := Formats["json"](sample(), &out); err != nil {
		t.Fatal(err)
	}
	testkit.Published(t, "../../docs/schemas/sframe-gate.json", "sframe gate --format json", jsonReport{}).Check(t, out.String())
	baseline := NewBaseline(sample().Verdicts)
	if !bytes.Contains(baseline, []byte(`"function"`)) {
		t.Errorf("the baseline has no finding: %s", baseline)
	}
	testkit.Published(t, "../../docs/schemas/sframe-baseline.json", "what sframe gate --write-baseline writes", jsonBaseline{}).Check(t, string(baseline))
}
