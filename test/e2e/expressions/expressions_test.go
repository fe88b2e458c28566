//go:build e2e

// Package expressions asks sfcore the expressions and containers of test/expressions, over
// programs that are compiled and dumped here. It needs gcc, g++ and gdb; with clang, libc++
// and rustc, their programs are asked, too.
package expressions

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestExpressions(t *testing.T) {
	sfcore := filepath.Join(t.TempDir(), "sfcore")
	if out, err := exec.Command("go", "build", "-o", sfcore, "github.com/sfcore/sfcore/cmd/sfcore").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command("go", "run", "./test/expressions", "-only", "-v", "-sfcore", sfcore)
	cmd.Dir = "../../.."
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "| all |") {
		t.Errorf("%v: %s", err, out)
	}
}
