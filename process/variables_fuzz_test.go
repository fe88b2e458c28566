package process_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

// FuzzVariables changes bytes of a program with debug information, two places of 8,
// and shows the variables of its core. What has a value is not missing, and the
// same program gives the same again.
func FuzzVariables(f *testing.F) {
	names := []string{"amd64-O0", "amd64-O2", "aarch64-O2", "s390x-O0", "s390x-O2"}
	progs, imgs := make([][]byte, len(names)), make([]*core.Image, len(names))
	for i, name := range names {
		prog, err := os.ReadFile(filepath.Join(localsDir, name, "prog"))
		if err != nil {
			f.Fatal(err)
		}
		// Images do not change, and unpacking one takes ten times as long as the rest.
		img, err := core.Open(context.Background(), filepath.Join(localsDir, name, "core.zst"), core.Options{})
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(img.OnClose)
		img.OnClose = nil // processes come and go, and the image stays
		progs[i], imgs[i] = prog, img
		for _, at := range []int{0x2400, 0x3000} {
			f.Add(uint8(i), uint32(at), uint64(0xff), uint32(at+100), uint64(0))
			f.Add(uint8(i), uint32(at), uint64(0x0101010101010101), uint32(at+48), ^uint64(0))
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, which uint8, at uint32, flip uint64, at2 uint32, flip2 uint64) {
		i := int(which) % len(names)
		prog := bytes.Clone(progs[i])
		for place, bits := range map[uint32]uint64{at: flip, at2: flip2} {
			for n := range min(8, max(0, len(prog)-int(place))) {
				prog[int(place)+n] ^= byte(bits >> (8 * n))
			}
		}
		file := filepath.Join(dir, "prog")
		if err := os.WriteFile(file, prog, 0o600); err != nil {
			t.Fatal(err)
		}
		show := func() string {
			tg := process.New(imgs[i], process.Options{Exe: file})
			defer tg.Close()
			r := withVariables(tg)
			for j := range r.Frames {
				parts := 0
				for k := range r.Frames[j].Variables {
					checkVariable(t, &r.Frames[j].Variables[k], 0, &parts)
				}
				if parts > 2100 {
					t.Fatalf("frame %d has %d variables and parts", j, parts)
				}
			}
			return listVariables(r)
		}
		if first, second := show(), show(); first != second {
			t.Fatalf("got\n%s\nand then\n%s", first, second)
		}
	})
}

func checkVariable(t *testing.T, v *report.Variable, depth int, parts *int) {
	t.Helper()
	*parts++
	if v.Missing != "" && v.Value != "" && len(v.Members) == 0 && v.Value[0] != '@' {
		t.Fatalf("got both %q and that it is missing: %s", v.Value, v.Missing)
	}
	if depth > 8 || len(v.Members) > 200 || len(v.Name) > 260 || len(v.Type) > 260 || len(v.Value) > 2000 {
		t.Fatalf("got %+v at depth %d", v, depth)
	}
	for i := range v.Members {
		checkVariable(t, &v.Members[i], depth+1, parts)
	}
}
