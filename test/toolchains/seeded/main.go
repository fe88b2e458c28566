// Command seeded plants each defect of internal/gate/defect into files with .sframe, and
// says whether "sfcore sframe gate" finds it by its name. A kernel and its modules get
// .sframe first, made of their .debug_frame, in the place of their ORC tables: none are
// to be had with one. The exit status is 1 if a defect is not found.
//
// With -o DIR it plants nothing, but writes kernels and modules with .sframe there.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/gate"
	"github.com/sfcore/sfcore/internal/gate/defect"
	"github.com/sfcore/sfcore/sframe"
)

func main() {
	out := flag.String("o", "", "write kernels and modules with .sframe to `DIR`, and plant nothing")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: seeded [-o DIR] FILE...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	missed := 0
	for _, file := range flag.Args() {
		n, err := 0, error(nil)
		if *out != "" {
			err = write(file, *out)
		} else {
			n, err = seed(file)
		}
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
		if data, made, err = synthesise(file, e); err != nil {
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
