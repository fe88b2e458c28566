package gate

import (
	"maps"

	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/sframe/compare"
)

type kind struct {
	severity sframe.Severity
	meaning  string
}

// kinds are the findings of this package. Those of the format, of files and of habits
// come from [sframe.Meanings], [FileMeanings] and [compare.Habits].
var kinds = map[string]kind{
	// The place of the section.
	"section-missing":      {sframe.Error, "the file has no .sframe section, although one is required"},
	"section-empty":        {sframe.Error, "a linked file has an .sframe section without a byte: the linker dropped its contents"},
	"section-empty-object": {sframe.Note, "an object has an .sframe section without a byte; linkers must accept it (mold 2.42 did not: rui314/mold#1646)"},
	"section-not-loaded":   {sframe.Error, "the section of a linked file is not in memory at run time"},
	"segment-short":        {sframe.Error, "PT_GNU_SFRAME does not reach the end of the section"},
	"relocation-unusable":  {sframe.Error, "a relocation of the section cannot be applied, so that functions have wrong addresses"},
	"file-damaged":         {sframe.Warning, "headers or sections of the file are damaged, or the file is cut off"},

	// Functions.
	"function-outside-code":   {sframe.Error, "a function is in no executable section: a linker has discarded the code (--gc-sections, COMDAT) but not its FDE, or has not relocated it"},
	"function-leaves-section": {sframe.Error, "a function ends beyond the section that it begins in: its start or size is wrong"},
	"function-start-inside":   {sframe.Error, "a function begins within a function of .eh_frame: its start is wrong"},

	// Against call frame information.
	"rule-lost":        {sframe.Error, "SFrame has no rule, or another base register, where .eh_frame has a rule"},
	"wrong-offset":     {sframe.Error, "the rules differ in their offset"},
	"wrong-rule":       {sframe.Error, "the rules differ"},
	"row-missing":      {sframe.Warning, "SFrame has the function, but no row for some of its code"},
	"function-missing": {sframe.Note, "SFrame does not have a function of .eh_frame; usually its object file was assembled without --gsframe"},
	"outermost-mark":   {sframe.Error, "only one of the tables says that the frame is the outermost one"},
	"signal-mark":      {sframe.Error, "only one of the tables says that the function is a signal trampoline"},
	"signed-mark":      {sframe.Error, "only one of the tables says that the return address is signed"},
	"not-compared":     {sframe.Warning, "a part of the tables cannot be compared"},

	// Thresholds.
	"coverage-low":      {sframe.Error, "less of the code with unwind tables has .sframe than --min-coverage asks for"},
	"size-large":        {sframe.Error, "the section is larger, beside .eh_frame, than --max-size allows"},
	"too-many-findings": {sframe.Note, "there are more findings than are kept; it is an error if errors may be among those left out, and a warning if warnings may"},
}

// Kinds returns the severities of the findings that only this package has.
func Kinds() map[string]sframe.Severity {
	m := make(map[string]sframe.Severity, len(kinds))
	for id, k := range kinds {
		m[id] = k.severity
	}
	return m
}

// Meanings returns the meaning of every ID of a [Finding], in one line each.
func Meanings() map[string]string {
	m := sframe.Meanings()
	maps.Copy(m, FileMeanings)
	for i := range compare.Habits {
		m[compare.Habits[i].ID] = compare.Habits[i].Meaning
	}
	for id, k := range kinds {
		m[id] = k.meaning
	}
	return m
}
