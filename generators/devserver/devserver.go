// Package devserver is petrock as an MCP server: generators, undo, status and
// documentation as tools, resources and prompts.
//
// It never imports the user's packages, so it answers while they do not compile.
package devserver

import (
	"cmp"
	"context"
	_ "embed" // texts.tmpl
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/docs"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/trial"
)

// Options configure a dev server.
type Options struct {
	Dir        string          // working directory, in the project
	Generators []gen.Generator // petrock's generators
	NoExec     bool            // do not run code of projects
	Limits     trial.Limits    // limits of examples; the zero value is the default

	// Find returns the project of a call, whose argument dir may be empty. The default is the
	// project that encloses Dir, of which this process is the petrock. Only the installed petrock,
	// which works on several projects and also has new_project, sets it.
	Find func(dir string) (*project.Project, error)

	// Prefix precedes the names of tools and prompts, such as petrock_. It is set in a connection
	// that also has the project's own tools, and whose server is built again after each change.
	Prefix string
}

// Tools implements the tools of the dev server.
type Tools struct {
	Server    *mcp.Server // with the tools, resources and prompts
	options   Options
	canCreate bool       // new_project is available
	builtFrom engine.Sum // the project's generators when this process started; nil for the installed petrock

	mu      sync.Mutex
	open    map[string]*openProject // by folder
	own     []gen.Generator         // the current project's own generators
	offered []string                // tools of own generators
}

// New returns a dev server.
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
	t := &Tools{options: o, canCreate: o.Find != nil, open: map[string]*openProject{}}
	if o.Find == nil {
		t.options.Find = t.findProject
		t.builtFrom = engine.Sum{}
		if found, err := project.Find(dir); err == nil {
			t.builtFrom = sumGenerators(found.Root)
		}
	}
	instructions, err := t.instructions()
	if err != nil {
		return nil, err
	}
	t.Server = mcp.NewServer(
		mcp.Implementation{Name: "petrock", Title: "Petrock dev server", Version: generators.Version},
		mcp.Options{Instructions: instructions, Hook: t.hook, NamePrefix: o.Prefix, MaxMessage: 4 << 20, Grace: 30 * time.Second},
	)
	t.registerGenerators()
	if err := errors.Join(t.Register(t.Server), t.registerResources(), t.registerPrompts()); err != nil {
		return nil, err
	}
	if o.NoExec {
		for _, name := range []string{"call", "data", "log", "test", "try"} {
			t.Server.RemoveTool(name)
		}
	}
	t.offerOwnGenerators(context.Background())
	return t, nil
}

// Close closes all projects.
//
//petrock:ignore
func (t *Tools) Close() (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.open {
		err = errors.Join(err, o.engine.Close())
	}
	return err
}

//go:embed texts.tmpl
var texts string

// fill returns a text of texts.tmpl.
func fill(name string, data any) (string, error) {
	templates, err := template.New("").Parse(texts)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = templates.ExecuteTemplate(&out, name, data)
	return out.String(), err
}

// instructions explain the workflow. Clients may cut them: the first 512 characters say what
// matters most.
func (t *Tools) instructions() (string, error) {
	return fill("instructions", map[string]any{"Prefix": t.options.Prefix, "NoExec": t.options.NoExec, "CanCreate": t.canCreate})
}

func (t *Tools) registerPrompts() error {
	return mcp.AddPrompt(t.Server, mcp.Prompt{
		Name:        "add_feature",
		Title:       "Add a feature",
		Description: "Guides you from an idea to tested tools in the project.",
		Arguments:   []mcp.PromptArgument{{Name: "feature", Description: "What the server should do, in one or two sentences", Required: true}},
	}, func(_ context.Context, in struct {
		Feature string `json:"feature"`
	}) (string, error) {
		return fill("add_feature", map[string]any{"Feature": in.Feature, "Prefix": t.options.Prefix})
	})
}

// ListComponentsInput is the input of list_components.
type ListComponentsInput struct {
	Kind   string `json:"kind,omitempty"`  // Such as command
	Limit  int    `json:"limit,omitempty"` // Default 50
	Offset int    `json:"offset,omitempty"`
	Common
}

// ListComponents lists components with kind, name, file and description; detail adds schemas.
//
//petrock:hints read-only closed-world
func (t *Tools) ListComponents(ctx context.Context, in ListComponentsInput) (*mcp.ToolResult, error) {
	return withProject(ctx, t, in.Common, func(p *openProject) (*engine.Listing, error) {
		listing, err := p.engine.List(ctx)
		if err != nil {
			return nil, err
		}
		page := listing.Page(in.Kind, in.Offset, cmp.Or(in.Limit, 50))
		if page.Total == 0 && in.Kind != "" && !slices.Contains(engine.Kinds(), in.Kind) {
			return nil, terminal.Usagef("the project has no components of kind %q; the kinds are %s; what an own generator adds to tools, features and the like has the kind of these", in.Kind, strings.Join(engine.Kinds(), ", "))
		}
		return page, nil
	})
}

// HistoryInput is the input of history.
type HistoryInput struct {
	Limit  int `json:"limit,omitempty"` // Default 20
	Offset int `json:"offset,omitempty"`
	Common
}

// History lists operations, the newest first, with ids for undo.
//
//petrock:hints read-only closed-world
func (t *Tools) History(ctx context.Context, in HistoryInput) (*mcp.ToolResult, error) {
	return withProject(ctx, t, in.Common, func(p *openProject) (*engine.History, error) {
		history, err := p.engine.History(ctx)
		if err != nil {
			return nil, err
		}
		return history.Page(in.Offset, cmp.Or(in.Limit, 20)), nil
	})
}

// InspectComponentInput is the input of inspect_component.
type InspectComponentInput struct {
	Name string `json:"name,omitempty"` // notes_create, notes/create or a Go name
	Kind string `json:"kind,omitempty"` // If ambiguous
	File string `json:"file,omitempty"` // Or a file to read, folder to list
	From int    `json:"from,omitempty"` // First line
	To   int    `json:"to,omitempty"`   // Last line
	Common
}

// InspectComponent shows the source of a component, or any file of the project; detail adds schemas
// and tests.
//
//petrock:hints read-only closed-world
func (t *Tools) InspectComponent(ctx context.Context, in InspectComponentInput) (*mcp.ToolResult, error) {
	if in.File == "" && path.Ext(in.Name) != "" {
		in.Name, in.File = "", in.Name // the name of a component has no dot
	}
	return withProject(ctx, t, in.Common, func(p *openProject) (any, error) {
		switch {
		case (in.Name == "") == (in.File == ""):
			return nil, terminal.Usagef("pass name for a component, or file for a file")
		case in.File != "":
			return p.engine.ReadText(ctx, in.File, in.From, in.To)
		}
		return p.engine.Inspect(ctx, in.Kind, in.Name)
	})
}

// SearchInput is the input of search.
type SearchInput struct {
	engine.Query
	Common
}

// Search finds text of the project or petrock's docs, uses of a Go symbol, or prints go doc.
//
//petrock:hints read-only closed-world
func (t *Tools) Search(ctx context.Context, in SearchInput) (*mcp.ToolResult, error) {
	return withProject(ctx, t, in.Common, func(p *openProject) (*engine.Matches, error) {
		if in.Detail {
			in.Limit = cmp.Or(in.Limit, 1000)
		}
		return p.engine.Search(ctx, in.Query)
	})
}

// URIs of resources that change with the project.
const (
	projectURI = "petrock://project"
	historyURI = "petrock://history"
)

func (t *Tools) registerResources() error {
	all := []error{
		mcp.AddResource(t.Server, mcp.Resource{URI: projectURI, Name: "project", Description: "Layout and components of the project.", MIMEType: "text/markdown"},
			t.read(t.describe)),
		mcp.AddResource(t.Server, mcp.Resource{URI: historyURI, Name: "history", Description: "The last operations on the project in this clone, the newest first, with ids for undo. The tool history has all.", MIMEType: "text/plain"},
			t.read(func(ctx context.Context, o *openProject) (string, error) {
				history, err := o.engine.History(ctx)
				if err != nil {
					return "", err
				}
				return history.Page(0, 20).String(), nil
			})),
	}
	for _, page := range docs.Pages() {
		resource := mcp.Resource{URI: docs.URI + page.Topic, Name: "docs/" + page.Topic, Description: page.Title, MIMEType: "text/markdown"}
		all = append(all, mcp.AddResource(t.Server, resource, func(context.Context) (string, error) { return page.Text, nil }))
	}
	return errors.Join(all...)
}

// read returns the handler of a resource about the current project.
func (t *Tools) read(describe func(context.Context, *openProject) (string, error)) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		o, done, err := t.acquire(ctx, "")
		if err != nil {
			return "", err
		}
		defer done()
		return describe(ctx, o)
	}
}

func (t *Tools) describe(ctx context.Context, o *openProject) (string, error) {
	listing, err := o.engine.List(ctx)
	if err != nil {
		return "", err
	}
	found, err := project.Find(listing.Root)
	if err != nil {
		return "", err
	}
	about, err := fill("project", found)
	return about + fmt.Sprint(listing.Page("", 0, math.MaxInt32).Short(math.MaxInt32)), err
}
