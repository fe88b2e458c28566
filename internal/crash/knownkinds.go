package crash

import (
	"io/fs"
	"os"
	"sort"
	"strings"
	"syscall"

	"github.com/sfcore/sfcore/internal/elfx"
)

// kindLine is how many bytes a line of the file of known kinds has: 32 hexadecimal digits, in
// order.
const kindLine = 33

// isKnown reports whether a file of known kinds has a kind. It reads 18 lines of a file of
// 200,000. A file that is not there, is not of this user or root, or is no such file has none:
// more is kept then.
func isKnown(name, kind string) bool {
	if len(kind) != kindLine-1 || strings.Trim(kind, "0123456789abcdef") != "" {
		return false
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || !elfx.Own(st) || st.Mode().Perm()&0o022 != 0 {
		return false
	}
	return hasLine(f, st, kind)
}

func hasLine(f *os.File, st fs.FileInfo, kind string) bool {
	line := make([]byte, kindLine)
	read := func(i int) string {
		if n, err := f.ReadAt(line, int64(i)*kindLine); err != nil || n != kindLine {
			return ""
		}
		return string(line)
	}
	lines := int(st.Size() / kindLine)
	at := sort.Search(lines, func(i int) bool { return read(i) >= kind })
	return at < lines && read(at) == kind+"\n"
}
