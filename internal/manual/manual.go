// Package manual writes manual pages from commands. Programs have it only when they are
// built with the tag docs; see tools/release.
package manual

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// Write writes a page for root and one for each command below it to dir. They are of the
// day that SOURCE_DATE_EPOCH says, so that pages of one commit are equal.
func Write(root *cobra.Command, version, dir string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH must be the seconds since 1970: %w", err)
	}
	date := time.Unix(seconds, 0).UTC()
	prepare(root)
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "sfcore " + version, Manual: "sfcore", Date: &date}, dir)
}

func prepare(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	cmd.Long = markdown(cmd.Long)
	for _, sub := range cmd.Commands() {
		prepare(sub)
	}
}

// special are the characters that Markdown takes for its own.
var special = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `_`, `\_`, `<`, `\<`, "`", "\\`", `[`, `\[`, `#`, `\#`)

// markdown makes help text the Markdown that pages are made of: indented lines stay as they are.
func markdown(help string) string {
	var b strings.Builder
	example := false
	for line := range strings.Lines(help) {
		indented := strings.HasPrefix(line, "  ")
		if indented != example && strings.TrimSpace(line) != "" {
			b.WriteByte('\n')
			example = indented
		}
		if indented {
			b.WriteString("    " + strings.TrimPrefix(line, "  "))
		} else {
			b.WriteString(special.Replace(line))
		}
	}
	return b.String()
}
