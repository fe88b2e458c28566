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
)

// file is a file of an archive or package.
type file struct {
	name string // in it
	path string
	mode os.FileMode
}

// documents go into every archive.
var documents = []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"}

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
		write, ext := r.zip, ".zip"
		if s.os != "windows" {
			write, ext = r.tar, ".tar.gz"
			pages, err := below(r.dir("man"), "man/man1")
			if err != nil {
				return err
			}
			files = append(files, pages...)
			for _, shell := range shells {
				completions, err := below(r.dir("completions-"+shell.name), "completions/"+shell.name)
				if err != nil {
					return err
				}
				files = append(files, completions...)
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
