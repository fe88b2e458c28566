package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/sframe"
)

const (
	vectorsDir = "../../sframe/testdata"
	objectsDir = "../../testdata/objects"
)

var (
	dumpFile    = regexp.MustCompile(`(?m)^.*: +file format .*\n`)
	dumpName    = regexp.MustCompile(` <[^>\n]*>,`)
	dumpStart   = regexp.MustCompile(`pc = 0x[0-9a-f]+|(?m)^    [0-9a-f]{16}`)
	dumpFixedRA = regexp.MustCompile(`(?m)^    CFA fixed RA offset: .*\n`)
	dumpV1RA    = regexp.MustCompile(`(?m)f( +)$`)
	moreTables  = regexp.MustCompile(`(?s)  Header at offset .*`)
)

// sectionAddress are the addresses of the .sframe of linked vectors, by
// readelf -S.
var sectionAddress = map[string]string{
	"aarch64-v2/linked-exec": "0x4002a8", "aarch64-v3/linked-exec": "0x4002a8", "aarch64be-v3/linked-exec": "0x4002a8",
	"amd64-v1/linked-exec": "0x4020d0", "amd64-v1/linked-plt": "0x20c8",
	"amd64-v2/linked-exec": "0x4020d0", "amd64-v2/linked-plt": "0x20c8",
	"amd64-v2e1/linked-exec": "0x200120", "amd64-v2e1/linked-plt": "0x200",
	"amd64-v3/linked-exec": "0x4020d0", "amd64-v3/linked-plt": "0x20c8",
	"s390x-v3/linked-plt": "0x2f8", "amd64-lld-concat/mixed-v2e1-v3": "0x200158",
}

// A listing of a section's bytes is that of objdump, byte for byte, but for
// what objdump leaves out: names, tables after the first, and in 2.40 that RA
// is fixed. The starts in sections that were not relocated mean nothing.
func TestDumpIsObjdump(t *testing.T) {
	dumps, err := filepath.Glob(filepath.Join(vectorsDir, "*", "*.objdump.txt"))
	if err != nil || len(dumps) < 50 {
		t.Fatalf("got %d dumps, %v", len(dumps), err)
	}
	for _, path := range dumps {
		path = filepath.ToSlash(strings.TrimSuffix(path, ".objdump.txt"))
		name := strings.TrimPrefix(path, filepath.ToSlash(vectorsDir)+"/")
		t.Run(name, func(t *testing.T) {
			want := readText(t, path+".objdump.txt")
			args := []string{"sframe", "dump", "--raw", path + ".sframe"}
			addr, linked := sectionAddress[name]
			if linked {
				args = append(args, "--address", addr)
			}
			got, stderr, code := sfcore(args...)
			if code != 0 || stderr != "" {
				t.Errorf("got exit status %d, %q", code, stderr)
			}
			if strings.HasPrefix(name, "amd64-v1/") {
				got = dumpV1RA.ReplaceAllString(dumpFixedRA.ReplaceAllString(got, ""), "u$1")
			}
			compareDumps(t, got, want, linked)
		})
	}
}

// A listing of an object file is that of objdump where that gets the starts
// right, and has names.
func TestDumpOfObjectIsObjdump(t *testing.T) {
	objects, err := filepath.Glob(filepath.Join(objectsDir, "*-v3", "*.o"))
	if err != nil || len(objects) < 14 {
		t.Fatalf("got %d objects, %v", len(objects), err)
	}
	for _, path := range objects {
		name, _ := filepath.Rel(objectsDir, strings.TrimSuffix(path, ".o"))
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			got, stderr, code := sfcore("sframe", "dump", path)
			if code != 0 || stderr != "" {
				t.Errorf("got exit status %d, %q", code, stderr)
			}
			if !dumpName.MatchString(got) {
				t.Errorf("no function has a name:\n%s", got)
			}
			compareDumps(t, got, readText(t, filepath.Join(vectorsDir, name+".objdump.txt")), true)
		})
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func compareDumps(t *testing.T, got, want string, starts bool) {
	t.Helper()
	got = moreTables.ReplaceAllString(dumpName.ReplaceAllString(got, ","), "")
	for _, text := range []*string{&got, &want} {
		*text = dumpFile.ReplaceAllString(*text, "")
		if !starts {
			*text = dumpStart.ReplaceAllString(*text, "-")
		}
	}
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// What binutils cannot list: all their versions abort, or show only a part.
func TestDumpGolden(t *testing.T) {
	object := func(name string) string { return objectsDir + "/" + name }
	for name, args := range map[string][]string{
		"help":        {"--help"},
		"dump-help":   {"dump", "--help"},
		"dump-tables": {"dump", object("amd64-lld-concat/mixed-v2e1-v3.elf")},
		"dump-edges":  {"dump", object("amd64-v2/amd64-edges.o")},
		"dump-15":     {"dump", object("hostile/fre-15-words.o")},
		"dump-pc":     {"dump", "--pc", "0x1015", object("amd64-v3/linked-plt.elf")},
		"dump-func":   {"dump", "--func", "drap", object("amd64-v3/amd64-flex.o")},
		"dump-json":   {"dump", "--format", "json", object("amd64-v3/amd64-flex.o")},
		"dump-json-2": {"dump", "--format", "json", object("amd64-lld-concat/mixed-v2e1-v3.elf")},
		"dump-core":   append([]string{"dump"}, caseArgs(t, "aarch64-v3pacb-deep")...),
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := sfcore(append([]string{"sframe"}, args...)...)
			if code != 0 {
				t.Errorf("got exit status %d, %s", code, stderr)
			}
			testkit.Golden(t, filepath.Join("testdata", "sframe", name+".golden"), []byte(stdout))
			if strings.HasPrefix(name, "dump-json") && !json.Valid([]byte(stdout)) {
				t.Error("this is not JSON")
			}
		})
	}
}

// What cannot be read is one sentence, and exit status 2.
func TestSFrameUnreadable(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole := readText(t, objectsDir+"/amd64-v3/amd64-basic.o")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no file":      {[]string{filepath.Join(dir, "none")}, "no such file"},
		"empty":        {[]string{write("empty", "")}, "the file is empty"},
		"text":         {[]string{write("text", "hello")}, "a text file"},
		"directory":    {[]string{dir}, "directory"},
		"header only":  {[]string{write("header", whole[:100])}, "past the end of the file"},
		"no section":   {[]string{coresDir + "/amd64-v2-nosframe/exe/nosframe"}, "no .sframe section"},
		"bad magic":    {[]string{"--raw", write("raw", "garbage!")}, "sfp_magic at offset 0x0"},
		"bad address":  {[]string{"--raw", "--address", "x", write("raw2", whole)}, `"x" is not an address`},
		"bad pc":       {[]string{"--pc", "main", write("o", whole)}, `"main" is not an address`},
		"bad format":   {[]string{"--format", "xml", write("o", whole)}, "use text or json"},
		"other family": {[]string{write("arm", whole[:18]+"\x28\x00"+whole[20:])}, "e_machine 40"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := sfcore(append([]string{"sframe", "dump"}, tt.args...)...)
			if code != exitFailed || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, tt.want) || strings.Count(stderr, dir) > 1 {
				t.Errorf("got exit status %d, %q, %q, want one line with %q", code, stdout, stderr, tt.want)
			}
		})
	}
}

// A file that is cut off says so, whatever is asked of it.
func TestSFrameCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cut")
	whole := readText(t, objectsDir+"/amd64-v3/linked-plt.elf")
	if err := os.WriteFile(path, []byte(whole[:len(whole)-64]), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"dump", "check", "compare", "coverage"} {
		stdout, stderr, code := sfcore("sframe", command, path)
		if !strings.Contains(stdout+stderr, "e_shstrndx") || command != "coverage" && code == exitComplete {
			t.Errorf("%s: got exit status %d, %q, %q", command, code, stdout, stderr)
		}
	}
}

func TestDumpWithoutMatch(t *testing.T) {
	for _, flag := range [][]string{{"--pc", "0x999999"}, {"--func", "nobody"}} {
		_, stderr, code := sfcore("sframe", "dump", flag[0], flag[1], objectsDir+"/amd64-v3/amd64-basic.o")
		if code != exitIncomplete || !strings.Contains(stderr, flag[1]) {
			t.Errorf("got exit status %d, %q", code, stderr)
		}
	}
}

// Functions that share rows are listed until each byte of them was listed four times.
func TestDumpSharedRows(t *testing.T) {
	const shared = 1000
	b := testkit.New(binary.LittleEndian)
	b.D16(sframe.Magic).D8(2, 1|4, uint8(sframe.AMD64LE), 0, 0xf8, 0).D32(shared, shared, 4, 0, 20*shared)
	for i := range shared {
		b.D32(0x1000+uint32(i), 1, 0, 1).D8(0, 0).Zero(2)
	}
	b.D8(0, 3<<0|1<<1, 16, 0)
	name := filepath.Join(t.TempDir(), "section")
	if err := os.WriteFile(name, b.Done(), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := sfcore("sframe", "dump", "--raw", name)
	if n := strings.Count(stdout, "func idx"); n == 0 || n > 8 || code != exitIncomplete || !strings.Contains(stderr, "many functions share the same rows") {
		t.Errorf("got %d functions of %d, exit status %d, %q", n, shared, code, stderr)
	}
}
