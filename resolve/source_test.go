package resolve

import (
	"slices"
	"testing"
)

func TestSources(t *testing.T) {
	root := t.TempDir()
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
		{"relative", "nptl/a.c", "", "nptl", "/glibc/nptl", []string{"/glibc/nptl/a.c"}},
		{"all that are relative", "nptl/a.c", "", "", "/glibc", []string{"/glibc/nptl/a.c"}},
		{"relative, none", "nptl/a.c", "", "/x", "/y", nil},
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
