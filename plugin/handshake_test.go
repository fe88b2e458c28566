package plugin

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A host that cannot be served is told why, in a sentence.
func TestCheckHost(t *testing.T) {
	for _, tt := range []struct{ versions, cert, want string }{
		{"", "", ""},
		{"1", "", ""},
		{"2", "", ""},
		{"3,2", "", ""},
		{"3", "", "the host speaks version 3 of the plugin protocol, and this plugin 1 and 2"},
		{"3,4", "", "the host speaks version 3, 4 of the plugin protocol"},
		{"x", "", "the host speaks version x of the plugin protocol"},
		{"2", "abc", envCert},
		{"2", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", envCert},
	} {
		t.Setenv(envVersions, tt.versions)
		t.Setenv(envCert, tt.cert)
		err := checkHost()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("versions %q, certificate %q: got %v, want %q", tt.versions, tt.cert, err, tt.want)
		}
	}
}

// What a program says that does not start as a plugin reaches the host.
func TestStartExplains(t *testing.T) {
	if !canStart() {
		t.Skip("this program cannot start programs")
	}
	dir := t.TempDir()
	for name, tt := range map[string]struct{ script, want string }{
		"sentence": {"echo 'sfcore: this is no plugin' >&2; exit 2", "it says: sfcore: this is no plugin"},
		"log":      {`echo '{"@message":"plugin init error","error":"no room"}' >&2; exit 1`, "it says: plugin init error: no room"},
		"panic":    {"echo 'panic: assignment to entry in nil map' >&2; echo >&2; echo 'goroutine 1 [running]:' >&2; exit 2", "it says: panic: assignment to entry in nil map"},
		"nothing":  {"exit 0", `is it sfcore, with the argument "plugin"?`},
		"much":     {"head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1", "it says: xxx"},
	} {
		t.Run(name, func(t *testing.T) {
			file := dir + "/" + name
			if err := os.WriteFile(file, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			_, err := Start(t.Context(), exec.Command(file), StartOptions{})
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 2*maxSentence {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
