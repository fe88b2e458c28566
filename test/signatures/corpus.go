package main

import (
	"context"
	"path/filepath"
	"regexp"

	"github.com/sfcore/sfcore/process"
)

// corpusBugs tells which cores of testdata are of one program and fault, by the ends of
// their names, which go on with the case. They are built for several architectures, and
// with several versions of .sframe.
var corpusBugs = []struct {
	bug   string
	cases *regexp.Regexp
}{
	{"a call of what is no code", regexp.MustCompile(`-null-[123]$`)},
	{"r1 to r4", regexp.MustCompile(`-(deep|lld-concat)$`)},
	{"frames with and without frame pointer", regexp.MustCompile(`-(allfp|mixedfp|mixednofp|fpflag|mixedver)$`)},
	{"alloca", regexp.MustCompile(`-fpframe$`)},
	{"a cold part, called", regexp.MustCompile(`-cold-1$`)},
	{"a cold part, at the end", regexp.MustCompile(`-cold-2$`)},
	{"a damaged stack", regexp.MustCompile(`-corrupt-[12]$`)},
	{"prologues and epilogues", regexp.MustCompile(`-proepi-[1-4]$`)},
	{"a library's function", regexp.MustCompile(`-plt-1$`)},
	// One handler of one program; what it interrupted, and on which stack, differs.
	{"a handler", regexp.MustCompile(`-sig-(alt|leaf)$`)},
	{"threads", regexp.MustCompile(`-v[123]-threads$`)},
	{"generated code", regexp.MustCompile(`-none-jit$`)},
	{"a C library's callback", regexp.MustCompile(`-libcdyn-1$`)},
	{"C++", regexp.MustCompile(`-cxx$`)},
	{"a realigned stack", regexp.MustCompile(`-realign$`)},
	{"a big function", regexp.MustCompile(`-bigfn$`)},
	{"restored registers", regexp.MustCompile(`-gasrestore(-garbage)?$`)},
}

// fromTestdata reads the cores of testdata that are of such a bug.
func fromTestdata(ctx context.Context, dir string) (all []crash, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "core.zst"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		of := filepath.Dir(file)
		for _, b := range corpusBugs {
			if !b.cases.MatchString(filepath.Base(of)) {
				continue
			}
			c := crash{bug: b.bug, run: filepath.Base(of), program: filepath.Join(of, "exe")}
			if err := c.read(ctx, file, process.Options{Sysroot: filepath.Join(of, "sysroot"), Paths: []string{of}}); err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	return all, nil
}
