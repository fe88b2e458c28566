package main

import (
	"bytes"
	"fmt"
	"strings"
)

const (
	reportHead = `{"schema":"sfcore.report/1","source":{"kind":"core","path":"c"},"process":{"pid":1,"arch":"amd64","byteOrder":"little"}`
	reportTail = `,"modules":[],"problems":[]}`
)

// storedReport writes a report that is compressed: head, a part again and again until
// there are size bytes, and tail.
func (f *folder) storedReport(head, part string, size int, tail string) string {
	const chunk = 1 << 20
	times := max(1, chunk/len(part))
	more := zstdFrame([]byte(strings.Repeat(part, times)))
	data := bytes.Join([][]byte{zstdFrame([]byte(head)), bytes.Repeat(more, size/(times*len(part))), zstdFrame([]byte(tail))}, nil)
	return f.write("report.jsonl.zst", data)
}

// stored are reports that were written before. A process that crashes decides what is
// in its names, and anybody may send a report.
func stored() []input {
	const most = 1000 << 20
	report := func(head, part, tail string, size int, flags ...string) func(f *folder) []string {
		return func(f *folder) []string {
			return append(flags, f.storedReport(head, part, size, tail))
		}
	}
	thread := func(f string) string {
		return `{"tid":1,"crashed":true,"frames":[` + f + `],"stop":{"reason":"outermost"}}`
	}
	named := func(name string) string {
		return reportHead[:len(reportHead)-1] + `,"signal":{"number":11,"name":"SIGSEGV","code":1,"thread":1}},"threads":[` +
			thread(`{"index":0,"pc":"0x1","method":"cfi","trust":"full","exact":true,"module":"m","function":"`+name+`"}`) + `]` + reportTail
	}
	list := []input{
		{"stored-threads", "a compressed report of 350,000,000 threads that say nothing", false, report(reportHead+`,"threads":[{}`, ",{}", "]"+reportTail, most, "bt")},
		{"stored-frames", "the same of frames", false, report(reportHead+`,"threads":[{"frames":[{}`, ",{}", "]}]"+reportTail, most, "bt")},
		{"stored-nulls", "the same of frames that are null", false, report(reportHead+`,"threads":[{"frames":[{}`, ",null", "]}]"+reportTail, most, "bt")},
		{"stored-string", "a compressed report with a name of 1 GiB", false, report(reportHead+`,"threads":[{"name":"`, "aaaaaaaaaaaaaaaa", `"}]`+reportTail, most, "bt")},
		{"stored-space", "a compressed report of 1 GiB of spaces", false, report(reportHead, "                ", `,"threads":[]`+reportTail, most, "bt")},
		{"stored-problems", "a compressed report of 350,000,000 problems", false, report(reportHead+`,"threads":[],"modules":[],"problems":[""`, `,""`, "]}", most, "bt")},
		{"stored-unknown", "a compressed report of 1 GiB in a field that is not known", false, report(reportHead+`,"x":[[]`, `,[]`, `],"threads":[]`+reportTail, most, "bt")},
		{"stored-keys", "the same of 100,000,000 members that are not known", false, report(reportHead, `,"x":0`, `,"threads":[]`+reportTail, most, "bt")},
		{"stored-lines", "a compressed report of 80,000,000 lines of threads that say nothing", false, report(reportHead+"}\n", "{\"thread\":{}}\n", "{"+reportTail[1:]+"\n", most, "bt")},
		{"stored-documents", "25,000,000 compressed reports in a file", false, report("", `{"schema":"sfcore.report/1","threads":[]}`+"\n", "", most, "diff")},
		{"stored-variables", "a compressed report of a frame of 500,000,000 variables", false, report(reportHead+`,"threads":[{"frames":[{"variables":[{}`, ",{}", "]}]}]"+reportTail, most, "bt", "-v")},
		{"stored-waits", "a compressed report of 350,000,000 waits", false, report(reportHead+`,"threads":[],"waits":[{}`, ",{}", "]"+reportTail, most, "bt")},
		{"stored-modules", "a compressed report of 350,000,000 modules", false, report(reportHead+`,"threads":[],"modules":[{}`, ",{}", `],"problems":[]}`, most, "bt")},
		{"stored-elements", "a report of a variable that is an array of arrays, 60 within each other", true, func(f *folder) []string {
			const n = 60
			nested := strings.Repeat(`{"elements":true,"members":[{"value":"0"},{"value":"0"},`, n) + `{"value":"1"}` + strings.Repeat("]}", n)
			return []string{"bt", "-v", f.write("r.json", document([]string{thread(`{"variables":[` + nested + "]}")}, nil))}
		}},
		{"stored-members", "a report of 10 variables of 2,400 structures within each other, with names of 3 KB", false, func(f *folder) []string {
			const n = 2400
			nested := strings.Repeat(`{"members":[{"name":"`+strings.Repeat("n", 3000)+`","members":[`, n) + `{"value":"1"}` + strings.Repeat("]}]}", n)
			return []string{"bt", "-v", f.storedReport(reportHead+`,"threads":[`+thread(`{"variables":[`+nested+strings.Repeat(","+nested, 9)+"]}")+"]"+reportTail, " ", 1, "")}
		}},
		{"stored-quick", "a compressed report of 10,000 frames that say nothing", true, report(reportHead+`,"threads":[{"frames":[{}`, ",{}", "]}]"+reportTail, 30000, "bt")},
	}
	for _, nested := range []struct{ name, part string }{{"less", "a<"}, {"more", ">"}, {"round", "("}, {"lambda", "{lambda("}, {"colons", "::"}, {"operators", "operator<"}, {"anonymous", "(anonymous namespace)::"}, {"stars", "*&"}, {"rust", "<impl T for "}, {"tilde", "~"}} {
		list = append(list, input{"stored-sig-" + nested.name, fmt.Sprintf("the signature of a function that is called %q a million times", nested.part), false, func(f *folder) []string {
			return []string{"sig", "--explain", f.write("r.json", []byte(named(strings.Repeat(nested.part, 1000000))))}
		}})
	}
	for _, format := range []string{"text", "json", "jsonl", "html", "pprof", "speedscope", "folded"} {
		list = append(list, input{"stored-distinct-" + format, "a compressed report of 2,000 stacks of 300 frames that all differ: " + format, false, func(f *folder) []string {
			var b strings.Builder
			b.WriteString(reportHead + `,"threads":[`)
			for i := range 2000 {
				if i > 0 {
					b.WriteString(",")
				}
				fmt.Fprintf(&b, `{"tid":%d,"frames":[`, i+1)
				for j := range 300 {
					if j > 0 {
						b.WriteString(",")
					}
					fmt.Fprintf(&b, `{"index":%d,"pc":"%#x","method":"cfi","trust":"full","function":"<\u0001>%d"}`, j, j, i*1000+j)
				}
				b.WriteString(`],"stop":{"reason":"outermost"}}`)
			}
			b.WriteString("]" + reportTail)
			return []string{"bt", "--format", format, f.storedReport(b.String(), " ", 1, "")}
		}})
	}
	return append(list, input{"stored-series", "1,000 reports of 1,000 stacks that all differ", false, func(f *folder) []string {
		var b strings.Builder
		for i := range 1000 {
			b.WriteString(reportHead + `,"threads":[`)
			for j := range 1000 {
				if j > 0 {
					b.WriteString(",")
				}
				fmt.Fprintf(&b, `{"tid":%d,"frames":[{"pc":"%#x"}]}`, j+1, i<<20+j)
			}
			b.WriteString("]" + reportTail + "\n")
		}
		return []string{"diff", f.storedReport(b.String(), "\n", 1, "")}
	}})
}
