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

// A Checker type-checks the packages of one project, and caches them. It is not safe for concurrent
// use.
type Checker struct {
	module  Module
	cache   *ExportCache
	fset    *token.FileSet
	found   Exports
	outside types.Importer        // of packages from outside the project
	cached  map[string][]*checked // by import path, the latest first
	last    uint64                // the last id
}

// A Module is the module of a project, from its go.mod.
type Module struct {
	Path string
	Go   string // version of the language, such as 1.26.0
}

// NewChecker returns a checker for the project of a module, for files whose positions are in fset.
func NewChecker(module Module, cache *ExportCache, fset *token.FileSet) *Checker {
	return &Checker{module: module, cache: cache, fset: fset, cached: map[string][]*checked{}}
}

// Module returns the module of the project.
func (c *Checker) Module() Module { return c.module }

// ImportPath returns the import path of a folder of the project.
func (c *Checker) ImportPath(dir string) string { return path.Join(c.module.Path, dir) }

// dir returns the folder of an imported package, if it is in the project's module.
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

// NewPass starts a pass over packages of a view, and those that they import.
func (c *Checker) NewPass(ctx context.Context, view *View, dirs []string, o PassOptions) (*Pass, error) {
	p := &Pass{checker: c, view: view, options: o, packages: map[string]*Package{}, imports: map[string][]string{}, loaded: map[string]*checked{}}
	found, err := c.cache.Find(ctx, p.outside(dirs))
	if err != nil {
		return nil, err
	}
	if c.outside == nil || c.found.Edition != found.Edition {
		c.cached = map[string][]*checked{}
		c.outside = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return c.found.Open(path) })
	}
	c.found = found
	return p, nil
}

// remember caches a package for later passes. Of each path the latest few are cached.
func (c *Checker) remember(made *checked) {
	const most = 8
	list := append([]*checked{made}, c.cached[made.path]...)
	c.cached[made.path] = slices.Clip(list[:min(most, len(list))])
}

// recall returns the cached package with a key, or nil.
func (c *Checker) recall(path, key string) *checked {
	for _, known := range c.cached[path] {
		if known.key == key {
			return known
		}
	}
	return nil
}
