package message

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/report"
)

// share is the part of what one program may read of reports that one message may: 8 MiB of
// text beyond 16 times its size.
const share = 16

// Read reads the report of a message: nil if there is none. A report that is cut off has what
// is there, with a problem. The error says that it is none, or too large.
func (m *Message) Read() (*report.Document, error) {
	if len(m.Report) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	docs, err := document.ReadBytes("the report", m.Report, document.NewBudget().Part(share))
	switch {
	case err != nil:
		return nil, err
	case len(docs) != 1:
		return nil, fmt.Errorf("the report: there are %d, and 1 is needed", len(docs))
	}
	return docs[0], nil
}

// fits are how much of a report is sent, the first that fits into a message.
var fits = []struct {
	threads, frames int
	problem         string
}{
	{1 << 30, 1 << 30, ""},
	{400, 200, "to send it, the report was cut to 400 threads of 200 frames"},
	{50, 200, "to send it, the report was cut to 50 threads of 200 frames"},
	{1, 200, "to send it, the report was cut to one thread of 200 frames"},
}

// Pack compresses a report for a message, and cuts it until it has at most so many bytes;
// threads that crashed come first. It returns nil if nothing fits.
func Pack(doc *report.Document, most int) []byte {
	for _, fit := range fits {
		one := *doc
		if len(doc.Threads) > fit.threads {
			one.Threads = nil
			for _, crashed := range []bool{true, false} {
				for i := range doc.Threads {
					if doc.Threads[i].Crashed == crashed && len(one.Threads) < fit.threads {
						one.Threads = append(one.Threads, doc.Threads[i])
					}
				}
			}
		}
		if fit.problem != "" {
			one.Problems = append([]string{fit.problem}, doc.Problems...)
			one.Threads = append([]report.Thread{}, one.Threads...)
			for i := range one.Threads {
				th := &one.Threads[i]
				th.Frames = th.Frames[:min(len(th.Frames), fit.frames)]
			}
		}
		if b := compress(lines(&one)); len(b) <= most {
			return b
		}
	}
	return nil
}

// lines writes a report as lines.
func lines(doc *report.Document) []byte {
	var b bytes.Buffer
	b.Write(document.HeadLine(doc))
	for i := range doc.Threads {
		b.Write(document.AppendThreadLine(nil, &document.Thread{Thread: &doc.Threads[i]}))
	}
	b.Write(document.TailLine(doc))
	return b.Bytes()
}

// Compress compresses the lines of a report.
func Compress(text []byte) []byte { return compress(text) }

func compress(text []byte) []byte { return encoder().EncodeAll(text, nil) }

// encoder compresses for all, with the small window of the crash handler.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic(err) // only options can be wrong
	}
	return e
})
