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
// read without them.
func (e *Engine) forLogs(p *plan) []string {
	var said []string
	for _, file := range slices.Sorted(maps.Keys(p.derived)) {
		now := derive.Entries(p.after.File(file))
		gone := slices.DeleteFunc(derive.Entries(e.before.File(file)), func(entry string) bool { return slices.Contains(now, entry) })
		if len(gone) == 0 {
			continue
		}
		mapped := fmt.Sprintf("keep the type, with //petrock:internal in its doc comment, so that they apply and clients do not see it, or write func Map in %s, which says what they stand for now, or ", path.Dir(file))
		if p.after.File(file) == nil {
			mapped = ""
		}
		said = append(said, fmt.Sprintf("A log that has entries %s cannot be read any more: %sskip them with %s log skip.", strings.Join(gone, ", "), mapped, e.project.Name))
	}
	return said
}
