package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Update returns the record of a command after its source has become now. It adds compatible changes and
// new versions. If stored events could no longer be read, or would change their meaning, it returns the
// record unchanged, and the breaking changes. hasMap means that the feature has a func Map, which may read
// versions without a type.
func (c Command) Update(now Command, hasMap bool) (Command, []Change) {
	if now.Version < c.Version {
		return c, []Change{{What: fmt.Sprintf("version %d is recorded, but the source has version %d", c.Version, now.Version), Breaking: true}}
	}
	var broken []Change
	for _, version := range slices.Sorted(maps.Keys(c.Versions)) {
		shape, known := now.Versions[version]
		switch {
		case known && version < now.Version && c.Versions[version].Breaks(shape):
			for _, change := range c.Versions[version].Changes(shape) {
				change.Path = fmt.Sprintf("%s of version %d", change.Path, version)
				broken = append(broken, change)
			}
		case known && c.Versions[version].Breaks(shape):
			broken = append(broken, c.Versions[version].Changes(shape)...)
		case !known && !hasMap:
			broken = append(broken, Change{What: fmt.Sprintf("version %d is recorded, but no type or func Map reads it", version), Breaking: true})
		}
	}
	if len(broken) > 0 {
		return c, broken
	}
	return Command{Version: now.Version, Versions: merge(c.Versions, now.Versions)}, nil
}

// RenameFlag suggests a flag for petrock generate version: if exactly one field was removed and one added,
// it assumes a rename. Otherwise it returns an empty string.
func RenameFlag(changes []Change) string {
	var before, after []string
	for _, c := range changes {
		switch {
		case strings.Contains(c.Path, " "):
			return ""
		case c.What == removed:
			before = append(before, c.Path)
		case c.What == added:
			after = append(after, c.Path)
		}
	}
	if len(before) == 1 && len(after) == 1 {
		return fmt.Sprintf(" --rename %s=%s", before[0], after[0])
	}
	return ""
}
