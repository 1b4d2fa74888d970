package typecheck

import (
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// A View is a project's Go at one moment, as it is or as it would be. It never changes.
type View struct {
	store *Store
	files map[string]*File
	dirs  map[string][]*File // by folder, sorted by path
}

// A Package is the Go of one folder, as far as a build takes it.
type Package struct {
	Dir      string  // from the project's root; "." is the root itself
	Name     string  // by its first file; empty if there is none
	Files    []*File // what others see when they import it
	Internal []*File // tests that are part of the package
	External []*File // tests that stand outside: package name_test
}

func newView(s *Store, files map[string]*File) *View {
	v := &View{store: s, files: files, dirs: map[string][]*File{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := files[name]
		v.dirs[file.Dir()] = append(v.dirs[file.Dir()], file)
	}
	return v
}

// With is the view with planned files over it: the text of each by its path, nil for one that is
// not to be there. Only Go files matter.
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

// at are the planned files of a folder.
func (v *View) at(dir string, planned map[string][]byte) []*File {
	var files []*File
	for name := range planned {
		if file := v.files[name]; file != nil && path.Dir(name) == dir {
			files = append(files, file)
		}
	}
	return files
}

// list notes which files a folder has: those among candidates that are the view's.
func (v *View) list(dir string, candidates []*File) {
	candidates = slices.DeleteFunc(candidates, func(f *File) bool { return v.files[f.Path] != f })
	slices.SortFunc(candidates, func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	if v.dirs[dir] = slices.Compact(candidates); len(candidates) == 0 {
		delete(v.dirs, dir)
	}
}

// Fset has the positions of all files.
func (v *View) Fset() *token.FileSet { return v.store.fset }

// File is the file at a path, nil if there is none.
func (v *View) File(path string) *File { return v.files[path] }

// Dirs are the folders with Go in them, sorted.
func (v *View) Dirs() []string { return slices.Sorted(maps.Keys(v.dirs)) }

// Files are all Go files of a folder, whether a build takes them or not, sorted by path.
func (v *View) Files(dir string) []*File { return v.dirs[dir] }

// Package is the package in a folder, of the files that a build takes, without those that skip
// rules out; a nil skip rules out none. It is nil if nothing is left.
func (v *View) Package(dir string, skip func(*File) bool) *Package {
	p := &Package{Dir: dir}
	for _, file := range v.dirs[dir] {
		if skip != nil && skip(file) || !v.store.builds(file) {
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

// All are all files of the package, tests included.
func (p *Package) All() []*File { return slices.Concat(p.Files, p.Internal, p.External) }
