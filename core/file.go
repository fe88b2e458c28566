package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

// Options are the choices of [Open]. The zero Options are the defaults.
type Options struct {
	// MaxDecompressed bounds the size in bytes of a core that is compressed or
	// read from a pipe; 0 stands for [DefaultMaxDecompressed].
	MaxDecompressed int64
	// Progress, if not nil, is called now and then while such a core is read:
	// done bytes of total, which is 0 if unknown, have been read. They are
	// bytes of the compressed file.
	Progress func(done, total int64)
	// File, if not nil, is the core file. It is open for reading, and belongs to
	// the caller; the path then only names it.
	File *os.File
}

// Open opens a core file: plain, or compressed by zstd, gzip, lz4 or xz. "-"
// is standard input. A plain file is mapped, not read; the memory of the image
// is that mapping, which faults if the file shrinks: see [memreader.Guard].
// Everything else is decompressed first, into memory or, if it is large, into
// a temporary file, until ctx ends.
//
// Damage that leaves something usable is in Image.Problems. The error for a
// file that is no core file of a supported process says what it is instead.
func Open(ctx context.Context, path string, opts Options) (*Image, error) {
	name := path
	if path == "-" {
		name = "standard input"
	}
	img, err := open(ctx, path, opts)
	if pe, ok := errors.AsType[*fs.PathError](err); ok && pe.Path == path {
		return nil, err // it has the name
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	img.call(path, name)
	return img, nil
}

// OpenBytes is [Open] for the bytes of a plain core file, which the image refers to until
// it is closed. name is what errors call it.
func OpenBytes(name string, data []byte) (*Image, error) {
	img, err := openBytes(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	img.call(name, name)
	return img, nil
}

// call gives an image its path, and its problems the name of it.
func (i *Image) call(path, name string) {
	i.Path = path
	for n, p := range i.Problems {
		i.Problems[n] = fmt.Errorf("%s: %w", name, p)
	}
}

func open(ctx context.Context, path string, opts Options) (*Image, error) {
	file, own := cmp.Or(opts.File, os.Stdin), false
	if path != "-" && opts.File == nil {
		var err error
		if file, err = elfx.OpenRegular(path); err != nil {
			return nil, err
		}
		own = true
	}
	img, err := openFile(ctx, file, own, opts)
	if own && (err != nil || img.source == nil) {
		file.Close()
	}
	return img, err
}

// openFile is open for a file that is open. The image may keep the file if it is our own.
func openFile(ctx context.Context, file *os.File, own bool, opts Options) (*Image, error) {
	c, err := load(ctx, file, opts)
	if err != nil {
		return nil, err
	}
	var img *Image
	if memreader.Guard(func() { img, err = openBytes(c.data) }) != nil {
		err = errors.New("the file shrank while it was read")
	}
	if err != nil {
		c.release()
		return nil, err
	}
	img.OnClose = c.release
	if c.mapped {
		img.mapped = c.data
	}
	if c.mapped && own {
		img.source = file
		img.OnClose = func() {
			c.release()
			file.Close()
		}
	}
	if c.problem != nil {
		img.Problems = append([]error{c.problem}, img.Problems...)
	}
	return img, nil
}

// openBytes makes an image of the bytes of a core file, which it keeps.
func openBytes(data []byte) (*Image, error) {
	f, a, err := parseHeader(data)
	if err != nil {
		return nil, err
	}
	img := &Image{Arch: a, Size: uint64(len(data)), Problems: f.Problems, OnClose: func() {}}
	n := notes{img: img, order: f.ByteOrder()}
	if err := n.read(f); err != nil {
		return nil, err
	}
	space := memreader.NewSpace(segments(f))
	if img.loads, img.listed = n.loads, n.loads != nil; img.listed {
		space = memreader.NewSpace(withLoads(space.Segments(), n.loads))
	} else {
		img.loads = loadsOf(f.Progs)
	}
	img.Mem = space
	size, end := uint64(len(data)), extent(f)
	img.file = f
	keepNotes(f)
	img.Mappings = mappingsOf(img.loads)
	if len(n.files) == 0 && len(img.Auxv) == 0 {
		n.files = img.filesInMemory()
	}
	img.Mappings = join(img.Mappings, disjoint(n.files))
	img.nameSpecial()
	img.Executable = img.executable()

	missing := end - min(size, end)
	if img.Truncated = img.truncation(size, missing, space.Segments()); img.Truncated != nil {
		img.Problems = append(img.Problems, fmt.Errorf("the core file is truncated: %d of %d bytes are missing, with memory of %d of %d mappings",
			missing, size+missing, len(img.Truncated.Mappings), len(img.Mappings)))
	}
	return img, nil
}

// machines names architectures that sfcore does not support [gABI: e_machine].
var machines = map[uint16]string{
	2: "sparc", 3: "i386", 8: "mips", 15: "parisc", 20: "ppc", 21: "ppc64", 40: "arm", 43: "sparc64", 50: "ia64",
	243: "riscv64", 258: "loongarch64", 0x9026: "alpha",
}

// machineName names the architecture of a file that sfcore cannot read.
func machineName(machine uint16, bigEndian bool) string {
	if a, ok := arch.ForMachine(machine, !bigEndian); ok {
		if bigEndian {
			return "big-endian " + a.Name
		}
		return "little-endian " + a.Name
	}
	if name := machines[machine]; name != "" {
		return name
	}
	return fmt.Sprintf("ELF machine %d", machine)
}

// notCoreError is the error for a file that is not an ELF file.
type notCoreError struct{ *elfx.FormatError }

func (e notCoreError) Error() string { return e.Msg + "; a core file is needed" }
func (e notCoreError) Unwrap() error { return e.FormatError }

// parseHeader reads the headers of a core file. For any other file the error says
// what kind of file it is. The first 64 bytes of data are enough.
func parseHeader(data []byte) (*elfx.File, *arch.Arch, error) {
	f, err := elfx.Parse(data)
	if fe, ok := errors.AsType[*elfx.FormatError](err); ok && fe.Field == "e_ident" {
		return nil, nil, notCoreError{fe}
	} else if err != nil {
		return nil, nil, err
	}
	switch f.Type {
	case elfx.TypeCore:
	case elfx.TypeExec, elfx.TypeDyn:
		return nil, nil, errors.New("this is an executable or a shared library; a core file is needed")
	case elfx.TypeRel:
		return nil, nil, errors.New("this is an object file; a core file is needed")
	default:
		return nil, nil, fmt.Errorf("this is an ELF file of type %d; a core file is needed", f.Type)
	}
	a, ok := arch.ForMachine(f.Machine, f.BigEndian)
	if !ok {
		return nil, nil, fmt.Errorf("this is a core file of %s; sfcore reads those of %s", machineName(f.Machine, f.BigEndian), arch.Names())
	}
	return f, a, nil
}
