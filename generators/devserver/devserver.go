// Package devserver is the project's own petrock as an MCP server: generators, undo, status and
// documentation as tools, resources and prompts.
//
// It never imports the user's packages, so it answers while they do not compile.
package devserver

import (
	"context"
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
	Dir        string          // where it was started: projects are there, below, or around it
	Generators []gen.Generator // petrock's
	NoExec     bool            // it runs nothing of what is written
	IsProjects bool            // it is the petrock of the project around Dir
	CanMake    bool            // it also makes projects
	Limits     trial.Limits    // what examples may use; the zero value is a good one
}

// Tools are the tools of the dev server.
type Tools struct {
	options  Options
	root     *os.Root // of Dir
	projects *projects
	server   *mcp.Server

	startedIn *startedIn // nil if this is the petrock of no project
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
	if o.IsProjects {
		t.startedIn = newStartedIn(dir)
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
	t.offerOwn(context.Background())
	return server, nil
}
