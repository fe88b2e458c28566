// Package version says which version of sfcore a program is. All programs of one
// release have the same.
package version

import (
	"runtime"
	"runtime/debug"
)

// number is the version that this tree is, or becomes: the newest of CHANGELOG.md.
const number = "0.2.0"

// released is the version that whoever builds packages gives the linker:
//
//	-X github.com/sfcore/sfcore/internal/version.released=0.2.0
var released string

// Info is the version of a program and what it was built from.
type Info struct {
	// Version is a semantic version, without "v". That of a build between releases is
	// the version that comes next, with "-dev".
	Version string `json:"version"`
	// Revision is the commit and Time when it was made, if the go command recorded that.
	// Modified says that there were changes besides.
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Get returns the version of this program.
func Get() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return get(build, released)
}

func get(build *debug.BuildInfo, released string) Info {
	info := Info{Version: released, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Revision = s.Value
		case "vcs.time":
			info.Time = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	switch {
	case released != "":
	case build.Main.Version == "v"+number && !info.Modified: // go install ...@v0.2.0, or a build of that tag
		info.Version = number
	default:
		info.Version = number + "-dev"
	}
	return info
}

// String returns the version in one line, for people.
func (i Info) String() string {
	text := i.Version + " (" + i.Go
	if i.Revision != "" {
		text += ", commit " + i.Revision[:min(12, len(i.Revision))]
	}
	if i.Time != "" {
		text += " of " + i.Time
	}
	if i.Modified {
		text += ", changed"
	}
	return text + ")"
}
