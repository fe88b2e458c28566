package crash

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/sfcore/sfcore/internal/crash/store"
)

// Kept is a core that another handler has kept.
type Kept struct {
	// Record is what is known of the crash: its id, its owner, and what that handler said.
	// It gets the rest.
	Record *store.Record
	// File has the core: a file, or a pipe if it is unpacked.
	File *os.File
	// Form is how it has it, for the reader to unpack it to Scratch. Without Scratch it is
	// read as it is.
	Form    string
	Scratch *os.File
}

// Import is [Handler.Handle] for a core that another handler has kept, which has had its
// budget. The store is not trimmed, and a core that cannot be read leaves nothing: the
// error says why.
func (h *Handler) Import(ctx context.Context, k *Kept, reader ReaderOptions) error {
	h.begun, h.rec, h.importing = k.Record.Time, k.Record, true
	h.store = h.Config.open()
	args := reader.args(h.rec.File, h.rec.UID, h.rec.GID, h.Config.Time.Duration)
	core := k.File
	if k.Scratch != nil {
		core = k.Scratch
		args = slices.Insert(args, 1, "--form="+k.Form, fmt.Sprintf("--most=%d", int64(h.Config.CoreSize)))
	}
	return h.read(ctx, &source{
		args: args, file: k.File, scratch: k.Scratch, letGo: func() {},
		core: func() io.Reader {
			size := int64(0)
			if st, err := core.Stat(); err == nil {
				size = st.Size()
			}
			return io.NewSectionReader(core, 0, size)
		},
	})
}
