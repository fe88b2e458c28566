package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// system is what programs are built for.
type system struct{ os, arch string }

func (s system) String() string { return s.os + "/" + s.arch }

// systems are those of the Makefile. Cores are read on all; those of Linux have packages.
var systems = []system{{"linux", "amd64"}, {"linux", "arm64"}, {"linux", "s390x"}, {"darwin", "arm64"}, {"windows", "amd64"}}

// anywhere are the programs that are built for systems that do not dump cores of their own.
var anywhere = []string{"sfcore", "sfcore-delve", "sfcore-plugin"}

// has tells whether a program is built for a system.
func (s system) has(program string) bool {
	return s.os == "linux" || slices.Contains(anywhere, program)
}

// bin is where the programs of a system are.
func (r *release) bin(s system) string { return filepath.Join(r.work, s.os+"-"+s.arch) }

// goCommand runs the go command. What it builds depends on the commit and on Go alone.
func (r *release) goCommand(ctx context.Context, folder string, s system, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(r.source, folder)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=",
		"SOURCE_DATE_EPOCH="+strconv.FormatInt(r.time.Unix(), 10))
	if s.os != "" {
		cmd.Env = append(cmd.Env, "GOOS="+s.os, "GOARCH="+s.arch)
	}
	return cmd.Run()
}

// flags are those of every build: no path of this machine, no state of the checkout.
func (r *release) flags() []string {
	return []string{"-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid= -X github.com/sfcore/sfcore/internal/version.released=" + r.version}
}

func (r *release) programs(ctx context.Context) error {
	programs, err := filepath.Glob(filepath.Join(r.source, "cmd", "*"))
	if err != nil {
		return err
	}
	for _, s := range r.systems {
		for _, program := range programs {
			name := filepath.Base(program)
			if !s.has(name) {
				continue
			}
			folder, pkg := ".", "./cmd/"+name
			if _, err := os.Stat(filepath.Join(program, "go.mod")); err == nil { // a module of its own
				folder, pkg = filepath.Join("cmd", name), "."
			}
			if err := r.goCommand(ctx, folder, s, append(append([]string{"build", "-o", r.bin(s) + "/"}, r.flags()...), pkg)...); err != nil {
				return fmt.Errorf("%s for %v: %w", name, s, err)
			}
		}
	}
	return nil
}

// documented are the programs with commands for people, and what writes their pages.
var documented = []struct {
	name, folder, pkg string
	units             bool // it writes units too
}{
	{"sfcore", ".", "./cmd/sfcore", false},
	{"sfcore-crash", ".", "./cmd/sfcore-crash", true}, // its commands are completed by sfcore
	{"sfcore-fleet", "cmd/sfcore-fleet", ".", false},
}

// subject returns the program that a manual page or a completion is about.
func subject(name string) string {
	is := ""
	for _, program := range documented {
		if strings.HasPrefix(name, program.name) && len(program.name) > len(is) {
			is = program.name
		}
	}
	return is
}

// completed are the programs that have completions.
var completed = []string{"sfcore", "sfcore-fleet"}

// shells are those that completions are for, with what their files are called.
var shells = []struct{ name, before, after string }{{"bash", "", ""}, {"fish", "", ".fish"}, {"zsh", "_", ""}}

// pages has the programs write their manual pages, completions and units.
func (r *release) pages(ctx context.Context) error {
	man, units, host := r.dir("man"), r.dir("units"), r.dir("host")
	for _, program := range documented {
		args := append(append([]string{"run", "-tags=docs"}, r.flags()...), program.pkg, man)
		if program.units {
			args = append(args, units)
		}
		if err := r.goCommand(ctx, program.folder, system{}, args...); err != nil {
			return fmt.Errorf("pages of %s: %w", program.name, err)
		}
		if !slices.Contains(completed, program.name) {
			continue
		}
		if err := r.goCommand(ctx, program.folder, system{}, append(append([]string{"build", "-o", host + "/"}, r.flags()...), program.pkg)...); err != nil {
			return err
		}
		for _, shell := range shells {
			text, err := exec.CommandContext(ctx, filepath.Join(host, program.name), "completion", shell.name).Output()
			if err != nil {
				return fmt.Errorf("completion of %s for %s: %w", program.name, shell.name, err)
			}
			file := filepath.Join(r.dir("completions-"+shell.name), shell.before+program.name+shell.after)
			if err := os.WriteFile(file, text, 0o644); err != nil {
				return err
			}
		}
	}
	written, err := filepath.Glob(filepath.Join(r.source, "cmd/sfcore-fleet/systemd/*.service"))
	if err != nil || len(written) == 0 {
		return fmt.Errorf("no unit of sfcore-fleet was found: %w", err)
	}
	for _, unit := range written {
		if err := copyFile(filepath.Join(units, filepath.Base(unit)), unit, 0o644); err != nil {
			return err
		}
	}
	// Pages are compressed in packages only if somebody does: man reads both.
	entries, err := os.ReadDir(man)
	if err != nil || len(entries) == 0 {
		return fmt.Errorf("no manual page was written: %w", err)
	}
	return nil
}

// dir returns a folder of the work, and makes it.
func (r *release) dir(name string) string {
	dir := filepath.Join(r.work, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		panic(err) // the folder above was just made
	}
	return dir
}
