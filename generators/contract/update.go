package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Follow is the record of a command after its source has become now: compatible changes and new versions are taken in. If events
// that may be stored would no longer be read, or would mean something else, the record stays as it is and changes say why.
// mapped says that the feature has a func Map, which may know versions that have no type.
func (c Command) Follow(now Command, mapped bool) (Command, []Change) {
	made := Command{Version: now.Version, Versions: maps.Clone(c.Versions)}
	if now.Version < c.Version {
		return c, []Change{{What: fmt.Sprintf("version %d was recorded, and the source has version %d", c.Version, now.Version), Breaking: true}}
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
		case !known && !mapped:
			broken = append(broken, Change{What: fmt.Sprintf("version %d is recorded, and nothing reads it", version), Breaking: true})
		}
	}
	if len(broken) > 0 {
		return c, broken
	}
	maps.Copy(made.Versions, now.Versions)
	return made, nil
}

// Flags are the flags of generate version that a rename suggests: if one field is gone and one is new, they are taken for the
// same. Otherwise there are none.
func Flags(changes []Change) string {
	var gone, added []string
	for _, c := range changes {
		switch {
		case strings.Contains(c.Path, " "):
			return ""
		case c.What == removed:
			gone = append(gone, c.Path)
		case c.What == isNew:
			added = append(added, c.Path)
		}
	}
	if len(gone) == 1 && len(added) == 1 {
		return fmt.Sprintf(" --rename %s=%s", gone[0], added[0])
	}
	return ""
}
