package devserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
)

// dirSchema has no description, since the instructions explain dir.
const dirSchema = `{"type":"string"}`

// registerGenerators registers generate_component, plan, and generate_KIND for each generator.
func (t *Tools) registerGenerators(s *mcp.Server) error {
	anyKind := fmt.Sprintf(`{"type":"object","properties":{"kind":{"type":"string","description":"%s, or one of the project's own generators"},"name":{"type":"string","description":"Other arguments, such as body, go next to name"},"fields":{"type":"array","items":{"type":"string"}},"dir":{"type":"string"}},"required":["kind"]}`, strings.Join(gen.Names(t.options.Generators), ", "))
	err := errors.Join(
		s.AddTool(mcp.Tool{
			Name:        "generate_component",
			Description: "Runs any generator: pass kind and the arguments of generate_KIND. Use it for generators that are not in this tool list, such as one just added to the project.",
			InputSchema: json.RawMessage(anyKind),
			Annotations: t.generatorHints(),
		}, func(ctx context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
			return t.generate(ctx, "", arguments, engine.Options{})
		}),
		s.AddTool(mcp.Tool{
			Name:        "plan",
			Description: "Runs a generator without writing anything and returns diffs: pass kind and the arguments of generate_KIND. It verifies everything, examples included. Pass the plan's id to apply.",
			InputSchema: json.RawMessage(anyKind),
			Annotations: &mcp.ToolAnnotations{ // plan runs examples, unless NoExec is set
				ReadOnlyHint: new(t.options.NoExec), DestructiveHint: new(false), IdempotentHint: new(true), OpenWorldHint: new(!t.options.NoExec),
			},
		}, func(ctx context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
			return t.generate(ctx, "", arguments, engine.Options{DryRun: true})
		}),
	)
	for _, g := range t.options.Generators {
		t.offerGenerator(context.Background(), s, g)
	}
	return err
}

// offerGenerator registers the tool of a generator. If that fails, it logs a warning.
func (t *Tools) offerGenerator(ctx context.Context, s *mcp.Server, g gen.Generator) {
	if err := t.registerGenerator(s, g); err != nil {
		mcp.Logger(ctx).Warn("cannot register the tool of a generator; use generate_component", "kind", g.Name, "error", err)
		return
	}
	t.projects.offered[g.Name] = g
}

func (t *Tools) generatorHints() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(!t.options.NoExec)}
}

func (t *Tools) registerGenerator(s *mcp.Server, g gen.Generator) error {
	input, err := withDir(g.InputSchema)
	if err != nil {
		return fmt.Errorf("generator %s: %w", g.Name, err)
	}
	return s.AddTool(mcp.Tool{
		Name:        "generate_" + g.Name,
		Description: g.Description,
		InputSchema: input,
		Annotations: t.generatorHints(),
	}, func(ctx context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
		return t.generate(ctx, g.Name, arguments, engine.Options{})
	})
}

// withDir adds the property dir to the input schema of a generator.
func withDir(schema json.RawMessage) (json.RawMessage, error) {
	var document struct {
		Type                 json.RawMessage `json:"type"`
		Properties           json.RawMessage `json:"properties"`
		Required             json.RawMessage `json:"required,omitempty"`
		AdditionalProperties json.RawMessage `json:"additionalProperties,omitempty"`
		Defs                 json.RawMessage `json:"$defs,omitempty"`
	}
	if err := json.Unmarshal(schema, &document); err != nil {
		return nil, err
	}
	known := map[string]json.RawMessage{}
	if document.Properties != nil {
		if err := json.Unmarshal(document.Properties, &known); err != nil {
			return nil, err
		}
	}
	properties := strings.TrimSuffix(strings.TrimSpace(string(document.Properties)), "}")
	switch {
	case known["dir"] != nil:
		return nil, errors.New("the input property dir is reserved for the project's folder; rename it")
	case properties == "":
		properties = "{"
	case properties != "{":
		properties += ","
	}
	document.Properties = json.RawMessage(properties + `"dir":` + dirSchema + "}")
	return strictjson.Marshal(document)
}

func (t *Tools) generate(ctx context.Context, kind string, arguments json.RawMessage, o engine.Options) (*mcp.ToolResult, error) {
	input := map[string]json.RawMessage{}
	if err := strictjson.Unmarshal(arguments, &input); err != nil {
		return Answer(ctx, nil, terminal.Usagef("%w", err))
	}
	dir, err := removeString(input, "dir")
	if err != nil {
		return Answer(ctx, nil, err)
	}
	if kind == "" {
		if kind, err = removeString(input, "kind"); err != nil {
			return Answer(ctx, nil, err)
		}
	}
	rest, err := strictjson.Marshal(input)
	if err != nil {
		return nil, err
	}
	o.NoExec = t.options.NoExec
	return withProject(ctx, t, dir, func(p *openProject) (*engine.Result, error) {
		result, err := t.dispatch(ctx, p, kind, func() (*engine.Result, error) {
			return p.engine.Generate(ctx, kind, rest, o)
		}, rest, append([]string{"generate", kind, "--input", "-"}, t.flags(o)...)...)
		return t.notify(ctx, p, result, err)
	})
}

// removeString removes a member of input and returns its value.
func removeString(input map[string]json.RawMessage, name string) (string, error) {
	raw, ok := input[name]
	if !ok {
		return "", nil
	}
	delete(input, name)
	var value string
	if err := json.Unmarshal(raw, &value); err != nil {
		return "", terminal.Usagef("%s: must be a string, got %s", name, raw)
	}
	return value, nil
}

// flags returns the options as command-line flags.
func (t *Tools) flags(o engine.Options) []string {
	var flags []string
	for name, set := range map[string]bool{"--dry-run": o.DryRun, "--no-exec": o.NoExec, "--no-net": t.options.Limits.NoNet, "--force": o.Force, "--keep": o.Keep} {
		if set {
			flags = append(flags, name)
		}
	}
	return flags
}

// ApplyInput is the input of apply.
type ApplyInput struct {
	Plan string `json:"plan"`          // Id of a plan
	Dir  string `json:"dir,omitempty"` // Folder of the project
}

// Apply writes exactly the files of a plan. It fails if the project has changed since.
//
//petrock:hints additive open-world
func (t *Tools) Apply(ctx context.Context, in ApplyInput) (*mcp.ToolResult, error) {
	o := engine.Options{NoExec: t.options.NoExec}
	return withProject(ctx, t, in.Dir, func(p *openProject) (*engine.Result, error) {
		kind, err := p.engine.PlanKind(in.Plan)
		if err != nil {
			return nil, err
		}
		result, err := t.dispatch(ctx, p, kind, func() (*engine.Result, error) {
			return p.engine.Apply(ctx, in.Plan, o)
		}, nil, append([]string{"apply", in.Plan}, t.flags(o)...)...)
		return t.notify(ctx, p, result, err)
	})
}

// DestroyComponentInput is the input of destroy_component.
type DestroyComponentInput struct {
	Kind  string `json:"kind"`            // tool, resource, prompt, generator, feature, command, query or worker
	Name  string `json:"name"`            // Name of the component, such as send_mail or posts/create
	Force bool   `json:"force,omitempty"` // Also destroy code that was edited by hand
	Dir   string `json:"dir,omitempty"`   // Folder of the project
}

// DestroyComponent removes a component with its test, or a feature with its folder, and updates derived
// files. Undo restores it.
//
//petrock:hints destructive closed-world
func (t *Tools) DestroyComponent(ctx context.Context, in DestroyComponentInput) (*mcp.ToolResult, error) {
	return withProject(ctx, t, in.Dir, func(p *openProject) (*engine.Result, error) {
		result, err := p.engine.Destroy(ctx, in.Kind, in.Name, engine.Options{Force: in.Force})
		return t.notify(ctx, p, result, err)
	})
}

// UndoInput is the input of undo.
type UndoInput struct {
	Operation string `json:"operation,omitempty"` // Id of the operation, from its result or petrock://history; default: the last one that is not undone
	Keep      bool   `json:"keep,omitempty"`      // Keep files that were edited since, and undo the rest
	Force     bool   `json:"force,omitempty"`     // Also undo files that were edited since
	Dir       string `json:"dir,omitempty"`       // Folder of the project
}

// Undo reverts a whole operation: it restores the files and updates derived files. It fails if files
// were edited since, or if later operations depend on it. To undo an undo, pass its id.
//
//petrock:hints destructive closed-world
func (t *Tools) Undo(ctx context.Context, in UndoInput) (*mcp.ToolResult, error) {
	return withProject(ctx, t, in.Dir, func(p *openProject) (*engine.Result, error) {
		result, err := p.engine.Undo(ctx, in.Operation, engine.Options{Keep: in.Keep, Force: in.Force})
		return t.notify(ctx, p, result, err)
	})
}

// Answer converts the result or error of an operation to a tool result. The structured content is the JSON
// that the command line prints. For results of operations and builds, the text is the one that the
// command line prints.
//
//petrock:ignore
func Answer(ctx context.Context, result any, err error) (*mcp.ToolResult, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		answer := mcp.ErrorResult(err)
		answer.StructuredContent, err = strictjson.Marshal(engine.FaultOf(err))
		return answer, err
	}
	answer := &mcp.ToolResult{}
	switch result := result.(type) {
	case *engine.Result:
		summary := result.String()
		for _, f := range result.Files {
			if result.DryRun && !f.Derived {
				summary += "\n" + f.Diff
			}
		}
		answer.Content = text(summary)
	case *BuildOutput:
		answer.Content = text(result.String())
	case *engine.TestResult:
		answer.Content = text(result.String())
	case *engine.FileText:
		answer.Content = text(result.Text)
	}
	answer.StructuredContent, err = strictjson.Marshal(result)
	return answer, err
}

func text(text string) []mcp.Content { return []mcp.Content{mcp.Text{Text: text}} }

// withProject acquires a project, runs do, and returns its result as a tool result.
func withProject[T any](ctx context.Context, t *Tools, dir string, do func(*openProject) (T, error)) (*mcp.ToolResult, error) {
	o, done, err := t.acquire(ctx, dir)
	if err != nil {
		return Answer(ctx, nil, err)
	}
	defer done()
	result, err := do(o)
	return Answer(ctx, result, err)
}
