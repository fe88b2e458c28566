package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The units of systemd start commands that there are, with flags that there are; and systemd
// knows all their settings, where it is installed.
func TestUnits(t *testing.T) {
	units, err := filepath.Glob("systemd/*.service")
	if err != nil || len(units) != 3 {
		t.Fatalf("got %v, %v", units, err)
	}
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		_, line, ok := strings.Cut(string(text), "\nExecStart=/usr/bin/sfcore-fleet ")
		line, _, _ = strings.Cut(line, "\n")
		if !ok {
			t.Errorf("%s does not start sfcore-fleet", unit)
			continue
		}
		cmd, flags, err := newRootCommand().Find(strings.Fields(line))
		if err != nil || !cmd.Runnable() {
			t.Errorf("%s: %s: %v", unit, line, err)
			continue
		}
		if err := cmd.ParseFlags(flags); err != nil || len(cmd.Flags().Args()) > 0 {
			t.Errorf("%s: %s: %v, %v", unit, line, err, cmd.Flags().Args())
		}
		state := strings.TrimPrefix(cmd.Flag("dir").Value.String(), "/var/lib/")
		if !strings.Contains(string(text), "\nStateDirectory="+state+"\n") {
			t.Errorf("%s: systemd does not make %s", unit, cmd.Flag("dir").Value)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("the settings are not looked at: systemd-analyze is not installed")
	}
	dir := t.TempDir()
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		here := strings.ReplaceAll(string(text), "/usr/bin/sfcore-fleet", os.Args[0])
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(unit)), []byte(here), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(analyze, "verify", "--man=no", filepath.Join(dir, filepath.Base(unit))).CombinedOutput()
		if err != nil || strings.Contains(string(out), filepath.Base(unit)) {
			t.Errorf("%s: %v: %s", unit, err, out)
		}
	}
}
