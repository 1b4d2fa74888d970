package devserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
)

// anyGenerator is the name of the generator that takes the kind as an argument.
const anyGenerator = "component"

// registerGenerators registers generate_component, and generate_KIND for each generator that most
// projects need.
func (t *Tools) registerGenerators() {
	t.offerGenerator(context.Background(), gen.Generator{
		Name:        anyGenerator,
		Description: "Runs any generator: takes kind and the arguments of generate_KIND. Kind generator creates a generator of the project's own: see petrock://docs/generators.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"kind":{"type":"string"},"name":{"type":"string"}}}`),
	})
	for _, g := range t.options.Generators {
		if g.Name != "version" && g.Name != "generator" { // change runs version
			t.offerGenerator(context.Background(), g)
		}
	}
}

// offerGenerator registers the tool of a generator. If that fails, it logs a warning, and returns
// false.
func (t *Tools) offerGenerator(ctx context.Context, g gen.Generator) bool {
	input, err := listedSchema(g.InputSchema)
	if err == nil {
		err = t.Server.AddTool(mcp.Tool{
			Name:        "generate_" + g.Name,
			Description: g.Description,
			InputSchema: input,
			Annotations: &mcp.ToolAnnotations{DestructiveHint: new(false)},
		}, func(ctx context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
			return t.generate(ctx, g.Name, arguments)
		})
	}
	if err != nil {
		mcp.Logger(ctx).Warn("cannot register the tool of a generator; use generate_component", "kind", g.Name, "error", err)
	}
	return err == nil
}

// listedSchema returns the input schema of a generator as tools/list shows it: short, with the
// common properties. No property is required, because a draft may have it; the engine checks that.
func listedSchema(schema json.RawMessage) (json.RawMessage, error) {
	listed, properties := []byte("{"), []byte("{")
	err := strictjson.Object(schema, func(key, value []byte) error {
		switch string(key) {
		case "required", "additionalProperties":
		case "properties":
			return strictjson.Object(value, func(name, property []byte) error {
				if slices.Contains(reserved, string(name)) {
					return fmt.Errorf("the input property %s is reserved for the dev server; rename it", name)
				}
				properties = strictjson.AppendMember(properties, string(name), shortenSchema(string(name), property))
				return nil
			})
		default:
			listed = strictjson.AppendMember(listed, string(key), value)
		}
		return nil
	})
	for _, common := range [][2]string{{"draft", "string"}, {"dry_run", "boolean"}, {"detail", "boolean"}, {"dir", "string"}} { // the instructions describe them
		properties = strictjson.AppendMember(properties, common[0], []byte(`{"type":"`+common[1]+`"}`))
	}
	listed = strictjson.AppendMember(listed, "properties", append(properties, '}'))
	return append(listed, '}'), err
}

// shortenSchema returns the schema of a property. Of a list of objects, it keeps the keys only, in
// the description: the engine checks the rest. The keys of examples are in the description of
// generate_command, to which the other generators refer.
func shortenSchema(name string, schema json.RawMessage) json.RawMessage {
	keys := propertyNames(strictjson.Member(schema, "items"))
	if keys == nil {
		return schema
	}
	description, _ := strictjson.Unquote(strictjson.Member(schema, "description"))
	if name != "examples" {
		description = strings.TrimPrefix(strings.TrimSuffix(description, ".")+". Keys: "+strings.Join(keys, ", "), ". ")
	}
	return fmt.Appendf(nil, `{"type":%s,"items":{"type":"object"},"description":%s}`, strictjson.Member(schema, "type"), strictjson.AppendString(nil, description))
}

// propertyNames returns the names of the properties of an object schema.
func propertyNames(schema json.RawMessage) (names []string) {
	_ = strictjson.Object(strictjson.Member(schema, "properties"), func(name, _ []byte) error {
		names = append(names, string(name))
		return nil
	})
	return names
}

// generate runs a generator. Its kind may be an argument, like those of [Writing].
func (t *Tools) generate(ctx context.Context, kind string, arguments json.RawMessage) (*mcp.ToolResult, error) {
	var common struct {
		Writing
		Kind string `json:"kind"`
	}
	input := map[string]json.RawMessage{}
	err := errors.Join(strictjson.Unmarshal(arguments, &input), json.Unmarshal(arguments, &common))
	if err != nil {
		return Answer(ctx, nil, &terminal.UsageError{Err: err})
	}
	for _, name := range reserved {
		delete(input, name)
	}
	if kind == anyGenerator {
		kind = common.Kind
		delete(input, "kind")
	}
	if kind == "" {
		return Answer(ctx, nil, terminal.Usagef("kind is missing; the generators are %s", strings.Join(gen.Names(t.options.Generators), ", ")))
	}
	rest, err := strictjson.Marshal(input)
	if err != nil {
		return nil, err
	}
	for _, g := range t.options.Generators {
		if example, missing := g.MissingDescription(rest); missing && g.Name == kind {
			return Answer(ctx, nil, terminal.Usagef("description is missing; %s choose a %s by it. %s", gen.ChosenBy(kind), kind, example))
		}
	}
	o := engine.Options{DryRun: common.DryRun, NoData: common.NoData, NoExec: t.options.NoExec}
	return t.operate(ctx, common.Common, func(ctx context.Context, p *openProject) (*engine.Result, error) {
		return t.dispatch(ctx, p, kind, func() (*engine.Result, error) {
			return p.engine.Generate(ctx, kind, rest, o)
		}, rest, append([]string{"generate", kind, "--input", "-"}, t.flags(o)...)...)
	})
}

// flags returns the options of a generator that are set as command-line flags.
func (t *Tools) flags(o engine.Options) (flags []string) {
	isSet := map[string]bool{"--dry-run": o.DryRun, "--no-exec": o.NoExec, "--no-data": o.NoData, "--no-net": t.options.Limits.NoNet}
	for _, name := range slices.Sorted(maps.Keys(isSet)) {
		if isSet[name] {
			flags = append(flags, name)
		}
	}
	return flags
}

// ApplyInput is the input of apply.
type ApplyInput struct {
	Plan   string `json:"plan"` // Id from a dry run
	NoData bool   `json:"no_data,omitempty"`
	Common
}

// Apply writes exactly the files of the plan of a dry run. It fails if they would differ now.
//
//petrock:hints additive
func (t *Tools) Apply(ctx context.Context, in ApplyInput) (*mcp.ToolResult, error) {
	o := engine.Options{NoData: in.NoData, NoExec: t.options.NoExec}
	return t.operate(ctx, in.Common, func(ctx context.Context, p *openProject) (*engine.Result, error) {
		kind, err := p.engine.PlanKind(in.Plan)
		if err != nil {
			return nil, err
		}
		here := func() (*engine.Result, error) { return p.engine.Apply(ctx, in.Plan, o) }
		return t.dispatch(ctx, p, kind, here, nil, append([]string{"apply", in.Plan}, t.flags(o)...)...)
	})
}

// DestroyComponentInput is the input of destroy_component.
type DestroyComponentInput struct {
	Kind  string `json:"kind,omitempty"`  // As in list_components
	Name  string `json:"name,omitempty"`  // Such as send_mail or posts/create
	Force bool   `json:"force,omitempty"` // Also if edited since
	engine.Removal
	Drafted
}

// DestroyComponent removes a component with its test, or a feature with its folder. Undo restores
// it.
//
//petrock:hints closed-world
func (t *Tools) DestroyComponent(ctx context.Context, in DestroyComponentInput) (*mcp.ToolResult, error) {
	return t.operate(ctx, in.Common, func(ctx context.Context, p *openProject) (*engine.Result, error) {
		return p.engine.Destroy(ctx, in.Kind, in.Name, engine.Options{Force: in.Force, Removal: in.Removal, DryRun: in.DryRun, NoData: in.NoData, NoExec: t.options.NoExec})
	})
}

func text(text string) []mcp.Content { return []mcp.Content{mcp.Text{Text: text}} }

// withProject acquires a project, runs do, and returns its result as a tool result.
func withProject[T any](ctx context.Context, t *Tools, in Common, do func(*openProject) (T, error)) (*mcp.ToolResult, error) {
	ctx = WithDetail(ctx, in.Detail)
	o, done, err := t.acquire(ctx, in.Dir)
	if err != nil {
		return Answer(ctx, nil, err)
	}
	defer done()
	result, err := do(o)
	return Answer(ctx, result, err)
}

// operate runs an operation on a project. It notifies clients of resources that the operation
// changed, and updates the tools of the project's own generators.
func (t *Tools) operate(ctx context.Context, in Common, do func(context.Context, *openProject) (*engine.Result, error)) (*mcp.ToolResult, error) {
	return withProject(ctx, t, in, func(p *openProject) (*engine.Result, error) {
		result, err := do(WithDetail(ctx, in.Detail), p)
		if err != nil || result.DryRun {
			return result, err
		}
		t.Server.ResourceUpdated(projectURI)
		t.Server.ResourceUpdated(historyURI)
		if slices.ContainsFunc(result.Files, func(f engine.FileChange) bool { return strings.HasPrefix(f.Path, derive.OwnGenerators+"/") }) {
			t.refreshOwnGenerators(ctx, p)
		}
		return result, nil
	})
}

// UndoInput is the input of undo.
type UndoInput struct {
	Operation string `json:"operation,omitempty"` // Id, from a result or history
	Redo      bool   `json:"redo,omitempty"`      // Redo it, or what was undone last
	Keep      bool   `json:"keep,omitempty"`      // Keep files edited since, undo the rest
	Force     bool   `json:"force,omitempty"`     // Also undo files edited since
	Writing
}

// Undo reverts a whole operation, by default the last that is neither undone nor a plain sync, or
// redoes it. It fails if files were edited since.
//
//petrock:hints closed-world
func (t *Tools) Undo(ctx context.Context, in UndoInput) (*mcp.ToolResult, error) {
	return t.operate(ctx, in.Common, func(ctx context.Context, p *openProject) (*engine.Result, error) {
		revert := p.engine.Undo
		if in.Redo {
			revert = p.engine.Redo
		}
		return revert(ctx, in.Operation, engine.Options{Keep: in.Keep, Force: in.Force, DryRun: in.DryRun, NoData: in.NoData, NoExec: t.options.NoExec})
	})
}

// EditInput is the input of edit.
type EditInput struct {
	Edits  []engine.FileEdit `json:"edits,omitempty"`  // In order
	Test   bool              `json:"test,omitempty"`   // Only if the tests pass
	Accept []string          `json:"accept,omitempty"` // As for build
	Drafted
}

// Edit edits files of the project in one operation. Imports and derived files follow. Nothing is
// written unless it compiles.
//
//petrock:hints open-world
func (t *Tools) Edit(ctx context.Context, in EditInput) (*mcp.ToolResult, error) {
	return t.operate(ctx, in.Common, func(ctx context.Context, p *openProject) (*engine.Result, error) {
		o := engine.Options{Test: in.Test, Accept: in.Accept, DryRun: in.DryRun, NoData: in.NoData, NoExec: t.options.NoExec}
		here := func() (*engine.Result, error) { return p.engine.Edit(ctx, in.Edits, o) }
		input, err := strictjson.Marshal(EditInput{Edits: in.Edits, Test: in.Test, Accept: in.Accept})
		if err != nil {
			return nil, err
		}
		flags := slices.DeleteFunc(t.flags(o), func(flag string) bool { return flag == "--no-net" }) // tests are not confined
		return t.dispatch(ctx, p, "", here, input, append([]string{"edit", "--input", "-"}, flags...)...)
	})
}

// TestInput is the input of test.
type TestInput struct {
	engine.TestOptions
	Timeout int `json:"timeout,omitempty"` // Seconds a package
	Common
}

// Test runs Go tests or benchmarks; failures have file, line and message.
//
//petrock:hints open-world
func (t *Tools) Test(ctx context.Context, in TestInput) (*mcp.ToolResult, error) {
	if t.options.NoExec {
		return Answer(ctx, nil, errors.New("test is disabled by --no-exec; start this server without it"))
	}
	return withProject(ctx, t, in.Common, func(p *openProject) (*engine.TestResult, error) {
		in.TestOptions.Timeout = time.Duration(in.Timeout) * time.Second
		return p.engine.Test(ctx, in.TestOptions)
	})
}

// ChangeInput is the input of change.
type ChangeInput struct {
	engine.Change
	Examples []json.RawMessage `json:"examples,omitempty"`
	Edits    []json.RawMessage `json:"edits,omitempty"` // Of other code, as for edit, after the change
	Drafted
}

// Change renames or edits a component in place. References, tests and stored events follow.
//
//petrock:hints open-world
func (t *Tools) Change(ctx context.Context, in ChangeInput) (*mcp.ToolResult, error) {
	for _, text := range in.Edits {
		var edit engine.FileEdit
		if err := strictjson.Unmarshal(text, &edit); err != nil {
			return Answer(ctx, nil, terminal.Usagef("edits: %w", err))
		}
		in.Change.Edits = append(in.Change.Edits, edit)
	}
	for _, text := range in.Examples {
		var example gen.Step
		if err := (&strictjson.Decoder{Exact: true}).Decode(text, &example); err != nil {
			return Answer(ctx, nil, terminal.Usagef("examples: %w", err))
		}
		in.Change.Examples = append(in.Change.Examples, example)
	}
	input, err := strictjson.Marshal(in.Change)
	if err != nil {
		return nil, err
	}
	o := engine.Options{DryRun: in.DryRun, NoData: in.NoData, NoExec: t.options.NoExec}
	return t.operate(ctx, in.Common, func(ctx context.Context, p *openProject) (*engine.Result, error) {
		here := func() (*engine.Result, error) { return p.engine.Change(ctx, in.Change, o) }
		result, err := t.dispatch(ctx, p, "", here, input, append([]string{"change", "--input", "-"}, t.flags(o)...)...)
		if refusal, ok := errors.AsType[*engine.Refusal](err); ok && len(refusal.Diagnostics)+len(refusal.Tests) > 0 {
			refusal.Remedy += " To change other code or tests in the same call, set edits."
		}
		return result, err
	})
}
