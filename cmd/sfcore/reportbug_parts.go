package main

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/report"
)

// maxPrograms bounds the programs of a report, in bytes. Forges take attachments of a
// tenth of it.
const maxPrograms = 256 << 20

// bugReport is what a report of a wrong stack consists of.
type bugReport struct {
	program  string
	threads  int
	frames   int      // after which stacks end, as they are so many; 0 if they are not
	damaged  bool     // the core is cut off
	differ   []int    // threads whose stacks the minimal core does not show
	leftOut  []string // of the minimal core, because of limits
	versions []byte
	stacks   []byte
	info     []byte
	core     []byte // compressed
	programs []bugPart
}

// bugPart is a file of the report.
type bugPart struct {
	name, what string
	data       []byte
}

// parts returns the files of the report but for the text about it.
func (b *bugReport) parts() []bugPart {
	return append([]bugPart{
		{"versions.json", "versions of sfcore and of its programs, and the kind of system", b.versions},
		{"info.txt", "signal, modules with their paths, build-ids and unwind tables", b.info},
		{"stacks.txt", fmt.Sprintf("the stacks of %s, with their workings", count(b.threads, "thread")), b.stacks},
		{"core.zst", "the minimal core", b.core},
	}, b.programs...)
}

// about says what is in the report.
func (b *bugReport) about() string {
	var s strings.Builder
	fmt.Fprintf(&s, "A report about the stacks of %s. It holds:\n\n  %-15s           this text\n", plain(b.program), "about.txt")
	for _, p := range b.parts() {
		fmt.Fprintf(&s, "  %-15s %9d %s\n", plain(p.name), len(p.data), plain(p.what))
	}
	s.WriteString(`
Left out: arguments and environment, text and numbers in stacks, registers and other
memory, variables, the heap, names of mapped files without code.

Still in it, and private to some: names of functions, source files and threads, paths
of programs and libraries, addresses, numbers up to 4096 and those that look like an
address.
`)
	if len(b.programs) == 0 {
		s.WriteString("\nPrograms and libraries are not in it; --with-programs adds them.\n")
	}
	if b.frames > 0 {
		fmt.Fprintf(&s, "\nEach stack ends after %d frames, because there are %s; --max-frames takes more.\n", b.frames, count(b.threads, "thread"))
	}
	for _, l := range b.leftOut {
		fmt.Fprintf(&s, "\n%s\n", plain(l))
	}
	if len(b.differ) > 0 {
		fmt.Fprintf(&s, "\nThe minimal core does not show the same stacks as the whole one. Threads that differ:\n%s\n", strings.Trim(fmt.Sprint(b.differ[:min(len(b.differ), 20)]), "[]"))
		s.WriteString("Add to the report what \"sfcore bt -v --thread ID CORE\" prints for one of them.\n")
	} else {
		s.WriteString("\nThe minimal core shows the same stacks as the whole one.\n")
	}
	return s.String()
}

// document says the same as about, of a report in a file.
func (b *bugReport) document(file string) *bugReportDocument {
	d := &bugReportDocument{
		Schema: "sfcore.bug-report/1", File: file, Program: b.program, Damaged: b.damaged, Holds: []bugPartDocument{},
		Differ: append([]int{}, b.differ...), LeftOut: append([]string{}, b.leftOut...),
	}
	for _, p := range b.parts() {
		d.Holds = append(d.Holds, bugPartDocument{p.name, len(p.data), p.what})
	}
	return d
}

// write writes the report. Equal reports are equal files.
func (b *bugReport) write(w io.Writer, about string) error {
	z := zip.NewWriter(w)
	for _, p := range append([]bugPart{{"about.txt", "", []byte(about)}}, b.parts()...) {
		f, err := z.Create(p.name)
		if err != nil {
			return err
		}
		if _, err := f.Write(p.data); err != nil {
			return err
		}
	}
	return z.Close()
}

// addPrograms adds the files that stacks go through.
func (b *bugReport) addPrograms(modules []report.Module, through map[string]bool) error {
	room := int64(maxPrograms)
	for i := range modules {
		m := &modules[i]
		if m.File == "" || !through[m.BuildID] && !through[m.Path] {
			continue
		}
		data, err := readProgram(m.File, room)
		if err != nil {
			return err
		}
		room -= int64(len(data))
		name := m.File[strings.LastIndexAny(m.File, `/\`)+1:]
		b.programs = append(b.programs, bugPart{fmt.Sprintf("programs/%d-%s", len(b.programs), name), "the file of " + m.Path, data})
	}
	return nil
}

// readProgram reads a file that has up to so many bytes.
func readProgram(name string, most int64) ([]byte, error) {
	f, err := elfx.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s: the programs have more than %d MiB together; leave out --with-programs", name, maxPrograms>>20)
	}
	return data, err
}

// versions is what "sfcore version --json" prints, without the paths of programs.
func versions(ctx context.Context) ([]byte, error) {
	doc, _ := askVersions(ctx)
	for i := range doc.Programs {
		doc.Programs[i].Path = ""
	}
	var out bytes.Buffer
	err := doc.json(&out)
	return out.Bytes(), err
}

// compress compresses data with zstd.
func compress(data []byte) ([]byte, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return z.EncodeAll(data, nil), z.Close()
}
