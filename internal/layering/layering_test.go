// Package layering checks the shape of the repository: who imports whom, that
// files and packages can be found by their names, and that figures which say
// how simple the parts are stay within their limits.
package layering

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	module = "github.com/sfcore/sfcore"

	// maxLines is where a file no longer holds one idea.
	maxLines = 500
)

// imports lists, for every package, the packages of this module that its files
// other than tests may import, from the bottom up. internal/testkit is only
// in the list of test/hostile, which makes inputs.
var imports = map[string]string{
	"memreader":        "",
	"arch":             "",
	"internal/inflate": "",
	"internal/elfx":    "arch internal/inflate memreader",

	"internal/version":    "",
	"internal/manual":     "",
	"internal/companion":  "internal/version",
	"internal/limit":      "",
	"internal/compressed": "",
	"internal/disasm":     "arch memreader",
	"internal/linkmap":    "memreader internal/elfx",
	"internal/jit":        "memreader",

	"core":           "arch memreader internal/compressed internal/elfx internal/linkmap",
	"unwind/pclntab": "internal/elfx",

	"sframe":              "arch",
	"internal/dwarf/expr": "arch memreader",
	"cfi":                 "arch memreader internal/dwarf/expr",

	"sframe/compare":      "arch sframe cfi",
	"unwind":              "arch memreader internal/disasm unwind/pclntab sframe cfi sframe/compare",
	"report":              "unwind",
	"unwind/codewalk":     "arch internal/disasm unwind",
	"unwind/gostack":      "arch memreader unwind/pclntab unwind",
	"internal/symbol":     "arch internal/elfx unwind/pclntab",
	"internal/delve/rpc":  "arch memreader core",
	"internal/delve/wire": "internal/companion internal/limit memreader",

	"internal/dwarf/info":      "internal/elfx",
	"internal/places":          "internal/dwarf/info internal/elfx",
	"internal/dwarf/value":     "arch memreader internal/dwarf/expr internal/dwarf/info",
	"internal/dwarf/container": "internal/dwarf/info internal/dwarf/value",
	"internal/expression":      "internal/dwarf/info internal/dwarf/value internal/dwarf/container",
	"internal/resolve":         "memreader internal/elfx",

	"internal/debuginfod": "memreader internal/elfx",
	"sframe/synth":        "arch sframe cfi internal/elfx",

	"internal/module":   "report arch memreader internal/elfx internal/linkmap internal/jit sframe cfi unwind core internal/symbol internal/dwarf/info internal/resolve internal/debuginfod internal/places",
	"internal/perfdata": "arch internal/compressed internal/elfx memreader",
	"internal/artifact": "internal/compressed internal/elfx",
	"internal/cause":    "arch core internal/disasm",
	"internal/heap":     "memreader",
	"internal/waits":    "memreader report unwind",
	"internal/funcname": "",
	"process":           "internal/cause internal/funcname internal/heap internal/waits report arch memreader internal/disasm internal/elfx core unwind unwind/codewalk unwind/gostack unwind/pclntab internal/module internal/symbol internal/dwarf/info internal/dwarf/value internal/dwarf/container internal/expression internal/resolve internal/debuginfod",

	"report/signature":          "internal/funcname report unwind",
	"internal/command":          "",
	"internal/listen":           "",
	"internal/sandbox":          "internal/limit",
	"internal/display":          "",
	"internal/document":         "internal/display internal/elfx internal/limit report",
	"internal/gate":             "arch cfi internal/display internal/document internal/elfx internal/module sframe sframe/compare",
	"internal/survey":           "internal/artifact internal/display internal/document internal/elfx internal/gate sframe",
	"internal/gate/defect":      "arch internal/elfx sframe",
	"internal/diff":             "report unwind",
	"internal/picture":          "internal/diff internal/display report unwind",
	"internal/picture/crowd":    "internal/picture report unwind",
	"internal/shrink":           "report memreader internal/elfx internal/linkmap core process",
	"internal/delve/goroutines": "internal/companion report arch core unwind unwind/gostack process internal/delve/wire",

	"dap":         "internal/display internal/funcname internal/delve/goroutines report process arch memreader internal/disasm core unwind",
	"dap/daptest": "",

	"plugin/proto":    "",
	"plugin/proto/v2": "",
	"plugin":          "internal/companion internal/version internal/delve/goroutines unwind report process arch memreader sframe core plugin/proto plugin/proto/v2",

	"plugin/delvehost": "arch memreader core plugin",

	"internal/delve/backend":   "internal/delve/wire",
	"internal/delve/delvetest": "internal/delve/backend internal/delve/wire memreader",

	"internal/crash/foreign":  "core internal/compressed",
	"internal/crash/store":    "internal/limit report/signature",
	"internal/crash/index":    "internal/crash/store internal/elfx report/signature",
	"internal/crash/page":     "internal/crash/index internal/crash/store internal/display internal/document internal/limit internal/picture report unwind",
	"internal/crash":          "core internal/crash/store internal/display internal/document internal/elfx internal/limit internal/sandbox internal/shrink process report report/signature",
	"internal/crash/importer": "internal/crash internal/crash/foreign internal/crash/store",
	"internal/crash/watch":    "internal/crash internal/crash/store",

	"cmd/sfcore": "internal/perfdata internal/manual internal/survey internal/gate internal/artifact internal/version internal/command internal/crash/foreign internal/crash/store internal/funcname internal/listen internal/shrink report/signature internal/limit internal/sandbox internal/document internal/picture internal/diff internal/display internal/companion internal/delve/goroutines report arch memreader internal/elfx sframe cfi unwind unwind/gostack core internal/module process internal/debuginfod internal/delve/rpc internal/symbol dap plugin sframe/compare sframe/synth",

	"cmd/sfcore-plugin": "internal/companion internal/version internal/limit unwind/gostack core process plugin",
	"cmd/sfcore-delve":  "internal/companion internal/version internal/delve/backend",
	"cmd/sfcore-crash":  "core internal/manual internal/command internal/companion internal/version internal/debuginfod internal/crash internal/crash/foreign internal/crash/importer internal/crash/index internal/crash/page internal/crash/store internal/crash/watch internal/display internal/limit internal/listen internal/sandbox",

	"bench":                  "",
	"test/asv2":              "internal/elfx sframe",
	"test/torture":           "report memreader internal/elfx internal/module unwind core process",
	"internal/testkit":       "arch memreader internal/elfx",
	"examples/sampler":       "core process",
	"examples/crash-handler": "core process",
	"examples/host-go":       "plugin process",

	"test/hostile":           "arch report/signature sframe internal/testkit",
	"test/mutants":           "",
	"test/field":             "report unwind",
	"test/expressions":       "",
	"test/toolchains/seeded": "arch internal/elfx internal/gate internal/gate/defect internal/module sframe sframe/synth",
	"test/crash":             "report core",
	"test/signatures":        "report report/signature core process",

	"test/crash/programs": "",

	"test/signatures/programs/first":  "",
	"test/signatures/programs/second": "",
	"test/signatures/programs/third":  "",
	"test/signatures/programs/fourth": "",
	"test/signatures/programs/fifth":  "",
	"test/signatures/programs/sixth":  "",
}

// unfindable are package names under which anything could be.
var unfindable = []string{"common", "helper", "helpers", "misc", "shared", "types", "util", "utils"}

// goarchs are the values of GOARCH that a file's name can end in, which hides
// the file from every other architecture [go help buildconstraint].
var goarchs = []string{
	"386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "mips64le",
	"mipsle", "ppc64", "ppc64le", "riscv64", "s390x", "wasm",
}

func TestTree(t *testing.T) {
	tree := os.DirFS("../..")
	for _, finding := range check(tree) {
		t.Error(finding)
	}
	guide, err := fs.ReadFile(tree, "docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range imports {
		if _, err := fs.Stat(tree, pkg); err == nil && !bytes.Contains(guide, []byte("`"+pkg+"`")) {
			t.Errorf("docs/ARCHITECTURE.md does not say what `%s` is for", pkg)
		}
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name, file, text, want string
	}{
		{"allowed", "sframe/a.go", "package sframe\nimport _ \"github.com/sfcore/sfcore/arch\"", ""},
		{"upwards", "core/a.go", "package core\nimport _ \"github.com/sfcore/sfcore/unwind\"", "core/a.go: core must not import unwind"},
		{"any import in a test", "core/a_test.go", "package core\nimport _ \"github.com/sfcore/sfcore/unwind\"", ""},
		{"testkit outside a test", "cmd/sfcore/a.go", "package main\nimport _ \"github.com/sfcore/sfcore/internal/testkit\"", "cmd/sfcore/a.go: cmd/sfcore must not import internal/testkit"},
		{"prefix of the module", "arch/a.go", "package arch\nimport _ \"github.com/sfcore/sfcore2/x\"", ""},
		{"unlisted package", "extra/a.go", "package extra", "extra/a.go: package extra is not in the import table"},
		{"unfindable package", "arch/util_test.go", "package util", "arch/util_test.go: package util: nobody can tell what is in it"},
		{"GOARCH by accident", "arch/regs_amd64.go", "package arch", "arch/regs_amd64.go: only built for amd64, without a //go:build line that says so"},
		{"GOARCH in a test", "arch/regs_s390x_test.go", "package arch", "arch/regs_s390x_test.go: only built for s390x, without a //go:build line that says so"},
		{"GOARCH on purpose", "arch/regs_amd64.go", "//go:build linux && amd64\n\npackage arch", ""},
		{"GOARCH is the name", "arch/amd64.go", "package arch", ""},
		{"at the limit", "arch/a.go", "package arch" + strings.Repeat("\n", maxLines), ""},
		{"too long", "arch/a.go", "package arch" + strings.Repeat("\n", maxLines+1), "arch/a.go: 501 lines, more than 500"},
		{"too long but generated", "arch/a.go", "// Code generated by protoc. DO NOT EDIT.\npackage arch" + strings.Repeat("\n", maxLines), ""},
		{"not Go", "arch/a.go", "pack", "arch/a.go:1:1: expected 'package', found pack"},
		{"test data", "arch/testdata/a.go", "pack", ""},
		{"another module", "extra/go.mod", "module extra", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := fstest.MapFS{tt.file: {Data: []byte(tt.text)}}
			got := strings.Join(check(tree), "\n")
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// check returns what is wrong with the Go files of a tree.
func check(tree fs.FS) []string {
	var findings []string
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && skip(tree, name) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) == ".go" {
			findings = append(findings, checkFile(tree, name)...)
		}
		return nil
	})
	if err != nil {
		findings = append(findings, err.Error())
	}
	return findings
}

// skip reports whether the go command ignores the directory too.
func skip(tree fs.FS, dir string) bool {
	base := path.Base(dir)
	_, err := fs.Stat(tree, dir+"/go.mod")
	return err == nil || base == "testdata" || base == "node_modules" || base[0] == '.' || base[0] == '_'
}

func checkFile(tree fs.FS, name string) []string {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return []string{err.Error()}
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return []string{err.Error()}
	}
	var findings []string
	report := func(format string, args ...any) {
		findings = append(findings, name+": "+fmt.Sprintf(format, args...))
	}
	if n := bytes.Count(text, []byte("\n")); n > maxLines && !ast.IsGenerated(file) {
		report("%d lines, more than %d", n, maxLines)
	}
	if slices.Contains(unfindable, strings.TrimSuffix(file.Name.Name, "_test")) {
		report("package %s: nobody can tell what is in it", file.Name.Name)
	}
	if goarch := suffix(name); slices.Contains(goarchs, goarch) && !constrains(file, goarch) {
		report("only built for %s, without a //go:build line that says so", goarch)
	}
	if strings.HasSuffix(name, "_test.go") {
		return findings
	}
	pkg := path.Dir(name)
	list, ok := imports[pkg]
	if !ok {
		report("package %s is not in the import table", pkg)
		return findings
	}
	allowed := strings.Fields(list)
	for _, spec := range file.Imports {
		full, _ := strconv.Unquote(spec.Path.Value)
		if imported, ours := strings.CutPrefix(full, module+"/"); ours && !slices.Contains(allowed, imported) {
			report("%s must not import %s", pkg, imported)
		}
	}
	return findings
}

// suffix returns what a file's name has after its last underscore, not
// counting _test; "" if there is none.
func suffix(name string) string {
	base := strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".go"), "_test")
	if i := strings.LastIndexByte(base, '_'); i >= 0 {
		return base[i+1:]
	}
	return ""
}

// constrains reports whether the file's //go:build line mentions a tag.
func constrains(file *ast.File, tag string) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if c.Pos() > file.Package || !constraint.IsGoBuild(c.Text) {
				continue
			}
			mentioned := false
			if expr, err := constraint.Parse(c.Text); err == nil {
				expr.Eval(func(t string) bool {
					mentioned = mentioned || t == tag
					return true
				})
			}
			return mentioned
		}
	}
	return false
}
