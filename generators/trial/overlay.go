package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/petrock/petrock/generators/typecheck"
)

// laid are the planned files in a temporary folder, as they lie in the project, and what tells
// Go of them. Both paths are absolute, and lead through no links: so do those that Go prints.
type laid struct {
	root string // of the project
	dir  string // the temporary folder
	pkg  string // the folder of the package that is built, from the root with slashes
}

// overlay writes the planned files to a temporary folder, to build a package over them.
func overlay(o Options, pkg string) (l laid, err error) {
	l.pkg = pkg
	if err := there(o, pkg); err != nil {
		return laid{}, err
	}
	if l.root, err = real(o.Root); err != nil {
		return laid{}, fmt.Errorf("looking for the project: %w", err)
	}
	made, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "petrock-trial-")
	if err == nil {
		l.dir, err = real(made)
	}
	if err == nil {
		err = l.write(o.Planned)
	}
	if err != nil {
		err = fmt.Errorf("laying out the planned files: %w", errors.Join(err, remove(made)))
	}
	return l, err
}

// there is an error if a folder of the project is neither there nor planned.
func there(o Options, dir string) error {
	if !fs.ValidPath(dir) {
		return fmt.Errorf("%q is no path from the root of the project", dir)
	}
	planned := false
	for name, text := range o.Planned {
		if !fs.ValidPath(name) {
			return fmt.Errorf("%q is no path from the root of the project", name)
		}
		planned = planned || text != nil && path.Dir(name) == dir
	}
	if planned {
		return nil
	}
	if _, err := os.Stat(filepath.Join(o.Root, filepath.FromSlash(dir))); err != nil {
		return fmt.Errorf("looking for package %s: %w", dir, err)
	}
	return nil
}

// real is where a path leads.
func real(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(name)
}

// write writes planned files, and the file that Go reads of them.
func (l laid) write(planned map[string][]byte) error {
	replace := map[string]string{}
	for name, text := range planned {
		name = filepath.FromSlash(name)
		inProject, file := filepath.Join(l.root, name), filepath.Join(l.files(), name)
		if text == nil {
			replace[inProject] = "" // as if it were not there
			continue
		}
		replace[inProject] = file
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
	}
	text, err := json.Marshal(struct{ Replace map[string]string }{replace})
	if err != nil {
		return err
	}
	return os.WriteFile(l.config(), text, 0o600)
}

func (l laid) files() string   { return filepath.Join(l.dir, "files") }
func (l laid) config() string  { return filepath.Join(l.dir, "overlay.json") }
func (l laid) program() string { return filepath.Join(l.dir, "program.exe") } // Windows needs the ending

// options are those with which the package is built over the planned files, which are named as
// files of the project.
func (l laid) options(flags []string) typecheck.BuildOptions {
	return typecheck.BuildOptions{
		Dir:      l.root,
		Roots:    []string{l.root, l.files()},
		Patterns: []string{"./" + l.pkg},
		Flags:    append(flags[:len(flags):len(flags)], "-overlay="+l.config()),
		Env:      []string{"PWD=" + l.root}, // or Go would come there by another path
	}
}

func (l laid) remove() error { return remove(l.dir) }
