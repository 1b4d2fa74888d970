// Package devserver is the project's own petrock as an MCP server: generators, undo, status and
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
	t := &Tools{options: o, root: root, projects: &projects{open: map[string]*opened{}, offered: map[string]gen.Generator{}}}
	if o.IsProjects {
		t.startedIn = newStartedIn(dir)
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
	t.offerOwn(context.Background())
	return server, nil
}

func (t *Tools) instructions() string {
	text := `Petrock makes and grows MCP servers in Go. Working order:
1. project_status: which project is there, does it compile, what does it offer. dir names one below where this server was started; without it, it is the one made last, or the one around.`
	if t.options.CanMake {
		text += ` new_project makes one where there is none.`
	}
	text += `
2. generate_tool with description, fields, output, body and examples: one call gives a finished, tested tool. It is compiled and its examples are run first; if something is wrong, nothing is written, and the answer says where. Examples can read files and, without --no-net, use the network. generate_resource and generate_prompt likewise. What has to be kept is a feature: generate_feature with crud makes one, generate_command, generate_query and generate_worker add to it. Fields of a command that has stored events change with generate_version. plan shows what would be written, apply writes exactly that.`
	if !t.options.NoExec {
		text += `
3. call runs what was made in the real server at once: the tools that a project makes are not in this list.`
	}
	text += `
4. undo reverts the last operation. Editing Go files by hand is fine: run build afterwards, which derives schemas and registration again and compiles.
Never edit *_gen.go files. Before you write Go by hand, read petrock://docs/tools, /directives or /features; the other pages are in resources/list.`
	return text
}

func (t *Tools) registerPrompts(s *mcp.Server) error {
	return mcp.AddPrompt(s, mcp.Prompt{
		Name:        "add_feature",
		Title:       "Add a feature",
		Description: "Leads through adding a feature to the project: from an idea to tools that are tested and have been called.",
		Arguments:   []mcp.PromptArgument{{Name: "feature", Description: "What the server should be able to do, in a sentence or two", Required: true}},
	}, func(_ context.Context, in struct {
		Feature string `json:"feature"`
	}) (string, error) {
		return fmt.Sprintf(addFeature, in.Feature), nil
	})
}

// addFeature is the text of the prompt add_feature.
const addFeature = `Add this to the project: %s

Work with the tools of the petrock server, in this order.
1. Call project_status, and read petrock://project. If the project does not compile, mend that first. Read petrock://docs/tools and petrock://docs/fields if you have not.
2. Decide which tools a model needs for it: few, each with one clear job, named verb_noun, with a description that says when to use it. Something that is only read under an address is a resource; a message that a person asks for is a prompt. What has to be kept between calls is a feature, whose commands and queries are tools: read petrock://docs/features. Put logic that several of them share into a package of its own (plain Go files, written by hand), and let the bodies call it.
3. For what is kept: generate_feature, with crud where it is items, then generate_command, generate_query and generate_worker. For each other tool: generate_tool with name, description, fields (with descriptions, limits, enums), output, body, and at least two examples, one of them an error. If it is refused, read the diagnostics or the failing example, change the body or the example, and call again: nothing was written. Where you are not sure, plan first, look at the diffs, then apply.
4. call each with input that is not among the examples, and look at what comes back as a model would: is it clear, small, and enough?
5. project_status at the end: everything has to compile. Say which tools there are now, what they cost (toolsList), and which operation ids undo them.`

// ListComponentsInput is what list_components takes.
type ListComponentsInput struct {
	Dir string `json:"dir,omitempty"` // Folder of the project
}

// ListComponents lists what the project's server offers, with schemas and the files where it is written, and what
// the list of tools costs a model in tokens.
//
//petrock:hints read-only closed-world
func (t *Tools) ListComponents(ctx context.Context, in ListComponentsInput) (*mcp.ToolResult, error) {
	return on(ctx, t, in.Dir, func(p *opened) (*engine.Listing, error) { return p.engine.List(ctx) })
}

// InspectComponentInput is what inspect_component takes.
type InspectComponentInput struct {
	Name string `json:"name"`           // Name of the component, as clients or Go have it
	Kind string `json:"kind,omitempty"` // tool, resource, prompt, generator, feature, command, query or worker; needed if several have the name
	Dir  string `json:"dir,omitempty"`  // Folder of the project
}

// InspectComponent shows all of one component: its source, its schemas, its tests.
//
//petrock:hints read-only closed-world
func (t *Tools) InspectComponent(ctx context.Context, in InspectComponentInput) (*mcp.ToolResult, error) {
	return on(ctx, t, in.Dir, func(p *opened) (*engine.Inspection, error) { return p.engine.Inspect(ctx, in.Kind, in.Name) })
}

// The addresses of what changes with the project.
const (
	projectURI = "petrock://project"
	historyURI = "petrock://history"
)

func (t *Tools) registerResources(s *mcp.Server) error {
	all := []error{
		mcp.AddResource(s, mcp.Resource{URI: projectURI, Name: "project", Description: "The project: its layout, and what its server offers.", MIMEType: "text/markdown"},
			t.read(t.describe)),
		mcp.AddResource(s, mcp.Resource{URI: historyURI, Name: "history", Description: "What was done to the project in this clone of it, as JSON, the oldest first. The ids are for undo.", MIMEType: "application/json"},
			t.read(func(ctx context.Context, o *opened) (string, error) {
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

// read returns a function that reads the project that is meant if none is named.
func (t *Tools) read(look func(context.Context, *opened) (string, error)) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		o, done, err := t.take(ctx, "")
		if err != nil {
			return "", err
		}
		defer done()
		return look(ctx, o)
	}
}

func (t *Tools) describe(ctx context.Context, o *opened) (string, error) {
	listing, err := o.engine.List(ctx)
	if err != nil {
		return "", err
	}
	found, err := project.Find(listing.Root)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\nAn MCP server in Go, in %s, module %s, made with petrock %s.\n\n", found.Name, found.Root, found.Module, found.Petrock)
	fmt.Fprintf(&out, `## Layout

- cmd/%[1]s: the server that ships; `+"`%[1]s mcp`"+` serves over standard input and output
- tools, resources, prompts: what it offers, one plain Go function each, with its test beside it
- features/NAME: a state, and the commands, queries and workers over it; commands and queries are tools
- *_gen.go: derived from the rest; never edited, made again by build
- internal/generators: the project's own generators
- core, generators: petrock's code, verified by petrock.sum; never edited
- cmd/petrock: the project's petrock, which runs this server
- .petrock: history and plans of this clone, ignored by git

## Components

`, found.Name)
	for _, c := range listing.Components {
		address := ""
		if c.URI != "" {
			address = " (" + c.URI + ")"
		}
		fmt.Fprintf(&out, "- %s %s%s, %s:%d: %s\n", c.Kind, c.Name, address, c.File, c.Line, firstSentence(c.Description))
	}
	for _, d := range listing.Refused {
		fmt.Fprintf(&out, "- not known: %s\n", d)
	}
	size := listing.ToolsList
	fmt.Fprintf(&out, "\nThe list of %d tools costs about %d tokens.\n", size.Tools, size.Tokens)
	return out.String(), nil
}

func firstSentence(text string) string {
	text, _, _ = strings.Cut(strings.ReplaceAll(text, "\n", " "), ". ")
	return strings.TrimSuffix(text, ".") + "."
}
