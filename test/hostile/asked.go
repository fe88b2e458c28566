package main

import (
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/report/signature"
)

// asked are values that somebody asks for: by print, by an editor, of a store of crashes.
func asked() []input {
	chain := make([]uint64, 512)
	for i := range chain {
		chain[i] = heldAt + uint64(8*((i+1)%len(chain)))
	}
	// The nodes of the tree lead to each other for ever.
	tree := []uint64{0, 0, heldAt + 64, heldAt + 64, 0, 1 << 32, 0, 0}
	for i := range uint64(100) {
		next := heldAt + 64 + 32*((i+1)%100)
		tree = append(tree, 0, next, 0, next)
	}
	show := func(types, typ, expression string, words []uint64, flags ...string) func(f *folder) []string {
		return func(f *folder) []string {
			args := f.heldBy(held(cxx, types, typ, 2000), 10, 1, words, nil)
			return append(append([]string{"print"}, flags...), args[len(args)-1], expression)
		}
	}
	// editor asks for the variables of 10 frames, and for parts of each.
	editor := func(types, typ string, words []uint64) func(f *folder) []string {
		return func(f *folder) []string {
			f.heldBy(held(cxx, types, typ, 2000), 10, 1, words, nil)
			core := f.in("core")
			requests := []request{{"stackTrace", map[string]any{"threadId": 1}}}
			requests = append(requests, repeat(20, "scopes", func(i int) any { return map[string]any{"frameId": i + 1} })...)
			requests = append(requests, repeat(2000, "variables", func(i int) any {
				return map[string]any{"variablesReference": i + 1, "filter": "indexed", "start": 0, "count": 100000}
			})...)
			return f.sessionOf(core, requests...)
		}
	}
	rules := signature.Default().Version
	record := func(i int, alias string) string {
		hash := fmt.Sprintf("%032x", i)
		return fmt.Sprintf(`{"schema":"sfcore.crash/1","id":"20260101-000000.000-%d","time":"2026-01-01T00:00:00Z","pid":%d,"kind":"k%d","signal":"SIGSEGV","program":"p",`+
			`"signature":{"schema":%q,"rules":%q,"address":%q,"fine":%q,"coarse":%q,"alias":%q,"title":"t"}}`, i+1, i+1, i, signature.Schema, rules, hash, hash, hash, alias)
	}
	against := func(n int, alias func(i int) string) func(f *folder) []string {
		return func(f *folder) []string {
			f.crashes(n, func(i int) string { return record(i, alias(i)) })
			f.program(table(".eh_frame", 0, ehFrame(wide(nil))))
			return []string{"sig", "--against", f.in("store"), f.write("core", f.core(process{stack: frames(100, everyCall), more: crash}))}
		}
	}
	nested := strings.Repeat("  structure_type name=n byte_size=4\n", 60000)
	return []input{
		{"print-list", "the element of a list that is a circle that is farthest away", false, show(listTypes, "forward", "v[1023]", chain)},
		{"print-tree", "an element of a tree that is said to have a million", false, show(treeTypes, "set", "v[1048575]", tree)},
		{"print-sum", "an expression that reads a list 400 times", false, show(listTypes, "forward", strings.Repeat("v[1023]+", 400)+"1", chain)},
		{"print-casts", "an expression with 500 casts to a type of which there are 60,000", false, show(nested, "int", strings.Repeat("*(n*)", 500)+"&v", nil)},
		{"print-array", "an array of as many elements as there can be", false, show("  array_type #a type=#int\n    subrange_type upper_bound=0xffffffff\n", "a", "v", nil, "--format", "json")},
		{"print-quick", "the same of a slice", true, show("  array_type #a type=#int\n    subrange_type upper_bound=0xffffffff\n", "a", "v[4294967295]", nil)},
		{"dap-held-list", "requests for 100,000 elements of lists that are a circle", false, editor(listTypes, "forward", chain)},
		{"dap-held-tree", "requests for 100,000 elements of trees that are a circle", false, editor(treeTypes, "set", tree)},
		{"against-groups", "a core beside a store of 20,000 groups", false, against(20000, func(i int) string { return fmt.Sprintf("%x", i) })},
		{"against-alias", "a core beside a store of 2,000 crashes with the same 1,000 aliases", false, against(2000, func(int) string {
			var b strings.Builder
			for i := range 1000 {
				fmt.Fprintf(&b, "%032x ", i)
			}
			return b.String()
		})},
		{"against-long", "a core beside a store of 20 crashes with an alias of 1 MB", false, against(20, func(int) string { return strings.Repeat("ab ", 300000) })},
		{"fold-almost", "262,144 frames of runs that are too short to be told in a line, with names that differ in their ends", false, func(f *folder) []string {
			f.program(append(functions(1000, func(i int) string { return strings.Repeat("x", 240) + fmt.Sprint(i) }), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: frames(1<<18, func(i int) uint64 { return uint64(4*(i/7%(i/100+3)%1000) + 2) })})
		}},
		{"fold-period", "262,144 frames of recursions of 17 functions, one more than are told in a line", false, func(f *folder) []string {
			f.program(append(functions(1000, func(i int) string { return strings.Repeat("x", 240) + fmt.Sprint(i) }), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: frames(1<<18, func(i int) uint64 { return uint64(4*(i%17/16*i%1000) + 2) })})
		}},
		{"diff-files", "two lists of 100,000 modules that all differ", false, func(f *folder) []string {
			core := func(name string, other func(i int) string) string {
				f.program()
				return f.write(name, f.core(process{files: manyFiles(100000, other)}))
			}
			return []string{"diff", core("before", func(i int) string { return fmt.Sprint("/before/", i) }), core("after", func(i int) string { return fmt.Sprint("/after/", i) })}
		}},
		{"shrink-files", "100,000 mapped files", false, func(f *folder) []string {
			f.program()
			return []string{"shrink", "-o", f.in("small"), f.write("core", f.core(process{files: manyFiles(100000, func(i int) string { return fmt.Sprint("/f/", i) })}))}
		}},
	}
}
