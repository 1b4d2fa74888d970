package engine

import (
	"fmt"
	"slices"
	"strings"
)

// String formats the result as text, without diffs.
func (r *Result) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", r.Headline())
	for _, f := range r.Files {
		note := ""
		if f.Derived {
			note = " (derived)"
		}
		fmt.Fprintf(&out, "  %s  %s%s\n", f.Action, f.Path, note)
	}
	if r.ToolsList != nil {
		fmt.Fprintln(&out, r.ToolsList)
	}
	if r.Trial != nil {
		fmt.Fprintln(&out, r.Trial)
	}
	for _, d := range r.Refused {
		fmt.Fprintf(&out, "refused: %s\n", d)
	}
	for _, d := range append(slices.Clone(r.Impure), r.Warnings...) {
		fmt.Fprintf(&out, "warning: %s\n", d)
	}
	if len(r.Diagnostics) > 0 {
		fmt.Fprintf(&out, "This was wrong before, and still is:\n")
		for _, d := range r.Diagnostics {
			fmt.Fprintf(&out, "  %s\n", d)
		}
	}
	if len(r.Next) > 0 {
		fmt.Fprintf(&out, "Next:\n")
		for _, next := range r.Next {
			fmt.Fprintf(&out, "  %s\n", next)
		}
	}
	return out.String()
}

// Headline describes the result in one line.
func (r *Result) Headline() string {
	done := map[string][2]string{
		"generate": {"Generated", "Would generate"},
		"destroy":  {"Destroyed", "Would destroy"},
		"undo":     {"Undid", "Would undo"},
		"sync":     {"Derived", "Would derive"},
	}[r.Action]
	verb := done[0]
	if r.DryRun {
		verb = done[1]
	}
	what := strings.TrimSpace(r.Kind + " " + r.Name)
	switch {
	case r.Action == "sync" && len(r.Files) == 0 && len(r.Refused) > 0:
		return "Some packages could not be derived from; nothing was changed:"
	case r.Action == "sync" && len(r.Files) == 0:
		return "All derived files are fresh."
	case r.Action == "sync":
		what = fmt.Sprintf("%d files", len(r.Files))
		if len(r.Files) == 1 {
			what = "one file"
		}
	case r.Action == "undo":
		what = r.Undoes
	}
	if r.Operation != "" {
		return fmt.Sprintf("%s %s (operation %s):", verb, what, r.Operation)
	}
	return fmt.Sprintf("%s %s:", verb, what)
}

// String formats the size as text.
func (s *Size) String() string {
	tools := "tools"
	if s.Tools == 1 {
		tools = "tool"
	}
	return fmt.Sprintf("tools/list: %d %s, %d bytes, about %d tokens", s.Tools, tools, s.Bytes, s.Tokens)
}

// String formats the result of the examples as text.
func (t *Trial) String() string {
	if !t.Ran {
		return "Its examples were not run."
	}
	text := fmt.Sprintf("examples passed: %s", strings.Join(t.Passed, ", "))
	if !t.Confined {
		text += " (this system could not keep them from writing elsewhere)"
	}
	if t.Printed != "" {
		text += "\nMeanwhile it printed, which goes to standard error when it is served:\n  " + strings.ReplaceAll(strings.TrimSpace(t.Printed), "\n", "\n  ")
	}
	return text
}
