package contract

import (
	"fmt"
	"slices"
	"strings"
)

// A Change is one difference between two shapes.
type Change struct {
	Path     string // JSON names of the field and its parents, joined by dots
	What     string // such as "was removed"
	Breaking bool   // whether events of the old shape do not fit the new one
	Added    bool   // whether the field was added
	Removed  bool   // whether the field was removed
	Version  int    // the older version of the command that changed; 0 for the current one
}

// Changes lists the differences between a shape and a newer one that matter to events.
func (old Shape) Changes(now Shape) []Change {
	c := comparer{old: old, now: now, seen: map[[2]string]bool{}}
	c.compareFields("", old.Fields, now.Fields)
	return c.found
}

const (
	removed = "was removed"
	added   = "was added"
)

// Breaks reports whether events of the old shape do not fit the new one.
func (old Shape) Breaks(now Shape) bool {
	return slices.ContainsFunc(old.Changes(now), func(c Change) bool { return c.Breaking })
}

// Describe describes changes in one line: field url was removed, href was added.
func Describe(changes []Change) string {
	var phrases []string
	for _, c := range changes {
		if c.Version > 0 {
			c.Path += fmt.Sprintf(" of version %d", c.Version)
		}
		phrase := strings.TrimSpace(c.Path + " " + c.What)
		if c.Path != "" && len(phrases) == 0 {
			phrase = "field " + phrase
		}
		phrases = append(phrases, phrase)
	}
	return strings.Join(phrases, ", ")
}

// Renamed returns OLD=NEW if one field was removed and one added, which is probably a rename.
// Otherwise it returns an empty string.
func Renamed(changes []Change) string {
	if len(changes) != 2 || !changes[0].Removed || !changes[1].Added || changes[0].Version > 0 {
		return ""
	}
	return changes[0].Path + "=" + changes[1].Path
}

type comparer struct {
	old, now Shape
	seen     map[[2]string]bool // pairs of struct types compared so far
	found    []Change
}

func (c *comparer) note(path, what string, breaking bool) {
	c.found = append(c.found, Change{Path: path, What: what, Breaking: breaking})
}

func (c *comparer) compareFields(path string, old, now []Field) {
	if path != "" {
		path += "."
	}
	for _, was := range old {
		is, ok := findField(now, was.Name)
		switch at := path + was.Name; {
		case !ok:
			c.found = append(c.found, Change{Path: at, What: removed, Breaking: true, Removed: true})
		case was.Optional && !is.Optional:
			c.note(at, "is no longer optional", true)
		case was.Quoted != is.Quoted || !c.fits(at, was.Type, is.Type):
			c.note(at, "changed from "+was.encodedType()+" to "+is.encodedType(), true)
		case was.Go != is.Go && slices.ContainsFunc(old, func(f Field) bool { return f.Go == is.Go && f.Name != was.Name }):
			c.note(at, "is now read as "+is.Go+", which was another field", true)
		case was.Optional != is.Optional:
			c.note(at, "became optional", false)
		}
	}
	for _, is := range now {
		if _, ok := findField(old, is.Name); !ok {
			c.found = append(c.found, Change{Path: path + is.Name, What: added, Breaking: !is.Optional, Added: true})
		}
	}
}

func (f Field) encodedType() string {
	if f.Quoted {
		return f.Type + " in a string"
	}
	return f.Type
}

// fits reports whether values of the old type can be read as the new one, with the same meaning. It
// does not count differences inside structs, but notes them.
func (c *comparer) fits(path, old, now string) bool {
	was, oldErr := ParseType(old)
	is, err := ParseType(now)
	return oldErr == nil && err == nil && c.typeFits(path, was, is)
}

func (c *comparer) typeFits(path string, was, is Type) bool {
	switch {
	case is.Kind == Any:
		return true
	case is.Kind == Pointer && was.Kind != Pointer:
		return c.typeFits(path, was, *is.Elem)
	case was.Kind == Array && is.Kind == Slice:
		return c.typeFits(path, *was.Elem, *is.Elem)
	case was.Kind != is.Kind:
		return false // a pointer may have been null
	}
	switch was.Kind {
	case Basic:
		return Holds(is.Name, was.Name)
	case Opaque:
		return was.Name == is.Name
	case Array:
		return was.Len == is.Len && c.typeFits(path, *was.Elem, *is.Elem)
	case Pointer, Slice:
		return c.typeFits(path, *was.Elem, *is.Elem)
	case Map:
		return c.typeFits(path, *was.Key, *is.Key) && c.typeFits(path, *was.Elem, *is.Elem)
	case Struct:
		if pair := [2]string{was.Name, is.Name}; !c.seen[pair] {
			c.seen[pair] = true
			c.compareFields(path, c.old.Types[was.Name], c.now.Types[is.Name])
		}
	}
	return true
}
