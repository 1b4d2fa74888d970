// Package devserver is petrock as an MCP server: generators, undo, status and
// documentation as tools, resources and prompts.
//
// It never imports the user's packages, so it answers while they do not compile.
package devserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	t.Server = mcp.NewServer(
		mcp.Implementation{Name: "petrock", Title: "Petrock dev server", Version: generators.Version},
		mcp.Options{Instructions: t.instructions(), Hook: t.hook, NamePrefix: o.Prefix, MaxMessage: 4 << 20, Grace: 30 * time.Second},
	)
	err = errors.Join(t.Register(t.Server), t.registerGenerators(), t.registerResources(), t.registerPrompts())
	if err != nil {
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

// instructions explain the workflow. Clients may cut them: the first 512 characters say what
// matters most.
func (t *Tools) instructions() string {
	text := `Petrock creates and extends MCP servers in Go.`
	if prefix := t.options.Prefix; prefix != "" {
		text = fmt.Sprintf(`Petrock's tools start with %[1]s: where a text says edit, call %[1]sedit. The others are the project's own.`, prefix)
	}
	text += ` Each change is compiled before it is written, and can be undone. Workflow: project_status first`
	if t.canCreate {
		text += `; new_project creates a project`
	}
	text += `. generate_tool with fields, output, body and examples makes a tested tool; generate_feature with crud, then generate_command, generate_query, generate_worker add state. edit changes files, change renames or alters components, test runs the tests`
	if !t.options.NoExec {
		text += `, call tries a component`
	}
	text += `, undo reverts and redoes, log repairs stored events, try runs workers and the clock on a copy of the data.

- If a call fails, nothing was written, and its result has a draft id. Fix what the diagnostics or the failing example show: call the same tool with draft and only what changes. null removes an argument. In edits, examples, fields and output, send only the elements to replace or add, found by their path or name; without names, examples are example 1, example 2.
- dry_run: true verifies everything, returns the diff and writes nothing; apply writes exactly that.
- Results are short. detail: true adds whole diffs, schemas and whole files. no_data: true does not look at stored events.`
	if t.canCreate {
		text += ` dir selects a project below the working directory of this server. Default: the project created last, or else the enclosing one, or else the only one below.`
	}
	text += `
- search finds text and symbols, inspect_component shows a component or, with file, any file or folder.
- Types of fields can be Go types of the project, such as ticket:Ticket or tier:desk.Tier; generate_type declares them.
- generate_resource and generate_prompt work like generate_tool. change renames or edits a component in place; references, tests and stored events follow.
- Examples can read files and, without --no-net, use the network.`
	switch {
	case t.options.NoExec:
	case t.options.Prefix != "":
		text += `
- Call the project's tools directly; new ones appear in the tool list. call is for its prompts and resources, and for tools that your list does not show yet.`
	default:
		text += `
- The project's tools are not in the tool list of this server: call runs them in the project's real server.`
	}
	text += `
- Never edit *_gen.go files: petrock derives them. After an edit without petrock, run build.
- Before you write Go, read petrock://docs/tools, petrock://docs/directives or petrock://docs/features; resources/list has the other pages.`
	return text
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
		note := ""
		if t.options.Prefix != "" {
			note = fmt.Sprintf(" Their names start with %[1]s: edit is %[1]sedit.", t.options.Prefix)
		}
		return fmt.Sprintf(addFeature, in.Feature, note), nil
	})
}

const addFeature = `Add this to the project: %s

Use petrock's tools, in this order.%s
1. Call project_status, and read petrock://project. If the project does not compile, fix that first. Read petrock://docs/tools and petrock://docs/fields if you have not.
2. Decide which tools a model needs: few, each with one clear job, named verb_noun, with a description that says when to use it. Data that is only read at a URI is a resource. A message that a user chooses is a prompt. State that persists between calls is a feature, whose commands and queries are tools: read petrock://docs/features. Put shared logic into a separate package of plain Go files, and call it from the bodies.
3. For persistent state, call generate_feature, with crud if the state is a list of items, then generate_command, generate_query and generate_worker. For each other tool, call generate_tool with name, description, fields (with descriptions, limits, enums), output, body, and at least two examples, one of them an error. If a call fails, nothing was written: read the diagnostics or the failing example, and call again with the draft and only the changed body or example. If you are not sure, set dry_run, check the diff, then call apply.
4. Run each new tool, with call if it is not in your tool list, on input that is not in the examples, and check the result as a model would see it: is it clear, short and complete? Change code with edit and test: true.
5. Call test and project_status at the end: everything must compile. Report the new tools, their cost (list_components), and the operation ids that undo them.`

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
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\nAn MCP server in Go, in %s, module %s, created with petrock %s.\n\n", found.Name, found.Root, found.Module, found.Petrock)
	fmt.Fprintf(&out, `## Layout

- cmd/%[1]s: the server; `+"`%[1]s mcp`"+` serves over stdio
- tools, resources, prompts: one plain Go function per component, next to its test
- features/NAME: a state with its commands, queries and workers; commands and queries are tools
- *_gen.go: derived from the other files; do not edit, run build to update
- internal/generators: the project's own generators
- core, generators: petrock's code, verified by petrock.sum; do not edit
- cmd/petrock: starts the project's own petrock, generators/petrock, which runs this server
- .petrock: history, plans and drafts of this clone, ignored by git

## Components

`, found.Name)
	fmt.Fprint(&out, listing.Page("", 0, math.MaxInt32).Short(math.MaxInt32))
	return out.String(), nil
}
