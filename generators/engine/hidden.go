package engine

import (
	"fmt"
	"io/fs"
	"path"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// hidden returns the places that exist but are not read: symbolic links and nested modules. Treating
// them as missing would unregister their components.
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

// hides explains why a folder is not read; empty if it is.
func (e *Engine) hides(dir string) string {
	if info, err := e.root.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Sprintf("%s is a link, and what it leads to is not looked at; make it a folder", dir)
	}
	if mod := e.otherModule(path.Join(dir, "x")); mod != "" {
		return fmt.Sprintf("%s is in another module, that of %s; make it part of this one", dir, mod)
	}
	return ""
}

// otherModule returns the go.mod of the nested module that a file would be in; empty if none.
func (e *Engine) otherModule(file string) string {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		mod := path.Join(dir, "go.mod")
		if _, err := e.root.Lstat(mod); err == nil {
			return mod
		}
	}
	return ""
}

// interrupted warns of an interrupted operation, for commands that do not open the journal.
func (e *Engine) interrupted() []typecheck.Diagnostic {
	if !journal.Interrupted(e.root) {
		return nil
	}
	return []typecheck.Diagnostic{{Message: "an operation was interrupted, or is under way; sync, or any operation, waits for it, and finishes it or takes it back"}}
}
