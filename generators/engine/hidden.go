package engine

import (
	"fmt"
	"io/fs"
	"path"

	"github.com/petrock/petrock/generators/check"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
)

// hidden are the places that are there and not seen: folders that are links, which nothing follows
// here, or other modules. To go on as if they were not there would unregister what they hold.
func (e *Engine) hidden() []*derive.Package {
	var found []*derive.Package
	for _, place := range derive.Places() {
		if !place.Wired {
			continue
		}
		why := ""
		if info, err := e.root.Lstat(place.Dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			why = fmt.Sprintf("%s is a link, and what it leads to is not looked at; make it a folder", place.Dir)
		} else if mod := e.otherModule(path.Join(place.Dir, "x")); mod != "" {
			why = fmt.Sprintf("%s is in another module, that of %s; make it part of this one", place.Dir, mod)
		}
		if why != "" {
			found = append(found, &derive.Package{Place: place, Problems: []check.Diagnostic{{Message: why}}})
		}
	}
	return found
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
func (e *Engine) interrupted() []check.Diagnostic {
	if !journal.Interrupted(e.root) {
		return nil
	}
	return []check.Diagnostic{{Message: "an operation was interrupted, or is under way; sync, or any operation, waits for it, and finishes it or takes it back"}}
}
