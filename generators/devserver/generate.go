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

// aboutDir is what the tool of a generator says of the folder of the project, of which the instructions say more.
const aboutDir = `{"type":"string"}`

// registerGenerators offers each generator as a tool of its own, any of them by the name of its kind, and a look
// at what any of them would do.
func (t *Tools) registerGenerators(s *mcp.Server) error {
	anyKind := fmt.Sprintf(`{"type":"object","properties":{"kind":{"type":"string","description":"%s, or one that the project has added"},"name":{"type":"string"},"fields":{"type":"array","items":{"type":"string"}},"dir":{"type":"string"}},"required":["kind"]}`, strings.Join(gen.Kinds(t.options.Generators), ", "))
	yes, no := true, false
	looks := t.options.NoExec // what runs code does more than look
	err := errors.Join(
		s.AddTool(mcp.Tool{
			Name:        "generate_component",
			Description: "Makes a component of any kind: give kind, and beside it exactly what generate_KIND takes. For kinds that have no tool of their own here, such as one that the project has just added.",
			InputSchema: json.RawMessage(anyKind),
			Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: t.runs()},
		}, func(ctx context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
			return t.generate(ctx, "", arguments, engine.Options{})
		}),
		s.AddTool(mcp.Tool{
			Name:        "plan",
			Description: "Shows what would be written, as diffs, and writes nothing: give kind, and beside it exactly what generate_KIND takes. All is verified, examples included. The answer has the id of the plan, for apply.",
			InputSchema: json.RawMessage(anyKind),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: &looks, DestructiveHint: &no, IdempotentHint: &yes, OpenWorldHint: t.runs()},
		}, func(ctx context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
			return t.generate(ctx, "", arguments, engine.Options{DryRun: true})
		}),
	)
	for _, g := range t.options.Generators {
		t.offer(context.Background(), s, g)
	}
	return err
}

// offer offers one generator, if it can be a tool. One that cannot is no reason to do without the others.
func (t *Tools) offer(ctx context.Context, s *mcp.Server, g gen.Generator) {
	if err := t.registerGenerator(s, g); err != nil {
		mcp.Logger(ctx).Warn("a generator has no tool of its own; generate_component has it", "kind", g.Name, "error", err)
		return
	}
	t.projects.offered[g.Name] = g
}

// runs is whether tools that verify also run code that they were sent.
func (t *Tools) runs() *bool {
	runs := !t.options.NoExec
	return &runs
}

func (t *Tools) registerGenerator(s *mcp.Server, g gen.Generator) error {
	input, err := withDir(g.InputSchema)
	if err != nil {
		return fmt.Errorf("the generator %s: %w", g.Name, err)
	}
	no := false
	return s.AddTool(mcp.Tool{
		Name:        "generate_" + g.Name,
		Description: g.Description,
		InputSchema: input,
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: t.runs()},
	}, func(ctx context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
		return t.generate(ctx, g.Name, arguments, engine.Options{})
	})
}

// withDir is the schema of a generator's input with the project's folder beside it.
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
		return nil, errors.New("its input has a property dir, which is the project's folder here; call it otherwise")
	case properties == "":
		properties = "{"
	case properties != "{":
		properties += ","
	}
	document.Properties = json.RawMessage(properties + `"dir":` + aboutDir + "}")
	return strictjson.Marshal(document)
}

func (t *Tools) generate(ctx context.Context, kind string, arguments json.RawMessage, o engine.Options) (*mcp.ToolResult, error) {
	input := map[string]json.RawMessage{}
	if err := strictjson.Unmarshal(arguments, &input); err != nil {
		return Answer(ctx, nil, terminal.Usagef("%w", err))
	}
	dir, err := takeOut(input, "dir")
	if err != nil {
		return Answer(ctx, nil, err)
	}
	if kind == "" {
		if kind, err = takeOut(input, "kind"); err != nil {
			return Answer(ctx, nil, err)
		}
	}
	rest, err := strictjson.Marshal(input)
	if err != nil {
		return nil, err
	}
	o.NoExec = t.options.NoExec
	return on(ctx, t, dir, func(p *opened) (*engine.Result, error) {
		result, err := t.dispatch(ctx, p, kind, func() (*engine.Result, error) {
			return p.engine.Generate(ctx, kind, rest, o)
		}, rest, append([]string{"generate", kind, "--input", "-"}, t.flags(o)...)...)
		return t.after(ctx, p, result, err)
	})
}

func takeOut(input map[string]json.RawMessage, name string) (string, error) {
	raw, ok := input[name]
	if !ok {
		return "", nil
	}
	delete(input, name)
	var value string
	if err := json.Unmarshal(raw, &value); err != nil {
		return "", terminal.Usagef("%s: it has to be a text, got %s", name, raw)
	}
	return value, nil
}

// flags returns the options as the command line of another petrock takes them.
func (t *Tools) flags(o engine.Options) []string {
	var flags []string
	for name, set := range map[string]bool{"--dry-run": o.DryRun, "--no-exec": o.NoExec, "--no-net": t.options.Limits.NoNet, "--force": o.Force, "--keep": o.Keep} {
		if set {
			flags = append(flags, name)
		}
	}
	return flags
}

// ApplyInput is what apply takes.
type ApplyInput struct {
	Plan string `json:"plan"`          // Id of a plan
	Dir  string `json:"dir,omitempty"` // Folder of the project
}

// Apply writes what a plan has shown, and nothing else. It refuses if the project has changed since.
//
//petrock:hints additive open-world
func (t *Tools) Apply(ctx context.Context, in ApplyInput) (*mcp.ToolResult, error) {
	o := engine.Options{NoExec: t.options.NoExec}
	return on(ctx, t, in.Dir, func(p *opened) (*engine.Result, error) {
		kind, err := p.engine.PlanKind(in.Plan)
		if err != nil {
			return nil, err
		}
		result, err := t.dispatch(ctx, p, kind, func() (*engine.Result, error) {
			return p.engine.Apply(ctx, in.Plan, o)
		}, nil, append([]string{"apply", in.Plan}, t.flags(o)...)...)
		return t.after(ctx, p, result, err)
	})
}

// DestroyComponentInput is what destroy_component takes.
type DestroyComponentInput struct {
	Kind  string `json:"kind"`            // tool, resource, prompt, generator, feature, command, query or worker
	Name  string `json:"name"`            // Name of the component; of a part of a feature also posts/create
	Force bool   `json:"force,omitempty"` // Also if there is work in it that was not generated
	Dir   string `json:"dir,omitempty"`   // Folder of the project
}

// DestroyComponent removes a component with its test, or a feature with all of its folder, and what was derived from it. Undo brings it back.
//
//petrock:hints destructive closed-world
func (t *Tools) DestroyComponent(ctx context.Context, in DestroyComponentInput) (*mcp.ToolResult, error) {
	return on(ctx, t, in.Dir, func(p *opened) (*engine.Result, error) {
		result, err := p.engine.Destroy(ctx, in.Kind, in.Name, engine.Options{Force: in.Force})
		return t.after(ctx, p, result, err)
	})
}

// UndoInput is what undo takes.
type UndoInput struct {
	Operation string `json:"operation,omitempty"` // Id of the operation, as its result and petrock://history have it; without it, the last one that is not undone
	Keep      bool   `json:"keep,omitempty"`      // Leave files that were edited since, and undo the rest
	Force     bool   `json:"force,omitempty"`     // Also undo files that were edited since
	Dir       string `json:"dir,omitempty"`       // Folder of the project
}

// Undo reverts an operation as a whole: its files are restored, and derived files are derived
// again. It refuses if they were edited since or later operations build on it. An undo can be
// undone by its own id.
//
//petrock:hints destructive closed-world
func (t *Tools) Undo(ctx context.Context, in UndoInput) (*mcp.ToolResult, error) {
	return on(ctx, t, in.Dir, func(p *opened) (*engine.Result, error) {
		result, err := p.engine.Undo(ctx, in.Operation, engine.Options{Keep: in.Keep, Force: in.Force})
		return t.after(ctx, p, result, err)
	})
}

// Answer is what came of a call, for the client: a result, or an error with its parts. Either is the
// JSON that the command line prints. Of what is long, the text is what it prints for people.
//
//petrock:ignore
func Answer(ctx context.Context, result any, err error) (*mcp.ToolResult, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		made := mcp.ErrorResult(err)
		made.StructuredContent, err = strictjson.Marshal(engine.FaultOf(err))
		return made, err
	}
	made := &mcp.ToolResult{}
	switch said := result.(type) {
	case *engine.Result:
		shown := said.String()
		for _, f := range said.Files {
			if said.DryRun && !f.Derived { // derived files follow from the rest
				shown += "\n" + f.Diff
			}
		}
		made.Content = text(shown)
	case *Built:
		made.Content = text(said.String())
	}
	made.StructuredContent, err = strictjson.Marshal(result)
	return made, err
}

func text(text string) []mcp.Content { return []mcp.Content{mcp.Text{Text: text}} }

// on does something with a project, and answers with what came of it.
func on[T any](ctx context.Context, t *Tools, dir string, do func(*opened) (T, error)) (*mcp.ToolResult, error) {
	o, done, err := t.take(ctx, dir)
	if err != nil {
		return Answer(ctx, nil, err)
	}
	defer done()
	result, err := do(o)
	return Answer(ctx, result, err)
}
