package picture

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/unwind"
)

// speedscopeFrame, speedscopeProfile and speedscopeFile are the format of speedscope
// [https://www.speedscope.app/file-format-schema.json]. Frames have no lines: speedscope
// would not merge the stacks that go through different lines of a function.
type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
}

type speedscopeProfile struct {
	Type       string  `json:"type"`
	Name       string  `json:"name"`
	Unit       string  `json:"unit"`
	StartValue int     `json:"startValue"`
	EndValue   int     `json:"endValue"`
	Samples    [][]int `json:"samples"` // the outermost frame first
	Weights    []int   `json:"weights"`
}

type speedscopeFile struct {
	Schema   string `json:"$schema"`
	Exporter string `json:"exporter"`
	Name     string `json:"name"`
	Shared   struct {
		Frames []speedscopeFrame `json:"frames"`
	} `json:"shared"`
	Profiles           []speedscopeProfile `json:"profiles"`
	ActiveProfileIndex int                 `json:"activeProfileIndex"`
}

// WriteSpeedscope writes the collection as a file of speedscope. Every snapshot is a
// profile, and every stack a sample with weight 1: the view "left heavy" merges them.
// A stack that is incomplete has the reason as its outermost frame.
func (c *Collection) WriteSpeedscope(w io.Writer) error {
	f := speedscopeFile{Schema: "https://www.speedscope.app/file-format-schema.json", Exporter: "sfcore", Profiles: []speedscopeProfile{}}
	var frames table[speedscopeFrame]
	for i := range c.snapshots {
		s := &c.snapshots[i]
		name := c.at(c.pathText(programName(&s.process)))
		f.Name = cmp.Or(f.Name, name)
		if len(c.snapshots) > 1 {
			name = fmt.Sprintf("%s, snapshot %d, %s", name, i+1, s.source.Time)
		}
		p := speedscopeProfile{Type: "sampled", Name: name, Unit: "none", EndValue: s.end - s.first, Samples: [][]int{}, Weights: []int{}}
		for j := s.first; j < s.end; j++ {
			p.Samples = append(p.Samples, c.sample(&frames, &c.stacks[j]))
			p.Weights = append(p.Weights, 1)
		}
		f.Profiles = append(f.Profiles, p)
	}
	f.Shared.Frames = append([]speedscopeFrame{}, frames.all...)
	doc, err := json.Marshal(&f)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	_, _ = out.Write(display.JSON(doc))
	_ = out.WriteByte('\n')
	return out.Flush()
}

// sample returns the frames of a stack, the outermost first.
func (c *Collection) sample(frames *table[speedscopeFrame], s *stack) []int {
	walked := c.walk(s.innermost)
	sample := make([]int, 0, len(walked)+1)
	if s.reason != unwind.Outermost {
		sample = append(sample, frames.index(speedscopeFrame{Name: endName(s.reason)}))
	}
	for i := len(walked) - 1; i >= 0; i-- {
		f := &c.frames.all[walked[i]]
		sample = append(sample, frames.index(speedscopeFrame{c.name(f), c.at(f.file)}))
	}
	return sample
}
