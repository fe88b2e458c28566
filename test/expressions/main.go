// Command expressions asks sfcore, gdb and lldb the same expressions and containers, of
// programs in C, C++ and Rust without and with optimisation, and compares what they say
// with the values that the sources give: see testdata. It prints the table of
// docs/editors.md.
//
//	go run ./test/expressions -sfcore bin/sfcore
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// program is a program of testdata, as it is compiled.
type program struct {
	name, source string
	table        string   // of expressions
	section      string   // of the table
	compile      []string // a command; -o and the source follow
	level        string   // what says how much is optimised
}

var programs = []program{
	{"C", "c.c", "expressions.txt", "c", []string{"gcc", "-g"}, "-O"},
	{"C++", "cpp.cpp", "expressions.txt", "cpp", []string{"g++", "-g", "-std=c++17"}, "-O"},
	{"Rust", "rust.rs", "expressions.txt", "rust", []string{"rustc", "-g"}, "-Copt-level="},
	{"libstdc++", "containers.cpp", "containers.txt", "containers", []string{"g++", "-g", "-std=c++17"}, "-O"},
	{"libc++", "containers.cpp", "containers.txt", "containers", []string{"clang++", "-g", "-std=c++17", "-stdlib=libc++", "-fstandalone-debug"}, "-O"},
	{"Rust's std", "containers.rs", "containers.txt", "rust", []string{"rustc", "-g"}, "-Copt-level="},
}

func main() {
	sfcore := flag.String("sfcore", "bin/sfcore", "the sfcore `PROGRAM`")
	verbose := flag.Bool("v", false, "print every answer that is not right")
	only := flag.Bool("only", false, "ask sfcore only, and leave out programs whose compiler is not there")
	flag.Parse()
	dir, err := os.MkdirTemp("", "expressions")
	if err == nil {
		err = run("test/expressions/testdata", dir, *sfcore, *only, *verbose)
		_ = os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(data, dir, sfcore string, only, verbose bool) error {
	asked := []debugger{{"sfcore", func(c *crash, q []question) []string { return askSfcore(sfcore, c, q) }}}
	if !only {
		asked = append(asked, debugger{"gdb", askGDB}, debugger{"lldb", askLLDB})
	}
	totals := make([]tally, len(asked))
	missing := 0 // where nothing is optimised
	printHead(asked)
	for i := range programs {
		if err := programs[i].missing(); err != nil && only {
			fmt.Printf("| %s | not asked: %v |\n", programs[i].name, err)
			continue
		}
		for _, level := range []string{"0", "2"} {
			p := &programs[i]
			questions, function, err := readTable(filepath.Join(data, p.table), p.section)
			if err != nil {
				return err
			}
			c, err := p.crash(data, dir, level)
			if err != nil {
				return err
			}
			c.function = function
			fmt.Printf("| %s, %s | %d |", p.name, level, len(questions))
			for j, d := range asked {
				t := judge(d.name, p.name+" "+level, questions, d.ask(c, questions), verbose)
				totals[j].add(t)
				if j == 0 && level == "0" {
					missing += t.none
				}
				fmt.Printf(" %s |", t)
			}
			fmt.Println()
		}
	}
	fmt.Printf("| all | %d |", totals[0].sum())
	for _, t := range totals {
		fmt.Printf(" %s |", t)
	}
	fmt.Println()
	if wrong := totals[0].wrong; wrong+missing > 0 {
		return fmt.Errorf("sfcore: %d answers are wrong, %d are missing at -O0", wrong, missing)
	}
	return nil
}

// missing says what is missing to compile a program: clang comes without libc++.
func (p *program) missing() error {
	if _, err := exec.LookPath(p.compile[0]); err != nil {
		return err
	}
	if p.name == "libc++" {
		if exec.Command(p.compile[0], "-stdlib=libc++", "-fsyntax-only", "-x", "c++", "-include", "array", os.DevNull).Run() != nil {
			return errors.New("clang++ finds no libc++")
		}
	}
	return nil
}

func printHead(asked []debugger) {
	fmt.Print("| program, -O | asked |")
	for _, d := range asked {
		fmt.Printf(" %s |", d.name)
	}
	fmt.Println("\n|---|---|" + strings.Repeat("---|", len(asked)))
}

// crash is a core of a program.
type crash struct{ exe, core, function string }

// crash compiles a program, and has gdb make a core of it where it aborts. It has no
// variables of the environment.
func (p *program) crash(data, dir, level string) (*crash, error) {
	c := &crash{exe: filepath.Join(dir, strings.Map(letters, p.name)+level)}
	c.core = c.exe + ".core"
	source, err := filepath.Abs(filepath.Join(data, p.source))
	if err != nil {
		return nil, err
	}
	args := append(p.compile[1:len(p.compile):len(p.compile)], p.level+level, "-o", c.exe, source)
	cmd := exec.Command(p.compile[0], args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	gdb := exec.Command("gdb", "-nx", "-batch", "-ex", "set confirm off", "-ex", "set debuginfod enabled off", "-ex", "run", "-ex", "generate-core-file "+c.core, c.exe)
	gdb.Env, gdb.Dir = []string{"PATH=/usr/bin:/bin"}, dir
	if out, err := gdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gdb: %w\n%s", err, out)
	}
	if _, err := os.Stat(c.core); err != nil {
		return nil, fmt.Errorf("gdb made no core of %s: %w", p.name, err)
	}
	return c, nil
}

func letters(r rune) rune {
	if r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '+' {
		return r
	}
	return -1
}
