package dap

import (
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/sfcore/sfcore/report"
)

// banner says in the console what is shown.
func (s *session) banner() {
	snap := s.snap
	img := snap.process.Image()
	text := fmt.Sprintf("%s, process %d, %s", snap.name(), img.PID, img.Arch.Name)
	switch {
	case s.spec.Core != "":
		text = "core file of " + text
	case s.spec.PID != 0:
		text = "snapshot of " + text
	}
	threads := "1 thread"
	if n := len(snap.threads); n != 1 {
		threads = fmt.Sprintf("%d threads", n)
	}
	s.output("console", "sfcore: %s, %s. Nothing is executed; help lists the commands of this console.", text, threads)
	if img.Signal != nil {
		s.output("console", "%s", snap.exception(img.Signal).Description)
	}
}

// maxNamed is how many missing files a message names.
const maxNamed = 5

// tellMissing says which files of the process are not on this machine. That of the
// program is worth a message of its own in the editor.
func (s *session) tellMissing(missing []report.Module, executable string, fetches bool) {
	if len(missing) == 0 {
		return
	}
	category, names := "console", make([]string, 0, maxNamed)
	for i := range missing {
		m := &missing[i]
		if m.Path == executable {
			category = "important"
		}
		if i < maxNamed {
			names = append(names, fmt.Sprintf("%s (build-id %s)", oneLine(path.Base(m.Path)), orNone(m.BuildID)))
		}
	}
	if more := len(missing) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	text := fmt.Sprintf("Not on this machine: %s. Without these files there are no names, and stacks may end early. "+
		"Copy them here, and type \"path DIRECTORY\" in the debug console or add the directory to \"paths\"", strings.Join(names, ", "))
	if !fetches {
		text += "; or set \"debuginfod\": true"
	}
	s.output(category, "%s.", text)
}

// problem says once what is wrong with an image or a module.
func (s *snapshot) problem(say func(category, format string, args ...any), text string) {
	s.sayLock.Lock()
	defer s.sayLock.Unlock()
	if text = oneLine(text); !s.said[text] {
		s.said[text] = true
		say("important", "%s", text)
	}
}

// checkProgram refuses a program that does not exist, which somebody named.
func checkProgram(name string) error {
	if name == "" {
		return nil
	}
	switch st, err := os.Stat(name); {
	case err != nil:
		return newError(idLaunch, "\"program\": there is no file %s; leave \"program\" out to have sfcore look for it", name)
	case st.IsDir():
		return newError(idLaunch, "\"program\": %s is a directory; name the file, or add the directory to \"paths\"", name)
	}
	return nil
}
