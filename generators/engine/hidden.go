package engine

import (
	"fmt"
	"io/fs"
	"path"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// hidden are the places that are there and not seen: folders that are links, which nothing follows
// here, or other modules. To go on as if they were not there would unregister what they hold.
func (e *Engine) hidden() []*derive.Package {
	var places []derive.Place
	for _, place := range derive.Places(e.before) {
		if place.Wired && place.Kind != derive.Feature {
			places = append(places, place)
		}
	}
	if e.hides(derive.Features) != "" {
		places = append(places, derive.FeatureIn(derive.Features))
	} else if entries, err := fs.ReadDir(e.root.FS(), derive.Features); err == nil { // there may be none
		for _, entry := range entries {
			places = append(places, derive.FeatureIn(path.Join(derive.Features, entry.Name())))
		}
	}
	var found []*derive.Package
	for _, place := range places {
		if why := e.hides(place.Dir); why != "" {
			found = append(found, &derive.Package{Place: place, Problems: []typecheck.Diagnostic{{Message: why}}})
		}
	}
	return found
}

// hides says why a folder that is there is not seen, empty if it is.
func (e *Engine) hides(dir string) string {
	if info, err := e.root.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Sprintf("%s is a link, and what it leads to is not looked at; make it a folder", dir)
	}
	if mod := e.otherModule(path.Join(dir, "x")); mod != "" {
		return fmt.Sprintf("%s is in another module, that of %s; make it part of this one", dir, mod)
	}
	return ""
}

// otherModule is the go.mod of the module that a file would be in, if that is not the project's.
func (e *Engine) otherModule(file string) string {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		mod := path.Join(dir, "go.mod")
		if _, err := e.root.Lstat(mod); err == nil {
			return mod
		}
	}
	return ""
}

// interrupted says that an operation is half done, to those who only look.
func (e *Engine) interrupted() []typecheck.Diagnostic {
	if !journal.Interrupted(e.root) {
		return nil
	}
	return []typecheck.Diagnostic{{Message: "an operation was interrupted, or is under way; sync, or any operation, waits for it, and finishes it or takes it back"}}
}
