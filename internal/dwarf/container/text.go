package container

import (
	"strconv"
	"unicode/utf8"

	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
)

const (
	// maxText bounds the bytes of a string that are shown in a list.
	maxText = 200
	// maxWhole bounds those of a string that is asked for in full.
	maxWhole = 1 << 20
	// atOnce is how many bytes are read at a time.
	atOnce = 1 << 15
)

// str is where the characters of a string are.
type str struct {
	scope *value.Scope
	char  *info.Type
	addr  uint64
	n     uint64 // characters
}

// view shows the string.
func (s *str) view() *View {
	v := &View{Kind: Text}
	if s.n > maxElements {
		v.Err = damaged("it cannot have %d characters", s.n)
		return v
	}
	text, err := s.read(maxText)
	if err != nil {
		v.Err = err
		return v
	}
	v.Text = strconv.Quote(text)
	if s.n > maxText {
		v.Text += "..."
	}
	return v
}

// read returns up to most characters.
func (s *str) read(most uint64) (string, error) {
	size := s.char.Strip().Size
	if size == 0 || size > 4 {
		return "", damaged("characters of %d bytes", size)
	}
	n := min(s.n, most)
	var b []byte
	for n > 0 {
		count := min(n, atOnce/size)
		part := s.scope.At("", info.MakeArray(s.char, count), s.addr+uint64(len(b)))
		raw, err := part.Read(count * size)
		if err != nil {
			return "", err
		}
		b = append(b, raw...)
		n -= count
	}
	if size == 1 {
		return string(b), nil
	}
	return s.wide(b, size), nil
}

// wide decodes characters of 2 or 4 bytes.
func (s *str) wide(b []byte, size uint64) string {
	var out []rune
	for ; uint64(len(b)) >= size; b = b[size:] {
		var r rune
		for i := range size {
			if s.scope.Frame().Arch.BigEndian {
				r = r<<8 | rune(b[i])
			} else {
				r |= rune(b[i]) << (8 * i)
			}
		}
		if r < 0 || r > utf8.MaxRune {
			r = utf8.RuneError
		}
		if n := len(out); n > 0 && out[n-1] >= 0xd800 && out[n-1] < 0xdc00 && r >= 0xdc00 && r < 0xe000 { // [Unicode, UTF-16]
			out[n-1] = 0x10000 + (out[n-1]-0xd800)<<10 + r - 0xdc00
			continue
		}
		out = append(out, r)
	}
	return string(out)
}

// String returns the text of a string of C++ or Rust, up to 1 MiB, and whether that is
// all of it. ok is false if the object is no string, or cannot be read.
func String(o *value.Object) (text string, whole, ok bool) {
	s, ok := stringOf(o)
	if !ok || s.n > maxElements {
		return "", false, false
	}
	text, err := s.read(maxWhole)
	return text, s.n <= maxWhole, err == nil
}

func stringOf(o *value.Object) (s *str, ok bool) {
	if o.Type == nil || o.Shape() != value.Members {
		return nil, false
	}
	name := o.Type.Strip().String()
	var l layout
	switch family(name) {
	case "std::basic_string":
		s = cxxStr(o, &l)
	case "std::basic_string_view":
		s = cxxViewStr(o, &l)
	case "alloc::string::String":
		vec := l.at(o, "vec")
		s = &str{o.Scope(), charType, rustBuffer(&vec, &l), l.num(o, "vec", "len")}
	case "alloc::boxed::Box", "&str", "&mut str":
		if !isRustStr(name) {
			return nil, false
		}
		s = &str{o.Scope(), charType, l.num(o, "data_ptr"), l.num(o, "length")}
	default:
		return nil, false
	}
	return s, s != nil && !l.done()
}

var charType = info.MakeBase("u8", 1, info.Unsigned)

func textView(s *str, l *layout) *View {
	if v, ok := l.broken(Text); ok {
		return v
	}
	if s == nil {
		return nil
	}
	return s.view()
}

func cxxString(o *value.Object, _ string) *View {
	var l layout
	s := cxxStr(o, &l)
	return textView(s, &l)
}

func cxxStr(o *value.Object, l *layout) *str {
	args := o.Type.Strip().TemplateArgs()
	if len(args) == 0 || !args[0].IsType {
		l.unknown = true
		return nil
	}
	s := &str{scope: o.Scope(), char: args[0].Type}
	if has(o, "_M_dataplus") {
		s.addr, s.n = l.num(o, "_M_dataplus", "_M_p"), l.num(o, "_M_string_length")
		return s
	}
	rep := []string{"__r_", "__value_"}
	if has(o, "__rep_") {
		rep = []string{"__rep_"}
	}
	in := func(path ...string) []string { return append(rep[:len(rep):len(rep)], path...) }
	if o.Scope().Frame().Arch.BigEndian { // where the flag is differs there
		l.unknown = true
		return nil
	}
	long := false
	if has(o, in("__s", "__is_long_")...) {
		long = l.num(o, in("__s", "__is_long_")...) != 0
		s.n = l.num(o, in("__s", "__size_")...)
	} else { // until version 14
		size := l.num(o, in("__s", "__size_")...)
		long, s.n = size&1 != 0, size>>1
	}
	if long {
		s.addr, s.n = l.num(o, in("__l", "__data_")...), l.num(o, in("__l", "__size_")...)
	} else {
		s.addr = l.addr(o, in("__s", "__data_")...)
	}
	return s
}

func cxxStringView(o *value.Object, _ string) *View {
	var l layout
	s := cxxViewStr(o, &l)
	return textView(s, &l)
}

func cxxViewStr(o *value.Object, l *layout) *str {
	args := o.Type.Strip().TemplateArgs()
	if len(args) == 0 || !args[0].IsType {
		l.unknown = true
		return nil
	}
	s := &str{scope: o.Scope(), char: args[0].Type}
	switch {
	case has(o, "_M_str"):
		s.addr, s.n = l.num(o, "_M_str"), l.num(o, "_M_len")
	case has(o, "__data_"):
		s.addr, s.n = l.num(o, "__data_"), l.num(o, "__size_")
	default:
		s.addr, s.n = l.num(o, "__data"), l.num(o, "__size")
	}
	return s
}
