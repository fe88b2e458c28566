package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cavaliergopher/cpio"
)

const elf = "\x7fELF and more"

// large is an ELF file that is unpacked to a temporary file.
var large = elf + strings.Repeat("x", spoolFrom)

func header(name string, size int) string {
	return fmt.Sprintf("%-16s%-12d%-6d%-6d%-8s%-10d`\n", name, 0, 0, 0, "644", size)
}

func member(name, data string) string {
	return header(name, len(data)) + data + strings.Repeat("\n", len(data)%2)
}

func tarball(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range [][2]string{{"./usr/bin/a", elf}, {"./usr/share/doc/b", "text"}, {"./usr/share/c", ""}, {"./usr/bin/large", large}} {
		if err := w.WriteHeader(&tar.Header{Name: f[0], Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(f[1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteHeader(&tar.Header{Name: "./usr/bin/link", Typeflag: tar.TypeSymlink, Linkname: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// rpmHead is the lead and the headers of a package.
func rpmHead(entries, size uint32) string {
	b := []byte(rpmMagic)
	b = append(b, make([]byte, rpmLead-len(b))...)
	for _, n := range []uint32{entries, size} { // the signature is padded to 8 bytes
		b = append(b, rpmHeaderMagic+"\x00\x00\x00\x00"...)
		b = binary.BigEndian.AppendUint32(b, 1)
		b = binary.BigEndian.AppendUint32(b, n)
		b = append(b, make([]byte, 16+n)...)
		if len(b) < 160 {
			b = append(b, make([]byte, -len(b)&7)...)
		}
	}
	return string(b)
}

func cpioball(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w := cpio.NewWriter(&b)
	for _, f := range [][2]string{{"./usr/bin/a", elf}, {"./etc/b", "text"}, {"./usr/bin/large", large}} {
		if err := w.WriteHeader(&cpio.Header{Name: f[0], Mode: 0o644 | cpio.TypeReg, Size: int64(len(f[1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sparse is a stream with a file of size bytes, all of which are a hole but for the first
// 512 [GNU tar, sparse format PAX 1.0].
func sparse(size int) string {
	data := "1\n0\n512\n"
	data += strings.Repeat("\x00", 512-len(data)) + elf + strings.Repeat("\x00", 512-len(elf))
	records := ""
	for _, r := range []string{"GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=big", fmt.Sprintf("GNU.sparse.realsize=%d", size)} {
		records += fmt.Sprintf("%d %s\n", len(r)+4, r)
	}
	return tarBlock("pax", 'x', records) + tarBlock("big", '0', data) + strings.Repeat("\x00", 1024)
}

// longNamed is a stream with a file whose name has n bytes.
func longNamed(n int) string {
	return tarBlock("././@LongLink", 'L', strings.Repeat("n", n)+"\x00") + tarBlock("n", '0', elf) + strings.Repeat("\x00", 1024)
}

// tarBlock is a header and what follows it.
func tarBlock(name string, typ byte, data string) string {
	h := make([]byte, 512)
	copy(h, name)
	copy(h[100:], fmt.Sprintf("%07o\x00%07o\x00%07o\x00%011o\x00%011o\x00        %cxxxx", 0o644, 0, 0, len(data), 0, typ))
	copy(h[157:], "\x00\x00\x00\x00")
	copy(h[257:], "ustar\x0000")
	sum := 0
	for _, c := range h {
		sum += int(c)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return string(h) + data + strings.Repeat("\x00", -len(data)&511)
}

func TestEach(t *testing.T) {
	names := "a-name-that-is-longer-than-the-header.o/\nanother-name-that-is-long.o/\n"
	cp := cpioball(t)
	for name, tt := range map[string]struct {
		data string
		want []string
		err  string
	}{
		"ELF":           {elf, []string{"file"}, ""},
		"text":          {"text", nil, ErrNone.Error()},
		"empty":         {"", nil, ErrNone.Error()},
		"archive":       {arMagic + member("/", "symbols") + member("a.o/", elf) + member("b.txt/", "text") + member("a.o/", elf), []string{"file(a.o)", "file(a.o#2)"}, ""},
		"long names":    {arMagic + member("//", names) + member("/0", elf) + member("/41", elf), []string{"file(a-name-that-is-longer-than-the-header.o)", "file(another-name-that-is-long.o)"}, ""},
		"BSD names":     {arMagic + member("#1/8", "long.o\x00\x00"+elf), []string{"file(long.o)"}, ""},
		"no objects":    {arMagic + member("a.txt/", "text"), nil, ErrNone.Error()},
		"thin":          {arThin, nil, "thin archive"},
		"no header":     {arMagic + member("a.o/", elf) + "garbage", []string{"file(a.o)"}, "no header of a member at offset 0x52"},
		"too long":      {arMagic + header("a.o/", 100) + elf, nil, "13 bytes are left"},
		"negative":      {arMagic + header("a.o/", -1) + elf, nil, "the size of the member"},
		"bad long name": {arMagic + member("//", names) + member("/900", elf), nil, "the table of names has"},
		"bad BSD name":  {arMagic + member("#1/900", elf), nil, "longer than its"},
		"deb":           {arMagic + member("debian-binary", "2.0\n") + member("control.tar.gz", "x") + member("data.tar.gz", tarball(t)) + member("rest", "x"), []string{"file(usr/bin/a)", "file(usr/bin/large)"}, ""},
		"deb, cut":      {arMagic + member("debian-binary", "2.0\n") + member("data.tar.gz", tarball(t)[:60]), nil, "data.tar"},
		"deb, sparse":   {arMagic + member("debian-binary", "2.0\n") + member("data.tar", sparse(1<<40)), nil, "unpacks to more than"},
		"deb, a hole":   {arMagic + member("debian-binary", "2.0\n") + member("data.tar", sparse(1<<20)), []string{"file(big)"}, ""},
		"deb, name":     {arMagic + member("debian-binary", "2.0\n") + member("data.tar", longNamed(maxName+1)), nil, "the name of a file has 4097 bytes"},
		"deb, no data":  {arMagic + member("debian-binary", "2.0\n"), nil, "no data.tar"},
		"rpm":           {rpmHead(20, 4) + cp, []string{"file(usr/bin/a)", "file(usr/bin/large)"}, ""},
		"rpm, cut":      {rpmHead(20, 4) + cp[:300], []string{"file(usr/bin/a)"}, "unexpected EOF"},
		"rpm, short":    {rpmHead(20, 4)[:120], nil, "no header at offset"},
		"rpm, long":     {rpmHead(20, 4)[:96] + rpmHeaderMagic + "\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", nil, "no header at offset"},
		"rpm, no cpio":  {rpmHead(20, 4) + strings.Repeat("x", 200), nil, "not cpio"},
		"rpm, negative": {rpmHead(20, 4) + strings.Replace(cp, fmt.Sprintf("%08X", len(elf)), "-0000001", 1), nil, "its size is -1"},
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(tt.data), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []string
		err := Each(&Source{Path: path, Name: "file"}, func(f File) error {
			got = append(got, f.Name)
			if want := elf; strings.Contains(f.Name, "large") && len(f.Data) != len(large) || !bytes.HasPrefix(f.Data, []byte(want)) {
				t.Errorf("%s: %s: got %d bytes, %.20q", name, f.Name, len(f.Data), f.Data)
			}
			return nil
		})
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) || !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, %v, want %q, %q", name, got, err, tt.want, tt.err)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "a/c", "a/d"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("b", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	fail := func(err error) { t.Error(err) }
	found, err := Find(t.Context(), dir, fail)
	var got []string
	for _, s := range found {
		got = append(got, s.Name)
	}
	if want := []string{"a/c", "a/d", "b"}; err != nil || !slices.Equal(got, want) || found[0].Named {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if found, err = Find(t.Context(), filepath.Join(dir, "a", "c"), fail); err != nil || len(found) != 1 || found[0].Name != "c" || !found[0].Named {
		t.Errorf("got %+v, %v", found, err)
	}
	if _, err = Find(t.Context(), filepath.Join(dir, "none"), fail); err == nil {
		t.Error("got no error for what is not there")
	}
}

// What the kernel shows in a root file system is not searched, but a directory of the same
// name elsewhere is.
func TestFindRoot(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"etc/a", "usr/lib/dev/b", "proc/c", "sys/d", "dev/e", "lib/f"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for at, want := range map[string][]string{"": {"etc/a", "lib/f", "usr/lib/dev/b"}, "usr/lib": {"dev/b"}} {
		found, err := Find(t.Context(), filepath.Join(dir, at), func(err error) { t.Error(err) })
		var got []string
		for _, s := range found {
			got = append(got, s.Name)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %v, %v, want %v", at, got, err, want)
		}
	}
}

// Any bytes are members within the archive, or an error.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(arMagic + member("//", "name-of-a-file.o/\n") + member("/0", elf) + member("b.o/", "odd") + member("#1/3", "abcdef")))
	f.Fuzz(func(t *testing.T, data []byte) {
		total, n := 0, 0
		_ = eachMember(data, func(m arMember) error {
			total += len(m.data)
			n++
			if len(m.name) > maxName {
				t.Errorf("got a name of %d bytes", len(m.name))
			}
			return nil
		})
		if most := max(len(data)-len(arMagic), 0); total+n*arHeader > most {
			t.Errorf("got %d members of %d bytes from %d", n, total, len(data))
		}
	})
}
