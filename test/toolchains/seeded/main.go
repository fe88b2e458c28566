// Command seeded plants each defect of internal/gate/defect into files with .sframe, and
// says whether "sfcore sframe gate" finds it by its name. A kernel gets .sframe first,
// made of its .debug_frame, in the place of its ORC tables: no kernel is to be had with
// one. The exit status is 1 if a defect is not found.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/gate"
	"github.com/sfcore/sfcore/internal/gate/defect"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/sframe/synth"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: seeded FILE...")
		os.Exit(2)
	}
	missed := 0
	for _, file := range os.Args[1:] {
		n, err := seed(file)
		if err != nil {
			fmt.Fprintf(os.Stderr, "seeded: %s: %v\n", file, err)
			os.Exit(2)
		}
		missed += n
	}
	if missed > 0 {
		os.Exit(1)
	}
}

// seed prints what the gate finds in a file, and how many planted defects it does not.
func seed(file string) (missed int, err error) {
	data, err := os.ReadFile(file) //nolint:gosec // the file that was named
	if err != nil {
		return 0, err
	}
	name, made := filepath.Base(file), ""
	e, err := elfx.Parse(data)
	if err != nil {
		return 0, err
	}
	relocatable := e.Type == elfx.TypeRel
	if e.SFrameSection() == nil {
		if made, err = synthesise(file, e); err != nil {
			return 0, err
		}
	}
	own, err := failing(name, data)
	if err != nil {
		return 0, err
	}
	fmt.Printf("%s:%s %s", name, made, cmp.Or(strings.Join(slices.Sorted(maps.Keys(own)), " "), "good"))
	if own["wrong-offset"] { // the whole table is wrong
		fmt.Println("; nothing planted")
		return 0, nil
	}
	planted, hidden, not := 0, 0, []string{}
	for i := range defect.All {
		d := &defect.All[i]
		bad, ok, err := d.Plant(data)
		if err != nil {
			return 0, err
		}
		if !ok || own[d.ID] {
			continue
		}
		planted++
		found, err := failing(name, bad)
		if err != nil {
			return 0, err
		}
		switch {
		case found[d.ID], relocatable && len(found) > len(own): // by another name: the file has no address yet
		case relocatable && maps.Equal(found, own): // a relocation writes over it
			planted--
			hidden++
		default:
			not = append(not, fmt.Sprintf("%s (found: %s)", d.ID, strings.Join(slices.Sorted(maps.Keys(found)), " ")))
		}
	}
	fmt.Printf("; %d defects planted", planted)
	if hidden > 0 {
		fmt.Printf(", and %d that relocations write over", hidden)
	}
	if len(not) > 0 {
		fmt.Printf(", not found: %s", strings.Join(not, ", "))
	}
	fmt.Println()
	return len(not), nil
}

// failing returns the names of the findings that fail.
func failing(name string, data []byte) (map[string]bool, error) {
	f, err := gate.Examine(name, name, data)
	if err != nil {
		return nil, err
	}
	p := gate.Policy{Least: sframe.Warning}
	v := p.Judge(f)
	found := map[string]bool{}
	for i := range v.Judged {
		if v.Judged[i].State == gate.New {
			found[v.Judged[i].ID] = true
		}
	}
	return found, nil
}

// synthesise puts .sframe where a kernel has its ORC tables: .orc_unwind_ip gets the type
// of the section, and reaches into .orc_unwind, which is behind it and is unnamed.
func synthesise(file string, e *elfx.File) (made string, err error) {
	place, behind := e.Section(".orc_unwind_ip"), e.Section(".orc_unwind")
	if place == nil || behind == nil {
		return "", errors.New("the file has no .sframe, and is no kernel with ORC tables")
	}
	t, err := module.OpenFile(file, nil)
	if err != nil {
		return "", err
	}
	defer t.Close()
	tables := t.Only().Tables.CFI
	if len(tables) == 0 {
		return "", errors.New("the file has no call frame information")
	}
	section, result, err := synth.Section(t.Image().Arch, tables[0], sframe.V3, place.Addr)
	if err != nil {
		return "", err
	}
	if room := behind.Off + behind.Size - place.Off; uint64(len(section)) > room {
		return "", fmt.Errorf("the ORC tables have %d bytes, .sframe takes %d", room, len(section))
	}
	copy(e.Data[place.Off:], section)
	order := e.ByteOrder()
	sects, _ := e.Sections()
	for i := range sects {
		h := e.Data[order.Uint64(e.Data[40:])+uint64(i)*64:]
		switch sects[i].Name {
		case place.Name:
			order.PutUint32(h[4:], elfx.SectGNUSFrame)
			order.PutUint64(h[32:], uint64(len(section)))
		case behind.Name:
			order.PutUint32(h[4:], 0) // SHT_NULL
		}
	}
	return fmt.Sprintf(" .sframe made by synth of %d of %d FDEs:", result.Written, result.FDEs), nil
}
