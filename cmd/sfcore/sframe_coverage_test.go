package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

func TestCoverageGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"coverage-help": {"--help"},
		"coverage":      {objectsDir + "/amd64-v3/linked-plt.elf", objectsDir + "/amd64-v2/amd64-flex.o"},
		"coverage-cpio": {coresDir + "/amd64-v2e1-debian-cpio/exe/cpio"},
		"coverage-core": caseArgs(t, "amd64-v3-libcdyn-1"),
		"coverage-json": append([]string{"--format", "json"}, caseArgs(t, "amd64-v3-mixednofp")...),
		"coverage-lost": {"--sysroot", "testdata", filepath.Join(coresDir, "amd64-v3-libcdyn-1", "core.zst")},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := sfcore(append([]string{"sframe", "coverage"}, args...)...)
			if code != exitComplete || stderr != "" {
				t.Errorf("got exit status %d, %q", code, stderr)
			}
			testkit.Golden(t, filepath.Join("testdata", "sframe", name+".golden"), []byte(stdout))
			if name == "coverage-json" && !json.Valid([]byte(stdout)) {
				t.Error("this is not JSON")
			}
		})
	}
}
