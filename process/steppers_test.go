package process

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/unwind"
	"github.com/sfcore/sfcore/unwind/codewalk"
	"github.com/sfcore/sfcore/unwind/gostack"
)

// TestSteppers has the steppers of methods, in the order in which the methods are named. Frame
// pointers that a module promises come with those of .sframe.
func TestSteppers(t *testing.T) {
	goStack, code := unwind.Stepper(new(gostack.Stepper)), unwind.Stepper(new(codewalk.Stepper))
	sframe, promised, cfi, fp := unwind.NewSFrame(), unwind.NewPromisedFramePointer(), unwind.NewCFI(), unwind.NewFramePointer()
	for name, tt := range map[string]struct {
		methods []string
		want    []unwind.Stepper
	}{
		"all":             {nil, []unwind.Stepper{goStack, sframe, promised, cfi, code, fp}},
		"none":            {[]string{}, nil},
		"sframe alone":    {[]string{"sframe"}, []unwind.Stepper{sframe}},
		"promised before": {[]string{"fp", "sframe"}, []unwind.Stepper{fp, sframe, promised}},
		"reversed":        {[]string{"code", "cfi", "go"}, []unwind.Stepper{code, cfi, goStack}},
	} {
		fresh := (&Options{Methods: tt.methods}).steppers()
		got, again := fresh(), fresh()
		if text, want := steppers(got), steppers(tt.want); !slices.Equal(text, want) || !slices.Equal(steppers(again), want) {
			t.Errorf("%s: got %q, want %q", name, text, want)
		}
	}
	if got, want := steppers(DefaultSteppers()), steppers([]unwind.Stepper{goStack, sframe, promised, cfi, code, fp}); !slices.Equal(got, want) {
		t.Errorf("got the default %q, want %q", got, want)
	}
}

// steppers tells steppers apart.
func steppers(list []unwind.Stepper) []string {
	var names []string
	for _, s := range list {
		names = append(names, fmt.Sprintf("%T %v", s, s))
	}
	return names
}
