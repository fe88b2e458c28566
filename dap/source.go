package dap

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"

	godap "github.com/google/go-dap"
)

// fileCache remembers which source files are on this machine.
type fileCache map[string]string

// maxFiles bounds the files that are remembered.
const maxFiles = 1 << 16

// local returns where the source file that debug information names is on this
// machine, "" if it is not.
func (s *session) local(ctx context.Context, file string) string {
	if file == "" {
		return ""
	}
	cache := s.snap.files
	name, known := cache[file]
	if !known {
		name = s.config.localSource(file)
		if st, err := os.Stat(name); err != nil || !filepath.IsAbs(name) || !st.Mode().IsRegular() {
			name = ""
			if found := s.snap.sources.find(ctx, file); len(found) == 1 {
				name = found[0]
			}
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

// sourceOf returns the source of frame i and the line in it: of its file; where there
// is no debug information, of its disassembly; or else of a page that says what is
// missing.
func (s *session) sourceOf(ctx context.Context, st *stack, i int) (*godap.Source, int) {
	r, f := &st.Frames[i], st.frame(i)
	if name := s.local(ctx, r.File); name != "" {
		src := fileSource(name)
		if !strings.HasSuffix(r.File, strings.TrimPrefix(name, "/")) {
			src.Origin = "found for " + oneLine(r.File)
		}
		return src, r.Line
	}
	if src := s.remoteSource(r, f.LookupPC()); src != nil {
		return src, r.Line
	}
	src, line := s.generatedSource(r, f)
	if st.sourced {
		src.PresentationHint = "deemphasize"
	}
	return src, line
}

// generatedSource returns a source that is no file.
func (s *session) generatedSource(r *report.Frame, f *unwind.Frame) (*godap.Source, int) {
	if r.File == "" {
		if l, ok := s.snap.listingAt(f.LookupPC(), f.PC); ok {
			return s.listingSource(&l), l.line
		}
	}
	return s.missingSource(r, f.LookupPC())
}

// Listings are disassembly in the form of a source file: of one function, or
// of some code without a name.
const (
	listingHead  = 2    // lines before the first instruction
	listingPage  = 2000 // instructions of a long function that are in one listing
	listingAhead = 64   // instructions before and behind a pc in code without a name
)

// listing is the disassembly of a function, or of a page of a long one; or, in code
// without a name, of the instructions around a pc.
type listing struct {
	kind  refKind // refListing or refAround
	start uint64  // of the function, or the boundary of instructions that the others are around
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
	if _, start := s.symbol(addr); start != 0 && addr-start <= maxFunction {
		if index, ok := s.outlines.instruction(s, words, start, addr); ok {
			return listing{refListing, start, index / listingPage, listingHead + index%listingPage + 1}, true
		}
	}
	// As many lines come before the boundary wherever it is, so that none of them is
	// disassembled before somebody reads the listing.
	line := listingHead + listingAhead
	if addr >= boundary {
		line++
	}
	return listing{refAround, boundary, 0, line}, true
}

func (s *session) listingSource(l *listing) *godap.Source {
	name, start := s.snap.symbol(l.start)
	if name == "" || start != l.start || l.kind == refAround {
		name = address(l.start)
	}
	return &godap.Source{
		Name:            fileName(name) + ".s",
		SourceReference: s.snap.refs.id(ref{kind: l.kind, addr: l.start, item: l.page}),
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
	}, shortName(name))
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
	r, ok := snap.refs.get(id, refListing, refAround, refRemote, refMissing)
	if !ok {
		return nil, newError(idReference, "source reference %d is no longer valid", id)
	}
	switch r.kind { //nolint:exhaustive // get returns no others
	case refRemote:
		text, err := s.fetchSource(ctx, &snap.remote[r.item])
		return &godap.SourceResponseBody{Content: text}, err
	case refMissing:
		text := s.missingPage(ctx, snap.missing[r.item], nil)
		return &godap.SourceResponseBody{Content: text, MimeType: "text/plain"}, cancelledOr(ctx, nil)
	case refAround:
		return &godap.SourceResponseBody{Content: snap.around(r.addr), MimeType: "text/x-asm"}, nil
	}
	return &godap.SourceResponseBody{Content: snap.listing(r.addr, r.item), MimeType: "text/x-asm"}, nil
}

// listing writes a page of the disassembly of the function that begins at start.
func (s *snapshot) listing(start uint64, page int) string {
	name, _ := s.symbol(start)
	var b strings.Builder
	s.writeHead(&b, oneLine(name), start, start)
	words, addr := s.words(), start
	for i := range (page + 1) * listingPage {
		l := s.lineAt(words, addr)
		if _, f := s.symbol(addr); l.why != nil || f != start {
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

// around writes the instructions that end at boundary and those that begin there.
func (s *snapshot) around(boundary uint64) string {
	lines := s.before(boundary, listingAhead)
	first := boundary
	if len(lines) > 0 {
		first = lines[0].addr
	}
	what := "code without a name"
	if name, at := s.symbol(boundary); name != "" {
		what = fmt.Sprintf("around %s+%d", oneLine(name), boundary-at)
	}
	var b strings.Builder
	s.writeHead(&b, what, boundary, first)
	for range listingAhead - len(lines) { // the address space begins here
		fmt.Fprintf(&b, "%s\n", unreadableText(errNoMemory))
	}
	for _, l := range s.after(boundary, listingAhead) {
		if l.why != nil {
			break
		}
		lines = append(lines, l)
	}
	words := s.words()
	for i := range lines {
		_, text := s.write(words, &lines[i])
		fmt.Fprintf(&b, "%#x <+%d>:\t%s\n", lines[i].addr, lines[i].addr-first, text)
	}
	return b.String()
}

// writeHead writes the lines of a listing before its instructions, of which the first is
// at an address.
func (s *snapshot) writeHead(b *strings.Builder, what string, addr, first uint64) {
	if module := s.process.Locate(addr).ModulePath; module != "" {
		what += " in " + oneLine(module)
	}
	fmt.Fprintf(b, "; %s\n; %#x, %s\n", what, first, s.process.Image().Arch.Name)
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
		if r.kind == refListing || r.kind == refAround {
			body.Sources = append(body.Sources, *s.listingSource(&listing{kind: r.kind, start: r.addr, page: r.item}))
		}
	}
	return body, nil
}
