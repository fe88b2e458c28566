package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// targets are the systems that VS Code runs on, as it calls them.
var targets = map[system]string{
	{"linux", "amd64"}:   "linux-x64",
	{"linux", "arm64"}:   "linux-arm64",
	{"darwin", "arm64"}:  "darwin-arm64",
	{"windows", "amd64"}: "win32-x64",
}

// extension makes the extension of VS Code for each system, with the programs in it. npm
// fetches vsce, in the versions of the lock file, if it is not in npm's cache.
func (r *release) extension(ctx context.Context) error {
	source, dir := filepath.Join(r.source, "editors/vscode"), r.dir("vscode")
	for name, in := range map[string]string{
		"package.json": source, "package-lock.json": source, "extension.js": source, "README.md": source,
		".vscodeignore": source, ".npmrc": source, "LICENSE": r.source,
	} {
		if err := copyFile(filepath.Join(dir, name), filepath.Join(in, name), 0o644); err != nil {
			return err
		}
	}
	command := func(name string, args ...string) error {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.time.Unix(), 10))
		if out, err := cmd.Output(); err != nil {
			return fmt.Errorf("%s %s: %w: %s", name, args[0], err, out)
		}
		return nil
	}
	if err := command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"); err != nil {
		return err
	}
	for _, s := range r.systems {
		target, ok := targets[s]
		if !ok {
			continue
		}
		suffix := ""
		if s.os == "windows" {
			suffix = ".exe"
		}
		bin := filepath.Join(dir, "bin")
		if err := os.RemoveAll(bin); err != nil {
			return err
		}
		if err := os.Mkdir(bin, 0o755); err != nil {
			return err
		}
		for _, program := range []string{"sfcore" + suffix, "sfcore-delve" + suffix} {
			if err := copyFile(filepath.Join(bin, program), filepath.Join(r.bin(s), program), 0o755); err != nil {
				return err
			}
		}
		out := filepath.Join(r.out, "sfcore_"+r.version+"_"+target+".vsix")
		if err := command("npx", "--no-install", "vsce", "package", "--no-dependencies", "--allow-missing-repository", "--target", target, "--out", out); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to, from string, mode os.FileMode) error {
	return read(from, func(in io.Reader, _ int64) error {
		data, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, mode)
	})
}
