package testkit

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Documents checks JSON by the schema of the types that it is made of: by the one that is
// published, and by the one that forbids other members.
type Documents struct{ strict, published *jsonschema.Schema }

// Published compares a file of docs/schemas with the schema of the types of values, as
// [Schema] does, and returns what checks such documents.
func Published(t testing.TB, file, title string, values ...any) *Documents {
	t.Helper()
	Golden(t, file, Schema(t, strings.TrimSuffix(filepath.Base(file), ".json"), title, false, values...))
	return NewDocuments(t, values...)
}

// NewDocuments returns what checks documents of the types of values.
func NewDocuments(t testing.TB, values ...any) *Documents {
	t.Helper()
	return &Documents{compiled(t, Schema(t, "strict", "", true, values...)), compiled(t, Schema(t, "published", "", false, values...))}
}

func compiled(t testing.TB, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// Check checks a document.
func (d *Documents) Check(t testing.TB, text string) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v:\n%.200s", err, text)
	}
	for _, schema := range []*jsonschema.Schema{d.strict, d.published} {
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%v:\n%.500s", err, text)
		}
	}
}

// Lines checks each line as a document.
func (d *Documents) Lines(t testing.TB, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		d.Check(t, line)
	}
}

// Takes reports whether the schema that is published takes a document.
func (d *Documents) Takes(t testing.TB, text string) bool {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v:\n%.200s", err, text)
	}
	return d.published.Validate(doc) == nil
}
