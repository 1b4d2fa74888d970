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

// commonProperties are the properties of all tools. They have no descriptions, since the instructions
// explain them.
const commonProperties = `,"dir":{"type":"string"},"detail":{"type":"boolean"}`

// registerGenerators registers generate_component, plan, and generate_KIND for each generator but version.
func (t *Tools) registerGenerators(s *mcp.Server) error {
	anyKind := json.RawMessage(`{"type":"object","properties":{"kind":{"type":"string"},"name":{"type":"string"}` + commonProperties + `},"required":["kind"]}`)
	err := errors.Join(
		s.AddTool(mcp.Tool{
			Name:        "generate_component",
			Description: "Runs any generator: takes kind and the arguments of generate_KIND.",
			InputSchema: anyKind,
			Annotations: t.generatorHints(),
		}, func(ctx context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
			return t.generate(ctx, "", arguments, engine.Options{})
		}),
		s.AddTool(mcp.Tool{
			Name:        "plan",
			Description: "Dry run of a generator: takes kind and the arguments of generate_KIND, verifies everything, writes nothing. detail shows diffs. Pass the plan's id to apply.",
			InputSchema: anyKind,
			Annotations: t.planHints(),
		}, func(ctx context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
			return t.generate(ctx, "", arguments, engine.Options{DryRun: true})
		}),
	)
	for _, g := range t.options.Generators {
		if g.Name != "version" { // change runs it; generate_component can
			t.offerGenerator(context.Background(), s, g)
		}
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
	hints := &mcp.ToolAnnotations{DestructiveHint: new(false)}
	if t.options.NoExec { // otherwise, generators run examples
		hints.OpenWorldHint = new(false)
	}
	return hints
}

func (t *Tools) planHints() *mcp.ToolAnnotations {
	hints := t.generatorHints()
	if hints.IdempotentHint = new(true); t.options.NoExec {
		hints.ReadOnlyHint = new(true)
	}
	return hints
}

func (t *Tools) registerGenerator(s *mcp.Server, g gen.Generator) error {
	input, err := listedSchema(g.InputSchema)
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

// listedSchema returns the input schema of a generator as tools/list shows it: with the common properties, and
// without format and additionalProperties, which the engine checks.
func listedSchema(schema json.RawMessage) (json.RawMessage, error) {
	var document struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &document); err != nil {
		return nil, err
	}
	for _, name := range []string{"dir", "detail"} {
		if document.Properties[name] != nil {
			return nil, fmt.Errorf("the input property %s is reserved for the dev server; rename it", name)
		}
	}
	properties := strings.TrimPrefix(commonProperties, ",")
	var members []string
	err := strictjson.Object(schema, func(key, value []byte) error {
		switch string(key) {
		case "properties":
			short, err := shortenProperties(value)
			if len(document.Properties) > 0 {
				properties = strings.TrimSuffix(strings.TrimPrefix(short, "{"), "}") + commonProperties
			}
			return err
		case "additionalProperties":
		default:
			members = append(members, member(key, string(value)))
		}
		return nil
	})
	return json.RawMessage("{" + strings.Join(append(members, `"properties":{`+properties+"}"), ",") + "}"), err
}

func member(key []byte, value string) string {
	return string(strictjson.AppendString(nil, key)) + ":" + value
}

// shortenProperties shortens the schemas of the properties of an object.
func shortenProperties(properties json.RawMessage) (string, error) {
	var members []string
	err := strictjson.Object(properties, func(name, value []byte) error {
		short, err := shortenSchema(value)
		members = append(members, member(name, short))
		return err
	})
	return "{" + strings.Join(members, ",") + "}", err
}

// shortenSchema shortens the schema of a property. Of a list of objects, the description names the keys,
// unless it refers to another tool.
func shortenSchema(schema json.RawMessage) (string, error) {
	if strictjson.First(schema) != '{' {
		return string(schema), nil // true or false
	}
	var members, keys []string
	description := ""
	err := strictjson.Object(schema, func(key, value []byte) (err error) {
		text := string(value)
		switch string(key) {
		case "additionalProperties", "format":
			return nil
		case "description":
			return json.Unmarshal(value, &description)
		case "properties":
			text, err = shortenProperties(value)
		case "items":
			if keys = propertyNames(value); keys != nil {
				text = `{"type":"object"}`
			}
		}
		members = append(members, member(key, text))
		return err
	})
	if keys != nil && !strings.Contains(description, "as for a ") {
		description = strings.TrimPrefix(strings.TrimSuffix(description, ".")+". Keys: "+strings.Join(keys, ", "), ". ")
	}
	if description != "" {
		members = append(members, member([]byte("description"), string(strictjson.AppendString(nil, description))))
	}
	return "{" + strings.Join(members, ",") + "}", err
}

// propertyNames returns the names of the properties of an object schema.
func propertyNames(schema json.RawMessage) (names []string) {
	var object struct {
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &object) == nil && object.Properties != nil {
		strictjson.Object(object.Properties, func(name, _ []byte) error { // the compiled schema was valid
			names = append(names, string(name))
			return nil
		})
	}
	return names
}

func (t *Tools) generate(ctx context.Context, kind string, arguments json.RawMessage, o engine.Options) (*mcp.ToolResult, error) {
	input := map[string]json.RawMessage{}
	if err := strictjson.Unmarshal(arguments, &input); err != nil {
		return Answer(ctx, nil, terminal.Usagef("%w", err))
	}
	dir, err := remove[string](input, "dir")
	if err != nil {
		return Answer(ctx, nil, err)
	}
	detail, err := remove[bool](input, "detail")
	if err != nil {
		return Answer(ctx, nil, err)
	}
	ctx = WithDetail(ctx, detail)
	if kind == "" {
		if kind, err = remove[string](input, "kind"); err != nil {
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

// remove removes a member of input and returns its value.
func remove[T any](input map[string]json.RawMessage, name string) (value T, err error) {
	raw, ok := input[name]
	if !ok {
		return value, nil
	}
	delete(input, name)
	if json.Unmarshal(raw, &value) != nil {
		err = terminal.Usagef("%s: must be a %T, got %s", name, value, raw)
	}
	return value, err
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
	Plan string `json:"plan"` // Id of a plan
	Common
}

// Apply writes exactly the files of a plan. It fails if the project has changed since.
//
//petrock:hints additive
func (t *Tools) Apply(ctx context.Context, in ApplyInput) (*mcp.ToolResult, error) {
	o := engine.Options{NoExec: t.options.NoExec}
	return withProject(WithDetail(ctx, in.Detail), t, in.Dir, func(p *openProject) (*engine.Result, error) {
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
	Kind  string `json:"kind"`            // As in list_components
	Name  string `json:"name"`            // Such as send_mail or posts/create
	Force bool   `json:"force,omitempty"` // Also if edited since
	Common
}

// DestroyComponent removes a component with its test, or a feature with its folder. Undo restores it.
//
//petrock:hints closed-world
func (t *Tools) DestroyComponent(ctx context.Context, in DestroyComponentInput) (*mcp.ToolResult, error) {
	return withProject(WithDetail(ctx, in.Detail), t, in.Dir, func(p *openProject) (*engine.Result, error) {
		result, err := p.engine.Destroy(ctx, in.Kind, in.Name, engine.Options{Force: in.Force})
		return t.notify(ctx, p, result, err)
	})
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

// UndoInput is the input of undo.
type UndoInput struct {
	Operation string `json:"operation,omitempty"` // Id, from a result or history
	Keep      bool   `json:"keep,omitempty"`      // Keep files edited since, undo the rest
	Force     bool   `json:"force,omitempty"`     // Also undo files edited since
	Common
}

// Undo reverts a whole operation, by default the last one. It fails if files were edited since.
//
//petrock:hints closed-world
func (t *Tools) Undo(ctx context.Context, in UndoInput) (*mcp.ToolResult, error) {
	return withProject(WithDetail(ctx, in.Detail), t, in.Dir, func(p *openProject) (*engine.Result, error) {
		result, err := p.engine.Undo(ctx, in.Operation, engine.Options{Keep: in.Keep, Force: in.Force})
		return t.notify(ctx, p, result, err)
	})
}

// RedoInput is the input of redo.
type RedoInput struct {
	Operation string `json:"operation,omitempty"` // Id; default: the one undone last
	Common
}

// Redo restores an operation that undo reverted.
//
//petrock:hints closed-world
func (t *Tools) Redo(ctx context.Context, in RedoInput) (*mcp.ToolResult, error) {
	return withProject(WithDetail(ctx, in.Detail), t, in.Dir, func(p *openProject) (*engine.Result, error) {
		result, err := p.engine.Redo(ctx, in.Operation, engine.Options{})
		return t.notify(ctx, p, result, err)
	})
}
