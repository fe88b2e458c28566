package crash

import (
	"path"
	"slices"
	"strings"
)

// Place says where a process ran, by its cgroup: no name that the process or its
// container could choose.
type Place struct {
	// Container is the id of a container: 64 hexadecimal digits. Of containers in
	// containers it is the outermost, for what is inside was named by that.
	Container string `json:"container,omitempty"`
	// Pod is the id of a Kubernetes pod: a UUID, with dashes; of a pod that a file of
	// the node describes (a static pod), 32 hexadecimal digits.
	Pod string `json:"pod,omitempty"`
	// Unit is the innermost systemd unit that the container, if any, is in.
	Unit string `json:"unit,omitempty"`
	// Namespace, PodName and ContainerName are the names that the kubelet of this
	// machine gave them: see [Place.name].
	Namespace     string `json:"namespace,omitempty"`
	PodName       string `json:"podName,omitempty"`
	ContainerName string `json:"containerName,omitempty"`
}

// placeOf reads /proc/PID/cgroup: lines of the number of a hierarchy, controllers and a
// path [cgroups(7)]. The path comes from whoever made the cgroup: what is inside of the
// first container was made there, and tells nothing.
func placeOf(cgroup string) (p Place) {
	for line := range strings.Lines(cgroup) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) < 3 {
			continue
		}
		in := placeOfPath(strings.TrimSuffix(fields[2], " (deleted)"))
		if bySystemd := fields[1] == "" || fields[1] == "name=systemd"; bySystemd && in.Unit != "" || p.Unit == "" {
			p.Unit = in.Unit
		}
		if p.Container == "" {
			p.Container = in.Container
		}
		if p.Pod == "" {
			p.Pod = in.Pod
		}
	}
	return p
}

// placeOfPath reads the path of one hierarchy, from the root on.
func placeOfPath(name string) (p Place) {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == ':' })
	for i, part := range parts {
		base := part
		if ext := path.Ext(part); slices.Contains([]string{".slice", ".scope", ".service", ".mount"}, ext) {
			base = strings.TrimSuffix(part, ext)
		}
		last := base[strings.LastIndexByte(base, '-')+1:]
		// Monitors of containers have a scope of their own, outside of the container;
		// pods of Podman are above theirs.
		outside := strings.Contains(base, "-conmon-") || i > 0 && parts[i-1] == "libpod_parent" && base == last && i+1 < len(parts)
		switch pod, isPod := podID(base); {
		case isPod && p.Pod == "":
			p.Pod = pod
		case isHex(last, 64) && !outside:
			p.Container = last
			return p
		case strings.HasSuffix(part, ".service") || strings.HasSuffix(part, ".scope"):
			p.Unit = part
		}
	}
	return p
}

// podID reads the id of a pod: "pod" and a UUID, whose dashes systemd's slices have as
// underscores, as in kubepods-burstable-podUID.slice. The id of a static pod is a hash.
func podID(name string) (string, bool) {
	i := strings.LastIndex(name, "pod")
	if i < 0 || i > 0 && name[i-1] != '-' {
		return "", false
	}
	id := strings.ReplaceAll(name[i+len("pod"):], "_", "-")
	return id, isHex(id, 32) || len(id) == 36 && isHex(strings.ReplaceAll(id, "-", ""), 32)
}

func isHex(s string, digits int) bool {
	return len(s) == digits && strings.Trim(s, "0123456789abcdef") == ""
}
