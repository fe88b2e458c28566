// Command mutants changes the code of packages in small ways and runs the
// packages' own tests on each change. A change that no test notices survives
// and is printed: it is either something that the tests miss, or a mutant that
// does what the code does.
//
//	go run ./test/mutants ./internal/dwarf/expr
//
// Mutants that are known to do what the code does are listed in
// testdata/equivalent-mutants.txt of their package, each with the reason. They
// are not run.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"time"
)

// options are what the flags say.
type options struct {
	parallel int
	limit    time.Duration
	only     *regexp.Regexp
	skip     string
	sample   int
	seed     uint64
	list     bool
	killed   bool
}

func main() {
	var o options
	only := ""
	flag.IntVar(&o.parallel, "p", runtime.GOMAXPROCS(0), "how many mutants to test at the same time")
	flag.DurationVar(&o.limit, "timeout", 0, "time after which a mutant counts as killed (default ten times what the tests take)")
	flag.StringVar(&only, "only", "", "take only mutants whose line matches a `regexp`")
	flag.StringVar(&o.skip, "skip", "", "do not run tests that match a `regexp`, such as those that count allocations")
	flag.IntVar(&o.sample, "sample", 0, "draw `n` mutants of each package at random, for a package whose mutants take hours")
	flag.Uint64Var(&o.seed, "seed", 1, "what -sample draws with: the same seed draws the same mutants of the same code")
	flag.BoolVar(&o.list, "list", false, "list the mutants and do not run them")
	flag.BoolVar(&o.killed, "v", false, "print mutants that are killed too")
	flag.Parse()
	ok, err := true, error(nil)
	if o.only, err = regexp.Compile(only); err == nil {
		ok, err = o.packages(os.Stdout, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

// packages tests the mutants of all packages that match patterns. It reports
// whether none survived.
func (o *options) packages(w io.Writer, patterns []string) (bool, error) {
	paths, err := expand(patterns)
	if err != nil {
		return false, err
	}
	ok := true
	for _, path := range paths {
		good, err := o.pkg(w, path)
		if err != nil {
			return false, fmt.Errorf("%s: %w", path, err)
		}
		ok = ok && good
	}
	return ok, nil
}

// pkg tests the mutants of one package.
func (o *options) pkg(w io.Writer, path string) (bool, error) {
	p, err := load(path)
	if err != nil {
		return false, err
	}
	all, err := p.mutants()
	if err != nil {
		return false, err
	}
	known, err := readEquivalents(filepath.Join(p.Dir, equivalentFile))
	if err != nil {
		return false, err
	}
	var chosen []*mutant
	for _, m := range all {
		if known.has(m) || !o.only.MatchString(m.String()) {
			continue
		}
		chosen = append(chosen, m)
	}
	chosen = o.draw(chosen)
	if o.list {
		for _, m := range chosen {
			fmt.Fprintln(w, m)
		}
	}
	stale := known.stale()
	for _, key := range stale {
		fmt.Fprintf(w, "%s: there is no such mutant: %s\n", filepath.Join(p.rel(p.Dir), equivalentFile), key)
	}
	if o.list || len(chosen) == 0 {
		return len(stale) == 0, nil
	}
	results, err := o.test(p, chosen)
	if err != nil {
		return false, err
	}
	return o.report(w, p, results, len(known.reasons)-len(stale)) && len(stale) == 0, nil
}

// draw returns the mutants that -sample takes, in their order.
func (o *options) draw(all []*mutant) []*mutant {
	if o.sample <= 0 || o.sample >= len(all) {
		return all
	}
	chosen := make([]*mutant, 0, o.sample)
	order := rand.New(rand.NewPCG(o.seed, 0)).Perm(len(all))[:o.sample]
	slices.Sort(order)
	for _, i := range order {
		chosen = append(chosen, all[i])
	}
	return chosen
}

// report prints what became of the mutants and reports whether none survived.
func (o *options) report(w io.Writer, p *pkg, results []result, equivalent int) bool {
	slices.SortFunc(results, func(a, b result) int { return cmp.Compare(a.mutant.id, b.mutant.id) })
	count := map[outcome]int{}
	for _, r := range results {
		count[r.outcome]++
		if r.outcome == survived || o.killed {
			fmt.Fprintf(w, "%-8s %s\n", r.outcome, r.mutant)
		}
	}
	dead := count[killed] + count[timedOut]
	rate := 100.0
	if tested := dead + count[survived]; tested > 0 {
		rate = 100 * float64(dead) / float64(tested)
	}
	fmt.Fprintf(w, "%s: %.1f %% killed: %d killed (%d by the time limit), %d survived, %d listed as equivalent\n",
		p.ImportPath, rate, dead, count[timedOut], count[survived], equivalent)
	return count[survived] == 0
}
