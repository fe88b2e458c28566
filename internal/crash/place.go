package crash

import (
	"path"
	"strings"
)

// Place says where a process ran, by its cgroup: no name that the process or its
// container could choose.
type Place struct {
	// Container is the id of a container: 64 hexadecimal digits.
	Container string `json:"container,omitempty"`
	// Pod is the id of a Kubernetes pod, with dashes.
	Pod string `json:"pod,omitempty"`
	// Unit is the innermost systemd unit.
	Unit string `json:"unit,omitempty"`
}

// placeOf reads /proc/PID/cgroup: lines of the number of a hierarchy, controllers and a
// path [cgroups(7)]. The path comes from whoever made the cgroup.
func placeOf(cgroup string) (p Place) {
	for line := range strings.Lines(cgroup) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) < 3 {
			continue
		}
		for part := range strings.FieldsFuncSeq(fields[2], func(r rune) bool { return r == '/' || r == ':' }) {
			base := strings.TrimSuffix(part, path.Ext(part))
			last := base[strings.LastIndexByte(base, '-')+1:]
			switch pod, isPod := podID(base); {
			case isPod:
				p.Pod = pod
			case isHex(last, 64):
				p.Container = last
			case strings.HasSuffix(part, ".service") || strings.HasSuffix(part, ".scope"):
				p.Unit = part
			}
		}
	}
	return p
}

// podID reads the id of a pod: "pod" and a UUID, whose dashes systemd's slices have as
// underscores, as in kubepods-burstable-podUID.slice.
func podID(name string) (string, bool) {
	i := strings.LastIndex(name, "pod")
	if i < 0 {
		return "", false
	}
	id := strings.ReplaceAll(name[i+len("pod"):], "_", "-")
	return id, len(id) == 36 && isHex(strings.ReplaceAll(id, "-", ""), 32)
}

func isHex(s string, digits int) bool {
	return len(s) == digits && strings.Trim(s, "0123456789abcdef") == ""
}
