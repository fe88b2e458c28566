package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// programs are the programs with bugs: the first argument is the number of the bug, the
// second is a seed for what leads to it.
//
//go:embed programs
var programs embed.FS

// build is a program, built in one way.
type build struct {
	name     string // "copy/gcc-O2"
	exe      string
	stripped string // the same, without symbols
}

// compiler is a way of building programs.
type compiler struct {
	name    string
	command []string
}

// compilers are those of a language, by the ending of its sources.
var compilers = map[string][]compiler{
	".c": {
		{"gcc-O0", []string{"gcc", "-g", "-O0", "-w", "-pthread", "-Wl,--build-id"}},
		{"gcc-O2", []string{"gcc", "-g", "-O2", "-w", "-pthread", "-Wl,--build-id"}},
		{"clang-O0", []string{"clang", "-g", "-O0", "-w", "-pthread", "-Wl,--build-id"}},
		{"clang-O2", []string{"clang", "-g", "-O2", "-w", "-pthread", "-Wl,--build-id"}},
	},
	".cc": {
		{"g++-O0", []string{"g++", "-std=c++17", "-g", "-O0", "-w", "-pthread", "-Wl,--build-id"}},
		{"g++-O2", []string{"g++", "-std=c++17", "-g", "-O2", "-w", "-pthread", "-Wl,--build-id"}},
		{"clang++-O0", []string{"clang++", "-std=c++17", "-g", "-O0", "-w", "-pthread", "-Wl,--build-id"}},
		{"clang++-O2", []string{"clang++", "-std=c++17", "-g", "-O2", "-w", "-pthread", "-Wl,--build-id"}},
	},
	".rs": {
		{"rustc-O0", []string{"rustc", "--edition", "2021", "-g", "-C", "panic=abort", "-C", "link-arg=-Wl,--build-id"}},
		{"rustc-O2", []string{"rustc", "--edition", "2021", "-g", "-C", "opt-level=2", "-C", "panic=abort", "-C", "link-arg=-Wl,--build-id"}},
	},
	".go": {
		{"go-N", []string{"go", "build", "-gcflags=all=-N -l", "-ldflags=-B gobuildid"}},
		{"go", []string{"go", "build", "-ldflags=-B gobuildid"}},
	},
}

// buildAll builds the programs of a part in dir.
func buildAll(ctx context.Context, dir, part string) (all []build, err error) {
	sources := filepath.Join(dir, "programs")
	if err := copyPrograms(sources); err != nil {
		return nil, err
	}
	files, err := fs.Glob(programs, path.Join("programs", part, "*.*"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		ending := path.Ext(file)
		name := strings.TrimSuffix(path.Base(file), ending)
		for _, c := range compilers[ending] {
			b := build{name: name + "/" + c.name}
			b.exe = filepath.Join(dir, c.name, name)
			b.stripped = filepath.Join(dir, c.name, "stripped", name)
			if err := os.MkdirAll(filepath.Dir(b.stripped), 0o755); err != nil {
				return nil, err
			}
			args := append(append([]string{}, c.command[1:]...), "-o", b.exe, filepath.Join(sources, part, path.Base(file)))
			if err := command(ctx, c.command[0], args...); err != nil {
				return nil, err
			}
			if err := command(ctx, "strip", "-o", b.stripped, b.exe); err != nil {
				return nil, err
			}
			all = append(all, b)
		}
	}
	return all, nil
}

func copyPrograms(to string) error {
	return fs.WalkDir(programs, "programs", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := programs.ReadFile(name)
		if err != nil {
			return err
		}
		file := filepath.Join(to, strings.TrimPrefix(name, "programs/"))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, text, 0o644)
	})
}

func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
