package dap

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

// The extension offers what the adapter reads, for launch and for attach, also what other
// debuggers call the same: their configurations work as they stand.
func TestExtensionOffersSettings(t *testing.T) {
	text, err := os.ReadFile("../editors/vscode/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Contributes struct {
			Debuggers []struct {
				ConfigurationAttributes map[string]struct {
					Properties map[string]any `json:"properties"`
				} `json:"configurationAttributes"`
			} `json:"debuggers"`
		} `json:"contributes"`
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest.Contributes.Debuggers) != 1 {
		t.Fatalf("got %d debuggers", len(manifest.Contributes.Debuggers))
	}
	requests := manifest.Contributes.Debuggers[0].ConfigurationAttributes
	read := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config]()) {
		name := f.Tag.Get("json")
		read[name] = true
		if name == "" {
			continue // no setting
		}
		for _, request := range []string{"launch", "attach"} {
			if _, ok := requests[request].Properties[name]; !ok {
				t.Errorf("package.json does not offer %q for %s", name, request)
			}
		}
	}
	for request, attributes := range requests {
		for name := range attributes.Properties {
			if !read[name] {
				t.Errorf("package.json offers %q for %s, but the adapter does not read it", name, request)
			}
		}
	}
}
