package typecheck

import (
	"context"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"path"
	"slices"
	"strings"
)

// A Checker type-checks the packages of one project. It is for one user at a time.
type Checker struct {
	module  Module
	cache   *ExportCache
	fset    *token.FileSet
	found   Exports
	outside types.Importer        // of all that is not of the project
	kept    map[string][]*checked // by import path, those of late
	last    uint64                // the last id that was given
}

// A Module is what go.mod says of the project.
type Module struct {
	Path string
	Go   string // the version of the language, such as 1.26.0
}

// NewChecker is a checker for a project of this module, for files whose positions are in fset.
func NewChecker(module Module, cache *ExportCache, fset *token.FileSet) *Checker {
	return &Checker{module: module, cache: cache, fset: fset, kept: map[string][]*checked{}}
}

// Module is the module of the project.
func (c *Checker) Module() Module { return c.module }

// ImportPath is the path under which a folder of the project is imported.
func (c *Checker) ImportPath(dir string) string { return path.Join(c.module.Path, dir) }

// dir is the folder of an imported package, if it is one of the project.
func (c *Checker) dir(imported string) (dir string, ok bool) {
	if imported == c.module.Path {
		return ".", true
	}
	return strings.CutPrefix(imported, c.module.Path+"/")
}

// PassOptions configure a pass.
type PassOptions struct {
	Skip   func(*File) bool // reports whether to leave out a file; nil leaves out none
	Bodies func(*File) bool // reports whether to check function bodies of a file; nil checks none
}

// NewPass begins to look at packages of a view, and at those that they import.
func (c *Checker) NewPass(ctx context.Context, view *View, dirs []string, o PassOptions) (*Pass, error) {
	p := &Pass{checker: c, view: view, options: o, packages: map[string]*Package{}, imports: map[string][]string{}, loaded: map[string]*checked{}}
	found, err := c.cache.Find(ctx, p.outside(dirs))
	if err != nil {
		return nil, err
	}
	if c.outside == nil || c.found.Edition != found.Edition {
		c.kept = map[string][]*checked{}
		c.outside = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return c.found.Open(path) })
	}
	c.found = found
	return p, nil
}

// remember caches a package for later passes. Of each path the latest few are cached.
func (c *Checker) remember(made *checked) {
	const most = 8
	list := append([]*checked{made}, c.kept[made.path]...)
	c.kept[made.path] = slices.Clip(list[:min(most, len(list))])
}

// recall returns the cached package with a key, or nil.
func (c *Checker) recall(path, key string) *checked {
	for _, known := range c.kept[path] {
		if known.key == key {
			return known
		}
	}
	return nil
}
