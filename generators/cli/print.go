package cli

import (
	"fmt"
	"strings"

	"github.com/petrock/petrock/generators/engine"
)

// printResult says what was done. Of a dry run it prints the differences alone, for other programs
// to read, and the rest to standard error.
func printResult(env Env, r *engine.Result) error {
	if r.Recovered != "" {
		fmt.Fprintln(env.Err, r.Recovered)
	}
	var out strings.Builder
	if r.DryRun {
		for _, f := range r.Files {
			out.WriteString(f.Diff)
		}
		if _, err := fmt.Fprint(env.Out, out.String()); err != nil {
			return err
		}
		out.Reset()
	}
	fmt.Fprintf(&out, "%s\n", headline(r))
	for _, f := range r.Files {
		note := ""
		if f.Derived {
			note = " (derived)"
		}
		fmt.Fprintf(&out, "  %s  %s%s\n", f.Action, f.Path, note)
	}
	if r.ToolsList != nil {
		fmt.Fprintln(&out, cost(r.ToolsList))
	}
	for _, d := range r.Refused {
		fmt.Fprintf(&out, "refused: %s\n", d)
	}
	for _, d := range r.Warnings {
		fmt.Fprintf(&out, "warning: %s\n", d)
	}
	if len(r.Diagnostics) > 0 {
		fmt.Fprintf(&out, "This was wrong before, and still is:\n")
		for _, d := range r.Diagnostics {
			fmt.Fprintf(&out, "  %s\n", d)
		}
	}
	if len(r.Next) > 0 && !r.DryRun {
		fmt.Fprintf(&out, "Next:\n")
		for _, next := range r.Next {
			fmt.Fprintf(&out, "  %s\n", next)
		}
	}
	if r.DryRun {
		_, err := fmt.Fprint(env.Err, out.String())
		return err
	}
	_, err := fmt.Fprint(env.Out, out.String())
	return err
}

// headline says in one line what was done.
func headline(r *engine.Result) string {
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

// cost says what a list of tools costs.
func cost(s *engine.Size) string {
	tools := "tools"
	if s.Tools == 1 {
		tools = "tool"
	}
	return fmt.Sprintf("tools/list: %d %s, %d bytes, about %d tokens", s.Tools, tools, s.Bytes, s.Tokens)
}
