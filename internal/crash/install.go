package crash

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sfcore/sfcore/internal/crash/store"
)

// Install says how the kernel of a machine is to hand over crashes.
type Install struct {
	// Program is the path of sfcore-crash.
	Program string
	// Config is the file of the configuration, if it is not the usual one.
	Config string
	// Socket has systemd listen at a socket that the kernel connects to, and start a
	// daemon. Otherwise the kernel starts a handler for each crash.
	Socket bool
	// Before is kernel.core_pattern before, and BeforeLimit kernel.core_pipe_limit. They
	// are noted for the way back.
	Before, BeforeLimit string
}

// SocketFile is where the server listens unless it is told otherwise.
const SocketFile = "/run/sfcore/crash.socket"

// Files that an installation has, below the root directory.
const (
	SysctlFile   = "/etc/sysctl.d/60-sfcore-crash.conf" // behind 50-coredump.conf of systemd
	tmpfilesFile = "/etc/tmpfiles.d/sfcore-crash.conf"
	socketUnit   = "/etc/systemd/system/sfcore-crash.socket"
	serviceUnit  = "/etc/systemd/system/sfcore-crash.service"
)

// InstalledFiles are all files that an installation may have.
var InstalledFiles = []string{SysctlFile, tmpfilesFile, socketUnit, serviceUnit}

const (
	// maxPattern is what the kernel takes of core_pattern, in bytes [linux
	// include/linux/binfmts.h: CORENAME_MAX_SIZE, with its NUL].
	maxPattern = 127
	// PipeLimit is how many crashes the kernel hands over at once.
	PipeLimit = "8"
)

// Pattern returns kernel.core_pattern for a handler of each crash. The error says why the
// kernel would not take it. With a socket it is in force where nobody listens: in early
// boot, and when the units have stopped.
func (i *Install) Pattern() (string, error) {
	if strings.ContainsAny(i.Program, " \t\n%") || !filepath.IsAbs(i.Program) {
		return "", fmt.Errorf("%q: core_pattern needs an absolute path without spaces and %%", i.Program)
	}
	pattern := "|" + i.Program
	if i.Config != "" {
		if strings.ContainsAny(i.Config, " \t\n%") {
			return "", fmt.Errorf("%q: core_pattern needs a path without spaces and %%", i.Config)
		}
		pattern += " --config " + i.Config
	}
	pattern += " pipe %P %u %g %s %d %F" // kernels that do not know %F leave it empty
	if len(pattern) > maxPattern {
		return "", fmt.Errorf("%q has %d bytes, and core_pattern takes %d: install sfcore-crash at a shorter path", pattern, len(pattern), maxPattern)
	}
	return pattern, nil
}

// Files returns the files of the installation, by path.
func (i *Install) Files() (map[string]string, error) {
	pattern, err := i.Pattern()
	if err != nil {
		return nil, err
	}
	files := map[string]string{
		SysctlFile: fmt.Sprintf("# Written by sfcore crash install; sfcore crash uninstall takes it back.\n%s%s\n%s%s\nkernel.core_pattern=%s\nkernel.core_pipe_limit=%s\n",
			notedPattern, i.Before, notedLimit, i.BeforeLimit, pattern, PipeLimit),
		tmpfilesFile: fmt.Sprintf("# Written by sfcore crash install. Users list their own crashes.\nd %s 0755 root root -\n", store.Dir),
	}
	if i.Socket {
		config := ""
		if i.Config != "" {
			config = " --config " + i.Config
		}
		files[socketUnit] = fmt.Sprintf(`# Written by sfcore crash install. Where nobody listens, the kernel starts handlers.
[Unit]
Description=Socket for crashes, which the kernel connects to
After=systemd-sysctl.service

[Socket]
ListenStream=%s
SocketMode=0666
DirectoryMode=0755
Backlog=128
TriggerLimitIntervalSec=0
ExecStartPost=%s
ExecStopPre=%s

[Install]
WantedBy=sockets.target
`, SocketFile, setPattern("@@"+SocketFile), setPattern(pattern))
		files[serviceUnit] = fmt.Sprintf(`# Written by sfcore crash install. It starts when there is a crash, also of what others wait
# for, and however often it has failed. The handlers of crashes in hand survive it.
[Unit]
Description=Stacks of processes that crash
DefaultDependencies=no
Requires=sfcore-crash.socket
After=sfcore-crash.socket sysinit.target
Conflicts=shutdown.target
Before=shutdown.target
StartLimitIntervalSec=0

[Service]
ExecStart=%s%s daemon
Restart=always
KillMode=process
LimitCORE=0
NoNewPrivileges=yes
CapabilityBoundingSet=CAP_SYS_PTRACE CAP_CHECKPOINT_RESTORE CAP_DAC_READ_SEARCH CAP_DAC_OVERRIDE CAP_CHOWN CAP_FOWNER CAP_SETUID CAP_SETGID CAP_SETPCAP CAP_KILL CAP_SYSLOG
`, i.Program, config)
	}
	return files, nil
}

// setPattern is a command of a unit that sets core_pattern. In units, %% is a percent.
func setPattern(pattern string) string {
	return fmt.Sprintf(`/bin/sh -c "echo '%s' >/proc/sys/kernel/core_pattern"`, strings.ReplaceAll(pattern, "%", "%%"))
}

// What was before is noted in comments.
const (
	notedPattern = "# before: kernel.core_pattern="
	notedLimit   = "# before: kernel.core_pipe_limit="
)

// Noted returns the settings that were before, as SysctlFile has them; found is set if it
// was written by an installation.
func Noted(sysctl string) (pattern, limit string, found bool) {
	for line := range strings.Lines(sysctl) {
		line = strings.TrimSuffix(line, "\n")
		if v, ok := strings.CutPrefix(line, notedPattern); ok {
			pattern, found = v, true
		}
		if v, ok := strings.CutPrefix(line, notedLimit); ok {
			limit = v
		}
	}
	return pattern, limit, found
}

// Others names who handles crashes by a pattern, "" if nobody does but the kernel, which
// writes cores, or this program.
func Others(pattern string) string {
	program, isPipe := strings.CutPrefix(pattern, "|")
	fields := strings.Fields(program)
	switch {
	case strings.HasPrefix(pattern, "@") && strings.TrimLeft(pattern, "@") != SocketFile:
		return "who listens at " + strings.TrimLeft(pattern, "@")
	case !isPipe || len(fields) == 0 || filepath.Base(fields[0]) == "sfcore-crash":
		return ""
	}
	return fields[0]
}
