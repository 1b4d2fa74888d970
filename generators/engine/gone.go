package engine

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/generators/derive"
)

// forLogs advises on stored events of commands that a plan removes, and on renamed workers.
func (e *Engine) forLogs(p *plan) []string {
	var said []string
	for _, file := range slices.Sorted(maps.Keys(p.derived)) {
		before, after := e.before.File(file), p.after.File(file)
		if gone := without(derive.Entries(before), derive.Entries(after)); len(gone) > 0 {
			said = append(said, e.orphaned(gone, path.Dir(file), after != nil))
		}
		if after != nil {
			said = append(said, renamed(derive.Workers(before), derive.Workers(after))...)
		}
	}
	return said
}

// orphaned advises on stored events whose commands are removed, with a func Map if the feature remains.
func (e *Engine) orphaned(gone []string, dir string, remains bool) string {
	events := strings.Join(gone, ", ")
	skip := fmt.Sprintf("skip them with %s log skip", e.project.Name)
	if !remains {
		return fmt.Sprintf("A log that has events %s stops the server at startup; %s.", events, skip)
	}
	var quoted []string
	for _, name := range gone {
		quoted = append(quoted, strconv.Quote(name))
	}
	return fmt.Sprintf(`A log that has events %s stops the server at startup. To keep applying them, keep the type with //petrock:internal in its doc comment. To drop them, %s, or write in %s:
    // Map drops the events of removed commands.
    func Map(r app.Recorded) (app.Recorded, error) {
        switch r.Type {
        case %s:
            return r, app.ErrDrop // or return the event that replaces it
        }
        return r, nil
    }`, events, skip, dir, strings.Join(quoted, ", "))
}

// renamed advises on workers of a feature that were removed or renamed.
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

// without returns the elements of a list that are not in another.
func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return slices.Contains(others, name) })
}
