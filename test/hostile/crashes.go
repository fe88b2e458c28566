package main

import (
	"fmt"
	"strings"
)

// crashes writes a store of crashes and its configuration, and returns the arguments
// that list or show them. A record belongs to the user of the process, who may write
// what they like, and root reads it.
func (f *folder) crashes(n int, record func(i int) string, args ...string) []string {
	for i := range n {
		f.write(fmt.Sprintf("store/20260101-000000.000-%d.json", i+1), []byte(record(i)))
	}
	f.write("store/lock", nil)
	config := f.write("crash.toml", fmt.Appendf(nil, "store = %q\n", f.in("store")))
	return append([]string{"crash", "--config", config}, args...)
}

func crashes() []input {
	const head = `{"schema":"sfcore.crash/1","kind":"k","signal":"SIGSEGV"`
	store := func(n int, record string, args ...string) func(f *folder) []string {
		return func(f *folder) []string { return f.crashes(n, func(int) string { return record }, args...) }
	}
	rules := func(text string) func(f *folder) []string {
		return func(f *folder) []string {
			args := f.crashes(1, func(int) string { return head + "}" }, "list")
			f.write("crash.toml", fmt.Appendf(nil, "store = %q\n%s", f.in("store"), text))
			return args
		}
	}
	return []input{
		{"crash-problems", "1,000 records of 340,000 problems each", false, store(1000, head+`,"problems":[""`+strings.Repeat(`,""`, 340000)+"]}", "list")},
		{"crash-long", "1,000 records with a program of 1 MB, by kind", false, store(1000, head+`,"program":"`+strings.Repeat("\x1b", 1000)+strings.Repeat("/x", 500000)+`"}`, "top")},
		{"crash-lines", "the same as lines of JSON", false, store(1000, head+`,"program":"`+strings.Repeat("/x", 500000)+`"}`, "list", "--format", "jsonl")},
		{"crash-nested", "1,000 records of 500,000 brackets", false, store(1000, head+`,"x":`+strings.Repeat("[", 500000), "list")},
		{"crash-many", "20,000 records", false, func(f *folder) []string {
			return f.crashes(20000, func(i int) string { return fmt.Sprintf(`%s,"kind":"%d"}`, head, i) }, "top")
		}},
		{"crash-last", "the newest of 20,000 records", false, store(20000, head+"}", "show", "last")},
		{"crash-counts", "20 MB of kinds of crashes", false, func(f *folder) []string {
			args := f.crashes(1, func(int) string { return head + "}" }, "status")
			var b strings.Builder
			for i := range 200000 {
				fmt.Fprintf(&b, `,"%d":{"count":1}`, i)
			}
			f.write("store/counts", []byte(`{"kinds":{"":null`+b.String()+"}}"))
			return args
		}},
		{"crash-no-counts", "counts that are a directory", true, func(f *folder) []string {
			args := f.crashes(1, func(int) string { return head + "}" }, "status")
			f.write("store/counts/x", nil)
			return args
		}},
		{"crash-links", "a record and a report that are links to other files", true, func(f *folder) []string {
			args := f.crashes(1, func(int) string { return head + "}" }, "show", "20260101-000000.000-1")
			f.write("secret", document([]string{threadOf(1, "m", 1)}, nil))
			f.link("secret", "store/20260101-000000.000-1.jsonl.zst")
			f.link("secret", "store/20260101-000000.000-2.json")
			return args
		}},
		{"crash-rules", "a configuration of 25,000 rules", false, rules(strings.Repeat("[[rule]]\nprogram=\""+strings.Repeat("*a", 8)+"\"\n", 25000))},
		{"crash-toml-deep", "a configuration that is 500,000 brackets", false, rules("x = " + strings.Repeat("[", 500000))},
		{"crash-toml-dots", "a configuration with a key of 500,000 parts", false, rules(strings.Repeat("a.", 499999) + "a = 1")},
		{"crash-toml-tables", "a configuration of 70,000 tables", false, func(f *folder) []string {
			var b strings.Builder
			for i := range 70000 {
				fmt.Fprintf(&b, "[a.b%d]\n", i)
			}
			return rules(b.String())(f)
		}},
	}
}
