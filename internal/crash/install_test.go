package crash

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestInstallPattern(t *testing.T) {
	for _, tt := range []struct {
		install   Install
		want, err string
	}{
		{Install{Program: "/usr/bin/sfcore-crash"}, "|/usr/bin/sfcore-crash pipe %P %u %g %s %d %F", ""},
		{Install{Program: "/usr/bin/sfcore-crash", Config: "/c.toml"}, "|/usr/bin/sfcore-crash --config /c.toml pipe %P %u %g %s %d %F", ""},
		{Install{Program: "/usr/bin/sfcore-crash", Socket: true}, "|/usr/bin/sfcore-crash pipe %P %u %g %s %d %F", ""}, // the unit sets the other
		{Install{Program: "/usr/local bin/sfcore-crash"}, "", "without spaces"},
		{Install{Program: "/100%/sfcore-crash"}, "", "without spaces and %"},
		{Install{Program: "sfcore-crash"}, "", "an absolute path"},
		{Install{Program: "/usr/bin/sfcore-crash", Config: "/a b"}, "", "without spaces"},
		{Install{Program: "/" + strings.Repeat("x", 127-25)}, "|/" + strings.Repeat("x", 127-25) + " pipe %P %u %g %s %d %F", ""},
		{Install{Program: "/" + strings.Repeat("x", 128-25)}, "", "has 128 bytes, and core_pattern takes 127"},
	} {
		got, err := tt.install.Pattern()
		if got != tt.want || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%+v: got %q, %v, want %q, %q", tt.install, got, err, tt.want, tt.err)
		}
		if files, failed := tt.install.Files(); (failed != nil) != (err != nil) || err == nil && !strings.Contains(files[SysctlFile], "\nkernel.core_pattern="+tt.want+"\n") {
			t.Errorf("%+v: got %q, %v", tt.install, files, failed)
		}
	}
}

// What is installed is what is removed, and what was before can be read from it.
func TestInstallFiles(t *testing.T) {
	all := map[string]bool{}
	for _, socket := range []bool{false, true} {
		i := &Install{Program: "/usr/bin/sfcore-crash", Config: "/c.toml", Socket: socket, Before: "|/usr/share/apport/apport -p%p -s%s", BeforeLimit: "10"}
		files, err := i.Files()
		if err != nil {
			t.Fatal(err)
		}
		for name := range files {
			all[name] = true
		}
		pattern, limit, found := Noted(files[SysctlFile])
		if pattern != i.Before || limit != i.BeforeLimit || !found {
			t.Errorf("got %q, %q, %v", pattern, limit, found)
		}
		if service := files[serviceUnit]; socket != strings.Contains(service, "\nExecStart=/usr/bin/sfcore-crash --config /c.toml daemon\n") {
			t.Errorf("got the service %q", service)
		}
		for _, line := range []string{
			"ListenStream=" + SocketFile,
			`ExecStartPost=/bin/sh -c "echo '@@` + SocketFile + `' >/proc/sys/kernel/core_pattern"`,
			`ExecStopPre=/bin/sh -c "echo '|/usr/bin/sfcore-crash --config /c.toml pipe %%P %%u %%g %%s %%d %%F' >/proc/sys/kernel/core_pattern"`,
		} {
			if unit := files[socketUnit]; socket != strings.Contains(unit, "\n"+line+"\n") {
				t.Errorf("got the socket %q, want %q", unit, line)
			}
		}
	}
	if got, want := slices.Sorted(maps.Keys(all)), slices.Sorted(slices.Values(InstalledFiles)); !slices.Equal(got, want) {
		t.Errorf("got the files %q, and removed are %q", got, want)
	}
	if _, _, found := Noted("kernel.core_pattern=core\n"); found {
		t.Error("a file of somebody else is taken for ours")
	}
	if pattern, _, found := Noted(notedPattern + "\n"); pattern != "" || !found {
		t.Errorf("an empty pattern: got %q, %v", pattern, found)
	}
}

func TestOthers(t *testing.T) {
	for pattern, want := range map[string]string{
		"core": "", "": "", "/var/cores/%p": "", "|": "",
		"|/usr/lib/systemd/systemd-coredump %P": "/usr/lib/systemd/systemd-coredump",
		"|/usr/bin/sfcore-crash pipe %P":        "",
		"@@/run/systemd/coredumpd/kernel":       "who listens at /run/systemd/coredumpd/kernel",
		"@/run/other":                           "who listens at /run/other",
		"@@" + SocketFile:                       "",
	} {
		if got := Others(pattern); got != want {
			t.Errorf("%q: got %q, want %q", pattern, got, want)
		}
	}
}
