package cfi

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// dumpEntry is a CIE or an FDE as readelf shows it.
type dumpEntry struct {
	cie        *dumpEntry // of an FDE
	start, end uint64
	columns    []string
	rows       []dumpRow
}

type dumpRow struct {
	loc   uint64
	rules map[string]string // by readelf's name of the column
}

type dump map[uint64]*dumpEntry

func (d dump) fdes() (n int) {
	for _, e := range d {
		if e.cie != nil {
			n++
		}
	}
	return n
}

var (
	entryLine = regexp.MustCompile(`^([0-9a-f]{8}) [0-9a-f]{16} [0-9a-f]{8} (CIE|FDE)(?: cie=([0-9a-f]{8}) pc=([0-9a-f]{16})\.\.([0-9a-f]{16}))?`)
	rowLine   = regexp.MustCompile(`^[0-9a-f]{16} `)
	// A rule like "r23 (f7)" holds a blank.
	blankName = regexp.MustCompile(`(r\d+) \((\w+)\)`)
)

func readDump(t testing.TB, name string) dump {
	t.Helper()
	var r io.Reader
	data, err := os.ReadFile(filepath.Join("testdata", name+".readelf"))
	r = bytes.NewReader(data)
	if err != nil {
		if data, err = os.ReadFile(filepath.Join("testdata", name+".readelf.gz")); err == nil {
			r, err = gzip.NewReader(bytes.NewReader(data))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	d := dump{}
	var e *dumpEntry
	for lines := bufio.NewScanner(r); lines.Scan(); {
		line := blankName.ReplaceAllString(lines.Text(), "$1")
		if m := entryLine.FindStringSubmatch(line); m != nil {
			e = &dumpEntry{}
			d[hex(t, m[1])] = e
			if m[2] == "FDE" {
				e.cie, e.start, e.end = d[hex(t, m[3])], hex(t, m[4]), hex(t, m[5])
			}
			continue
		}
		words := strings.Fields(line)
		switch {
		case len(words) > 0 && words[0] == "LOC":
			e.columns = words[1:]
		case rowLine.MatchString(line):
			row := dumpRow{loc: hex(t, words[0]), rules: map[string]string{}}
			for i, name := range e.columns {
				row.rules[name] = words[1+i]
			}
			e.rows = append(e.rows, row)
		}
	}
	return d
}

func hex(t testing.TB, s string) uint64 {
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
