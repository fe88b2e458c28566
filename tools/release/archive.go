package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// file is a file of an archive or package.
type file struct {
	name string // in it
	path string
	mode os.FileMode
}

// documents go into every archive.
var documents = []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"}

// documentationFiles are the documents that help and manual pages name, and the recorded cores
// that the documents of docs/guide begin with. Packages and archives have them at the paths
// of the repository, so that the commands of the documents work in each.
var documentationFiles = []string{
	"docs/*.md", "docs/guide/*.md", "docs/schemas/*.json",
	"testdata/cores/amd64-v3-threads/core.zst", "testdata/cores/amd64-v3-threads/exe/*",
	"testdata/cores/amd64-none-notables/exe/*",
	"testdata/goroutines/amd64/core.zst", "testdata/goroutines/amd64/exe/*",
}

// documentation returns the files of the documentation, named below a folder.
func (r *release) documentation(as string) (files []file, err error) {
	for _, pattern := range documentationFiles {
		paths, err := filepath.Glob(filepath.Join(r.source, pattern))
		if err != nil || len(paths) == 0 {
			return nil, fmt.Errorf("the documentation lacks %s: %w", pattern, err)
		}
		for _, path := range paths {
			name, err := filepath.Rel(r.source, path)
			if err != nil {
				return nil, err
			}
			files = append(files, file{as + filepath.ToSlash(name), path, 0o644})
		}
	}
	return files, nil
}

// name is what the files of a system are called.
func (r *release) name(s system) string {
	return fmt.Sprintf("sfcore_%s_%s_%s", r.version, s.os, s.arch)
}

// programsOf returns the programs of a system.
func (r *release) programsOf(s system) (files []file, err error) {
	entries, err := os.ReadDir(r.bin(s))
	for _, e := range entries {
		files = append(files, file{e.Name(), filepath.Join(r.bin(s), e.Name()), 0o755})
	}
	return files, err
}

// below returns the files of a folder.
func below(dir, as string) (files []file, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		files = append(files, file{as + "/" + e.Name(), filepath.Join(dir, e.Name()), 0o644})
	}
	return files, err
}

// archives makes an archive for each system: the programs in one folder, as they need.
func (r *release) archives(context.Context) error {
	for _, s := range r.systems {
		files, err := r.programsOf(s)
		if err != nil {
			return err
		}
		for _, name := range documents {
			files = append(files, file{name, filepath.Join(r.source, name), 0o644})
		}
		documentation, err := r.documentation("")
		if err != nil {
			return err
		}
		files = append(files, documentation...)
		write, ext := r.zip, ".zip"
		if s.os != "windows" {
			write, ext = r.tar, ".tar.gz"
			pages, err := below(r.dir("man"), "man/man1")
			if err != nil {
				return err
			}
			for _, page := range pages {
				if s.has(subject(filepath.Base(page.name))) {
					files = append(files, page)
				}
			}
			for _, shell := range shells {
				completions, err := below(r.dir("completions-"+shell.name), "completions/"+shell.name)
				if err != nil {
					return err
				}
				for _, completion := range completions {
					if s.has(subject(strings.TrimPrefix(filepath.Base(completion.name), "_"))) {
						files = append(files, completion)
					}
				}
			}
		}
		if err := write(filepath.Join(r.out, r.name(s)+ext), r.name(s), files); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) tar(path, top string, files []file) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewWriterLevel(f, gzip.DefaultCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, file := range files {
		err := read(file.path, func(in io.Reader, size int64) error {
			if err := w.WriteHeader(&tar.Header{Name: top + "/" + file.name, Mode: int64(file.mode), Size: size, ModTime: r.time, Format: tar.FormatPAX}); err != nil {
				return err
			}
			_, err := io.Copy(w, in)
			return err
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), z.Close(), f.Close())
}

func (r *release) zip(path, top string, files []file) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	w := zip.NewWriter(f)
	for _, file := range files {
		err := read(file.path, func(in io.Reader, _ int64) error {
			out, err := w.CreateHeader(&zip.FileHeader{Name: top + "/" + file.name, Method: zip.Deflate, Modified: r.time})
			if err != nil {
				return err
			}
			_, err = io.Copy(out, in)
			return err
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), f.Close())
}

// read opens a file for what reads it.
func read(path string, use func(in io.Reader, size int64) error) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	return use(in, st.Size())
}
