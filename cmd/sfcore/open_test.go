package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every option has a flag.
func TestFlagsReachOptions(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DEBUGINFOD_URLS", "http://localhost:1")
	t.Setenv("XDG_CACHE_HOME", dir)
	cmd, o := &cobra.Command{}, &openFlags{}
	o.register(cmd)
	if err := cmd.ParseFlags([]string{
		"--sysroot", dir, "--path", dir, "--debug-dir", dir, "--sframe-dir", dir, "--map", "/a=/b", "--debuginfod",
		"--unwind", "cfi,fp", "--max-frames", "3", "--max-time", "1s", "--max-total-time", "2s",
	}); err != nil {
		t.Fatal(err)
	}
	opts, err := o.options(t.Context(), coresDir+"/amd64-v3-deep/exe/deep")
	if err != nil {
		t.Fatal(err)
	}
	v := reflect.ValueOf(opts)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if ofEnvironment := name == "DebuginfodServers" || name == "DebuginfodTimeout"; v.Field(i).IsZero() != ofEnvironment {
			t.Errorf("%s is %v", name, v.Field(i))
		}
	}
}

// A flag that is wrong is named.
func TestWrongFlags(t *testing.T) {
	t.Setenv("DEBUGINFOD_URLS", "")
	for _, args := range [][]string{{"--unwind", "magic"}, {"--max-frames", "-1"}, {"--max-time", "-1s"}, {"--max-total-time", "-1s"}, {"--debuginfod"}} {
		cmd, o := &cobra.Command{}, &openFlags{}
		o.register(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		if _, err := o.options(t.Context()); err == nil || !strings.HasPrefix(err.Error(), args[0]) {
			t.Errorf("%v: got %v", args, err)
		}
	}
}
