package imports

import (
	"context"

	"github.com/petrock/petrock/generators/typecheck"
)

// siblings returns the other files of the package.
func (p *place) siblings() []*typecheck.File {
	var files []*typecheck.File
	for _, file := range p.view.Files(p.dir) {
		if file.Path != p.file && file.Syntax.Name.Name == p.name && (p.test || !file.IsTest()) {
			files = append(files, file)
		}
	}
	return files
}

// imports counts the imports of the siblings; for a test file, of all files in its folder.
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

// ofSiblings returns packages that siblings import under the wanted name.
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

// maybe reports whether a package may have a name, by its package clause or, for packages from
// outside, by its path.
func (p *place) maybe(imported, name string) bool {
	if pkg := p.inside(imported); pkg != nil {
		return pkg.Name == name
	}
	return mentions(imported, name)
}
