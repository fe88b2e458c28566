// Package crash handles processes that the kernel is about to dump: it reads their
// stacks while they stand still, decides what is kept, lets them go, and keeps it in a
// store. docs/crash.md describes it.
package crash

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/limit"
)

// ConfigFile is where the configuration is, unless a flag says otherwise.
const ConfigFile = "/etc/sfcore/crash.toml"

// Config says what is kept of crashes, and within which limits. docs/crash.md lists the
// keys.
type Config struct {
	Store string `toml:"store"` // a directory
	// Keep is how many crashes are kept, and Size how many bytes of them.
	Keep int  `toml:"keep"`
	Size size `toml:"size"`
	// Age is how long crashes are kept that are neither the first nor the last of their
	// kind, 0 for no limit.
	Age duration `toml:"age"`
	// Time and Memory bound the reading of a process.
	Time   duration `toml:"time"`
	Memory size     `toml:"memory"`
	// CoreSize bounds a core, in bytes before it is compressed.
	CoreSize size `toml:"core-size"`
	// Rate bounds the crashes of a program of a user.
	Rate Rate `toml:"rate"`
	// KnownKinds is the file of the kinds that all hosts of a fleet know, which
	// sfcore-fleet agent writes.
	KnownKinds string `toml:"known-kinds"`
	// Rules decide what is kept of a crash: the first that fits. Without one it is the
	// report.
	Rules []Rule `toml:"rule"`
}

// Rate is a number of crashes per time. Those beyond are counted.
type Rate struct {
	Crashes int      `toml:"crashes"`
	Per     duration `toml:"per"`
}

func (r Rate) budget() store.Rate { return store.Rate{Crashes: r.Crashes, Per: r.Per.Duration} }

// open opens the store. One that cannot be opened takes nothing.
func (c *Config) open() *store.Store {
	s, _ := c.OpenStore() // whoever writes to it is told
	return s
}

// OpenStore opens the store, as [store.Open] does.
func (c *Config) OpenStore() (*store.Store, error) {
	return store.Open(c.Store, store.Limits{Crashes: c.Keep, Bytes: int64(c.Size), Age: c.Age.Duration})
}

// Rule says what is kept of some crashes.
type Rule struct {
	// Program is a pattern of paths, as of [path.Match], and of the names of programs if
	// it has no slash; "" fits all.
	Program string `toml:"program"`
	// Signals are names, as SIGSEGV; empty for all.
	Signals []string `toml:"signals"`
	// Seen fits if a crash with the same signature is kept already, or if none is.
	Seen *bool `toml:"seen"`
	// Known fits if a host of the fleet has sent a crash with the same signature, or if
	// none has.
	Known *bool `toml:"known"`
	// Threads fits processes with that many threads, or more.
	Threads int `toml:"threads"`
	// Keep is what is kept.
	Keep store.Keep `toml:"keep"`
}

var keeps = []store.Keep{store.KeepLine, store.KeepReport, store.KeepSmall, store.KeepCore}

// duration is a time as "2s".
type duration struct{ time.Duration }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *duration) UnmarshalText(text []byte) (err error) {
	d.Duration, err = time.ParseDuration(string(text))
	return err
}

// size is a number of bytes as "64M".
type size limit.Size

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *size) UnmarshalText(text []byte) error { return (*limit.Size)(s).Set(string(text)) }

// DefaultConfig is what holds without a file.
func DefaultConfig() *Config {
	return &Config{
		Store: store.Dir, Keep: 1000, Size: 1 << 30,
		Time: duration{2 * time.Second}, Memory: 64 << 20, CoreSize: 8 << 30,
		Rate: Rate{Crashes: 10, Per: duration{time.Minute}}, KnownKinds: "/var/lib/sfcore/fleet/agent/known",
	}
}

// maxConfig bounds the file, in bytes. 500 rules fit. The decoder takes the square of
// the parts of a key.
const maxConfig = 64 << 10

// ReadConfig reads a configuration. Without a file it is the default one. The error
// names the file and what is wrong.
func ReadConfig(name string) (*Config, error) {
	text, err := store.ReadFile(name, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return DefaultConfig(), nil
	} else if err != nil {
		return nil, err
	}
	c, err := parseConfig(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

func parseConfig(text string) (*Config, error) {
	c := DefaultConfig()
	meta, err := toml.Decode(text, c)
	if err != nil {
		return nil, tomlError(err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, fmt.Errorf("%v: no such key", unknown[0])
	}
	return c, c.check()
}

// tomlError has the line where the file is wrong.
func tomlError(err error) error {
	if p, ok := errors.AsType[toml.ParseError](err); ok {
		return fmt.Errorf("line %d: %s", p.Position.Line, p.Message)
	}
	return err
}

func (c *Config) check() error {
	switch {
	case !path.IsAbs(c.Store):
		return fmt.Errorf("store = %q: an absolute path is needed", c.Store)
	case c.Keep < 1:
		return fmt.Errorf("keep = %d: at least one crash must be kept", c.Keep)
	case c.Age.Duration < 0:
		return fmt.Errorf("age = %v: must not be negative", c.Age)
	case c.Time.Duration < 100*time.Millisecond || c.Time.Duration > time.Minute:
		return fmt.Errorf("time = %v: 100ms to 1m are possible", c.Time)
	case c.Memory < 32<<20:
		return fmt.Errorf("memory = %v: at least 32M are needed", c.Memory)
	case c.Rate.Crashes < 0 || c.Rate.Per.Duration < time.Second:
		return fmt.Errorf("rate: %d crashes per %v: must not be negative, nor per less than 1s", c.Rate.Crashes, c.Rate.Per)
	}
	for i, r := range c.Rules {
		if err := r.check(); err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	return nil
}

func (r *Rule) check() error {
	if _, err := path.Match(r.Program, ""); err != nil {
		return fmt.Errorf("program = %q: %w", r.Program, err)
	}
	for _, s := range r.Signals {
		if !slices.ContainsFunc(signals(), func(name string) bool { return name == s }) {
			return fmt.Errorf("signals: %q is no signal; use names such as SIGSEGV", s)
		}
	}
	if !slices.Contains(keeps, r.Keep) {
		return fmt.Errorf("keep = %q: use line, report, small or core", r.Keep)
	}
	return nil
}

// signals returns the names of all signals.
func signals() []string {
	var names []string
	for n := range 65 {
		names = append(names, core.SignalName(n))
	}
	return names
}

// decide returns what is kept of a crash.
func (c *Config) decide(r *store.Record) store.Keep {
	for _, rule := range c.Rules {
		if rule.fits(r) && (rule.Known == nil || *rule.Known == isKnown(c.KnownKinds, r.Kind)) {
			return rule.Keep
		}
	}
	return store.KeepReport
}

// NeedsMemory reports whether a rule may keep more of a dump than its registers.
func (c *Config) NeedsMemory() bool {
	return c.mayKeep(store.KeepCore)
}

// mayKeep reports whether a rule keeps something.
func (c *Config) mayKeep(what store.Keep) bool {
	return slices.ContainsFunc(c.Rules, func(r Rule) bool { return r.Keep == what })
}

func (r *Rule) fits(crash *store.Record) bool {
	name := crash.Program
	if !strings.Contains(r.Program, "/") {
		name = path.Base(name)
	}
	if ok, err := path.Match(r.Program, name); r.Program != "" && (!ok || err != nil) {
		return false
	}
	return (len(r.Signals) == 0 || slices.Contains(r.Signals, crash.Signal)) &&
		(r.Seen == nil || *r.Seen == (crash.Number > 1)) && crash.Threads >= r.Threads
}
