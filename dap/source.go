package dap

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/display"

	godap "github.com/google/go-dap"
)

// fileCache remembers which source files are on this machine.
type fileCache map[string]string

// maxFiles bounds the files that are remembered.
const maxFiles = 1 << 16

// local returns where the source file that debug information names is on this
// machine, "" if it is not.
func (s *session) local(file string) string {
	if file == "" {
		return ""
	}
	cache := s.snap.files
	name, known := cache[file]
	if !known {
		name = s.config.localSource(file)
		if st, err := os.Stat(name); err != nil || !st.Mode().IsRegular() {
			name = ""
		}
		if len(cache) >= maxFiles {
			clear(cache)
		}
		cache[file] = name
	}
	return name
}

func fileSource(name string) *godap.Source {
	return &godap.Source{Name: oneLine(path.Base(name)), Path: name}
}

// sourceOf returns the source of frame i and the line in it: of its file or,
// where that is not here, of its disassembly; nil if there is neither.
func (s *session) sourceOf(st *stack, i int) (*godap.Source, int) {
	r, f := &st.Frames[i], st.frame(i)
	if name := s.local(r.File); name != "" {
		return fileSource(name), r.Line
	}
	if src := s.remoteSource(r); src != nil {
		return src, r.Line
	}
	l, ok := s.snap.listingAt(f.LookupPC(), f.PC)
	if !ok {
		return nil, 0
	}
	src := s.listingSource(&l)
	if r.File != "" {
		src.Origin = fmt.Sprintf("disassembly; %s:%d is not on this machine", oneLine(r.File), r.Line)
	}
	if st.sourced {
		src.PresentationHint = "deemphasize"
	}
	return src, l.line
}

// Listings are disassembly in the form of a source file: of one function, or
// of some code without a name.
const (
	listingHead  = 2    // lines before the first instruction
	listingPage  = 2000 // instructions of a long function that are in one listing
	listingAhead = 64   // instructions before and behind a pc in code without a name
)

// listing is the disassembly of a function, or of a page of a long one.
type listing struct {
	start uint64 // of the function, or of what is listed of code without a name
	page  int
	line  int // of the address that was asked for, from 1
}

// listingAt returns the listing in which an address is, and its line. The
// address is in the instruction at boundary, or in the one that ends there.
// There is no listing where there is no code.
func (s *snapshot) listingAt(addr, boundary uint64) (listing, bool) {
	words := s.words()
	if l := s.lineAt(words, addr); l.why != nil || !s.executable(addr) {
		return listing{}, false
	}
	_, start := s.symbol(addr)
	if start == 0 || addr-start > maxFunction {
		start = s.outlines.start(s, boundary)
	}
	index := s.outlines.instruction(s, words, start, addr)
	return listing{start: start, page: index / listingPage, line: listingHead + index%listingPage + 1}, true
}

func (s *session) listingSource(l *listing) *godap.Source {
	name, start := s.snap.symbol(l.start)
	if name == "" || start != l.start {
		name = address(l.start)
	}
	return &godap.Source{
		Name:            fileName(name) + ".s",
		SourceReference: s.snap.refs.id(ref{kind: refListing, addr: l.start, item: l.page}),
		Origin:          "disassembly",
	}
}

// maxName bounds the names of listings, which are titles of editors' tabs.
const maxName = 80

// fileName makes a file name of the name of a function.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if display.Unsafe(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, withoutParameters(name))
	if runes := []rune(name); len(runes) > maxName {
		name = string(runes[:maxName])
	}
	return name
}

func (s *session) source(ctx context.Context, args *godap.SourceArguments) (any, error) {
	snap, err := s.stopped()
	if err != nil {
		return nil, err
	}
	id := args.SourceReference
	if args.Source != nil && args.Source.SourceReference > 0 {
		id = args.Source.SourceReference
	}
	r, ok := snap.refs.get(id, refListing, refRemote)
	if !ok {
		return nil, newError(idReference, "source reference %d is no longer valid", id)
	}
	if r.kind == refRemote {
		text, err := s.fetchSource(ctx, snap.remote[r.item])
		return &godap.SourceResponseBody{Content: text}, err
	}
	return &godap.SourceResponseBody{Content: snap.listing(r.addr, r.item), MimeType: "text/x-asm"}, nil
}

// listing writes a page of the disassembly that begins at start.
func (s *snapshot) listing(start uint64, page int) string {
	name, at := s.symbol(start)
	named := name != "" && at == start
	var b strings.Builder
	where := ""
	if module := s.process.Locate(start).ModulePath; module != "" {
		where = " in " + oneLine(module)
	}
	if named {
		fmt.Fprintf(&b, "; %s%s\n", oneLine(name), where)
	} else {
		fmt.Fprintf(&b, "; code without a name%s\n", where)
	}
	fmt.Fprintf(&b, "; %#x, %s\n", start, s.process.Image().Arch.Name)

	count := listingPage
	if !named {
		count = 2 * listingAhead
	}
	words, addr := s.words(), start
	for i := 0; i < page*listingPage+count; i++ {
		l := s.lineAt(words, addr)
		if _, f := s.symbol(addr); l.why != nil || named && f != start {
			break
		}
		if i >= page*listingPage {
			_, text := s.write(words, &l)
			fmt.Fprintf(&b, "%#x <+%d>:\t%s\n", l.addr, l.addr-start, text)
		}
		addr = l.end()
	}
	return b.String()
}

// loadedSources lists the files that frames were found in so far.
func (s *session) loadedSources(context.Context, *none) (any, error) {
	snap, err := s.stopped()
	if err != nil {
		return nil, err
	}
	body := &godap.LoadedSourcesResponseBody{Sources: []godap.Source{}}
	for _, name := range snap.files {
		if name != "" {
			body.Sources = append(body.Sources, *fileSource(name))
		}
	}
	slices.SortFunc(body.Sources, func(a, b godap.Source) int { return strings.Compare(a.Path, b.Path) })
	for _, r := range snap.refs.refs {
		if r.kind == refListing {
			body.Sources = append(body.Sources, *s.listingSource(&listing{start: r.addr, page: r.item}))
		}
	}
	return body, nil
}
