package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// question is an expression and its value.
type question struct{ expr, want string }

// readTable reads a section of a table, and in which function its expressions are
// evaluated.
func readTable(name, section string) (list []question, function string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		if head, ok := strings.CutPrefix(line, "["); ok {
			program, where, _ := strings.Cut(strings.TrimSuffix(head, "]"), " ")
			if function = ""; program == section {
				function = where
			}
			if program != section && len(list) > 0 {
				break
			}
			continue
		}
		expr, want, ok := strings.Cut(line, "\t\t")
		if function == "" || strings.HasPrefix(line, "#") || !ok {
			continue
		}
		list = append(list, question{expr, want})
	}
	if len(list) == 0 {
		return nil, "", fmt.Errorf("%s has no expressions for %s", name, section)
	}
	for lines.Scan() { // to its end, for the error
	}
	return list, where(name, section), lines.Err()
}

// where returns the function that the head of a section names.
func where(name, section string) string {
	b, _ := os.ReadFile(name)
	_, rest, _ := strings.Cut(string(b), "\n["+section+" ")
	function, _, _ := strings.Cut(rest, "]")
	return function
}
