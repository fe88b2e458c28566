package message_test

import (
	"bytes"
	"testing"
	"time"

	core "github.com/sfcore/sfcore/internal/testkit"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
)

// The first line of a message is as the schema in docs/schemas says, and has no other members.
func TestSchema(t *testing.T) {
	documents := core.Published(t, "../../../../docs/schemas/fleet-message.json", "the first line of a message of sfcore-fleet; further lines are those of report-line", message.Message{})
	counted := testkit.Message("web1", 2, "parse")
	counted.Report, counted.Count = nil, &message.Count{IDs: []string{counted.Record.ID}, Last: time.Unix(1, 0).UTC()}
	for _, m := range []*message.Message{testkit.Message("web1", 1, "parse"), counted} {
		head, _, _ := bytes.Cut(testkit.Encode(t, m), []byte("\n"))
		documents.Check(t, string(head))
	}
}
