package module

import (
	"strings"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/sframe"
)

// Describe returns what was found for a module. It opens the module's symbol
// tables and debug information.
func (s *Set) Describe(m *Module) report.Module {
	r := report.Module{
		Path: m.Path, File: m.Files.Image, BuildID: m.BuildID,
		Base: report.Addr(m.Lo), End: report.Addr(m.Hi), Bias: report.Addr(m.Bias), Match: m.Match,
		CFI: len(m.Tables.CFI) > 0, Symbols: "none",
	}
	s.Guard(m.Path, func() {
		r.Debug = s.inRoot(m.DebugFile())
		if t := m.Tables.SFrame; t != nil {
			r.SFrame = describeSFrame(t)
			r.SFrame.File = m.Files.Sidecar
		}
		if o := m.Symbols(); o != nil {
			r.Symbols = o.Source()
			r.Lines = m.Source() != nil
		}
	})
	for _, err := range m.Problems() {
		r.Problems = append(r.Problems, err.Error())
	}
	return r
}

// inRoot returns the name that a live process has for a file below its root directory.
func (s *Set) inRoot(name string) string {
	if rest, ok := strings.CutPrefix(name, s.img.Root+"/"); ok && s.img.Root != "" {
		return "/" + rest
	}
	return name
}

func describeSFrame(s *sframe.Section) *report.SFrame {
	var r report.SFrame
	tables := 0
	for t, err := range s.Tables() {
		if err != nil {
			if r.Problem == "" {
				r.Problem = err.Error()
			}
			continue
		}
		if tables++; tables == 1 {
			r.Version, r.Flags = int(t.Version), flagNames(t.Flags)
		}
		r.Functions += uint64(t.NumFDEs)
	}
	if tables > 1 {
		r.Tables = tables
	}
	return &r
}

func flagNames(f sframe.Flags) []string {
	names := []string{}
	for _, n := range []struct {
		flag sframe.Flags
		name string
	}{{sframe.FDESorted, "sorted"}, {sframe.FramePointer, "frame-pointer"}, {sframe.FuncStartPCRel, "pcrel"}} {
		if f&n.flag != 0 {
			names = append(names, n.name)
		}
	}
	return names
}
