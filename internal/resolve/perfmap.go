package resolve

import (
	"fmt"
	"iter"
	"path/filepath"
)

// PerfMaps yields the names of files that may be the perf map of a process, by which
// a just-in-time compiler names its code. pid is the process id that the process
// itself knows. given is set for files below Paths, which the user named. Of a live
// process only its own /tmp counts.
func (r *Resolver) PerfMaps(pid int) iter.Seq2[string, bool] {
	base := fmt.Sprintf("perf-%d.map", pid)
	return func(yield func(name string, given bool) bool) {
		if !r.named(base, func(name string) bool { return yield(name, true) }) {
			return
		}
		name := "/tmp/" + base
		switch {
		case r.opts.Sysroot != "":
			name = below(r.opts.Sysroot, name)
		case r.opts.NoRoot:
			name = ""
		case r.opts.ProcessRoot != "":
			name = below(r.opts.ProcessRoot, name)
		}
		if name != "" && !yield(name, false) || r.opts.CoreDir == "" {
			return
		}
		yield(filepath.Join(r.opts.CoreDir, base), false)
	}
}
