package main

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/internal/testkit"
)

// archive is an archive of object files [ar(5)]: a table of names, and n members.
func archive(names []byte, n int, name func(i int) string, data []byte) []byte {
	var b bytes.Buffer
	member := func(name string, size int) {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8d%-10d`\n", name, 0, 0, 0, 644, size)
	}
	b.WriteString("!<arch>\n")
	if len(names) > 0 {
		member("//", len(names))
		b.Write(names)
	}
	for i := range n {
		member(name(i), len(data))
		b.Write(data)
	}
	return b.Bytes()
}

// deb is a package with a stream of files [deb(5)].
func deb(data []byte) []byte {
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8d%-10d`\n%s", "debian-binary", 0, 0, 0, 644, 4, "2.0\n")
	fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8d%-10d`\n", "data.tar.zst", 0, 0, 0, 644, len(data))
	return append(b.Bytes(), data...)
}

// tarOf is a stream of n files with the same contents.
func tarOf(n int, name func(i int) string, data []byte) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range n {
		err := w.WriteHeader(&tar.Header{Name: name(i), Typeflag: tar.TypeReg, Size: int64(len(data)), Format: tar.FormatPAX})
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// sparseTar is a stream with a file of size bytes, of which it holds a block [GNU tar, PAX
// 1.0]. The first of the file's bytes are those of an ELF file.
func sparseTar(size int64) []byte {
	sparse := fmt.Sprintf("1\n0\n512\n%d\n", size)
	head := make([]byte, 512)
	copy(head, "\x7fELF")
	copyOf := append([]byte(strings.Replace(sparse, fmt.Sprint(size), "512", 1)), make([]byte, 512-len(sparse)+len(fmt.Sprint(size))-3)...)
	var b bytes.Buffer
	record := func(key, value string) string {
		n := len(key) + len(value) + 3
		for n != len(fmt.Sprint(n))+len(key)+len(value)+3 {
			n = len(fmt.Sprint(n)) + len(key) + len(value) + 3
		}
		return fmt.Sprintf("%d %s=%s\n", n, key, value)
	}
	pax := record("GNU.sparse.major", "1") + record("GNU.sparse.minor", "0") + record("GNU.sparse.name", "big") + record("GNU.sparse.realsize", fmt.Sprint(size))
	block := func(name string, typ byte, size int) {
		h := make([]byte, 512)
		copy(h, name)
		copy(h[100:], "0000644\x000000000\x000000000\x00")
		copy(h[124:], fmt.Sprintf("%011o\x0000000000000\x00        ", size))
		h[156] = typ
		copy(h[257:], "ustar\x0000")
		sum := 0
		for _, c := range h {
			sum += int(c)
		}
		copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
		b.Write(h)
	}
	block("pax", 'x', len(pax))
	b.WriteString(pax)
	b.Write(make([]byte, -len(pax)&511))
	block("big", '0', len(copyOf)+len(head))
	b.Write(copyOf)
	b.Write(head)
	b.Write(make([]byte, 1024))
	return b.Bytes()
}

// rpm is a package with headers of sizes, and a stream of files.
func rpm(entries, size uint32, stream []byte) []byte {
	b := testkit.New(binary.BigEndian).D8(0xed, 0xab, 0xee, 0xdb).Zero(92)
	b.D8(0x8e, 0xad, 0xe8, 1).D32(0, 0, 0)
	b.D8(0x8e, 0xad, 0xe8, 1).D32(0, entries, size)
	return b.Raw(stream).Done()
}

// cpioEntry is a file of a stream [cpio(5), the new format].
func cpioEntry(name string, mode int, data []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00", 1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0, name)
	b.Write(make([]byte, -b.Len()&3))
	b.Write(data)
	b.Write(make([]byte, -b.Len()&3))
	return b.Bytes()
}

// row is a row of a survey.
func row(i int) string {
	return fmt.Sprintf(`{"file":"f%d","kind":"program","arch":"amd64","versions":["3"],"files":1,"filesWithSFrame":1,"codeBytes":9,"codeInSFrame":9,"codeInCFI":9,"codeInBoth":9,"sframeBytes":9,"ehFrameBytes":9}`, i)
}

func surveyOf(rows string) []byte {
	return []byte(`{"schema":"sfcore.sframe-survey/1","files":[` + rows + `]}`)
}

func judged() []input {
	elfHead := elf().File()[:64]
	// small is an object in which everything is wrong.
	small := (&testkit.ELF{Order: binary.LittleEndian, Type: 1, Machine: 62, Sections: []testkit.ELFSection{
		{Name: ".text", Type: sectProgbits, Flags: flagAlloc | flagExec, Data: make([]byte, 16), Align: 16},
		{Name: ".sframe", Type: sectProgbits, Flags: flagAlloc, Data: sharedRows(4, 2), Align: 8},
	}}).File()
	number := func(i int) string { return fmt.Sprint(i, ".o/") }
	// wrong are 3,000 functions with other rules in the two tables.
	wrong := func(name func(i int) string) []testkit.ELFSection {
		funcs := make([]frame, 3000)
		for i := range funcs {
			funcs[i] = frame{textAt + uint64(i)*4, 4, []byte{0x0e, 32}}
		}
		return append(functions(3000, name), table(".sframe", 0, sharedApart(3000)), table(".eh_frame", 1, ehFrame(funcs...)))
	}
	gate := func(f *folder, name string, data []byte, flags ...string) []string {
		return append(append([]string{"sframe", "gate"}, flags...), f.write(name, data))
	}
	survey := func(f *folder, name string, data []byte, flags ...string) []string {
		return append(append([]string{"sframe", "survey"}, flags...), f.write(name, data))
	}
	return []input{
		{"gate-names", "3,000 functions that differ, with names of 60 KB of templates", false, func(f *folder) []string {
			return gate(f, "exe", elf(wrong(func(i int) string { return fmt.Sprint("_Z1f", i, "I", strings.Repeat("1aI", 20000)) })...).File(), "--format", "sarif")
		}},
		{"gate-allow", "10,000 patterns of 20 stars for 2,000 findings with names of 256 bytes", false, func(f *folder) []string {
			allow := f.write("allow", []byte(strings.Repeat("wrong* * "+strings.Repeat("*a", 20)+"b # no\n", 10000)))
			return gate(f, "exe", elf(wrong(func(i int) string { return strings.Repeat("a", 300) + fmt.Sprint(i) })...).File(), "--allow", allow)
		}},
		{"gate-archive-heads", "an archive of 600,000 files that are only the head of an ELF file", false, func(f *folder) []string {
			return gate(f, "lib.a", archive(nil, 600000, number, elfHead), "--format", "junit")
		}},
		{"gate-archive-names", "an archive of 300,000 members with names that share 4 KB", false, func(f *folder) []string {
			names := append(times(4095, 'n'), '\n')
			return gate(f, "lib.a", archive(names, 300000, func(i int) string { return fmt.Sprint("/", i%4000) }, elfHead))
		}},
		{"gate-archive-small", "an archive of 60,000 small objects that are all wrong", false, func(f *folder) []string {
			return gate(f, "lib.a", archive(nil, 60000, number, small), "--format", "json")
		}},
		{"gate-archive-size", "an archive whose member is said to have 1 TB", true, func(f *folder) []string {
			return gate(f, "lib.a", []byte("!<arch>\n"+fmt.Sprintf("%-16s%-12d%-6d%-6d%-8d%-10d`\n", "a.o/", 0, 0, 0, 644, 9_999_999_999)+"\x7fELF"))
		}},
		{"gate-deb-zeros", "a package of 8 GiB of zeros", false, func(f *folder) []string {
			return gate(f, "a.deb", deb(zstdRun(8<<30, 0)))
		}},
		{"gate-deb-sparse", "a package with a file of 1 TiB that is a hole", true, func(f *folder) []string {
			return gate(f, "a.deb", deb(zstdFrame(sparseTar(1<<40))))
		}},
		{"gate-deb-entries", "a package of 200,000 empty files, each with a name of 3 KB", false, func(f *folder) []string {
			long := strings.Repeat("n/", 1500)
			return gate(f, "a.deb", deb(zstdFrame(tarOf(200000, func(i int) string { return fmt.Sprint(long, i) }, nil))))
		}},
		{"gate-deb-names", "a package of 5,000 heads of ELF files, each with a name of 60 KB", false, func(f *folder) []string {
			long := strings.Repeat("n/", 30000)
			return gate(f, "a.deb", deb(zstdFrame(tarOf(5000, func(i int) string { return fmt.Sprint(long, i) }, elfHead))))
		}},
		{"gate-rpm-index", "a package whose header has 4 billion entries", true, func(f *folder) []string {
			return gate(f, "a.rpm", rpm(1<<32-1, 1<<32-1, nil))
		}},
		{"gate-rpm-entries", "a package of 1,000,000 links with targets of 4 KB", false, func(f *folder) []string {
			one := cpioEntry("l", 0o120777, times(4096, 't'))
			return gate(f, "a.rpm", rpm(0, 0, zstdFrame(bytes.Repeat(one, 100000))))
		}},
		{"gate-baseline", "a baseline of 4,000,000 findings that say nothing", false, func(f *folder) []string {
			base := f.write("base", []byte(`{"schema":"sfcore.sframe-baseline/1","findings":[{}`+strings.Repeat(`,{}`, 4000000)+`]}`))
			return gate(f, "exe", elf(table(".sframe", 0, sharedRows(10, 1))).File(), "--baseline", base)
		}},
		{"survey-empty", "a survey of 20,000,000 files that say nothing", false, func(f *folder) []string {
			return survey(f, "s.json", surveyOf("{}"+strings.Repeat(",{}", 20000000)))
		}},
		{"survey-lists", "a survey of 20,000,000 versions that say nothing", false, func(f *folder) []string {
			return survey(f, "s.json", surveyOf(`{"versions":[""`+strings.Repeat(`,""`, 20000000)+`]}`))
		}},
		{"survey-page", "a survey of 200,000 files, as a page", false, func(f *folder) []string {
			var rows []string
			for i := range 200000 {
				rows = append(rows, row(i))
			}
			return survey(f, "s.json", surveyOf(strings.Join(rows, ",")), "--format", "html")
		}},
		{"survey-lies", "a survey in which the tables have more code than there is", true, func(f *folder) []string {
			return survey(f, "s.json", surveyOf(strings.Replace(row(1), `"codeInBoth":9`, `"codeInBoth":17`, 1)), "--format", "html")
		}},
		{"survey-owners", "a root whose packages have 10,000,000 files", false, func(f *folder) []string {
			var b bytes.Buffer
			for i := range 10000000 {
				fmt.Fprintln(&b, i)
			}
			f.write("root/var/lib/dpkg/info/a.list", b.Bytes())
			return survey(f, "root/exe", elfHead, f.in("root"))
		}},
		{"survey-owner-pipe", "a root whose list of files is a pipe, and another a link to a device", true, func(f *folder) []string {
			f.pipes("root/var/lib/dpkg/info/a.list")
			f.symlink("/dev/zero", "root/var/lib/dpkg/info/b.list")
			return survey(f, "root/exe", elfHead, f.in("root"))
		}},
		{"survey-journal", "a journal with a line of 1 TiB", false, func(f *folder) []string {
			return survey(f, "exe", elfHead, "--journal", f.sparse("j", []byte("{\"schema\":\"sfcore.sframe-survey-journal/1\"}\n"), 1<<40))
		}},
	}
}

// sharedApart is an .sframe section of V2 with n functions of 4 bytes, one behind the
// other, that share a row.
func sharedApart(n int) []byte {
	b := testkit.New(binary.LittleEndian)
	b.D16(0xdee2).D8(2, 1|4, 3, 0, 0xf8, 0).D32(uint32(n), uint32(n), 3, 0, 20*uint32(n))
	for i := range n {
		b.D32(uint32(int64(textAt)+4*int64(i)-tableAt-int64(b.Len())), 4, 0, 1).D8(0, 0).Zero(2)
	}
	return b.D8(0, 3|1<<1, 16).Done()
}
