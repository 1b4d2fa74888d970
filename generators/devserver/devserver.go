// Package devserver is petrock as an MCP server: generators, undo, status and
// documentation as tools, resources and prompts.
//
// It never imports the user's packages, so it answers while they do not compile.
package devserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/docs"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/trial"
)

// Options configure a dev server.
type Options struct {
	Dir              string          // working directory; projects are in it, below it, or enclose it
	Generators       []gen.Generator // petrock's generators
	NoExec           bool            // do not run code of projects
	IsProjectPetrock bool            // this process is the project's own petrock; the project encloses Dir
	CanCreate        bool            // new_project is available
	IsCommandLine    bool            // the user gives dir as the flag --dir
	Limits           trial.Limits    // limits of examples; the zero value is the default
}

// Tools implements the tools of the dev server.
type Tools struct {
	options  Options
	root     *os.Root // of Dir
	projects *projects
	server   *mcp.Server

	home *homeProject // nil unless Options.IsProjectPetrock
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
	t := &Tools{options: o, root: root, projects: &projects{open: map[string]*openProject{}, offered: map[string]gen.Generator{}}}
	if o.IsProjectPetrock {
		t.home = findHomeProject(dir)
	}
	return t, nil
}

// Close closes all projects.
//
//petrock:ignore
func (t *Tools) Close() error {
	t.projects.mu.Lock()
	defer t.projects.mu.Unlock()
	err := t.root.Close()
	for _, o := range t.projects.open {
		err = errors.Join(err, o.engine.Close())
	}
	return err
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
	t.offerOwnGenerators(context.Background())
	return server, nil
}

func (t *Tools) instructions() string {
	text := `Petrock creates and extends MCP servers in Go. Workflow:
1. project_status shows the project, its components, and whether it compiles. dir selects a project below the working directory of this server. Default: `
	if t.options.CanCreate {
		text += `the project created last, or else the enclosing one. new_project creates a project.`
	} else {
		text += `the enclosing project.`
	}
	text += `
2. generate_tool with description, fields, output, body and examples creates a complete, tested tool in one call. It compiles the code and runs the examples first. On an error it writes nothing and reports the position. Examples can read files and, without --no-net, use the network. generate_resource and generate_prompt work the same way. For persistent state use a feature: generate_feature with crud creates one, and generate_command, generate_query and generate_worker add to it. change renames or edits a component in place; references, tests and stored events follow. plan shows what would be written, apply writes exactly that.`
	if !t.options.NoExec {
		text += `
3. call runs a new component in the project's real server. The project's tools are not in the tool list of this server.`
	}
	text += `
4. undo reverts the last operation. You can edit Go files by hand; then run build, which updates derived files and compiles.
Never edit *_gen.go files. Before you write Go by hand, read petrock://docs/tools, petrock://docs/directives or petrock://docs/features; resources/list has the other pages.`
	return text
}

func (t *Tools) registerPrompts(s *mcp.Server) error {
	return mcp.AddPrompt(s, mcp.Prompt{
		Name:        "add_feature",
		Title:       "Add a feature",
		Description: "Guides you from an idea to tested tools in the project.",
		Arguments:   []mcp.PromptArgument{{Name: "feature", Description: "What the server should do, in one or two sentences", Required: true}},
	}, func(_ context.Context, in struct {
		Feature string `json:"feature"`
	}) (string, error) {
		return fmt.Sprintf(addFeature, in.Feature), nil
	})
}

const addFeature = `Add this to the project: %s

Use the tools of the petrock server, in this order.
1. Call project_status, and read petrock://project. If the project does not compile, fix that first. Read petrock://docs/tools and petrock://docs/fields if you have not.
2. Decide which tools a model needs: few, each with one clear job, named verb_noun, with a description that says when to use it. Data that is only read at a URI is a resource. A message that a user chooses is a prompt. State that persists between calls is a feature, whose commands and queries are tools: read petrock://docs/features. Put shared logic into a separate package of plain Go files, and call it from the bodies.
3. For persistent state, call generate_feature, with crud if the state is a list of items, then generate_command, generate_query and generate_worker. For each other tool, call generate_tool with name, description, fields (with descriptions, limits, enums), output, body, and at least two examples, one of them an error. If a call fails, nothing was written: read the diagnostics or the failing example, change the body or the example, and retry. If you are not sure, call plan, check the diffs, then call apply.
4. With the tool call, run each new tool on input that is not in the examples, and check the result as a model would see it: is it clear, short and complete?
5. Call project_status at the end: everything must compile. Report the new tools, their cost (toolsList), and the operation ids that undo them.`

// ListComponentsInput is the input of list_components.
type ListComponentsInput struct {
	Dir string `json:"dir,omitempty"` // Folder of the project
}

// ListComponents lists the components of the project with schemas and source files, and the size of the
// tool list in tokens.
//
//petrock:hints read-only closed-world
func (t *Tools) ListComponents(ctx context.Context, in ListComponentsInput) (*mcp.ToolResult, error) {
	return withProject(ctx, t, in.Dir, func(p *openProject) (*engine.Listing, error) { return p.engine.List(ctx) })
}

// InspectComponentInput is the input of inspect_component.
type InspectComponentInput struct {
	Name string `json:"name"`           // Tool name (notes_create), feature name (notes/create) or Go name
	Kind string `json:"kind,omitempty"` // tool, resource, prompt, generator, feature, command, query or worker; required if the name is ambiguous
	Dir  string `json:"dir,omitempty"`  // Folder of the project
}

// InspectComponent returns the source, schemas and tests of a component.
//
//petrock:hints read-only closed-world
func (t *Tools) InspectComponent(ctx context.Context, in InspectComponentInput) (*mcp.ToolResult, error) {
	return withProject(ctx, t, in.Dir, func(p *openProject) (*engine.Inspection, error) { return p.engine.Inspect(ctx, in.Kind, in.Name) })
}

// URIs of resources that change with the project.
const (
	projectURI = "petrock://project"
	historyURI = "petrock://history"
)

func (t *Tools) registerResources(s *mcp.Server) error {
	all := []error{
		mcp.AddResource(s, mcp.Resource{URI: projectURI, Name: "project", Description: "Layout and components of the project.", MIMEType: "text/markdown"},
			t.read(t.describe)),
		mcp.AddResource(s, mcp.Resource{URI: historyURI, Name: "history", Description: "Operations on the project in this clone, as JSON, oldest first, with ids for undo.", MIMEType: "application/json"},
			t.read(func(ctx context.Context, o *openProject) (string, error) {
				history, err := o.engine.History(ctx)
				if err != nil {
					return "", err
				}
				text, err := json.MarshalIndent(history, "", "  ")
				return string(text), err
			})),
	}
	for _, page := range docs.Pages() {
		resource := mcp.Resource{URI: "petrock://docs/" + page.Topic, Name: "docs/" + page.Topic, Description: page.Title, MIMEType: "text/markdown"}
		all = append(all, mcp.AddResource(s, resource, func(context.Context) (string, error) { return page.Text, nil }))
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
- cmd/petrock: the project's own petrock, which runs this server
- .petrock: history and plans of this clone, ignored by git

## Components

`, found.Name)
	for _, c := range listing.Components {
		uri := ""
		if c.URI != "" {
			uri = " (" + c.URI + ")"
		}
		fmt.Fprintf(&out, "- %s %s%s, %s:%d: %s\n", c.Kind, c.Name, uri, c.File, c.Line, firstSentence(c.Description))
	}
	for _, d := range listing.Refused {
		fmt.Fprintf(&out, "- error: %s\n", d)
	}
	size := listing.ToolsList
	fmt.Fprintf(&out, "\nThe list of %d tools costs about %d tokens.\n", size.Tools, size.Tokens)
	return out.String(), nil
}

func firstSentence(text string) string {
	text, _, _ = strings.Cut(strings.ReplaceAll(text, "\n", " "), ". ")
	return strings.TrimSuffix(text, ".") + "."
}
