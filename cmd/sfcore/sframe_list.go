package main

import (
	"bufio"
	"fmt"

	"github.com/sfcore/sfcore/sframe"
)

// textLister lists in the layout of objdump --sframe, which shows only the
// first table of a section and has no names.
type textLister struct {
	out *bufio.Writer
}

func (w *textLister) section(l *listed) {
	fmt.Fprintf(w.out, "\n%s:     file format %s\n\nContents of the SFrame section .sframe:\n", plain(l.file), l.format)
}

func (w *textLister) table(t *sframe.Table) {
	where := ""
	if t.Off != 0 {
		where = fmt.Sprintf(" at offset %#x", t.Off)
	}
	fmt.Fprintf(w.out, "  Header%s :\n\n    Version: %s\n", where, versionName(t.Version))
	names := flagNames(t.Flags)
	for i, name := range names {
		label, comma := "    Flags: ", ","
		if i > 0 {
			label = "           "
		}
		if i == len(names)-1 {
			comma = ""
		}
		fmt.Fprintf(w.out, "%s%s%s\n", label, name, comma)
	}
	if t.FixedFP != 0 {
		fmt.Fprintf(w.out, "    CFA fixed FP offset: %d\n", t.FixedFP)
	}
	if t.FixedRA != 0 {
		fmt.Fprintf(w.out, "    CFA fixed RA offset: %d\n", t.FixedRA)
	}
	if t.AuxLen != 0 {
		fmt.Fprintf(w.out, "    Auxiliary header: %d bytes\n", t.AuxLen)
	}
	fmt.Fprintf(w.out, "    Num FDEs: %d\n    Num FREs: %d\n\n  Function Index :\n\n", t.NumFDEs, t.NumFREs)
}

func versionName(v sframe.Version) string {
	if v == sframe.CTFFrame {
		return v.String()
	}
	return "SFRAME_VERSION_" + v.String()
}

// flagNames are the names that the specification has for flags.
func flagNames(f sframe.Flags) []string {
	var names []string
	for _, n := range []struct {
		flag sframe.Flags
		name string
	}{
		{sframe.FDESorted, "SFRAME_F_FDE_SORTED"},
		{sframe.FramePointer, "SFRAME_F_FRAME_POINTER"},
		{sframe.FuncStartPCRel, "SFRAME_F_FDE_FUNC_START_PCREL"},
	} {
		if f&n.flag != 0 {
			names = append(names, n.name)
			f &^= n.flag
		}
	}
	if f != 0 {
		names = append(names, fmt.Sprintf("%#x", uint8(f)))
	}
	if names == nil {
		return []string{"NONE"}
	}
	return names
}

func (w *textLister) function(f *listedFunc) {
	fmt.Fprintf(w.out, "    func idx [%d]: pc = %#x", f.index, f.start)
	if f.name != "" {
		fmt.Fprintf(w.out, " <%s>", plain(f.name))
	}
	fmt.Fprintf(w.out, ", size = %d bytes", f.Size)
	attr := ""
	if f.Flexible() {
		attr += "F"
	}
	if f.Signal() {
		attr += "S"
	}
	if attr != "" {
		fmt.Fprintf(w.out, ", attr = %q", attr)
	}
	if f.KeyB() {
		fmt.Fprint(w.out, ", pauth = B key")
	}
	base, head := f.start, "STARTPC   "
	if f.PCMask() {
		base, head = 0, "STARTPC[m]"
	}
	fmt.Fprintf(w.out, "\n    %s      %-10s%-10s%-13s\n", head, "CFA", "FP", "RA")
	for i := range f.rows {
		r := &f.rows[i]
		pc := base + uint64(r.Start)
		if r.Count() == 0 {
			fmt.Fprintf(w.out, "    %016x  RA %s\n", pc, r.RA)
			continue
		}
		fmt.Fprintf(w.out, "    %016x  %-9s %-9s %-13s\n", pc, r.CFA, r.FP, r.RA)
	}
	fmt.Fprintln(w.out)
}

func (*textLister) end([]string) {}
