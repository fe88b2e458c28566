package layering

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// consumers are what a program gets that imports one package of this module and
// nothing else: how many packages of the standard library that anybody may
// import, how many of other modules, and how many lines its go.sum has. None may
// grow. A newer Go that needs more packages of its own raises std with it.
var consumers = []struct {
	pkg              string
	std, others, sum int
	debt             int // how many packages of std are to go again
}{
	{pkg: "sframe", std: 24, others: 0, sum: 0},
	{pkg: "unwind", std: 46, others: 15, sum: 6},
	{pkg: "core", std: 49, others: 19, sum: 8},
	{pkg: "process", std: 85, others: 25, sum: 14},
}

// heavy are modules that no consumer of a package compiles anything of.
var heavy = []string{
	"github.com/go-delve/delve", "github.com/google/go-dap", "github.com/hashicorp/go-plugin",
	"github.com/spf13/cobra", "google.golang.org/grpc", "google.golang.org/protobuf",
}

// Who imports a package compiles little beside it.
func TestConsumers(t *testing.T) {
	for _, tt := range consumers {
		t.Run(tt.pkg, func(t *testing.T) {
			got := consume(t, tt.pkg)
			if len(got.heavy) > 0 {
				t.Errorf("a program that imports %s compiles %s", tt.pkg, strings.Join(got.heavy, ", "))
			}
			if got.std == 0 || got.std > tt.std+tt.debt || got.others > tt.others || got.sum > tt.sum {
				t.Errorf("got %d packages of the standard library, %d of other modules, %d lines in go.sum; want at most %d, %d and %d",
					got.std, got.others, got.sum, tt.std+tt.debt, tt.others, tt.sum)
			}
		})
	}
}

// What is heavy is noticed. The plugin is counted in this module: a consumer of
// it needs go.mod files that a fresh module cache does not have.
func TestHeavy(t *testing.T) {
	if got := weigh(dependencies(t, "../../plugin")); !slices.Contains(got.heavy, "google.golang.org/grpc") || got.others < 100 {
		t.Errorf("got %+v, want gRPC and much more", got)
	}
}

// burden is what a consumer carries.
type burden struct {
	std, others, sum int
	heavy            []string // modules
}

// consume makes a module that imports a package of this one, and returns what
// comes with it.
func consume(t *testing.T, pkg string) (got burden) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "go.mod", "module consumer\n\ngo 1.26.0\n\nrequire "+module+" v0.0.0\n\nreplace "+module+" => "+strconv.Quote(root)+"\n")
	write(t, dir, "main.go", "package main\n\nimport _ \""+module+"/"+pkg+"\"\n\nfunc main() {}\n")
	got = weigh(dependencies(t, dir, "GOFLAGS=-mod=mod")) // writes go.sum
	text, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	got.sum = strings.Count(string(text), "\n")
	return got
}

// weigh counts the packages that a consumer compiles.
func weigh(deps []dependency) (got burden) {
	for _, dep := range deps {
		switch {
		case dep.Standard && !internal(dep.ImportPath) && !strings.HasPrefix(dep.ImportPath, "vendor/"):
			got.std++
		case dep.Standard || dep.Module.Path == "consumer" || dep.Module.Path == module:
		default:
			got.others++
			if slices.Contains(heavy, dep.Module.Path) && !slices.Contains(got.heavy, dep.Module.Path) {
				got.heavy = append(got.heavy, dep.Module.Path)
			}
		}
	}
	return got
}

// linked are the other modules that go into each program. A module that is new
// here is a decision: what one program needs is not for the others to carry.
var linked = map[string]string{
	"cmd/sfcore": "github.com/cavaliergopher/cpio github.com/cyphar/filepath-securejoin github.com/google/go-dap github.com/ianlancetaylor/demangle" +
		" github.com/klauspost/compress github.com/landlock-lsm/go-landlock github.com/pierrec/lz4/v4 github.com/spf13/cobra" +
		" github.com/spf13/pflag github.com/therootcompany/xz golang.org/x/arch golang.org/x/net golang.org/x/sys golang.org/x/term" +
		" kernel.org/pub/linux/libs/security/libcap/psx",
	"cmd/sfcore-plugin": "github.com/cyphar/filepath-securejoin github.com/fatih/color github.com/golang/protobuf" +
		" github.com/hashicorp/go-hclog github.com/hashicorp/go-plugin github.com/hashicorp/yamux github.com/ianlancetaylor/demangle" +
		" github.com/klauspost/compress github.com/mattn/go-colorable github.com/mattn/go-isatty github.com/oklog/run" +
		" github.com/pierrec/lz4/v4 github.com/therootcompany/xz golang.org/x/arch golang.org/x/net golang.org/x/sys golang.org/x/text" +
		" google.golang.org/genproto/googleapis/rpc google.golang.org/grpc google.golang.org/protobuf",
	"cmd/sfcore-crash": "github.com/BurntSushi/toml github.com/cyphar/filepath-securejoin github.com/dustin/go-humanize github.com/google/uuid" +
		" github.com/ianlancetaylor/demangle github.com/klauspost/compress github.com/landlock-lsm/go-landlock" +
		" github.com/pierrec/lz4/v4 github.com/remyoudompheng/bigfft github.com/spf13/cobra" +
		" github.com/spf13/pflag github.com/therootcompany/xz golang.org/x/arch golang.org/x/net golang.org/x/sys" +
		" kernel.org/pub/linux/libs/security/libcap/psx modernc.org/libc modernc.org/mathutil modernc.org/memory modernc.org/sqlite",
	// This program is a module of its own, so that nobody else pays for these.
	"cmd/sfcore-fleet": "github.com/BurntSushi/toml github.com/antithesishq/antithesis-sdk-go github.com/beorn7/perks" +
		" github.com/cespare/xxhash/v2 github.com/cyphar/filepath-securejoin github.com/dustin/go-humanize" +
		" github.com/google/uuid github.com/ianlancetaylor/demangle github.com/jackc/pgpassfile" +
		" github.com/jackc/pgservicefile github.com/jackc/pgx/v5 github.com/jackc/puddle/v2" +
		" github.com/klauspost/compress github.com/klauspost/cpuid/v2 github.com/klauspost/crc32" +
		" github.com/landlock-lsm/go-landlock github.com/minio/crc64nvme github.com/minio/highwayhash" +
		" github.com/minio/md5-simd github.com/minio/minio-go/v7 github.com/munnerz/goautoneg" +
		" github.com/nats-io/jwt/v2 github.com/nats-io/nats-server/v2 github.com/nats-io/nats.go" +
		" github.com/nats-io/nkeys github.com/nats-io/nuid github.com/philhofer/fwd github.com/pierrec/lz4/v4" +
		" github.com/prometheus/client_golang github.com/prometheus/client_model github.com/prometheus/common" +
		" github.com/prometheus/procfs github.com/remyoudompheng/bigfft github.com/rs/xid github.com/spf13/cobra" +
		" github.com/spf13/pflag github.com/therootcompany/xz github.com/tinylib/msgp github.com/zeebo/xxh3" +
		" go.yaml.in/yaml/v3 golang.org/x/arch golang.org/x/crypto golang.org/x/net golang.org/x/sync" +
		" golang.org/x/sys golang.org/x/text golang.org/x/time google.golang.org/protobuf gopkg.in/ini.v1" +
		" kernel.org/pub/linux/libs/security/libcap/psx modernc.org/libc modernc.org/mathutil modernc.org/memory" +
		" modernc.org/sqlite",
	"cmd/sfcore-delve": "github.com/cilium/ebpf github.com/go-delve/delve golang.org/x/arch golang.org/x/sys golang.org/x/telemetry",
}

// What only one program needs is in no other, and every program is in the table.
func TestLinked(t *testing.T) {
	programs, err := filepath.Glob("../../cmd/*")
	if err != nil || len(programs) != len(linked) {
		t.Fatalf("got programs %v, %v; the table has %d", programs, err, len(linked))
	}
	for _, program := range programs {
		name := "cmd/" + filepath.Base(program)
		t.Run(name, func(t *testing.T) {
			want, ok := linked[name]
			if !ok {
				t.Fatalf("%s is not in the table", name)
			}
			modules := map[string]bool{}
			for _, dep := range dependencies(t, program) {
				if !dep.Standard && !isOurs(dep.Module.Path) {
					modules[dep.Module.Path] = true
				}
			}
			for _, extra := range surplus(slices.Sorted(maps.Keys(modules)), strings.Fields(want)) {
				t.Errorf("%s is linked into %s", extra, name)
			}
			for _, gone := range surplus(strings.Fields(want), slices.Sorted(maps.Keys(modules))) {
				t.Errorf("%s is no longer linked into %s: take it out of the table", gone, name)
			}
		})
	}
}

// isOurs reports whether a module is of this repository.
func isOurs(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// surplus returns what is in a list and not in another one.
func surplus(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// required are the modules that this one requires for itself: their versions
// are chosen here.
var required = []string{"github.com/go-delve/delve", "github.com/google/go-dap", "github.com/hashicorp/go-plugin"}

func TestRequired(t *testing.T) {
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(goCommand(t, "../..", nil, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	direct := map[string]bool{}
	for _, r := range mod.Require {
		direct[r.Path] = !r.Indirect
	}
	for _, path := range required {
		if !direct[path] {
			t.Errorf("%s is not a direct requirement", path)
		}
	}
}

// dependency is what `go list` says of a package.
type dependency struct {
	ImportPath string
	Standard   bool
	Module     struct{ Path, Dir string }
}

// dependencies returns what is compiled for the package in a directory, for one
// system, so that the figures are the same on all. Another system need not have
// the modules that only this one compiles.
func dependencies(t *testing.T, dir string, env ...string) (deps []dependency) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("counted on Linux")
	}
	env = append(env, "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && dir != "../.." {
		// The modules of another module are not there since this test was built.
		if out, err := exec.Command("go", "-C", dir, "mod", "download").CombinedOutput(); err != nil {
			t.Fatalf("go mod download in %s: %v: %s", dir, err, out)
		}
	}
	out := goCommand(t, dir, env, "list", "-deps", "-json=ImportPath,Standard,Module", ".")
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var dep dependency
		if err := d.Decode(&dep); err != nil {
			t.Fatal(err)
		}
		deps = append(deps, dep)
	}
	return deps
}

// goCommand runs the go command without a network: all modules have been there
// since this test was built.
func goCommand(t *testing.T, dir string, env []string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOSUMDB=off", "GOWORK=off", "GOFLAGS=")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
