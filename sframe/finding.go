package sframe

import (
	"fmt"
	"slices"
)

// Severity says how serious a [Finding] is.
type Severity uint8

// The severities.
const (
	// Error: the format is violated; some lookups have no answer, or a doubtful
	// one.
	Error Severity = iota
	// Warning: allowed or harmless, but probably not intended.
	Warning
	// Note: a habit of a producer, or a choice that the specification leaves open.
	Note
)

// String returns "error", "warning" or "note".
func (s Severity) String() string { return [...]string{"error", "warning", "note"}[min(s, Note)] }

// Finding is one thing that [Section.Validate] found.
type Finding struct {
	Severity Severity
	FormatError
}

// Meanings returns the meaning of every ID of a [FormatError] and of a [Finding], in
// one line each.
func Meanings() map[string]string {
	m := make(map[string]string, len(kinds))
	for id, k := range kinds {
		m[id] = k.meaning
	}
	return m
}

// Finding returns the error as Validate reports it, with its severity.
func (e *FormatError) Finding() Finding { return Finding{kinds[e.ID].severity, *e} }

type kind struct {
	severity Severity
	meaning  string
}

// kinds are all IDs.
var kinds = map[string]kind{
	// Headers.
	"header-truncated":     {Error, "the data ends within a header"},
	"magic-unknown":        {Error, "a table does not begin with the magic number"},
	"version-unsupported":  {Error, "the version is not 1, 2 or 3"},
	"abi-unknown":          {Error, "the version does not define the ABI"},
	"abi-byte-order":       {Error, "ABI and magic number have different byte orders"},
	"abi-machine":          {Error, "the ABI is not that of the file: another machine or byte order"},
	"abi-differs":          {Error, "tables of one section have different ABIs"},
	"fdes-out-of-range":    {Error, "the FDE sub-section is not within the data"},
	"fres-out-of-range":    {Error, "the FRE sub-section does not begin within the data"},
	"fres-cut":             {Error, "the FRE sub-section does not end within the data"},
	"sub-sections-overlap": {Error, "the FRE sub-section begins before the FDE sub-section ends"},
	"trailing-data":        {Error, "a table is followed by something that is neither padding nor a table"},
	"too-many-tables":      {Error, "there are more tables than any linker writes"},
	"flags-undefined":      {Warning, "a flag is set that the version does not define; it is ignored"},
	"fixed-ra-unusual":     {Warning, "the fixed RA offset is not that of the ABI"},
	"fixed-fp-unusual":     {Warning, "the fixed FP offset is not 0; all known producers write 0"},
	"fre-count-mismatch":   {Warning, "the functions have more or fewer rows than the header says"},
	"fre-len-mismatch":     {Warning, "the functions' data has more or fewer bytes than the header says"},
	"aux-header":           {Note, "there is an auxiliary header, which has no defined content"},
	"sub-section-gap":      {Note, "there is a gap between the sub-sections; some readers expect none"},
	"ctf-frame":            {Note, "the table is read as CTF Frame, the draft of version 1"},
	"starts-from-field":    {Note, "neither PCREL nor SORTED is set: starts are read as relative to their field, contrary to the specification"},
	"tables-unmerged":      {Note, "there are several tables; most readers see only the first. lld does not merge tables, and GNU ld does not if it does not know their version"},
	"versions-mixed":       {Note, "the tables have different versions"},
	"zero-tail":            {Note, "zeros follow the data; GNU ld keeps the size from before merging"},

	// Functions.
	"not-sorted":           {Error, "SORTED is set, but the functions are not in order; ld -r up to 2.44 does that"},
	"unsorted":             {Note, "SORTED is not set; libsframe, glibc and the kernel patches refuse to search such a table"},
	"fre-off-out-of-range": {Error, "a function's data does not begin within the FRE sub-section"},
	"fre-type-unknown":     {Error, "the FRE type is not defined"},
	"fde-type-unknown":     {Error, "the FDE type is not defined"},
	"rep-size-zero":        {Error, "a PCMASK function has blocks of 0 bytes"},
	"func-wraps":           {Error, "a function ends beyond the address space"},
	"funcs-overlap":        {Warning, "two functions share addresses"},
	"func-empty":           {Note, "a function has no bytes; gas writes such a function for an empty CFI procedure"},
	"func-without-fres":    {Note, "a function has no rows; this means unknown before V3 and outermost in V3; gas writes it for .cfi_startproc simple"},
	"signal-without-fres":  {Note, "a signal trampoline has no rows; gas writes none if SFrame cannot describe the CFI"},
	"info-reserved":        {Warning, "an undefined bit of an info byte is set"},
	"padding-not-zero":     {Warning, "the padding of an FDE is not 0"},
	"key-without-pauth":    {Warning, "an architecture without pointer authentication has a key"},
	"rep-size-unused":      {Note, "a PCINC function has a block size"},
	"mask-block-assumed":   {Note, "a PCMASK function of V1 or CTF Frame; its blocks are assumed to have 16 bytes"},

	// Rows.
	"fre-out-of-range":      {Error, "a row is not within the FRE sub-section"},
	"fre-word-size":         {Error, "the size of data words is not defined"},
	"fre-not-ascending":     {Error, "a row does not start after the one before it"},
	"fre-after-function":    {Error, "a row starts beyond the end of the function"},
	"fre-after-block":       {Error, "a row starts beyond the end of the block"},
	"fre-without-words":     {Error, "a row has no data words, which has no meaning before V2 errata 2"},
	"flex-word-count":       {Error, "the data words of a flexible row do not form pairs for CFA, RA and FP"},
	"flex-cfa-base":         {Error, "the CFA of a flexible row has no base register"},
	"flex-ra-control-zero":  {Error, "a flexible row has padding in place of RA, which its number of data words does not allow"},
	"flex-control-reserved": {Error, "an undefined bit of a control word is set"},
	"register-unknown":      {Warning, "a row needs a register that cannot be tracked"},
	"ra-missing":            {Error, "neither the row nor the header says where the return address is"},
	"rows-shared":           {Error, "many functions share the same rows; not all were checked"},
	"fre-first-late":        {Warning, "the first row is not for the first instruction"},
	"fre-at-end":            {Note, "the last row starts at the end of the function; gas and LLVM write such a row for CFI after the last instruction, and GNU ld and objdump up to 2.44 abort on it"},
	"mangled-ra-reserved":   {Warning, "a row says that RA is signed, but the version or the architecture has no signed RA"},
	"words-extra":           {Warning, "a row has more data words than the ABI uses"},
	"outermost-errata-2":    {Note, "a row of V2 has no data words; in errata 2, which was never released, it marks an outermost frame"},
	"cfa-too-low":           {Warning, "there is no room for a return address between the base register and the CFA; gas before V3 and LLVM write this if CFA or RA is in another register"},
	"slot-above-cfa":        {Warning, "a register is stored above the CFA, in the caller's frame; gas up to 2.47 truncates RA offsets of flexible rows"},
	"slot-unaligned":        {Warning, "a register is stored at an address that is not a multiple of 8"},
}

// maxPerID bounds the findings with one ID: a section with one fault often has
// it everywhere.
const maxPerID = 100

// findings collects what Validate finds.
type findings struct {
	list  []Finding
	count map[string]int
}

func (l *findings) add(err *FormatError) {
	if err == nil {
		return
	}
	if l.count == nil {
		l.count = make(map[string]int)
	}
	if l.count[err.ID]++; l.count[err.ID] <= maxPerID {
		l.list = append(l.list, err.Finding())
	}
}

// finish says how many findings were left out, and sorts by offset.
func (l *findings) finish() []Finding {
	for i, f := range l.list {
		if n := l.count[f.ID]; n > maxPerID {
			l.list[i].Msg += fmt.Sprintf(" (the first of %d, of which %d are listed)", n, maxPerID)
			l.count[f.ID] = 0
		}
	}
	slices.SortStableFunc(l.list, func(a, b Finding) int { return int(a.Off - b.Off) })
	return l.list
}
