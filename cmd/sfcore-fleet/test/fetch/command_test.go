package fetch

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
)

// The command asks an agent for cores, which come by the bucket; of the group so many stay
// there as it says.
func TestCommand(t *testing.T) {
	_, url := bucket(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "sfcore-fleet")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	h := newHost(t, nil, url)
	name := filepath.Join(dir, "crashes.db")
	db, err := database.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	const crashes, stay = 4, 2
	var ids []string
	texts := map[string][]byte{}
	for n := range crashes {
		id, text := h.core(t, n, 1<<20)
		m, err := message.Decode(testkit.Encode(t, testkit.Message("web1.example.org", n, "parse", "main")))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Store(t.Context(), []database.Item{database.ItemOf(m)}); err != nil {
			t.Fatal(err)
		}
		if m.ID != message.ID("web1.example.org", id) {
			t.Fatalf("got %s of %s", m.ID, id)
		}
		ids = append(ids, m.ID)
		texts[m.ID] = text
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, append([]string{
			"fetch", "--db", name, "--queue", "nats://" + h.address, "--seed", h.seed, "--s3", url, "--cores", "2",
		}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if _, err := h.ask(t.Context(), "20261101-120000.000-1", "http://127.0.0.1:1/"); err == nil { // until it listens
		t.Fatal("there is no error")
	}
	for n, id := range ids {
		out, err := run("-o", "core", id)
		if err != nil {
			t.Fatalf("%d: %v: %s", n, err, out)
		}
		got, err := os.ReadFile(filepath.Join(dir, "core"))
		if err != nil || !bytes.Equal(got, texts[id]) {
			t.Errorf("%d: got %d bytes, %v", n, len(got), err)
		}
		if removed := strings.Contains(out, "1 other cores of the group were removed"); removed != (n >= stay) {
			t.Errorf("%d: got %s", n, out)
		}
	}
	// What the bucket has is not asked for: the host does not have it any more.
	if err := os.Remove(filepath.Join(h.store.Dir(), strings.TrimSuffix(ids[0], ids[0][strings.LastIndexByte(ids[0], '-'):])+".core.zst")); err != nil {
		t.Fatal(err)
	}
	if out, err := run("--link", ids[0]); err != nil || !strings.Contains(out, "X-Amz-Signature") {
		t.Errorf("got %s, %v", out, err)
	}
	if out, err := run("--again", ids[0]); err == nil || !strings.Contains(out, "no core of crash") {
		t.Errorf("got %s, %v", out, err)
	}
	if out, err := run("2025"); err == nil || !strings.Contains(out, "2025") {
		t.Errorf("got %s, %v", out, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".part") {
			t.Errorf("%s was left", e.Name())
		}
	}
}
