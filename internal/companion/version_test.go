package companion

import (
	"os"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/internal/version"
)

// sayVar makes this test's program print a version instead, as companions do.
const sayVar = "SFCORE_TEST_SAY"

func TestMain(m *testing.M) {
	if say, ok := os.LookupEnv(sayVar); ok {
		_, _ = os.Stdout.WriteString(say) //nolint:forbidigo // it is the standard output of a program
		return
	}
	m.Run()
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		by   string
		want string
	}{
		{version.Get().Version, ""},
		{"0.1.9", `has version ` + version.Get().Version + `, but version "0.1.9" has started it; install all programs`},
		{"", `but version "" has started it`},
		{strings.Repeat("x", 1000), `version "` + strings.Repeat("x", 40) + `" has started it`},
	} {
		t.Setenv(versionVar, tt.by)
		err := Check("sfcore-test")
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("started by %q: got %v, want %q", tt.by, err, tt.want)
		}
		if _, ok := os.LookupEnv(versionVar); ok {
			t.Error("what the companion starts has the version, too")
		}
	}
	if err := Check("sfcore-test"); err != nil {
		t.Errorf("started by hand: got %v", err)
	}
}

// A companion that is started by its own sfcore runs.
func TestEnviron(t *testing.T) {
	env := Environ()
	name, value, _ := strings.Cut(env[len(env)-1], "=")
	t.Setenv(name, value)
	if err := Check("sfcore-test"); err != nil || name != versionVar {
		t.Errorf("got %v with %s", err, env[len(env)-1])
	}
}

func TestVersion(t *testing.T) {
	testkit.NeedRestart(t)
	for _, tt := range []struct{ say, want string }{
		{"sfcore-test version 1.2.3 (go1.26)", "1.2.3"},
		{"sfcore-test version", ""},
		{"", ""},
		{"usage: sfcore-test FILE", ""},
	} {
		t.Setenv(sayVar, tt.say)
		got, err := Version(t.Context(), os.Args[0])
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q: got %q, %v", tt.say, got, err)
		}
	}
	if _, err := Version(t.Context(), t.TempDir()); err == nil {
		t.Error("a directory has a version")
	}
}
