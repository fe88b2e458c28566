package gate

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sfcore/sfcore/internal/testkit"
)

// The JSON of a report is as the schema in docs/schemas says, and has no other members.
func TestSchema(t *testing.T) {
	const title = "sframe gate --format json"
	testkit.Golden(t, "../../docs/schemas/sframe-gate.json", testkit.Schema(t, "sframe-gate", title, false, jsonReport{}))
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(testkit.Schema(t, "sframe-gate", title, true, jsonReport{})))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("gate", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("gate")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Formats["json"](sample(), &out); err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(&out)
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(doc); err != nil {
		t.Error(err)
	}
}
