package engine

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/derive"
)

// forLogs says what to do about the entries of commands that would be gone after a plan: a log that has some cannot be
// read without them. Of workers it says how they keep their place in the log.
func (e *Engine) forLogs(p *plan) []string {
	var said []string
	for _, file := range slices.Sorted(maps.Keys(p.derived)) {
		before, after := e.before.File(file), p.after.File(file)
		if gone := without(derive.Entries(before), derive.Entries(after)); len(gone) > 0 {
			kept := fmt.Sprintf("keep the type, with //petrock:internal in its doc comment, so that they apply and clients do not see it, or write func Map in %s, which says what they stand for now, or ", path.Dir(file))
			if after == nil {
				kept = ""
			}
			said = append(said, fmt.Sprintf("A log that has entries %s cannot be read any more: %sskip them with %s log skip.", strings.Join(gone, ", "), kept, e.project.Name))
		}
		if after != nil {
			said = append(said, renamed(derive.Workers(before), derive.Workers(after))...)
		}
	}
	return said
}

// renamed says what becomes of the workers of a feature that are gone, and may be there under other names.
func renamed(before, after []string) []string {
	gone, added := without(before, after), without(after, before)
	if len(gone) == 0 {
		return nil
	}
	which, old := "another name", path.Base(gone[0])
	if len(added) > 0 {
		which = strings.Join(added, " or ")
	}
	if len(gone) > 1 {
		old = "OLD"
	}
	return []string{fmt.Sprintf("No worker is called %s any more. A worker is known by its name, and under %s it begins anew, with what comes from now on; //petrock:name %s in the doc comment of its type keeps its place.", strings.Join(gone, ", "), which, old)}
}

// without are those of a list that are not in another.
func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return slices.Contains(others, name) })
}
