package dap

import (
	"context"
	"slices"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/arch"
)

// maxCompletions bounds the completions that are offered.
const maxCompletions = 200

func (s *session) completions(ctx context.Context, args *godap.CompletionsArguments) (any, error) {
	if _, err := s.stopped(); err != nil {
		return nil, err
	}
	body := &godap.CompletionsResponseBody{Targets: []godap.CompletionItem{}}
	column := args.Column - s.firstColumn
	runes := []rune(args.Text)
	text := string(runes[:max(0, min(column, len(runes)))])
	start := strings.LastIndexAny(text, " (+-*/%&|^~<>") + 1
	word := text[start:]
	add := func(label string, kind godap.CompletionItemType) {
		if strings.HasPrefix(label, word) && len(body.Targets) < maxCompletions {
			body.Targets = append(body.Targets, godap.CompletionItem{
				Label: label, Type: kind, Start: len([]rune(text[:start])), Length: len([]rune(word)),
			})
		}
	}
	first, _, more := strings.Cut(strings.TrimLeft(text, " "), " ")
	for i := range commands {
		switch c := &commands[i]; {
		case !more:
			add(c.name, "keyword")
		case c.name == first:
			for _, arg := range c.args {
				add(arg, "keyword")
			}
		}
	}
	for _, name := range s.localNames(ctx, args.FrameId) {
		add(name, "variable")
	}
	if strings.HasPrefix(word, "$") || word == "" && start > 0 {
		for _, name := range s.snap.registerNames() {
			add("$"+name, "variable")
		}
	}
	return body, nil
}

// localNames returns the names of the variables of a frame.
func (s *session) localNames(ctx context.Context, frameID int) []string {
	at, err := s.place(ctx, frameID)
	if err != nil || !at.inFrame() {
		return nil
	}
	scope := s.scopeOf(at.stack, at.ref.frame)
	if scope == nil {
		return nil
	}
	var names []string
	for i := range scope.Variables {
		names = append(names, scope.Variables[i].Name)
	}
	return names
}

// registerNames returns the names that expressions may use.
func (s *snapshot) registerNames() []string {
	a := s.process.Image().Arch
	names := []string{"pc", "sp", "fp"}
	if a.LR != arch.NoReg {
		names = append(names, "lr")
	}
	for _, group := range []int{groupGeneral, groupFloat} {
		for _, reg := range s.registersIn(group) {
			names = append(names, a.Regs[reg])
		}
	}
	raw := rawRegsOf(a)
	for _, list := range [][]arch.RawReg{raw.flags, raw.vector} {
		for i := range list {
			names = append(names, list[i].Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
