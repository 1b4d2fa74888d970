package engine

import (
	"context"
	"go/format"
	"maps"
	"path"
	"slices"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/imports"
)

func (e *Engine) addImports(ctx context.Context, p *plan, file gen.File) ([]byte, error) {
	view := e.before.With(p.texts)
	var given []imports.Import
	for _, i := range file.Imports {
		given = append(given, imports.Import{Name: i.Name, Path: i.Path})
	}
	text, err := e.resolver.Insert(ctx, view, file.Path, file.Text, given)
	if err != nil {
		return nil, err
	}
	text, missing, err := e.resolver.Add(ctx, view, file.Path, text)
	p.missing = append(p.missing, missing...)
	return text, err
}

// completeGo adds missing imports to planned Go files, removes unused ones, and formats the files.
func (e *Engine) completeGo(ctx context.Context, p *plan) error {
	for _, name := range slices.Sorted(maps.Keys(p.texts)) {
		view := e.before.With(p.texts)
		if view.File(name) == nil {
			continue // deleted, not Go, or in testdata
		}
		text, err := e.resolver.RemoveUnused(ctx, view, name, p.texts[name])
		if err != nil {
			return err
		}
		if text, err = e.addImports(ctx, p, gen.File{Path: name, Text: text}); err != nil {
			return err
		}
		p.texts[name] = formatted(name, text)
	}
	return nil
}

// formatted returns the text of a file, formatted if it is Go that parses.
func formatted(file string, text []byte) []byte {
	if path.Ext(file) == ".go" {
		if formatted, err := format.Source(text); err == nil {
			return formatted
		}
	}
	return text
}
