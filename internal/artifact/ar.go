package artifact

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/sfcore/sfcore/internal/elfx"
)

// The format of archives [ar(5); System V ABI, 7].
const (
	arMagic   = "!<arch>\n"
	arThin    = "!<thin>\n"
	arHeader  = 60
	arTrailer = "`\n"
)

// arMember is a member of an archive, in place.
type arMember struct {
	name string
	data []byte
}

// eachMember calls do for the members of an archive.
func eachMember(data []byte, do func(arMember) error) error {
	var names []byte // the long ones
	for at := len(arMagic); at < len(data); {
		h := data[at:]
		if len(h) < arHeader || string(h[58:60]) != arTrailer {
			return fmt.Errorf("the archive has no header of a member at offset %#x", at)
		}
		size, err := strconv.ParseUint(strings.TrimRight(string(h[48:58]), " "), 10, 40)
		if err != nil || size > uint64(len(h)-arHeader) {
			return fmt.Errorf("the size of the member at offset %#x is %.10q, but %d bytes are left", at, h[48:58], len(h)-arHeader)
		}
		body := h[arHeader : arHeader+size]
		at += arHeader + int(size+size&1)
		name := strings.TrimRight(string(h[:16]), " ")
		switch {
		case name == "//":
			names = body
			continue
		case name == "/", name == "/SYM64/", strings.HasPrefix(name, "__.SYMDEF"):
			continue
		}
		if name, body, err = longName(name, names, body); err != nil {
			return err
		}
		if err := do(arMember{name, body}); err != nil {
			return err
		}
	}
	return nil
}

// longName finds a name that does not fit the header: in a table, as GNU and System V
// do, or before the contents, as BSD does.
func longName(name string, names, body []byte) (string, []byte, error) {
	if digits, ok := strings.CutPrefix(name, "#1/"); ok {
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil || n > uint64(min(len(body), maxName)) {
			return "", nil, fmt.Errorf("the name of a member is %q, which is longer than its %d bytes, or than any name", name, len(body))
		}
		return string(bytes.TrimRight(body[:n], "\x00")), body[n:], nil
	}
	if digits, ok := strings.CutPrefix(name, "/"); ok {
		n, err := strconv.ParseUint(digits, 10, 40)
		if err != nil || n >= uint64(len(names)) {
			return "", nil, fmt.Errorf("the name of a member is %q, but the table of names has %d bytes", name, len(names))
		}
		long, _, _ := bytes.Cut(names[n:min(n+maxName, uint64(len(names)))], []byte("\n"))
		return strings.TrimSuffix(string(long), "/"), body, nil
	}
	return strings.TrimSuffix(name, "/"), body, nil
}

// maxName bounds the length of the name of a member, as PATH_MAX does.
const maxName = 4096

// maxNames bounds the bytes of the names of members, which are kept to tell equal ones
// apart and may share the bytes of the table. The largest archives have some 40,000
// members.
const maxNames = 32 << 20

// eachInArchive calls do for the object files of an archive. Members with the same name
// are told apart by a number.
func eachInArchive(s *Source, data []byte, do func(File) error) error {
	seen, bytesOfNames := map[string]int{}, 0
	found := false
	err := eachMember(data, func(m arMember) error {
		if !bytes.HasPrefix(m.data, []byte(elfx.Magic)) {
			return nil
		}
		found = true
		name := m.name
		if seen[m.name]++; seen[m.name] > 1 {
			name += "#" + strconv.Itoa(seen[m.name])
		}
		if bytesOfNames += len(m.name); bytesOfNames > maxNames {
			return fmt.Errorf("the names of members have more than %d MiB", maxNames>>20)
		}
		return do(s.member(name, m.data))
	})
	if err == nil && !found {
		return ErrNone
	}
	return err
}
