package survey

import (
	"bufio"
	"path/filepath"
	"strings"

	"github.com/sfcore/sfcore/internal/elfx"
)

// Owners says which package the files of a root file system come from, by the lists of
// dpkg. The nil Owners knows no package.
type Owners map[string]string

// maxOwned bounds the files of all lists, which take some 150 bytes each. Large
// installations have a million.
const maxOwned = 2 << 20

// FindOwners reads the lists of dpkg below a root, if there are any. Names are relative
// to the root.
func FindOwners(root string) Owners {
	lists, err := filepath.Glob(filepath.Join(root, "var/lib/dpkg/info/*.list"))
	if err != nil {
		return nil
	}
	o := Owners{}
	for _, list := range lists {
		o.add(list)
	}
	return o
}

func (o Owners) add(list string) {
	f, err := elfx.OpenRegular(list)
	if err != nil {
		return
	}
	defer f.Close()
	name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(list), ".list"), ":")
	for in := bufio.NewScanner(f); in.Scan() && len(o) < maxOwned; {
		path := strings.TrimPrefix(in.Text(), "/")
		// /lib is a link to /usr/lib where the two are merged.
		for _, merged := range []string{"bin/", "lib/", "lib64/", "sbin/"} {
			if strings.HasPrefix(path, merged) {
				o["usr/"+path] = name
			}
		}
		o[path] = name
	}
}
