package imports

import (
	"context"

	"github.com/petrock/petrock/generators/typecheck"
)

// siblings are the other files of the package that the file sees.
func (p *place) siblings() []*typecheck.File {
	var files []*typecheck.File
	for _, file := range p.view.Files(p.dir) {
		if file.Path != p.file && file.Syntax.Name.Name == p.name && (p.test || !file.IsTest()) {
			files = append(files, file)
		}
	}
	return files
}

// imports are what the siblings import, and how many of them do. A test goes by all files of
// its folder.
func (p *place) imports() map[Import]int {
	if p.imported != nil {
		return p.imported
	}
	p.imported = map[Import]int{}
	files := p.siblings()
	if p.test {
		files = p.view.Files(p.dir)
	}
	for _, file := range files {
		if file.Path == p.file {
			continue
		}
		for _, spec := range file.Syntax.Imports {
			p.imported[importOf(spec)]++
		}
	}
	return p.imported
}

// ofSiblings are the packages that siblings import under a name.
func (s *Seeker) ofSiblings(ctx context.Context, p *place, w want) ([]candidate, error) {
	var found []candidate
	for i, count := range p.imports() {
		if i.Name != w.name && (i.Name != "" || !p.maybe(i.Path, w.name)) {
			continue
		}
		c, err := s.candidate(ctx, p, i.Path, w)
		if err != nil {
			return nil, err
		}
		if c != nil && (i.Name == w.name || c.name == w.name) {
			c.rank = -count
			found = append(found, *c)
		}
	}
	return found, nil
}

// maybe reports whether a package may be called by a name. One from outside is not asked if its path
// holds no trace of that.
func (p *place) maybe(imported, name string) bool {
	if pkg := p.inside(imported); pkg != nil {
		return pkg.Name == name
	}
	return mentions(imported, name)
}
