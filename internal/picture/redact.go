package picture

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// redactor takes directories, addresses of servers and numbers of users out of texts.
type redactor struct {
	dirs     []string
	replacer *strings.Replacer // of dirs; nil if it must be made
}

// hide makes known the directories of files. In a text nobody could tell otherwise
// where a path with a space in it begins and ends.
func (r *redactor) hide(names []string) {
	for _, name := range names {
		if dir := path.Dir(name); strings.ContainsAny(dir, odd) {
			r.dirs = append(r.dirs, dir)
		}
	}
	r.replacer = nil
}

// odd are the characters at which a path in a text ends if it is not known.
const odd = " \t\n\"'`:;,()<>[]{}="

// private are the parts of a text that say where it was written.
type private struct{ url, user, path *regexp.Regexp }

// privateParts are made when they are first needed, because every run of the program
// would pay for them.
var privateParts = sync.OnceValue(func() private {
	inPath := `[^` + regexp.QuoteMeta(odd) + `]*`
	return private{
		url:  regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s"'<>]+`),
		user: regexp.MustCompile(`\b(user|uid) \d+\b`),
		path: regexp.MustCompile(`(?:^|[` + regexp.QuoteMeta(odd) + `])(?:~\w*|\.\.?)?/` + inPath),
	}
})

// text returns s without what says where it was written.
func (r *redactor) text(s string) string {
	if r.replacer == nil {
		slices.SortFunc(r.dirs, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
		var pairs []string
		for _, dir := range slices.Compact(r.dirs) {
			pairs = append(pairs, dir, "/.")
		}
		r.replacer = strings.NewReplacer(pairs...)
	}
	parts := privateParts()
	s = parts.url.ReplaceAllString(r.replacer.Replace(s), "[address]")
	s = parts.user.ReplaceAllString(s, "$1 [left out]")
	return parts.path.ReplaceAllStringFunc(s, func(found string) string {
		start := max(0, strings.IndexAny(found, "/~."))
		return found[:start] + base(found[start:])
	})
}

// base returns the last element of a path, which must not be the name of a user.
func base(name string) string {
	dir, last := path.Split(strings.TrimRight(name, "/"))
	switch dir {
	case "":
		return name
	case "/home/", "/Users/":
		return "~"
	}
	return last
}
