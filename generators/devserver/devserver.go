// Package devserver is the project's own petrock as an MCP server: generators, undo, status and
// documentation as tools, resources and prompts.
//
// It never imports the user's packages, so it answers while they do not compile.
package devserver

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/trial"
)

// Options configure a dev server.
type Options struct {
	Dir        string          // the working directory: projects are in it, below it or around it
	Generators []gen.Generator // the generators to offer
	NoExec     bool            // never run generated code
	Carried    bool            // the dev server is part of the project around Dir
	CanMake    bool            // it also creates projects
	Limits     trial.Limits    // limits of examples; the zero value means the defaults
}

// Tools are the tools of the dev server.
type Tools struct {
	options  Options
	root     *os.Root // of Dir
	projects *projects
	server   *mcp.Server
	carried  *carried // nil if it is not part of a project
}

// New returns the tools of a dev server.
//
//petrock:ignore
func New(o Options) (*Tools, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	o.Dir = dir
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	t := &Tools{options: o, root: root, projects: newProjects()}
	if o.Carried {
		t.carried = newCarried(dir)
	}
	return t, nil
}

// Close closes all projects.
//
//petrock:ignore
func (t *Tools) Close() error {
	return errors.Join(t.projects.close(), t.root.Close())
}

// NewServer returns an MCP server with the tools, resources and prompts.
//
//petrock:ignore
func (t *Tools) NewServer() (*mcp.Server, error) {
	server := mcp.NewServer(
		mcp.Implementation{Name: "petrock", Title: "Petrock dev server", Version: generators.Version},
		mcp.Options{Instructions: t.instructions(), MaxMessage: 4 << 20, Grace: 30 * time.Second},
	)
	t.server = server
	err := errors.Join(t.Register(server), t.registerGenerators(server), t.registerResources(server), t.registerPrompts(server))
	if err != nil {
		return nil, err
	}
	if t.options.NoExec {
		server.RemoveTool("call")
	}
	return server, nil
}
