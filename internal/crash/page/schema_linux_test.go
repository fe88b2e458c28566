package page

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sfcore/sfcore/internal/testkit"
)

// The pages as JSON are as the schema in docs/schemas says, and have no other members.
func TestSchema(t *testing.T) {
	const title = "a page of sfcore crash serve as JSON"
	all := []any{groupsDoc{}, groupDoc{}, crashDoc{}, crashesDoc{}, buildDoc{}, errorDoc{}}
	testkit.Golden(t, "../../../docs/schemas/crash-pages.json", testkit.Schema(t, "crash-pages", title, false, all...))
	s := newSite(t)
	for path, doc := range map[string]any{
		"/groups.json": groupsDoc{}, "/group/c1c1c1c1.json": groupDoc{}, "/crash/last.json": crashDoc{}, "/crashes.json": crashesDoc{}, "/build/b00000.json": buildDoc{}, "/none.json": errorDoc{},
	} {
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(testkit.Schema(t, "page", title, true, doc)))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("page", schema); err != nil {
			t.Fatal(err)
		}
		compiled, err := c.Compile("page")
		if err != nil {
			t.Fatal(err)
		}
		got, err := jsonschema.UnmarshalJSON(get(s, path, nil).Body)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := compiled.Validate(got); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
