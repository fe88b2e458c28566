package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// image makes one image for all Linux systems, from scratch: the programs and nothing
// else. It is written as an OCI layout in a tar, which registries, podman and skopeo take,
// so that no daemon takes part.
func (r *release) image(context.Context) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	n := 0
	for _, s := range r.systems {
		if s.os != "linux" {
			continue
		}
		img, err := r.imageOf(s)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: s.os, Architecture: s.arch}}})
		n++
	}
	if n == 0 {
		return nil
	}
	dir := r.dir("image")
	if _, err := layout.Write(dir, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add:        index,
		Descriptor: v1.Descriptor{Annotations: map[string]string{"org.opencontainers.image.ref.name": r.version}},
	})); err != nil {
		return err
	}
	return r.layoutTar(filepath.Join(r.out, "sfcore_"+r.version+"_image.tar"), dir)
}

func (r *release) imageOf(s system) (v1.Image, error) {
	programs, err := r.programsOf(s)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, program := range programs {
		err := read(program.path, func(in io.Reader, size int64) error {
			if err := w.WriteHeader(&tar.Header{Name: "usr/bin/" + program.name, Mode: int64(program.mode), Size: size, ModTime: r.time}); err != nil {
				return err
			}
			_, err := io.Copy(w, in)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	// Caches of sfcore go to a temporary directory.
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777, ModTime: r.time}), w.Close()); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = s.os, s.arch, v1.Time{Time: r.time}
	file.Config = v1.Config{
		Entrypoint: []string{"/usr/bin/sfcore"},
		Env:        []string{"PATH=/usr/bin", "TMPDIR=/tmp"},
		WorkingDir: "/tmp",
		Labels: map[string]string{
			"org.opencontainers.image.title":    "sfcore",
			"org.opencontainers.image.version":  r.version,
			"org.opencontainers.image.source":   "https://github.com/sfcore/sfcore",
			"org.opencontainers.image.licenses": "Apache-2.0",
			"sfcore.go":                         runtime.Version(),
		},
	}
	return mutate.ConfigFile(img, file)
}

// layoutTar puts a layout into a tar.
func (r *release) layoutTar(path, dir string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	w := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		in, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		return read(name, func(data io.Reader, size int64) error {
			if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(in), Mode: 0o644, Size: size, ModTime: r.time}); err != nil {
				return err
			}
			_, err := io.Copy(w, data)
			return err
		})
	})
	return errors.Join(err, w.Close(), f.Close())
}
