package artifact

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cavaliergopher/cpio"

	"github.com/sfcore/sfcore/internal/elfx"
)

// unpackAll is how each of the two forms of packages gives its files, and what is wrong
// with them whatever the bytes are.
func unpackAll(t *testing.T, each func(u *unpacker, r io.Reader) error, r io.Reader) string {
	t.Helper()
	const most = 1 << 16
	var got strings.Builder
	total := 0
	u := &unpacker{s: &Source{Path: "p", Name: "p"}, left: most}
	u.do = func(f File) error {
		name := strings.TrimSuffix(strings.TrimPrefix(f.Name, "p("), ")")
		if total += len(f.Data); total > most || len(name) > maxName || !bytes.HasPrefix(f.Data, []byte(elfx.Magic)) {
			t.Errorf("%.40q: %d bytes, %d in all, with %.8q", name, len(f.Data), total, f.Data)
		}
		fmt.Fprintf(&got, "%q %x\n", name, f.Data)
		return nil
	}
	fmt.Fprintln(&got, each(u, r))
	return got.String()
}

// fuzzPackage damages the stream of a package. It has the same files however it is read,
// and these are within bounds.
func fuzzPackage(f *testing.F, each func(u *unpacker, r io.Reader) error, stream []byte) {
	f.Add(stream)
	f.Add(stream[:len(stream)/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		whole := unpackAll(t, each, bytes.NewReader(data))
		if slow := unpackAll(t, each, iotest.OneByteReader(bytes.NewReader(data))); slow != whole {
			t.Errorf("got %q, and byte by byte %q", whole, slow)
		}
	})
}

func FuzzTar(f *testing.F) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range []string{"./usr/bin/a", strings.Repeat("long/", 50) + "b"} {
		_ = w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(elf)), Mode: 0o755})
		_, _ = io.WriteString(w, elf)
	}
	_ = w.Close()
	if got := unpackAll(&testing.T{}, eachInTar, bytes.NewReader(b.Bytes())); strings.Count(got, "\n") != 3 {
		f.Fatalf("the first input has %q", got)
	}
	fuzzPackage(f, eachInTar, b.Bytes())
}

func FuzzCPIO(f *testing.F) {
	var b bytes.Buffer
	w := cpio.NewWriter(&b)
	for _, name := range []string{"./usr/bin/a", strings.Repeat("long/", 50) + "b"} {
		_ = w.WriteHeader(&cpio.Header{Name: name, Mode: cpio.TypeReg | 0o755, Size: int64(len(elf))})
		_, _ = io.WriteString(w, elf)
	}
	_ = w.Close()
	if got := unpackAll(&testing.T{}, eachInCPIO, bytes.NewReader(b.Bytes())); strings.Count(got, "\n") != 3 {
		f.Fatalf("the first input has %q", got)
	}
	fuzzPackage(f, eachInCPIO, b.Bytes())
}
