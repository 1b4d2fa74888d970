package engine

import (
	"context"
	"io/fs"
	"os"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/journal"
)

// carriedIn is the folder of a project's generators.
const carriedIn = "generators"

// Sources is what the project's generators are made of: hashes by path, without derived files and
// tests. They are pristine if those that came with the project are what the petrock of version made them.
func (e *Engine) Sources(ctx context.Context, version string) (sources map[string]string, pristine bool, err error) {
	if err := e.look(ctx); err != nil {
		return nil, false, err
	}
	sources, pristine = map[string]string{}, e.project.Petrock == version
	for _, dir := range e.before.Dirs() {
		if dir != carriedIn && !strings.HasPrefix(dir, carriedIn+"/") {
			continue
		}
		for _, file := range e.before.Files(dir) {
			if file.IsTest() || file.IsDerived() {
				continue
			}
			sources[file.Path] = journal.Hash(file.Text)
			if made, came := e.project.Files[file.Path]; came && made != sources[file.Path] {
				pristine = false
			}
		}
	}
	for file := range e.project.Files {
		isSource := strings.HasPrefix(file, carriedIn+"/") && strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_gen.go")
		pristine = pristine && (!isSource || sources[file] != "")
	}
	return sources, pristine, nil
}

// SourcesIn is what the Go files of the generators of the project in root are, tests and derived ones too: hashes by
// path. It is quick, as it looks at nothing else; what cannot be read is left out.
func SourcesIn(root string) map[string]string {
	sources := map[string]string{}
	files := os.DirFS(root)
	fs.WalkDir(files, carriedIn, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		if text, err := fs.ReadFile(files, path); err == nil {
			sources[path] = journal.Hash(text)
		}
		return nil
	})
	return sources
}

// Carried are the generators that the project has in its source, whichever this program has. They cannot
// make anything here.
func (e *Engine) Carried(ctx context.Context) ([]gen.Generator, error) {
	if err := e.look(ctx); err != nil {
		return nil, err
	}
	packages, err := e.deriver.Packages(ctx, e.before, []derive.Place{{Dir: carriedIn, Kind: derive.Generator}})
	if err != nil {
		return nil, err
	}
	var all []gen.Generator
	for _, c := range packages[0].Components {
		all = append(all, gen.Generator{Name: c.Name, Description: c.Description, InputSchema: c.Input})
	}
	return all, nil
}
