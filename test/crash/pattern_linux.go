package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// The settings of the kernel that say who handles crashes.
const (
	corePattern   = "/proc/sys/kernel/core_pattern"
	corePipeLimit = "/proc/sys/kernel/core_pipe_limit"
)

// restore writes the settings back when its standard input ends, as it does when this
// program ends, however that is.
const restore = `trap '' INT TERM HUP; cat >/dev/null; printf '%s\n' "$1" >` + corePattern + `; printf '%s\n' "$2" >` + corePipeLimit

// setPattern has the kernel hand crashes to a program. The settings are put back when
// this program ends; done does it earlier.
func setPattern(pattern string, limit int) (done func() error, err error) {
	old, err := os.ReadFile(corePattern)
	if err != nil {
		return nil, err
	}
	oldLimit, err := os.ReadFile(corePipeLimit)
	if err != nil {
		return nil, err
	}
	keeper := exec.Command("setsid", "sh", "-c", restore, "sh", strings.TrimSpace(string(old)), strings.TrimSpace(string(oldLimit)))
	keeper.Stderr = os.Stderr
	end, err := keeper.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := keeper.Start(); err != nil {
		return nil, err
	}
	done = func() error {
		end.Close()
		return keeper.Wait()
	}
	for name, value := range map[string]string{corePipeLimit: fmt.Sprint(limit), corePattern: pattern} {
		if err := os.WriteFile(name, []byte(value), 0); err != nil {
			_ = done()
			return nil, err
		}
	}
	return done, nil
}
