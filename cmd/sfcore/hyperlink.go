package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/sfcore/sfcore/process"
)

// hyperlinks are links from the places of frames to source files, in the form that
// terminals share ["Hyperlinks in Terminal Emulators": OSC 8]. It is nil where there are
// none.
type hyperlinks struct {
	process *process.Process
	host    string
	mu      sync.Mutex
	known   map[string]string // paths here by those of debug information, "" for none
}

// maxLinked bounds the files that are remembered.
const maxLinked = 1 << 12

// wantsLinks decides by the --hyperlinks flag whether there are links.
func wantsLinks(when string, out *output) (bool, error) {
	switch when {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return out.terminal != nil && linksIn(os.Getenv) && (out.pager == nil || out.less), nil
	}
	return false, fmt.Errorf("--hyperlinks: unknown value %q; use auto, always or never", when)
}

// linksIn reports whether a terminal is known to show links, by what it sets in the
// environment. Others may print the link as it is.
func linksIn(env func(string) string) bool {
	version := func(text string) int {
		n, _ := strconv.Atoi(text)
		return n
	}
	switch term := env("TERM"); {
	case term == "dumb":
		return false
	case term == "xterm-kitty", term == "xterm-ghostty", term == "alacritty", term == "foot", strings.HasPrefix(term, "wezterm"):
		return true
	case version(env("VTE_VERSION")) >= 5000, version(env("KONSOLE_VERSION")) >= 201200, env("WT_SESSION") != "", env("DOMTERM") != "":
		return true
	}
	switch program := env("TERM_PROGRAM"); program {
	case "iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper":
		return true
	case "tmux": // which hands links on, or leaves them out
		major, rest, _ := strings.Cut(env("TERM_PROGRAM_VERSION"), ".")
		return version(major) > 3 || version(major) == 3 && rest >= "4"
	}
	return false
}

func newHyperlinks(p *process.Process) *hyperlinks {
	host, _ := os.Hostname()
	return &hyperlinks{process: p, host: host, known: map[string]string{}}
}

// to returns the link to a line of a source file, "" if the file is not here.
func (h *hyperlinks) to(file string, line int) string {
	if h == nil || file == "" {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	name, ok := h.known[file]
	if !ok {
		if name = process.SourceFile(h.process, file); name != "" {
			name, _ = filepath.Abs(name)
		}
		if len(h.known) >= maxLinked {
			clear(h.known)
		}
		h.known[file] = name
	}
	if name == "" {
		return ""
	}
	link := url.URL{Scheme: "file", Host: h.host, Path: filepath.ToSlash(name), Fragment: strconv.Itoa(line)}
	return link.String()
}

// linked puts text into a link; "" is none.
func linked(b []byte, link, text string) []byte {
	if link == "" {
		return append(b, text...)
	}
	b = append(append(append(b, "\x1b]8;;"...), link...), "\x1b\\"...)
	return append(append(b, text...), "\x1b]8;;\x1b\\"...)
}
