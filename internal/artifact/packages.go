package artifact

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cavaliergopher/cpio"

	"github.com/sfcore/sfcore/internal/compressed"
)

// isDeb reports whether an archive is a Debian package [deb(5)].
func isDeb(data []byte) bool {
	return bytes.HasPrefix(data[len(arMagic):], []byte("debian-binary"))
}

// eachInDeb calls do for the ELF files of a Debian package.
func eachInDeb(s *Source, data []byte, do func(File) error) error {
	done := errors.New("done")
	err := eachMember(data, func(m arMember) error {
		if !strings.HasPrefix(m.name, "data.tar") {
			return nil
		}
		r, err := decompress(m.data)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		defer r.Close()
		if err := eachInTar(&unpacker{s, do, growth(m.data)}, r); err != nil {
			return err
		}
		return done
	})
	switch {
	case errors.Is(err, done):
		return nil
	case err == nil:
		return errors.New("the package has no data.tar")
	}
	return err
}

func eachInTar(u *unpacker, r io.Reader) error {
	t := tar.NewReader(r)
	for n := 0; ; n++ {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("data.tar: %w", err)
		case n == maxEntries:
			return errEntries
		case h.Typeflag != tar.TypeReg:
			continue
		}
		if err := u.unpack(strings.TrimPrefix(h.Name, "./"), t, h.Size); err != nil {
			return err
		}
	}
}

// The format of RPM packages [rpm docs: Package format]: a lead, two headers, and a
// compressed cpio stream.
const (
	rpmMagic       = "\xed\xab\xee\xdb"
	rpmHeaderMagic = "\x8e\xad\xe8\x01"
	rpmLead        = 96
	rpmIntro       = 16 // bytes of a header before its index
	rpmEntry       = 16 // bytes of an entry of the index
)

// eachInRPM calls do for the ELF files of an RPM package.
func eachInRPM(s *Source, data []byte, do func(File) error) error {
	at := uint64(rpmLead)
	for _, header := range []string{"signature", "header"} {
		if at > uint64(len(data)) || len(data[at:]) < rpmIntro || !bytes.HasPrefix(data[at:], []byte(rpmHeaderMagic)) {
			return fmt.Errorf("the package has no %s at offset %#x", header, at)
		}
		entries, size := binary.BigEndian.Uint32(data[at+8:]), binary.BigEndian.Uint32(data[at+12:])
		at += rpmIntro + uint64(entries)*rpmEntry + uint64(size)
		if header == "signature" {
			at = (at + 7) &^ 7
		}
	}
	if at > uint64(len(data)) {
		return errors.New("the package ends within its headers")
	}
	r, err := decompress(data[at:])
	if err != nil {
		return err
	}
	defer r.Close()
	return eachInCPIO(&unpacker{s, do, growth(data[at:])}, r)
}

func eachInCPIO(u *unpacker, r io.Reader) error {
	c := cpio.NewReader(r)
	for n := 0; ; n++ {
		h, err := c.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, cpio.ErrHeader):
			return errors.New("the package's payload is not cpio, or holds files of more than 4 GiB")
		case err != nil:
			return err
		case h.Size < 0: // which the library passes on
			return fmt.Errorf("%s: its size is %d", h.Name, h.Size)
		case n == maxEntries:
			return errEntries
		case !h.Mode.IsRegular():
			continue
		}
		if err := u.unpack(strings.TrimPrefix(h.Name, "./"), c, h.Size); err != nil {
			return err
		}
	}
}

// maxEntries bounds the files of a package. The largest packages of Debian have some
// 100,000.
const maxEntries = 4 << 20

var errEntries = fmt.Errorf("the package has more than %d files", maxEntries)

// A package may unpack to freePayload bytes, and to maxGrowth times its own: unpacking
// zeros takes seconds a GiB. The largest packages of debug information of Debian have
// 6 GB, 4 to 12 times their size.
const (
	freePayload = 512 << 20
	maxGrowth   = 50
)

var errGrowth = fmt.Errorf("the package unpacks to more than %d MiB and %d times its size", freePayload>>20, maxGrowth)

// growth is how many bytes the stream in data may unpack to.
func growth(data []byte) int64 { return freePayload + maxGrowth*int64(len(data)) }

// decompress opens the stream in data, which may not be compressed.
func decompress(data []byte) (io.ReadCloser, error) {
	r := io.NopCloser(bytes.NewReader(data))
	if f := compressed.Find(data); f != nil {
		var err error
		if r, err = f.Open(bytes.NewReader(data)); err != nil {
			return nil, err
		}
	}
	return struct {
		io.Reader
		io.Closer
	}{&limited{r, growth(data)}, r}, nil
}

// limited fails after n bytes.
type limited struct {
	r io.Reader
	n int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.n <= 0 {
		return 0, errGrowth
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.n)])
	l.n -= int64(n)
	return n, err
}
