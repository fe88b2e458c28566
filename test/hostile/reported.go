package main

import (
	"slices"
	"strings"
)

// reported are inputs of others of which more is asked: a report of a wrong stack, or all
// that is known.
func reported() []input {
	others := slices.Concat(mapped(), walked(), named(), threaded(), united(), inflated())
	// of is another input, whose command becomes the given one. How its result is printed
	// does not matter then.
	of := func(prefix, name string, command ...string) input {
		i := slices.IndexFunc(others, func(in input) bool { return in.name == name })
		in := others[i]
		in.name = prefix + name
		in.make = func(f *folder) []string {
			args := others[i].make(f)
			if format := slices.Index(args, "--format"); format > 0 {
				args = slices.Delete(args, format, format+2)
			}
			args = slices.DeleteFunc(args, func(arg string) bool { return arg == "--locals" })
			out := slices.Clone(command)
			for i := range out {
				if strings.HasSuffix(out[i], ".zip") {
					out[i] = f.in(out[i])
				}
			}
			return append(out, args[1:]...)
		}
		return in
	}
	var all []input
	for _, name := range []string{"deep-threads", "ntfile-10k", "ntfile-million", "scopes-deep", "threads-300k", "modules-eightfold"} {
		all = append(all, of("report-bug-", name, "report-bug", "--yes", "-o", "report.zip"))
	}
	for _, name := range []string{"deep-threads", "ntfile-10k", "scopes-deep", "threads-300k", "modules-eightfold"} {
		all = append(all, of("full-", name, "bt", "--full"))
	}
	return all
}
