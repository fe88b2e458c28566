//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// benchCase is a core file of a certain shape.
type benchCase struct {
	name string
	exe  string // the program's name in the working directory
	// make builds the program in dir, lets it crash and returns the core file.
	make func(dir string) (core string, err error)
}

// cases returns the cases to measure.
func cases(small bool) []benchCase {
	threads, depth, modules, mappings, mib, units, steps := 1000, 50, 500, 20000, 100<<10, 85, 100
	if small {
		threads, depth, modules, mappings, mib, units, steps = 20, 10, 20, 200, 100, 2, 5
	}
	return []benchCase{
		{fmt.Sprintf("%d threads x %d frames, .sframe", threads, depth), "threads", func(dir string) (string, error) {
			return threadsCore(dir, threads, depth, "-Wa,--gsframe")
		}},
		{fmt.Sprintf("%d threads x %d frames, .eh_frame", threads, depth), "threads", func(dir string) (string, error) {
			return threadsCore(dir, threads, depth)
		}},
		{fmt.Sprintf("1 thread x %d frames", 100*depth), "threads", func(dir string) (string, error) {
			return threadsCore(dir, 1, 100*depth, "-Wa,--gsframe")
		}},
		{fmt.Sprintf("%d modules", modules), "modules", func(dir string) (string, error) { return modulesCore(dir, modules) }},
		{fmt.Sprintf("%d mappings, %d MiB sparse", mappings, mib), "mappings", func(dir string) (string, error) {
			return mappingsCore(dir, mappings, mib)
		}},
		{"gdb itself, 1 thread", "gdb", gdbCore},
		{fmt.Sprintf("C++, %d units of %d templates", units, steps), "big", func(dir string) (string, error) { return bigCore(dir, units, steps, false) }},
		{"the same, stripped", "big", func(dir string) (string, error) { return bigCore(dir, units, steps, true) }},
	}
}

// cc compiles sources of bench/src into dir/output.
func cc(dir, output string, source string, flags ...string) error {
	src, err := filepath.Abs(filepath.Join("bench", "src", source))
	if err != nil {
		return err
	}
	args := append([]string{"-O2", "-g", "-fomit-frame-pointer", "-o", output, src}, flags...)
	return command(dir, "cc", args...)
}

func threadsCore(dir string, threads, depth int, flags ...string) (string, error) {
	// hop1 calls hop2, hop2 hop3, and hop3 hop0 in the program.
	for i := 3; i >= 1; i-- {
		lib := append([]string{"-fPIC", "-shared", "-Wl,--build-id", fmt.Sprintf("-DSELF=hop%d", i), fmt.Sprintf("-DNEXT=hop%d", (i+1)%4)}, flags...)
		if err := cc(dir, fmt.Sprintf("libhop%d.so", i), "hop.c", lib...); err != nil {
			return "", err
		}
	}
	exe := append([]string{"-rdynamic", "-Wl,--build-id", "-L.", "-lhop1", "-lhop2", "-lhop3", "-lpthread", "-Wl,-rpath," + dir}, flags...)
	if err := cc(dir, "threads", "threads.c", exe...); err != nil {
		return "", err
	}
	return crash(dir, filepath.Join(dir, "threads"), strconv.Itoa(threads), strconv.Itoa(depth))
}

func modulesCore(dir string, modules int) (string, error) {
	if err := cc(dir, "modules", "modules.c", "-rdynamic", "-Wl,--build-id", "-ldl"); err != nil {
		return "", err
	}
	if err := cc(dir, "hop.so", "hop.c", "-fPIC", "-shared", "-Wl,--build-id", "-DSELF=hop", "-DNEXT=hop0"); err != nil {
		return "", err
	}
	lib, err := os.ReadFile(filepath.Join(dir, "hop.so"))
	if err != nil {
		return "", err
	}
	// As many files as modules: the dynamic linker loads a file only once.
	var libs []string
	for i := range modules {
		name := filepath.Join(dir, fmt.Sprintf("lib%d.so", i))
		if err := os.WriteFile(name, lib, 0o755); err != nil {
			return "", err
		}
		libs = append(libs, name)
	}
	return crash(dir, filepath.Join(dir, "modules"), libs...)
}

func mappingsCore(dir string, mappings, mib int) (string, error) {
	if err := cc(dir, "mappings", "mappings.c", "-Wl,--build-id"); err != nil {
		return "", err
	}
	return crash(dir, filepath.Join(dir, "mappings"), strconv.Itoa(mappings), strconv.Itoa(mib))
}

// bigCore makes a core of a C++ program of many units: 85 of 100 templates have 500 MB of
// debug information. The units are copies of one, each of which calls the next.
func bigCore(dir string, units, steps int, strip bool) (string, error) {
	src, err := filepath.Abs(filepath.Join("bench", "src", "big.cc"))
	if err != nil {
		return "", err
	}
	if err := command(dir, "c++", "-g", "-O0", fmt.Sprintf("-DSTEPS=%d", steps), "-c", "-o", "unit.o", src); err != nil {
		return "", err
	}
	main := "int run0(int); int main() { return run0(300); }"
	if err := os.WriteFile(filepath.Join(dir, "main.c"), []byte(main), 0o600); err != nil {
		return "", err
	}
	link := []string{"-g", "-Wl,--build-id", "-o", "big", "main.o"}
	if err := command(dir, "cc", "-g", "-c", "main.c"); err != nil {
		return "", err
	}
	for i := range units {
		name := fmt.Sprintf("unit%d.o", i)
		next := fmt.Sprintf("_Z4nexti=run%d", (i+1)%units)
		if err := command(dir, "objcopy", "--redefine-sym", fmt.Sprintf("_Z3runi=run%d", i), "--redefine-sym", next, "unit.o", name); err != nil {
			return "", err
		}
		link = append(link, name)
	}
	if strip {
		link = append(link, "-s")
	}
	if err := command(dir, "c++", link...); err != nil {
		return "", err
	}
	objects, err := filepath.Glob(filepath.Join(dir, "*.o"))
	if err != nil {
		return "", err
	}
	for _, name := range objects { // which take gigabytes
		if err := os.Remove(name); err != nil {
			return "", err
		}
	}
	return crash(dir, filepath.Join(dir, "big"))
}

// gdbCore makes a core of a large program: gdb, waiting for a command.
func gdbCore(dir string) (string, error) {
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		return "", err
	}
	if err := os.Symlink(gdb, filepath.Join(dir, "gdb")); err != nil {
		return "", err
	}
	return crash(dir, gdb, "-nx", "-batch", "-ex", "python import os; os.kill(os.getpid(), 6)")
}

// crash runs a program that dumps core in dir, with an empty environment, and
// returns the core file.
func crash(dir, exe string, args ...string) (string, error) {
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -c unlimited; exec "$@"`, "sh", exe}, args...)...)
	cmd.Dir, cmd.Env = dir, []string{}
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).CoreDump() {
		return "", fmt.Errorf("%s did not dump core: %w\n%s", exe, err, text)
	}
	cores, err := filepath.Glob(filepath.Join(dir, "core*"))
	if err != nil || len(cores) != 1 {
		return "", fmt.Errorf("no core file in %s; kernel.core_pattern is %s", dir, corePattern())
	}
	return cores[0], nil
}

func corePattern() string {
	text, _ := os.ReadFile("/proc/sys/kernel/core_pattern")
	return strings.TrimSpace(string(text))
}
