package resolve

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sfcore/sfcore/internal/elfx"
)

// kept are the build-ids that an earlier run found. They are a text file, a
// line for each file: time, size, inode, build-id or "-", and quoted name.
type kept struct {
	file string // "" if none are kept
	ids  map[string]keptID
}

type keptID struct {
	stamp
	id string
}

// minKept is the number of files from which on keeping their build-ids saves time.
const minKept = 256

const keptHeader = "sfcore build-ids 1"

// openKept reads the file for opts.Paths, if nobody else has written it. Build-ids
// that it lacks, or holds in another form, are read again.
func openKept(opts Options) *kept {
	k := &kept{ids: map[string]keptID{}}
	if opts.CacheDir == "" {
		return k
	}
	sum := sha256.New()
	for _, p := range opts.Paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return k
		}
		fmt.Fprintf(sum, "%s\x00", abs)
	}
	k.file = filepath.Join(opts.CacheDir, "build-ids-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	f, err := elfx.OpenRegular(k.file)
	if err != nil {
		return k
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !elfx.Own(st) {
		k.file = "" // nor is it replaced
		return k
	}
	k.read(f)
	return k
}

func (k *kept) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	if !lines.Scan() || lines.Text() != keptHeader {
		return
	}
	for lines.Scan() && len(k.ids) < maxListed {
		if name, id, ok := parseKept(lines.Text()); ok {
			k.ids[name] = id
		}
	}
}

func parseKept(line string) (name string, k keptID, ok bool) {
	fields := strings.SplitN(line, " ", 5)
	if len(fields) < 5 {
		return "", k, false
	}
	var errs [4]error
	k.mtime, errs[0] = strconv.ParseInt(fields[0], 10, 64)
	k.size, errs[1] = strconv.ParseInt(fields[1], 10, 64)
	k.inode, errs[2] = strconv.ParseUint(fields[2], 10, 64)
	name, errs[3] = strconv.Unquote(fields[4])
	if fields[3] != "-" {
		k.id = fields[3]
	}
	return name, k, errs == [4]error{}
}

// lookup returns the build-id of a file if it is unchanged.
func (k *kept) lookup(e *entry) (id string, ok bool) {
	was, ok := k.ids[e.name]
	return was.id, ok && was.stamp == e.stamp
}

// save keeps the build-ids for the next run. If it fails, the next run reads them
// again.
func (k *kept) save(files []entry, ids []string) {
	if k.file == "" || len(files) < minKept || os.MkdirAll(filepath.Dir(k.file), 0o700) != nil {
		return
	}
	tmp, err := os.CreateTemp(filepath.Dir(k.file), "build-ids-new-*")
	if err != nil {
		return
	}
	err = writeKept(tmp, files, ids)
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err != nil || os.Rename(tmp.Name(), k.file) != nil {
		_ = os.Remove(tmp.Name())
	}
}

func writeKept(w io.Writer, files []entry, ids []string) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, keptHeader)
	for i := range files {
		e, id := &files[i], ids[i]
		if id == "" {
			id = "-"
		}
		fmt.Fprintf(out, "%d %d %d %s %s\n", e.stamp.mtime, e.stamp.size, e.stamp.inode, id, strconv.Quote(e.name))
	}
	return out.Flush()
}
