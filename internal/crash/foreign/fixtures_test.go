package foreign

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// archived returns a file of a store that "test/crash/stores" has made.
func archived(t *testing.T, version, name string) []byte {
	t.Helper()
	f, err := os.Open("testdata/systemd-" + version + ".tar.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if h.Name == name {
			data, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
	}
}

// What journalctl lists of the journals of systemd 252 and 262, where it does not run.
func TestListedJournals(t *testing.T) {
	want := []string{
		"1000 SIGSEGV crash.service its file was removed", "0 SIGABRT crash.service its file was removed", "1000 SIGSEGV victim.service its file was removed",
		"0 SIGSEGV crash.service its file was removed", "1000 SIGABRT crash.service its file was removed", "1000 SIGSEGV crash.service ",
		"0 SIGABRT crash.service ", "1000 SIGSEGV crash.service systemd kept no core",
	}
	for _, version := range []string{"252", "262"} {
		var got []string
		err := parseEntries(bytes.NewReader(archived(t, version, "./journal.json")), func(e *entry) {
			c := &e.crash
			owner := "1000"
			if c.Owner != 1000 {
				owner = "0"
			}
			got = append(got, strings.Join([]string{owner, c.Signal, c.Unit, c.Missing}, " "))
			if !e.genuine || c.Program != "/crash/victim" || c.PID == 0 || strings.HasPrefix(c.Missing, "its") != strings.HasPrefix(e.file, "core.victim.") {
				t.Errorf("%s: got %+v", version, e)
			}
			if c.Owner == 0 && c.UID == 1000 || c.Owner != 0 && c.Owner != 1000 {
				t.Errorf("%s: a crash of user %d is of %d", version, c.UID, c.Owner)
			}
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", version, got, err, want)
		}
	}
}

// The cores in those journals, as journalctl exports them.
func TestExportedJournals(t *testing.T) {
	for _, version := range []string{"252", "262"} {
		journal, cores := archived(t, version, "./journal.export"), 0
		for at := 0; ; {
			i := bytes.Index(journal[at:], []byte("\nCOREDUMP\n"))
			if i < 0 {
				break
			}
			begin := bytes.LastIndex(journal[:at+i], []byte("__CURSOR="))
			var out memory
			size, err := Unpack(&out, bytes.NewReader(journal[begin:]), JournalForm, 1<<20)
			if err != nil || size < 100000 || !bytes.HasPrefix(out.data, []byte("\x7fELF")) || !bytes.Contains(out.data, []byte("victim")) {
				t.Errorf("%s: got %d bytes, %v", version, size, err)
			}
			if _, err := Unpack(&memory{}, bytes.NewReader(journal[begin:at+i+1000]), JournalForm, 1<<20); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s, cut off: got %v", version, err)
			}
			cores, at = cores+1, at+i+100000
		}
		if cores != 2 {
			t.Errorf("%s: got %d cores", version, cores)
		}
	}
}
