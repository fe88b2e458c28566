package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// formats are the packages that are made, with where shells of these systems look for
// completions of zsh.
var formats = []struct{ name, zsh string }{
	{"deb", "/usr/share/zsh/vendor-completions"},
	{"rpm", "/usr/share/zsh/site-functions"},
	{"apk", "/usr/share/zsh/site-functions"},
}

// packages makes the packages of each Linux.
func (r *release) packages(context.Context) error {
	for _, s := range r.systems {
		if s.os != "linux" {
			continue
		}
		for _, format := range formats {
			contents, err := r.contents(s, format.name, format.zsh)
			if err != nil {
				return err
			}
			if err := r.pack(s, format.name, contents); err != nil {
				return fmt.Errorf(".%s for %v: %w", format.name, s, err)
			}
		}
	}
	return nil
}

func (r *release) pack(s system, format string, contents files.Contents) error {
	scripts, err := r.scripts()
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name:          "sfcore",
		Arch:          s.arch,
		Platform:      "linux",
		Version:       r.version,
		VersionSchema: "semver",
		Section:       "devel",
		Priority:      "optional",
		Maintainer:    "The sfcore authors <sfcore@users.noreply.github.com>",
		Description:   "stacks of Linux processes, from core files or live\nsfcore prints the stack of every thread of a Linux process and says for\nevery frame how it was found. It unwinds by SFrame first.",
		Homepage:      "https://github.com/sfcore/sfcore",
		License:       "Apache-2.0",
		MTime:         r.time,
		Overridables: nfpm.Overridables{
			Contents: contents,
			Scripts: nfpm.Scripts{
				PostInstall: filepath.Join(scripts, "postinst"),
				PreRemove:   filepath.Join(scripts, "prerm"),
				PostRemove:  filepath.Join(scripts, "postrm"),
			},
			RPM: nfpm.RPM{BuildHost: "localhost", Compression: "zstd:default"},
			Deb: nfpm.Deb{Compression: "gzip"},
		},
	})
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(r.out, packager.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	return errors.Join(packager.Package(info, out), out.Close())
}

// scripts copies the scripts of packages: .apk has the time and the mode of their files.
func (r *release) scripts() (dir string, err error) {
	dir = r.dir("scripts")
	for _, name := range []string{"postinst", "prerm", "postrm"} {
		text, err := os.ReadFile(filepath.Join(r.source, "tools/release/scripts", name))
		if err != nil {
			return "", err
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return "", err
		}
		if err := os.Chtimes(path, r.time, r.time); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// contents are the files of a package.
func (r *release) contents(s system, format, zsh string) (files.Contents, error) {
	programs, err := r.programsOf(s)
	pages, err2 := below(r.dir("man"), "/usr/share/man/man1")
	units, err3 := below(r.dir("units"), "/usr/lib/systemd/system")
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	var list files.Contents
	add := func(name, path string, mode os.FileMode) {
		list = append(list, &files.Content{Source: path, Destination: name, Packager: format, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.time, Owner: "root", Group: "root"}})
	}
	for _, f := range programs {
		add("/usr/bin/"+f.name, f.path, f.mode)
	}
	for _, f := range append(pages, units...) {
		name := f.name
		if strings.HasSuffix(name, ".conf") {
			name = "/usr/lib/tmpfiles.d/" + filepath.Base(name)
		}
		add(name, f.path, f.mode)
	}
	for shell, folder := range map[string]string{"bash": "/usr/share/bash-completion/completions", "fish": "/usr/share/fish/vendor_completions.d", "zsh": zsh} {
		completions, err := below(r.dir("completions-"+shell), folder)
		if err != nil {
			return nil, err
		}
		for _, f := range completions {
			add(f.name, f.path, f.mode)
		}
	}
	for as, name := range map[string]string{"copyright": "LICENSE", "NOTICE": "NOTICE", "changelog": "CHANGELOG.md"} {
		add("/usr/share/doc/sfcore/"+as, filepath.Join(r.source, name), 0o644)
	}
	documentation, err := r.documentation("/usr/share/doc/sfcore/")
	if err != nil {
		return nil, err
	}
	for _, f := range documentation {
		add(f.name, f.path, f.mode)
	}
	return list, nil
}
