package resolve

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSources(t *testing.T) {
	root, cwd := t.TempDir(), t.TempDir()
	if err := os.Symlink("/etc", filepath.Join(cwd, "link")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(cwd)
	tests := []struct {
		name, path string
		sysroot    string
		from, to   string
		want       []string
	}{
		{"as it is", "/src/a.c", "", "", "", []string{"/src/a.c"}},
		{"replaced", "/src/a.c", "", "/src", "/home/me/", []string{"/home/me/a.c", "/src/a.c"}},
		{"trailing slash", "/src/a.c", "", "/src/", "/home/me", []string{"/home/me/a.c", "/src/a.c"}},
		{"not a whole element", "/src2/a.c", "", "/src", "/home", []string{"/src2/a.c"}},
		{"relative", "nptl/a.c", "", "nptl", "/glibc/nptl", []string{"/glibc/nptl/a.c", cwd + "/nptl/a.c"}},
		{"all that are relative", "nptl/a.c", "", "", "/glibc", []string{"/glibc/nptl/a.c", cwd + "/nptl/a.c"}},
		{"below the working directory", "./nptl/../a.c", "", "/x", "/y", []string{cwd + "/a.c"}},
		{"out of the working directory", "../../etc/passwd", "", "", "", []string{cwd + "/etc/passwd"}},
		{"out of the working directory by a link", "link/passwd", "", "", "", []string{cwd + "/etc/passwd"}},
		{"relative, with a sysroot", "nptl/a.c", root, "", "", nil},
		{"below the sysroot only", "/src/../../a.c", root, "/x", "/y", []string{root + "/a.c"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := New(Options{Sysroot: tt.sysroot})
			var subs []Substitution
			if tt.to != "" {
				subs = append(subs, Substitution{tt.from, tt.to})
			}
			if got := slices.Collect(r.Sources(tt.path, subs)); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
