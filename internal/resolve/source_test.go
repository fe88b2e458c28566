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
		options    Options
		from, to   string
		want       []string
	}{
		{"as it is", "/src/a.c", Options{}, "", "", []string{"/src/a.c"}},
		{"replaced", "/src/a.c", Options{}, "/src", "/home/me/", []string{"/home/me/a.c", "/src/a.c"}},
		{"trailing slash", "/src/a.c", Options{}, "/src/", "/home/me", []string{"/home/me/a.c", "/src/a.c"}},
		{"replaced whole", "/src/a.c", Options{}, "/src/a.c", "/home/b.c", []string{"/home/b.c", "/src/a.c"}},
		{"not a whole element", "/src2/a.c", Options{}, "/src", "/home", []string{"/src2/a.c"}},
		{"relative", "nptl/a.c", Options{}, "nptl", "/glibc/nptl", []string{"/glibc/nptl/a.c", cwd + "/nptl/a.c"}},
		{"all that are relative", "nptl/a.c", Options{}, "", "/glibc", []string{"/glibc/nptl/a.c", cwd + "/nptl/a.c"}},
		{"below the working directory", "./nptl/../a.c", Options{}, "/x", "/y", []string{cwd + "/a.c"}},
		{"out of the working directory", "../../etc/passwd", Options{}, "", "", []string{cwd + "/etc/passwd"}},
		{"out of the working directory by a link", "link/passwd", Options{}, "", "", []string{cwd + "/etc/passwd"}},
		{"relative, with a sysroot", "nptl/a.c", Options{Sysroot: root}, "", "", nil},
		{"below the sysroot only", "/src/../../a.c", Options{Sysroot: root}, "/x", "/y", []string{root + "/a.c"}},
		{"out of what it is replaced by", "/src/../../etc/passwd", Options{}, "/src", "/home/me", []string{"/home/me/etc/passwd", "/etc/passwd"}},
		{"relative, out of what it is replaced by", "../../etc/passwd", Options{}, "", "/home/me", []string{"/home/me/etc/passwd", cwd + "/etc/passwd"}},
		{"live", "/src/a.c", Options{ProcessRoot: root}, "/x", "/y", []string{root + "/src/a.c"}},
		{"live, out of its root", "/../../etc/passwd", Options{ProcessRoot: root}, "/x", "/y", []string{root + "/etc/passwd"}},
		{"live, replaced", "/src/a.c", Options{ProcessRoot: root}, "/src", "/home/me", []string{"/home/me/a.c", root + "/src/a.c"}},
		{"live, relative", "nptl/a.c", Options{ProcessRoot: root}, "", "", nil},
		{"live, relative, whose root may not answer", "nptl/a.c", Options{NoRoot: true}, "", "", nil},
		{"live, with a sysroot", "/src/a.c", Options{ProcessRoot: cwd, Sysroot: root}, "", "", []string{root + "/src/a.c"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := New(tt.options)
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
