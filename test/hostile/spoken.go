package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// session is what an editor says to sfcore dap: it opens the core of a process, and
// sends requests.
func (f *folder) session(p process, requests ...request) []string {
	return f.sessionOf(f.write("core", f.core(p)), requests...)
}

// sessionOf is session with a core that is there.
func (f *folder) sessionOf(core string, requests ...request) []string {
	var text strings.Builder
	all := append([]request{
		{"initialize", map[string]any{"adapterID": "sfcore", "linesStartAt1": true, "columnsStartAt1": true}},
		{"attach", map[string]any{"coreFile": core}},
		{"configurationDone", nil},
	}, requests...)
	for i, r := range append(all, request{"disconnect", nil}) {
		body, err := json.Marshal(map[string]any{"seq": i + 1, "type": "request", "command": r.command, "arguments": r.arguments})
		f.check(err)
		fmt.Fprintf(&text, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	f.stdin = f.write("requests", []byte(text.String()))
	return []string{"dap"}
}

type request struct {
	command   string
	arguments any
}

// repeat makes n requests.
func repeat(n int, command string, arguments func(i int) any) []request {
	list := make([]request, n)
	for i := range list {
		list[i] = request{command, arguments(i)}
	}
	return list
}

// pages are requests for the first 20 pages of the first thread's stack.
func pages() []request {
	return repeat(20, "stackTrace", func(i int) any { return map[string]any{"threadId": 1, "startFrame": i * 1000, "levels": 1000} })
}

func spoken() []input {
	walk := table(".eh_frame", 0, ehFrame(wide(nil)))
	evaluate := func(n int, expression string) func(f *folder) []string {
		return func(f *folder) []string {
			f.program(walk)
			first := request{"stackTrace", map[string]any{"threadId": 1, "levels": 1}}
			return f.session(process{}, append([]request{first}, repeat(n, "evaluate", func(int) any {
				return map[string]any{"expression": expression, "context": "repl", "frameId": 1}
			})...)...)
		}
	}
	return []input{
		{"dap-attach", "500 requests to open the same core", false, func(f *folder) []string {
			f.program(walk)
			return f.session(process{threads: 2000}, repeat(500, "attach", func(int) any { return map[string]any{"coreFile": f.in("core")} })...)
		}},
		{"dap-disassemble", "2,000 requests for as many instructions as there can be", false, func(f *folder) []string {
			f.program(walk)
			return f.session(process{}, repeat(2000, "disassemble", func(i int) any {
				return map[string]any{"memoryReference": fmt.Sprintf("%#x", textAt+textSize/2), "instructionOffset": -(1 << 40), "instructionCount": 4000, "resolveSymbols": true}
			})...)
		}},
		{"dap-parentheses", "expressions of 300 KB of parentheses", false, evaluate(3, strings.Repeat("(", 300000))},
		{"dap-stars", "expressions of 300 KB of stars", false, evaluate(3, strings.Repeat("*", 300000)+"$sp")},
		{"dap-examine", "2,000 requests for as many words as there can be", false, evaluate(2000, "x/1000000gx $sp")},
		{"dap-bt-all", "a request for all stacks of 2,000 threads that share 262,144 frames", false, func(f *folder) []string {
			f.program(walk)
			return f.session(process{stack: deep(), threads: 2000}, repeat(1, "evaluate", func(int) any {
				return map[string]any{"expression": "bt all", "context": "repl"}
			})...)
		}},
		{"dap-completions", "5,000 requests for completions of 20,000 symbols", false, func(f *folder) []string {
			f.program(append(functions(20000, func(i int) string { return fmt.Sprint("f", i) }), walk)...)
			return f.session(process{}, repeat(5000, "completions", func(int) any { return map[string]any{"text": "f", "column": 2} })...)
		}},
		{"dap-names", "5,000 expressions of names that are not there, among 20,000", false, func(f *folder) []string {
			f.program(append(functions(20000, func(i int) string { return fmt.Sprintf("_Z7f%06d%si", i, strings.Repeat("K", 10)) }), walk)...)
			return f.session(process{}, repeat(5000, "evaluate", func(i int) any { return map[string]any{"expression": fmt.Sprint("g", i), "context": "watch"} })...)
		}},
		{"dap-stacks", "requests for the stacks of 12 threads that share 262,144 frames", false, func(f *folder) []string {
			f.program(walk)
			return f.session(process{stack: deep(), threads: 12}, repeat(12, "stackTrace", func(i int) any {
				return map[string]any{"threadId": i + 1, "startFrame": 0, "levels": 20}
			})...)
		}},
		{"dap-pages", "requests for all pages of a stack of 262,144 frames", false, func(f *folder) []string {
			f.program(walk)
			return f.session(process{stack: deep()}, repeat(262, "stackTrace", func(i int) any {
				return map[string]any{"threadId": 1, "startFrame": i * 1000 % 262144, "levels": 1000}
			})...)
		}},
		{"dap-listings", "requests for 20,000 frames in a function of 256 KiB without sources", false, func(f *folder) []string {
			f.program(append(symbols(1, func(int) (uint32, uint64, uint64) { return 1, textAt, textSize }, []byte("\x00f\x00")), walk)...)
			return f.session(process{stack: frames(20000, func(i int) uint64 { return textSize - 2 - 2*uint64(i%1000) })}, pages()...)
		}},
		{"dap-outlines", "requests for 20,000 frames in 100 functions of 256 KiB without sources", false, func(f *folder) []string {
			const n = 100
			large := elf(append(symbols(n, func(i int) (uint32, uint64, uint64) { return 1, textAt + uint64(i)*textSize, textSize }, []byte("\x00f\x00")),
				table(".eh_frame", 0, ehFrame(frame{textAt, n * textSize, nil})))...)
			large.Sections[0] = text(n * textSize)
			f.write("exe", large.File())
			return f.session(process{
				text:  n * textSize,
				stack: frames(20000, func(i int) uint64 { return uint64(i%n+1)*textSize - 2 - 2*uint64(i/n) }),
			}, pages()...)
		}},
		{"dap-data", "requests for 20,000 frames in code that cannot be disassembled", false, func(f *folder) []string {
			f.write("exe", bytes.ReplaceAll(elf(walk).File(), []byte{0xff, 0xd0}, []byte{0x06, 0x06}))
			return f.session(process{stack: frames(20000, everyCall)}, pages()...)
		}},
		{"dap-disassemble-data", "20 requests for 16,384 instructions before an address, where there are none", false, func(f *folder) []string {
			f.write("exe", bytes.ReplaceAll(elf(walk).File(), []byte{0xff, 0xd0}, []byte{0x06, 0x06}))
			return f.session(process{}, repeat(20, "disassemble", func(i int) any {
				return map[string]any{"memoryReference": fmt.Sprintf("%#x", textAt+textSize/2+i), "instructionOffset": -16384, "instructionCount": 16384}
			})...)
		}},
		{"dap-disassemble-nothing", "the same where there is no memory", false, func(f *folder) []string {
			f.program(walk)
			return f.session(process{}, repeat(20, "disassemble", func(i int) any {
				return map[string]any{"memoryReference": fmt.Sprintf("%#x", 0x10000000+i), "instructionOffset": -16384, "instructionCount": 16384}
			})...)
		}},
		{"dap-threads", "50 requests for the names of 100,000 threads", false, func(f *folder) []string {
			f.program(walk)
			return f.session(process{threads: 100000}, repeat(50, "threads", func(int) any { return nil })...)
		}},
		{"dap-scopes", "requests for the registers and variables of 20,000 frames", false, func(f *folder) []string {
			f.program(walk)
			return f.session(process{stack: deep()}, append(pages(), repeat(40000, "scopes", func(i int) any { return map[string]any{"frameId": i + 1} })...)...)
		}},
		{"dap-locals", "600 requests for variables of 300 frames, each of a structure of 16,384 members", false, func(f *folder) []string {
			d := newDwarf()
			d.define(6, tagStruct, true, atName, asString, atSize, asUdata)
			d.define(7, tagMember, false, atName, asString, atType, asRef4, atMemberAt, asData1)
			at := uint32(d.info.Len())
			d.info.ULEB(6).Str("s").ULEB(64)
			for range 16384 {
				d.info.ULEB(7).Str("m").D32(at).D8(0)
			}
			d.info.D8(0)
			d.function()
			d.variables(100, at)
			f.program(append(d.sections(), walk)...)
			requests := []request{{"stackTrace", map[string]any{"threadId": 1}}}
			requests = append(requests, repeat(600, "scopes", func(i int) any { return map[string]any{"frameId": i + 1} })...)
			requests = append(requests, repeat(600, "variables", func(i int) any { return map[string]any{"variablesReference": i + 1} })...)
			return f.session(process{stack: frames(300, everyCall)}, requests...)
		}},
	}
}
