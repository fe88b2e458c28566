// Command crash-handler is told to the kernel, and writes the stacks of each process
// that crashes to a file, as JSON:
//
//	sysctl kernel.core_pattern='|/usr/local/bin/crash-handler /var/crash %P'
//
// sfcore crash does much more: it walks in the dying process instead of its dump, in a
// sandbox, and counts, groups and bounds what it keeps.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/syslog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "crash-handler:", err) // nobody reads it if the kernel has started us
		if log, e := syslog.New(syslog.LOG_ERR, "crash-handler"); e == nil {
			_ = log.Err(err.Error())
		}
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: crash-handler DIRECTORY PID < CORE")
	}
	pid, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// The process stands still until the dump is read: its files are there.
	img, err := core.Open(ctx, "-", core.Options{MaxDecompressed: 2 << 30})
	if err != nil {
		return err
	}
	p := process.New(img, process.Options{Sysroot: fmt.Sprintf("/proc/%d/root", pid), MaxTotalTime: 10 * time.Second})
	defer p.Close()
	doc, err := p.Report(ctx, p.Threads())
	if err != nil {
		return err
	}
	text, _ := json.Marshal(doc) // plain data
	name := fmt.Sprintf("%s-%d.json", time.Now().UTC().Format("20060102-150405"), pid)
	return os.WriteFile(filepath.Join(os.Args[1], name), text, 0o600)
}
