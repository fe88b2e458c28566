package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/gate"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/sframe"
)

func TestCheckGolden(t *testing.T) {
	raw := filepath.Join(t.TempDir(), "raw")
	if err := os.WriteFile(raw, []byte("\xe2\xde\x09\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args []string
		code int
	}{
		"check-help":   {[]string{"--help"}, exitComplete},
		"check-clean":  {[]string{objectsDir + "/amd64-v3/linked-exec.elf", objectsDir + "/amd64-v3/amd64-edges.o"}, exitComplete},
		"check-notes":  {[]string{"--severity", "note", objectsDir + "/amd64-lld-concat/mixed-v2e1-v3.elf"}, exitIncomplete},
		"check-broken": {[]string{objectsDir + "/amd64-v1/linked-reloc.elf"}, exitIncomplete},
		"check-errors": {[]string{"--severity", "error", objectsDir + "/amd64-v2/linked-reloc.elf"}, exitIncomplete},
		"check-json":   {[]string{"--format", "json", objectsDir + "/hostile/fre-15-words.o"}, exitIncomplete},
		"check-ibt":    {[]string{coresDir + "/amd64-v1-pltibt-2/exe/libplt.so"}, exitIncomplete},
		"check-core":   {caseArgs(t, "amd64-v3-fpflag"), exitIncomplete},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := sfcore(append([]string{"sframe", "check"}, tt.args...)...)
			if code != tt.code || stderr != "" {
				t.Errorf("got exit status %d, %q, want %d", code, stderr, tt.code)
			}
			testkit.Golden(t, filepath.Join("testdata", "sframe", name+".golden"), []byte(stdout))
			if name == "check-json" && !json.Valid([]byte(stdout)) {
				t.Error("this is not JSON")
			}
		})
	}
	stdout, stderr, code := sfcore("sframe", "check", "--raw", raw)
	if code != exitIncomplete || stderr != "" || !strings.Contains(stdout, "[version-unsupported]") {
		t.Errorf("got exit status %d, %q, %q", code, stdout, stderr)
	}
}

// How files hold their sections, by the tools that made them.
func TestFileFindings(t *testing.T) {
	for file, want := range map[string][]string{
		objectsDir + "/amd64-v1/amd64-basic.o":             {"section-type-old"},
		objectsDir + "/amd64-v2/linked-exec.elf":           {"section-type-old", "segment-size"},
		objectsDir + "/amd64-v3/linked-exec.elf":           {"segment-size"},
		objectsDir + "/amd64-v3/amd64-basic.o":             nil,
		objectsDir + "/amd64-lld-concat/mixed-v2e1-v3.elf": {"segment-missing"},
		coresDir + "/amd64-v2e1-debian-cpio/exe/cpio":      nil,
	} {
		tg, err := module.OpenFile(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range gate.FileFindings(tg.Only()) {
			got = append(got, f.ID)
			if gate.FileMeanings[f.ID] == "" {
				t.Errorf("%s is not explained", f.ID)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", file, got, want)
		}
		tg.Close()
	}
}

// Sections are found by type or name, and several of them are noted. A section of the
// other byte order than its file is damage.
func TestCheckSections(t *testing.T) {
	b := sframe.Builder{Version: sframe.V2, ABI: sframe.AArch64LE, Funcs: []sframe.FuncRows{{Start: 0x1000, Size: 16, Rows: []sframe.RowAt{{
		Row: arch.Row{CFA: arch.RegOffset(arch.AArch64.SP, 0), RA: arch.SameValue(arch.AArch64.LR), FP: arch.SameValue(arch.AArch64.FP)},
	}}}}}
	data, err := b.Append(nil, 0x2000)
	if err != nil {
		t.Fatal(err)
	}
	section := func(name string, typ uint32) testkit.ELFSection {
		return testkit.ELFSection{Name: name, Type: typ, Flags: elfx.SectAlloc, Addr: 0x2000, Data: data, Align: 8}
	}
	for name, tt := range map[string]struct {
		order    binary.ByteOrder
		sections []testkit.ELFSection
		want     []string
	}{
		"by type":    {binary.LittleEndian, []testkit.ELFSection{section(".frames", elfx.SectGNUSFrame)}, []string{"section-name", "segment-missing"}},
		"by name":    {binary.LittleEndian, []testkit.ELFSection{section(".sframe", elfx.SectProgbits)}, []string{"section-type-old", "segment-missing"}},
		"two":        {binary.LittleEndian, []testkit.ELFSection{section(".sframe", elfx.SectGNUSFrame), section(".sframe", elfx.SectGNUSFrame)}, []string{"sections-several", "segment-missing"}},
		"byte order": {binary.BigEndian, []testkit.ELFSection{section(".sframe", elfx.SectGNUSFrame)}, []string{"segment-missing", "abi-machine"}},
	} {
		file := filepath.Join(t.TempDir(), "file")
		e := testkit.ELF{Order: tt.order, Type: 3, Machine: arch.EMAArch64, Sections: tt.sections}
		if err := os.WriteFile(file, e.File(), 0o600); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := sfcore("sframe", "check", "--severity", "note", file)
		if code != exitIncomplete {
			t.Errorf("%s: got exit status %d, %q", name, code, stderr)
		}
		for _, id := range tt.want {
			if !strings.Contains(stdout, "["+id+"]") {
				t.Errorf("%s: got %q, want %s", name, stdout, id)
			}
		}
	}
}

func TestCheckUnreadable(t *testing.T) {
	for _, args := range [][]string{{"none"}, {"--raw", "none"}, {"--severity", "all", "x"}, {coresDir + "/amd64-v2-nosframe/exe/nosframe"}} {
		stdout, stderr, code := sfcore(append([]string{"sframe", "check"}, args...)...)
		if code != exitFailed || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: got exit status %d, %q, %q", args, code, stdout, stderr)
		}
	}
}

// The list of findings is made from the package's.
func TestChecksDocumented(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# What `sfcore sframe check` finds\n\nThe names are stable: scripts may rely on them. `go test ./cmd/sfcore -update` writes this file.\n")
	meanings := sframe.Meanings()
	for _, severity := range []sframe.Severity{sframe.Error, sframe.Warning, sframe.Note} {
		fmt.Fprintf(&b, "\n## %ss\n\n| name | what it means |\n|---|---|\n", strings.ToUpper(severity.String()[:1])+severity.String()[1:])
		var ids []string
		for id := range meanings {
			if e := (sframe.FormatError{ID: id}); e.Finding().Severity == severity {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		for _, id := range ids {
			fmt.Fprintf(&b, "| `%s` | %s |\n", id, meanings[id])
		}
	}
	b.WriteString("\n## Notes on the file\n\n| name | what it means |\n|---|---|\n")
	for _, id := range slices.Sorted(maps.Keys(gate.FileMeanings)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", id, gate.FileMeanings[id])
	}
	b.WriteString(`
# What ` + "`--format json`" + ` prints

One line per module, ` + "`sfcore.sframe-check/1`: `file`, and `findings` with `id`, `severity`, `offset` (in bytes from the start of\nthe section), `field` and `message`" + `.
`)
	testkit.Golden(t, "../../docs/sframe-checks.md", b.Bytes())
}
