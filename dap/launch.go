package dap

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sfcore/sfcore/process"
)

// config is a launch configuration, in sfcore's own spelling or in those of cppdbg
// and delve, so that existing configurations keep working.
type config struct {
	CoreFile    string    `json:"coreFile"`
	PID         processID `json:"pid"`
	Program     string    `json:"program"`
	Sysroot     string    `json:"sysroot"`
	Paths       []string  `json:"paths"`
	SourceMap   sourceMap `json:"sourceMap"`
	SourcePaths []string  `json:"sourcePaths"`
	ShowMethods bool      `json:"showMethods"` // in the names of frames
	Goroutines  *bool     `json:"goroutines"`  // as threads
	StopOnEntry *bool     `json:"stopOnEntry"`
	Cwd         string    `json:"cwd"`
	DebugDirs   []string  `json:"debugDirs"`
	SFrameDirs  []string  `json:"sframeDirs"`
	Methods     []string  `json:"methods"`
	MaxFrames   int       `json:"maxFrames"`
	MaxTime     int64     `json:"maxTime"` // of a stack, in milliseconds
	TotalTime   int64     `json:"maxTotalTime"`
	Debuginfod  fetching  `json:"debuginfod"`
	Dlv         string    `json:"dlv"` // address of a dlv --headless

	// cppdbg
	CoreDumpPath  string    `json:"coreDumpPath"`
	ProcessID     processID `json:"processId"` // delve too
	SOLibPath     string    `json:"additionalSOLibSearchPath"`
	SourceFileMap sourceMap `json:"sourceFileMap"`

	// codelldb, lldb-dap
	TargetCreate []string `json:"targetCreateCommands"`
	AttachWith   []string `json:"attachCommands"`
	SourcePath   string   `json:"sourcePath"`

	// delve
	Mode           string        `json:"mode"`
	Host           string        `json:"host"` // of dlv, with mode remote
	Port           int           `json:"port"`
	CoreFilePath   string        `json:"coreFilePath"`
	SubstitutePath []replacement `json:"substitutePath"`

	warnings []string // for the user
}

// coreOfCommand finds the core file in a command of lldb that opens one.
var coreOfCommand = regexp.MustCompile(`^target create\b.*\s(?:-c|--core)[ =]("[^"]+"|'[^']+'|\S+)`)

// parseConfig decodes the arguments of launch or attach.
func parseConfig(raw json.RawMessage) (*config, error) {
	c := new(config)
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, c); err != nil {
			return nil, newError(idLaunch, "the launch configuration: %s", explainJSON(err))
		}
		c.warnings = c.Debuginfod.unused
	}
	return c, nil
}

// spec returns what the configuration says is to be opened.
func (c *config) spec() (Spec, error) {
	var p Spec
	switch c.Mode {
	case "", "core", "local", "attach", "remote":
	default:
		return p, newError(idLaunch, "mode %q would run a program; sfcore opens core files (\"coreFile\") and running processes (\"pid\")", c.Mode)
	}
	var named []string
	for _, core := range []struct{ key, path string }{
		{"coreFile", c.CoreFile}, {"coreDumpPath", c.CoreDumpPath}, {"coreFilePath", c.CoreFilePath},
	} {
		if core.path != "" {
			named = append(named, strconv.Quote(core.key))
			p.Core = c.resolve(core.path)
		}
	}
	for key, commands := range map[string][]string{"targetCreateCommands": c.TargetCreate, "attachCommands": c.AttachWith} {
		for _, command := range commands {
			if m := coreOfCommand.FindStringSubmatch(command); m != nil && len(named) == 0 {
				named = append(named, strconv.Quote(key))
				p.Core = c.resolve(strings.Trim(m[1], `"'`))
			}
		}
	}
	for _, pid := range []struct {
		key string
		id  processID
	}{{"pid", c.PID}, {"processId", c.ProcessID}} {
		if pid.id != 0 {
			named = append(named, strconv.Quote(pid.key))
			p.PID = int(pid.id)
		}
	}
	if c.Dlv != "" {
		named = append(named, `"dlv"`)
		p.Dlv = c.Dlv
	}
	if c.Mode == "remote" && c.Port != 0 {
		named = append(named, `"port"`)
		p.Dlv = net.JoinHostPort(cmp.Or(c.Host, "127.0.0.1"), strconv.Itoa(c.Port))
	}
	switch {
	case len(named) == 0:
		return p, newError(idLaunch, "the launch configuration names no process: set \"coreFile\" to the path of a core file, \"pid\" to the id of a running process, or \"dlv\" to the address of a dlv --headless")
	case len(named) > 1:
		return p, newError(idLaunch, "the launch configuration names %d processes, by %s: only one can be opened", len(named), strings.Join(named, " and "))
	case p.PID < 0:
		return p, newError(idLaunch, "%d is not the id of a process", p.PID)
	}
	p.Goroutines = p.Core != ""
	if c.Goroutines != nil {
		p.Goroutines = *c.Goroutines
	}
	p.Options = process.Options{Exe: c.resolve(c.Program), Sysroot: c.resolve(c.Sysroot), MaxFrames: c.MaxFrames}
	p.Options.Methods, p.Options.MaxTime = c.Methods, time.Duration(c.MaxTime)*time.Millisecond
	p.Options.MaxTotalTime = time.Duration(c.TotalTime) * time.Millisecond
	p.Options.Debuginfod, p.Options.DebuginfodServers, p.Options.DebuginfodTimeout = c.Debuginfod.on, c.Debuginfod.servers, c.Debuginfod.timeout
	p.Options.DebugDirs, p.Options.SFrameDirs = c.resolveAll(c.DebugDirs), c.resolveAll(c.SFrameDirs)
	paths := c.Paths
	for path := range strings.SplitSeq(c.SOLibPath, ";") {
		paths = append(paths, path)
	}
	for _, path := range paths {
		if path = strings.TrimSpace(path); path != "" {
			p.Options.Paths = append(p.Options.Paths, c.resolve(path))
		}
	}
	err := settingError(p.Options.Check())
	if p.Options.Debuginfod && p.Options.DebuginfodServers == nil && os.Getenv("DEBUGINFOD_URLS") == "" {
		p.Options.Debuginfod = false
		if again := settingError(p.Options.Check()); again == nil {
			c.warnings = append(c.warnings, "\"debuginfod\" is on, but neither it nor DEBUGINFOD_URLS in the environment of sfcore names a server, so nothing is fetched.")
			err = nil
		}
	}
	return p, err
}

// settings are the keys of a launch configuration that set the options which can
// be wrong.
var settings = map[string]string{"Methods": "methods", "MaxFrames": "maxFrames", "MaxTime": "maxTime", "MaxTotalTime": "maxTotalTime", "Debuginfod": "debuginfod", "DebuginfodTimeout": "debuginfod"}

// settingError says what is wrong with a setting.
func settingError(err error) error {
	if wrong, ok := errors.AsType[*process.OptionError](err); ok {
		return newError(idLaunch, "%q: %v", settings[wrong.Option], wrong.Err)
	}
	return err
}

// resolveAll resolves paths; nil if there are none.
func (c *config) resolveAll(paths []string) []string {
	var resolved []string
	for _, path := range paths {
		resolved = append(resolved, c.resolve(path))
	}
	return resolved
}

// resolve makes a path absolute below the configured directory, if there is
// one. Standard input belongs to the protocol, so "-" is a file name too.
func (c *config) resolve(path string) string {
	switch {
	case path == "" || filepath.IsAbs(path):
		return path
	case c.Cwd != "":
		return filepath.Join(c.Cwd, path)
	case path == "-":
		return "./-"
	}
	return path
}

// localSource returns the path on this machine of a source file that debug
// information names.
func (c *config) localSource(path string) string {
	for _, m := range [][]replacement{c.SourceMap, c.SourceFileMap, c.SubstitutePath} {
		for _, r := range m {
			if rest, ok := strings.CutPrefix(path, r.From); ok && r.From != "" &&
				(rest == "" || rest[0] == '/' || strings.HasSuffix(r.From, "/")) {
				return filepath.Join(c.resolve(r.To), rest)
			}
		}
	}
	return path
}

// replacement replaces the beginning of a path.
type replacement struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// sourceMap are replacements, written as an object. Its values may be objects
// with an editorPath, as in cppdbg's sourceFileMap.
type sourceMap []replacement

// UnmarshalJSON implements json.Unmarshaler. The longest beginning comes first. lldb-dap
// has a list of pairs, too.
func (m *sourceMap) UnmarshalJSON(raw []byte) error {
	*m = nil
	var pairs [][2]string
	if json.Unmarshal(raw, &pairs) == nil {
		for _, pair := range pairs {
			*m = append(*m, replacement{pair[0], pair[1]})
		}
		sortLongest(*m)
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return fmt.Errorf("\"sourceMap\" must be an object, from recorded to local directories, or a list of pairs of these: %w", err)
	}
	for from, value := range object {
		var to string
		var long struct {
			EditorPath string `json:"editorPath"`
		}
		if json.Unmarshal(value, &to) != nil {
			if err := json.Unmarshal(value, &long); err != nil {
				return fmt.Errorf("\"sourceMap\": %q must be mapped to a directory", from)
			}
			to = long.EditorPath
		}
		if to != "" { // codelldb's null leaves paths as they are
			*m = append(*m, replacement{from, to})
		}
	}
	sortLongest(*m)
	return nil
}

// processID is a process id, written as a number or, as VS Code's process
// picker does, as a string.
type processID int

// UnmarshalJSON implements json.Unmarshaler.
func (p *processID) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	if text == "" || text == "null" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%s is not the id of a process", raw)
	}
	*p = processID(n)
	return nil
}

func sortLongest(m []replacement) {
	slices.SortFunc(m, func(a, b replacement) int {
		return cmp.Or(cmp.Compare(len(b.From), len(a.From)), cmp.Compare(a.From, b.From))
	})
}
