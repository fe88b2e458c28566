package page

import (
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// The pages as JSON are as the schema in docs/schemas says, and have no other members.
func TestSchema(t *testing.T) {
	testkit.Published(t, "../../../docs/schemas/crash-pages.json", "a page of sfcore crash serve as JSON", groupsDoc{}, groupDoc{}, crashDoc{}, crashesDoc{}, buildDoc{}, errorDoc{})
	s := newSite(t)
	for path, doc := range map[string]any{
		"/groups.json": groupsDoc{}, "/group/c1c1c1c1.json": groupDoc{}, "/crash/last.json": crashDoc{}, "/crashes.json": crashesDoc{}, "/build/b00000.json": buildDoc{}, "/none.json": errorDoc{},
	} {
		testkit.NewDocuments(t, doc).Check(t, get(s, path, nil).Body.String())
	}
}
