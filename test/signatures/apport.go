package main

import (
	"fmt"
	"strings"
)

// apport is Apport's address signature, StacktraceAddressSignature: the program, the
// signal, the architecture, and file and offset of up to 15 frames. There is none for
// fewer than 3 frames [apport/report.py, crash_signature_addresses].
func apport(c *crash) string {
	key := []string{c.program, fmt.Sprint(c.signal.Number), "x86_64"}
	const most, least = 15, 3
	failed, frames := 0, 0
	for i := range c.thread.Frames {
		f := &c.thread.Frames[i]
		if f.Inlined || f.Method.Inferred() {
			continue // it takes them from gdb, but they repeat the address
		}
		if f.Module == "" {
			failed++
			continue
		}
		key = append(key, fmt.Sprintf("%s+%x", f.ModuleName, uint64(f.ModuleOffset.Addr)))
		if frames++; frames == most {
			break
		}
	}
	switch {
	case failed > 0 && frames/failed < 4, frames < least, failed > 0 && frames < 2*least:
		return ""
	}
	return strings.Join(key, ":")
}
