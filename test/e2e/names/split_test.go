//go:build e2e

package names

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWhereDebugInformationIs has the same names and lines wherever they are.
func TestWhereDebugInformationIs(t *testing.T) {
	sh := func(lines ...string) []string { return lines }
	tests := []struct {
		name  string
		flags []string
		then  []string // commands
		args  []string
	}{
		{"dwo, DWARF 5", []string{"-gdwarf-5", "-gsplit-dwarf"}, nil, nil},
		{"dwo, DWARF 4", []string{"-gdwarf-4", "-gsplit-dwarf"}, nil, nil},
		{"dwp, DWARF 4", []string{"-gdwarf-4", "-gsplit-dwarf"}, sh("dwp -e prog", "rm *.dwo"), nil},
		{"dwo elsewhere", []string{"-gdwarf-5", "-gsplit-dwarf"}, sh("mkdir other", "mv *.dwo other"), []string{"--path", "other"}},
		{
			"debug link",
			[]string{"-g", "-Wl,--build-id=none"},
			sh("objcopy --only-keep-debug prog prog.debug", "objcopy -S --add-gnu-debuglink=prog.debug prog"), nil,
		},
		{
			"debug directory",
			[]string{"-g", "-Wl,--build-id=0x123456789a"},
			sh("mkdir -p d/.build-id/12", "objcopy --only-keep-debug prog d/.build-id/12/3456789a.debug", "objcopy -S prog"),
			[]string{"--debug-dir", "d"},
		},
		{"compressed by zstd or zlib", []string{"-g"}, sh("objcopy --compress-debug-sections=zstd prog || objcopy --compress-debug-sections=zlib prog"), nil},
		{"dwz", []string{"-g"}, sh("cp prog a", "cp prog b", "dwz -m common a b", "cp a prog"), nil},
		{
			"dwz by build-id",
			[]string{"-g"},
			sh("cp prog a", "cp prog b", "dwz -m common -M /nowhere/common a b", "cp a prog",
				"id=$(readelf -n common | sed -n 's/.*Build ID: //p')",
				"id=$(readelf -n common | sed -n 's/.*Build ID: //p'); mkdir -p d/.build-id/${id%${id#??}}; mv common d/.build-id/${id%${id#??}}/${id#??}.debug"),
			[]string{"--debug-dir", "d"},
		},
	}
	for _, tt := range tests {
		for _, source := range []string{"testdata/prog.c", "testdata/prog.cc"} {
			t.Run(tt.name+" "+filepath.Base(source), func(t *testing.T) {
				want := ours(t, crash(t, source, "-g", "-O2"))
				dir := crash(t, source, append(tt.flags, "-O2")...)
				for _, command := range tt.then {
					run(t, dir, "sh", "-c", command)
				}
				if err := os.Remove(filepath.Join(dir, "core")); err != nil {
					t.Fatal(err)
				}
				dump(t, dir)
				if got := ours(t, dir, tt.args...); !slices.Equal(got, want) {
					left, _ := os.ReadDir(dir)
					t.Errorf("got\n%s\nwant\n%s\nfiles: %v", strings.Join(got, "\n"), strings.Join(want, "\n"), left)
				}
			})
		}
	}
}
