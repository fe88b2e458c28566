package crash

import (
	"path"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/crash/store"
)

// PlaceOf reads /proc/PID/cgroup: lines of the number of a hierarchy, controllers and a
// path [cgroups(7)]. The path comes from whoever made the cgroup: what is inside of the
// first container was made there, and tells nothing.
func PlaceOf(cgroup string) (p store.Place) {
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
func placeOfPath(name string) (p store.Place) {
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
