//go:build e2e

package names

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLinkers has the same names and lines whoever links the program, and however.
func TestLinkers(t *testing.T) {
	want := ours(t, crash(t, "testdata/prog.c", "-g", "-O2"))
	if len(want) < 4 {
		t.Fatalf("got %q", want)
	}
	for _, tt := range []struct{ name, flags, needs string }{
		{"lld", "-fuse-ld=lld", "ld.lld"},
		{"build-id not on the first page", "-no-pie -Wl,--build-id -Wl,--section-start=.note.gnu.build-id=0x600000", ""},
		{"mold", "-fuse-ld=mold", "ld.mold"},
		{"gold", "-fuse-ld=gold", "ld.gold"},
		{"static", "-static", ""},
		{"static-pie", "-static-pie", ""},
		{"no-pie", "-no-pie", ""},
		{"no build-id", "-Wl,--build-id=none", ""},
		{"separate code", "-Wl,-z,separate-code", ""},
		{"no separate code", "-Wl,-z,noseparate-code", ""},
		{"large pages", "-Wl,-z,max-page-size=2097152", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := exec.LookPath(tt.needs); tt.needs != "" && err != nil {
				t.Skip(err)
			}
			dir := crash(t, "testdata/prog.c", append(strings.Fields(tt.flags), "-g", "-O2")...)
			if got := ours(t, dir); !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if got := gdb(t, dir); !slices.Equal(got, want) {
				t.Errorf("gdb has\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

// TestWhereTheProgramIs has the same names and lines wherever the program was
// moved to, and none of what took its place.
func TestWhereTheProgramIs(t *testing.T) {
	const libs = "mkdir root; cp --parents $(realpath $(ldd prog | grep -o '/[^ ]*')) root; "
	for _, tt := range []struct {
		name, then string
		args       []string
		none       bool
		says       string // in info
	}{
		{"replaced by another build", "gcc -O1 -g -o prog prog.c", nil, true, "mismatch"},
		{"replaced by a pipe", "rm prog; mkfifo prog", nil, true, "missing"},
		{"replaced by a device", "rm prog; ln -s /dev/zero prog", nil, true, "missing"},
		{"patched where it is", "printf x | dd of=prog bs=1 seek=$((0x300)) conv=notrunc status=none", nil, false, "build-id"},
		{"moved", "mkdir -p d/e; mv prog d/e/other", []string{"--path", "d"}, false, "build-id"},
		{"beside others of its name", "mkdir a b; mv prog b; cp /bin/true a/prog", []string{"--path", "a", "--path", "b"}, false, "build-id"},
		{"in a sysroot", libs + "mkdir -p root$PWD; mv prog root$PWD", []string{"--sysroot", "root"}, false, "build-id"},
		{
			"in a sysroot by a link with a root of its own", libs + "mkdir -p root/real root$(dirname $PWD); mv prog root/real; ln -s /real root$PWD",
			[]string{"--sysroot", "root"},
			false, "build-id",
		},
		{"out of the sysroot by a link", libs + "mkdir -p root$PWD; mv prog hidden; ln -s $PWD/hidden root$PWD/prog", []string{"--sysroot", "root"}, true, "missing"},
		{"in a directory by build-id", "id=$(readelf -n prog | sed -n 's/.*Build ID: //p'); mkdir -p d/.build-id/${id%${id#??}}; mv prog d/.build-id/${id%${id#??}}/${id#??}", []string{"--debug-dir", "d"}, false, "build-id"},
		{"stripped with its debug file below --path", "objcopy --only-keep-debug prog x; objcopy -S prog; mkdir d; mv x d/whatever", []string{"--path", "d"}, false, "build-id"},
		{"stripped with a debug link of the wrong CRC", "objcopy --only-keep-debug prog prog.debug; objcopy -S --add-gnu-debuglink=prog.debug --remove-section .note.gnu.build-id prog; printf x >>prog.debug", nil, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := crash(t, "testdata/prog.c", "-g", "-O2", "-Wl,--build-id")
			want := ours(t, dir)
			run(t, dir, "sh", "-c", tt.then)
			got := ours(t, dir, tt.args...)
			if tt.none {
				want = nil
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			out := run(t, dir, sfcore, append(append([]string{"info"}, tt.args...), "core")...)
			if i := strings.Index(out, filepath.Join(dir, "prog")); i < 0 || !strings.Contains(out[strings.LastIndex(out, "/prog ")+1:], tt.says) {
				t.Errorf("info does not say %q:\n%s", tt.says, out)
			}
		})
	}
}

// TestContainer shows a process that has another root directory, where its files
// are, and one whose program was deleted.
func TestContainer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("chroot needs root")
	}
	dir := t.TempDir()
	source, err := os.ReadFile("testdata/wait.c")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "wait.c"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "sh", "-ec", "mkdir -p root/opt; gcc -g -O0 -static -o root/opt/wait wait.c; cp root/opt/wait whole; objcopy --only-keep-debug whole root/opt/wait.debug; objcopy -S --add-gnu-debuglink=root/opt/wait.debug root/opt/wait")
	for _, deleted := range []bool{false, true} {
		cmd := exec.Command("/opt/wait")
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: filepath.Join(dir, "root"), Pdeathsig: syscall.SIGKILL}
		cmd.Dir, cmd.Env = "/", []string{}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if deleted {
			if err := os.Remove(filepath.Join(dir, "root/opt/wait")); err != nil {
				t.Fatal(err)
			}
		}
		var out string
		for range 100 { // until it waits
			if out = run(t, dir, sfcore, "bt", "-p", strconv.Itoa(cmd.Process.Pid)); strings.Contains(out, " inner+") {
				break
			}
			time.Sleep(time.Second / 10)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for _, name := range []string{"inner at wait.c:", "outer at wait.c:", "main at wait.c:"} {
			name, place, _ := strings.Cut(name, " at ")
			if !strings.Contains(out, name+"+") || !strings.Contains(out, place) {
				t.Errorf("deleted %v: no %q at %q in\n%s", deleted, name, place, out)
			}
		}
	}
}
