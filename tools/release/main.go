// Command release makes everything that a release of sfcore consists of, without a
// network, once Go and npm have their modules, and without publishing anything:
//
//	go run . -out DIR -version 0.2.0
//
// archives of static programs for each system, packages (.deb, .rpm, .apk), a container
// image, the extension of VS Code, a formula for Homebrew, a bill of materials, checksums and their signature. The
// same commit, version and Go give the same bytes. docs/release.md says how a release
// is made and checked.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// release is what is made, and from what.
type release struct {
	source  string // the checkout
	out     string // the files of the release
	work    string // what they are made of
	version string
	time    time.Time // of everything in it: that of the commit
	systems []system
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

func run(ctx context.Context) error {
	r := release{}
	flag.StringVar(&r.source, "source", "../..", "the checkout in `DIR`")
	flag.StringVar(&r.out, "out", "", "write to `DIR`, which is made anew")
	flag.StringVar(&r.version, "version", "", "the version, as in 0.2.0")
	only := flag.String("only", "", "only for `SYSTEMS`, as in linux/amd64,darwin/arm64")
	epoch := flag.Int64("time", 0, "the time of everything in it, in `SECONDS` since 1970; that of the commit if 0")
	key := flag.String("key", "", "sign with the OpenPGP key in `FILE`; a throw-away key if empty")
	flag.Parse()
	var err error
	if r.source, err = filepath.Abs(r.source); err != nil {
		return err
	}
	switch {
	case r.out == "":
		return errors.New("-out is missing")
	case !regexp.MustCompile(`^\d+\.\d+\.\d+(-[a-z0-9.]+)?$`).MatchString(r.version):
		return fmt.Errorf("-version %q is no semantic version such as 0.2.0 or 0.2.0-dev", r.version)
	}
	for _, s := range systems {
		if *only == "" || slices.Contains(strings.Split(*only, ","), s.String()) {
			r.systems = append(r.systems, s)
		}
	}
	if len(r.systems) == 0 {
		return fmt.Errorf("-only %s: none of %v", *only, systems)
	}
	if *epoch == 0 {
		text, err := exec.CommandContext(ctx, "git", "-C", r.source, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return fmt.Errorf("the time of the commit, in place of -time: %w", err)
		}
		if *epoch, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err != nil {
			return err
		}
	}
	r.time = time.Unix(*epoch, 0).UTC()
	if r.out, err = filepath.Abs(r.out); err != nil {
		return err
	}
	// Beside the release, so that the next run removes what a killed one has left.
	r.work = r.out + ".work"
	for _, dir := range []string{r.work, r.out} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return errors.Join(r.make(ctx, *key), os.RemoveAll(r.work))
}

func (r *release) make(ctx context.Context, key string) error {
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"pages and units", r.pages},
		{"programs", r.programs},
		{"archives", r.archives},
		{"bills of materials", r.bills},
		{"packages", r.packages},
		{"image", r.image},
		{"extension", r.extension},
		{"formula", r.formula},
		{"checksums and signature", func(context.Context) error { return r.sign(key) }},
	} {
		began := time.Now()
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Printf("%-24s %.1fs\n", step.name, time.Since(began).Seconds())
	}
	return nil
}
