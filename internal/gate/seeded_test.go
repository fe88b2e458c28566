package gate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/internal/gate"
	"github.com/sfcore/sfcore/internal/gate/defect"
	"github.com/sfcore/sfcore/sframe"
)

// Good output of linkers, of every version and byte order, passes. Each defect that is
// planted into it is found by its name.
func TestSeeded(t *testing.T) {
	good, err := filepath.Glob("../../testdata/objects/*/linked-*.elf")
	if err != nil {
		t.Fatal(err)
	}
	planted := map[string]int{}
	for _, file := range good {
		switch filepath.Base(filepath.Dir(file)) {
		case "amd64-v2e1": // of LLVM and lld, which does not merge
			continue
		}
		if filepath.Base(file) == "linked-reloc.elf" {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if v := verdict(t, file, data); v.Failed > 0 {
			t.Errorf("%s: got %+v, want none that fails", file, v.Judged)
		}
		for i := range defect.All {
			d := &defect.All[i]
			bad, ok, err := d.Plant(data)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				continue
			}
			planted[d.ID]++
			if v := verdict(t, file, bad); v.Failed == 0 || !has(v, d.ID) {
				t.Errorf("%s: %s: got %+v, want %s", file, d.What, v.Judged, d.ID)
			}
		}
	}
	for i := range defect.All {
		if id := defect.All[i].ID; planted[id] == 0 {
			t.Errorf("%s could be planted nowhere", id)
		}
	}
	t.Log(planted)
}

// A program that is cut off somewhere does not pass: a disk was full, or a download broke.
func TestCutOff(t *testing.T) {
	for _, file := range []string{"amd64-v3/linked-plt.elf", "s390x-v3/linked-plt.elf", "amd64-v2e1/linked-exec.elf"} {
		data, err := os.ReadFile("../../testdata/objects/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for size := 0; size < len(data); size += 8 {
			f, err := gate.Examine(file, file, data[:size])
			if err != nil {
				continue
			}
			p := gate.Policy{Least: sframe.Warning}
			if v := p.Judge(f); v.Failed == 0 || !has(v, "file-damaged") {
				t.Errorf("%s, %d of %d bytes: got %+v, want file-damaged", file, size, len(data), v.Judged)
				break
			}
		}
	}
}

func verdict(t *testing.T, name string, data []byte) *gate.Verdict {
	t.Helper()
	f, err := gate.Examine(name, filepath.Base(name), data)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	p := gate.Policy{Least: sframe.Warning}
	return p.Judge(f)
}

func has(v *gate.Verdict, id string) bool {
	for i := range v.Judged {
		if v.Judged[i].ID == id && v.Judged[i].State == gate.New {
			return true
		}
	}
	return false
}
