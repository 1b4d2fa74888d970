package typecheck

import (
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// A View is the Go of a project at one moment, as it is or as it would be. It is immutable.
type View struct {
	store *Store
	files map[string]*File
	dirs  map[string][]*File // by folder, sorted by path
}

// A Package is the Go files of a folder that a build includes.
type Package struct {
	Dir      string  // from the project's root; "." is the root itself
	Name     string  // from its first file; empty if it has none
	Files    []*File // without tests
	Internal []*File // tests in the package
	External []*File // tests in package name_test
}

func newView(s *Store, files map[string]*File) *View {
	v := &View{store: s, files: files, dirs: map[string][]*File{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := files[name]
		v.dirs[file.Dir()] = append(v.dirs[file.Dir()], file)
	}
	return v
}

// With returns the view with planned files over it: texts by path, nil for a deleted file. Files that
// are not Go are ignored.
func (v *View) With(planned map[string][]byte) *View {
	over := &View{store: v.store, files: maps.Clone(v.files), dirs: maps.Clone(v.dirs)}
	changed := map[string]bool{}
	for name, text := range planned {
		if !isGo(name) {
			continue
		}
		changed[path.Dir(name)] = true
		if text == nil {
			delete(over.files, name)
		} else {
			over.files[name] = v.store.plan(name, text)
		}
	}
	for dir := range changed {
		over.list(dir, slices.Concat(v.dirs[dir], over.at(dir, planned)))
	}
	return over
}

// at returns the planned files of a folder.
func (v *View) at(dir string, planned map[string][]byte) []*File {
	var files []*File
	for name := range planned {
		if file := v.files[name]; file != nil && path.Dir(name) == dir {
			files = append(files, file)
		}
	}
	return files
}

// list sets the files of a folder to those candidates that are in the view.
func (v *View) list(dir string, candidates []*File) {
	candidates = slices.DeleteFunc(candidates, func(f *File) bool { return v.files[f.Path] != f })
	slices.SortFunc(candidates, func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	if v.dirs[dir] = slices.Compact(candidates); len(candidates) == 0 {
		delete(v.dirs, dir)
	}
}

// Fset has the positions of all files.
func (v *View) Fset() *token.FileSet { return v.store.fset }

// File returns the file at a path, or nil.
func (v *View) File(path string) *File { return v.files[path] }

// Dirs returns the folders with Go files, sorted.
func (v *View) Dirs() []string { return slices.Sorted(maps.Keys(v.dirs)) }

// Files returns all Go files of a folder, whether a build includes them or not, sorted by path.
func (v *View) Files(dir string) []*File { return v.dirs[dir] }

// Package returns the package in a folder, without files for which skip returns true; skip may be
// nil. It returns nil if no file is left.
func (v *View) Package(dir string, skip func(*File) bool) *Package {
	p := &Package{Dir: dir}
	for _, file := range v.dirs[dir] {
		if skip != nil && skip(file) || !v.store.isBuilt(file) {
			continue
		}
		name := file.Syntax.Name.Name
		switch {
		case !file.IsTest():
			p.Files = append(p.Files, file)
		case strings.HasSuffix(name, "_test"):
			p.External = append(p.External, file)
		default:
			p.Internal = append(p.Internal, file)
		}
	}
	if len(p.Files)+len(p.Internal)+len(p.External) == 0 {
		return nil
	}
	for _, file := range slices.Concat(p.Files, p.Internal, p.External) {
		if name := strings.TrimSuffix(file.Syntax.Name.Name, "_test"); name != "" && p.Name == "" {
			p.Name = name
		}
	}
	return p
}

// All returns all files of the package, tests included.
func (p *Package) All() []*File { return slices.Concat(p.Files, p.Internal, p.External) }
