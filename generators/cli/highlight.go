package cli

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/petrock/petrock/core/terminal"
)

// A highlight is a part of a report that a terminal shows in a style. The first pattern that matches a
// line is used. Its first group is printed in the style, after mark; an empty group styles only the
// mark.
type highlight struct {
	pattern *regexp.Regexp
	style   terminal.Style
	mark    string
}

func highlights() []highlight {
	return []highlight{
		{regexp.MustCompile(`^()(Created|Generated|Undid|Redid|Destroyed|Derived|Added|Removed|All) `), terminal.Green, "✓ "},
		{regexp.MustCompile(`^()[^ ]+: ok\b`), terminal.Green, "✓ "},
		{regexp.MustCompile(`^()[^ ]+: wrong\b`), terminal.Red, "✗ "},
		{regexp.MustCompile(`(?m)^().*not compile:$`), terminal.Red, "✗ "},
		{regexp.MustCompile(`^ *(wrong|refused):`), terminal.Red, ""},
		{regexp.MustCompile(`^ *(warning|notice|note):`), terminal.Yellow, ""},
		{regexp.MustCompile(`^  (create|add) `), terminal.Green, ""},
		{regexp.MustCompile(`^  (update) `), terminal.Yellow, ""},
		{regexp.MustCompile(`^  (delete|remove) `), terminal.Red, ""},
		{regexp.MustCompile(`(?m)^([A-Z].*:)$`), terminal.Bold, ""},
		{regexp.MustCompile(`(?m)^(The \d+ tools? takes? .*)$`), terminal.Dim, ""},
	}
}

// PrintReport prints a report with control characters escaped and, on a terminal, with marks and
// colors.
func PrintReport(out io.Writer, report fmt.Stringer) error {
	text := terminal.Plain(report.String())
	if terminal.HasColor(out) {
		text = addStyles(out, text)
	}
	_, err := io.WriteString(out, text)
	return err
}

func addStyles(out io.Writer, report string) string {
	var b strings.Builder
	all := highlights()
	for line := range strings.Lines(report) {
		for _, h := range all {
			if at := h.pattern.FindStringSubmatchIndex(line); at != nil {
				line = line[:at[2]] + h.style.On(out, h.mark+line[at[2]:at[3]]) + line[at[3]:]
				break
			}
		}
		b.WriteString(line)
	}
	return b.String()
}
