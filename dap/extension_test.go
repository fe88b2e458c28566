package dap

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

// The extension offers what the adapter reads, but for what other debuggers call
// the same and what every editor fills in itself.
func TestExtensionOffersSettings(t *testing.T) {
	elsewhere := map[string]string{
		"stopOnEntry": "the process always stands still", "cwd": "set by editors",
		"coreDumpPath": "of cppdbg", "processId": "of cppdbg", "additionalSOLibSearchPath": "of cppdbg", "sourceFileMap": "of cppdbg",
		"mode": "of delve", "host": "of delve", "port": "of delve", "coreFilePath": "of delve", "substitutePath": "of delve",
	}
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
	attachOnly := map[string]bool{"pid": true, "dlv": true} // settings of attach alone
	read := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config]()) {
		name := f.Tag.Get("json")
		read[name] = true
		if elsewhere[name] != "" {
			continue
		}
		for _, request := range []string{"launch", "attach"} {
			if _, ok := requests[request].Properties[name]; !ok && !(request == "launch" && attachOnly[name]) {
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
