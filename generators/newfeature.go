package generators

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/gen"
)

// madeFor says that a feature is made because there is none of its name, and which there are; nothing if it is the first.
func madeFor(p gen.Project, feature string) []string {
	var others []string
	meant := ""
	for _, dir := range slices.Sorted(maps.Keys(p.Packages)) {
		name := path.Base(dir)
		if path.Dir(dir) != "features" || p.Packages[dir] == "" || name == feature {
			continue
		}
		others = append(others, name)
		if meant == "" && isNear(name, feature) {
			meant = fmt.Sprintf("; is %s meant? Then undo this", name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	const most = 12
	if len(others) > most {
		others = append(others[:most], "…")
	}
	return []string{fmt.Sprintf("There was no feature %s, so it was made; those before it are %s%s.", feature, strings.Join(others, ", "), meant)}
}

// isNear reports whether one name may be a slip of the pen for the other: two letters are different, missing or too many at
// most.
func isNear(a, b string) bool {
	row := make([]int, len(b)+1) // how far the beginning of a is from each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			swapped := before
			if a[i] != b[j] {
				swapped++
			}
			before = row[j+1]
			row[j+1] = min(swapped, before+1, row[j]+1)
		}
	}
	return row[len(b)] <= 2
}
