package crash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/report"
)

const (
	// maxUnkept bounds the report of a crash that the store does not take, in bytes.
	maxUnkept = 1 << 20
	// maxUnkeptText bounds the stacks as text, in bytes, and maxUnkeptLines what is said
	// of them where there is no journal.
	maxUnkeptText  = 64 << 10
	maxUnkeptLines = 30
	// unkeptID is the MESSAGE_ID of entries in the journal.
	unkeptID = "7c1c0b4e5ad8461bb3f0e6a2d1c94f57"
)

// headOf keeps the first bytes that are written to it.
type headOf struct{ bytes.Buffer }

// Write implements io.Writer.
func (h *headOf) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), maxUnkept-h.Len())])
	return len(p), nil
}

// tell tells of a crash that the store does not take: the journal, or whoever hears what
// goes wrong.
func (h *Handler) tell() {
	h.told = true
	record, _ := json.Marshal(h.rec) //nolint:errchkjson // it always encodes
	lines := h.text.Bytes()
	lines = lines[:bytes.LastIndexByte(lines, '\n')+1]
	text := stacksText(lines)
	socket := h.Journal
	if socket == "" {
		socket = JournalSocket
	}
	fields := []field{
		{"MESSAGE", strings.TrimRight(display.Text(h.rec.Line())+"\n"+text, "\n")},
		{"MESSAGE_ID", unkeptID},
		{"PRIORITY", "2"},
		{"SYSLOG_IDENTIFIER", "sfcore-crash"},
		{"SFCORE_RECORD", string(record)},
	}
	if len(lines) > 0 {
		fields = append(fields, field{"SFCORE_REPORT", string(lines)})
	}
	err := sendJournal(socket, fields)
	if err == nil {
		h.rec.Problems = append(h.rec.Problems, "the store did not take the crash; the journal has it")
		return
	}
	h.problem("the journal", err)
	h.Say(h.rec.Line())
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > maxUnkeptLines {
			break
		}
		h.Say(line)
	}
}

// stacksText writes the stacks of a report of lines as text.
func stacksText(lines []byte) string {
	var b strings.Builder
	for line := range bytes.Lines(lines) {
		var part struct {
			Thread *report.Thread `json:"thread"`
		}
		if json.Unmarshal(line, &part) != nil || part.Thread == nil {
			continue
		}
		writeThread(&b, part.Thread)
		if b.Len() > maxUnkeptText {
			return b.String()[:maxUnkeptText] + "\n-- there is more in SFCORE_REPORT\n"
		}
	}
	return b.String()
}

func writeThread(b *strings.Builder, th *report.Thread) {
	crashed := ""
	if th.Crashed {
		crashed = " (crashed)"
	}
	fmt.Fprintf(b, "Thread %d \"%s\"%s\n", th.TID, display.Text(th.Name), crashed)
	for i := range th.Frames {
		f := &th.Frames[i]
		name, at := f.Function, ""
		if name == "" {
			name = f.Module
		}
		if f.File != "" {
			at = fmt.Sprintf(" at %s:%d", f.File, f.Line)
		}
		fmt.Fprintf(b, "  #%d 0x%016x %v %s%s\n", f.Index, uint64(f.PC), f.Method, display.Text(name), display.Text(at))
	}
	if th.Stop.Reason.String() != "outermost" {
		fmt.Fprintf(b, "  -- stopped: %v\n", th.Stop.Reason)
	}
}
