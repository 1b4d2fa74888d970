package devserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/typecheck"
)

const callTimeout = time.Minute

// CallInput is the input of call.
type CallInput struct {
	Name      string                     `json:"name"` // Or URI of a resource
	Arguments map[string]json.RawMessage `json:"arguments,omitempty"`
	Kind      string                     `json:"kind,omitempty" schema:"enum=tool|resource|prompt"` // Default: resource for a URI, else tool
	Actor     string                     `json:"actor,omitempty"`
	InDir
}

// Call calls a tool, reads a resource or gets a prompt of the project. It builds and starts the
// server.
//
//petrock:hints open-world
func (t *Tools) Call(ctx context.Context, in CallInput) (*mcp.ToolResult, error) {
	built, root, err := t.buildServer(ctx, in.Dir, "calling "+in.Name)
	switch {
	case err == nil && !built.OK:
		err = built.refusal()
	case err == nil && in.Actor != "" && !hasFeatures(root):
		err = terminal.Usagef("call: the project has no features, so calls have no actor")
	}
	if err != nil {
		return Answer(ctx, nil, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("call %s: timeout after %v", in.Name, callTimeout))
	defer cancel()
	var stderr process.Tail
	args := []string{"mcp"}
	if in.Actor != "" {
		args = append(args, "--as="+in.Actor)
	}
	server, err := client.Start(ctx, client.Command{Program: built.Program, Args: args, Dir: root, Stderr: &stderr}, client.Options{
		Info:       mcp.Implementation{Name: "petrock", Version: generators.Version},
		Revision:   mcp.LatestHandshake, // later revisions add members to results
		Timeout:    2 * callTimeout,     // the context ends earlier
		MaxMessage: 4 << 20,
	})
	if err != nil && in.Actor == "" && hasFeatures(root) {
		err = nameLogTool(err)
	}
	if err != nil {
		return failure(ctx, err)
	}
	result, err := in.send(ctx, server)
	server.Close() // waits for all of its standard error
	said := shortenStacks(stderr.String(), root)
	if said != "" {
		said = "Standard error of the server:\n" + said
	}
	if err != nil && said != "" {
		err = fmt.Errorf("%w\n%s", err, said)
	}
	if err != nil {
		return failure(ctx, err)
	}
	if result.IsError && said != "" {
		if len(result.Content) == 0 && result.StructuredContent != nil {
			result.Content = text(string(result.StructuredContent))
		}
		result.Content = append(result.Content, text(said)...)
	}
	return result, nil
}

// buildServer builds the server of a project, to run it, and returns the project's folder. Derived
// files may be stale.
func (t *Tools) buildServer(ctx context.Context, dir, nextStep string) (built *BuildOutput, root string, err error) {
	if t.options.NoExec {
		return nil, "", errors.New("call, data, log and try are disabled by --no-exec; start this server without it")
	}
	o, done, err := t.acquire(ctx, dir)
	if err != nil {
		return nil, "", err
	}
	defer done()
	built, err = o.build(ctx, BuildInput{})
	if err == nil && built.Program == "" {
		err = built.refusal()
	}
	o.engine.Step(nextStep)
	return built, o.engine.Root(), err
}

// failure returns an error result. If the timeout of the call has passed, the error says so.
func failure(ctx context.Context, err error) (*mcp.ToolResult, error) {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		ctx, err = context.WithoutCancel(ctx), cause
	}
	return Answer(ctx, nil, err)
}

// send sends the request of a call. The contents of a resource or a prompt are returned as JSON.
func (in CallInput) send(ctx context.Context, server *client.Client) (*mcp.ToolResult, error) {
	if in.Arguments == nil {
		in.Arguments = map[string]json.RawMessage{}
	}
	method, params := "prompts/get", map[string]any{"name": in.Name, "arguments": in.Arguments}
	switch {
	case in.Kind == "resource", in.Kind == "" && strings.Contains(in.Name, "://"):
		method, params = "resources/read", map[string]any{"uri": in.Name}
	case in.Kind != "prompt":
		return server.CallTool(ctx, in.Name, in.Arguments)
	}
	var raw json.RawMessage
	err := server.Request(ctx, method, params, &raw)
	return mcp.TextResult(string(raw)), err
}

// stackOfPanic matches the stack that a handler logs in quotes, or the stacks that a crash prints.
var stackOfPanic = regexp.MustCompile(`(?s) stack="((?:[^"\\]|\\.)*)"?|\n\ngoroutine \d+ .*`)

// shortenStacks replaces the stacks of panics by their position in the project.
func shortenStacks(text, root string) string {
	return stackOfPanic.ReplaceAllStringFunc(text, func(stack string) string {
		file, line := process.PanicPosition(root, strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(stack))
		if file == "" {
			return ""
		}
		return fmt.Sprintf(" at %s:%d", file, line)
	})
}

// BuildInput is the input of build.
type BuildInput struct {
	Accept    []string `json:"accept,omitempty"`     // Commands whose stored events may become unreadable
	Skip      []string `json:"skip,omitempty"`       // Removed commands whose stored events are ignored
	NoCompile bool     `json:"no_compile,omitempty"` // Only derive and check types
	Writing
}

// BuildOutput is the output of build.
type BuildOutput struct {
	OK          bool                   `json:"ok"`                    // Whether the server builds, or with no_compile types are correct, and all derived files are up to date
	Program     string                 `json:"program"`               // Path of the server, if it was built; run it with the argument mcp
	Derived     []engine.FileChange    `json:"derived,omitempty"`     // Derived files that were updated
	Refused     []typecheck.Diagnostic `json:"refused,omitempty"`     // Errors in packages whose derived files could not be updated
	Diagnostics []typecheck.Diagnostic `json:"diagnostics,omitempty"` // Other compiler errors; with no_compile, also in tests
	Warnings    []typecheck.Diagnostic `json:"warnings,omitempty"`    // Warnings, starting with code that makes replay non-deterministic
	ToolsList   *engine.Size           `json:"toolsList"`             // Size of the tool list
	engine.Omission
}

// Short returns the short form of the build.
//
//petrock:ignore
func (b *BuildOutput) Short(limit int) any { return engine.Shorten(b, limit) }

// Build updates derived files and compiles the server. Run it after editing Go files without
// petrock.
//
//petrock:hints additive idempotent closed-world
func (t *Tools) Build(ctx context.Context, in BuildInput) (*mcp.ToolResult, error) {
	if in.DryRun {
		return t.operate(ctx, in.Common, func(ctx context.Context, p *openProject) (*engine.Result, error) {
			return p.engine.Sync(ctx, engine.Options{DryRun: true, Accept: in.Accept, Skip: in.Skip, NoData: in.NoData, NoExec: p.noExec})
		})
	}
	return withProject(ctx, t, in.Common, func(p *openProject) (*BuildOutput, error) {
		built, err := p.build(ctx, in)
		if err != nil {
			return nil, err
		}
		t.refreshOwnGenerators(ctx, p)
		if !built.OK && !in.NoCompile {
			return nil, built.refusal()
		}
		return built, nil
	})
}

// without returns the diagnostics that are not among known ones.
func without(found, known []typecheck.Diagnostic) []typecheck.Diagnostic {
	return slices.DeleteFunc(slices.Clone(found), func(d typecheck.Diagnostic) bool {
		return slices.ContainsFunc(known, func(other typecheck.Diagnostic) bool { return other.String() == d.String() })
	})
}

func (b *BuildOutput) refusal() *engine.Refusal {
	return &engine.Refusal{
		Reason:      "the server does not build, or derived files could not be updated:",
		Diagnostics: append(slices.Clone(b.Refused), b.Diagnostics...),
		Remedy:      "Fix the errors, and run build again.",
	}
}

// String returns the build as text.
func (b *BuildOutput) String() string {
	var out strings.Builder
	switch {
	case !b.OK:
		fmt.Fprintln(&out, b.refusal())
	case b.Program == "":
		fmt.Fprintln(&out, "Derived files are up to date, and all types are correct.")
	default:
		fmt.Fprintf(&out, "Built %s\n", b.Program)
	}
	for _, f := range b.Derived {
		fmt.Fprintf(&out, "  %s\n", f)
	}
	if b.ToolsList != nil {
		fmt.Fprintln(&out, b.ToolsList)
	}
	for _, d := range b.Warnings {
		fmt.Fprintf(&out, "warning: %s\n", d)
	}
	if b.LeftOut != "" {
		fmt.Fprintln(&out, b.LeftOut)
	}
	return out.String()
}

// build updates derived files, and compiles the project's server or checks types. The result
// contains errors in the project's Go code.
func (o *openProject) build(ctx context.Context, in BuildInput) (*BuildOutput, error) {
	synced, err := o.engine.Sync(ctx, engine.Options{Accept: in.Accept, Skip: in.Skip, Saved: in.NoCompile, NoData: in.NoData, NoExec: o.noExec})
	if refusal, ok := errors.AsType[*engine.Refusal](err); ok {
		synced, err = &engine.Result{Refused: append([]typecheck.Diagnostic{}, refusal.Diagnostics...)}, nil
		for _, conflict := range refusal.Conflicts {
			synced.Refused = append(synced.Refused, typecheck.Diagnostic{Message: conflict})
		}
		if len(synced.Refused) == 0 {
			synced.Refused = append(synced.Refused, typecheck.Diagnostic{Message: refusal.Reason})
		}
	}
	if err != nil {
		return nil, err
	}
	built := &BuildOutput{Derived: synced.Files, Refused: o.engine.WithSource(synced.Refused), ToolsList: synced.ToolsList}
	built.Warnings = append(append([]typecheck.Diagnostic{}, synced.Impure...), synced.Warnings...)
	if in.NoCompile {
		_, found, err := o.engine.CheckTypes(ctx)
		built.Diagnostics = without(found, built.Refused)
		built.OK = len(built.Refused)+len(found) == 0
		return built, err
	}
	o.engine.Step("compiling")
	program, err := o.engine.BuildServer(ctx)
	if err != nil {
		found, checkErr := typecheck.CheckPackages(ctx, typecheck.BuildOptions{Dir: o.engine.Root()})
		if checkErr != nil {
			return nil, checkErr
		}
		built.Diagnostics = without(o.engine.WithSource(found.Diagnostics), built.Refused)
		if len(found.Diagnostics) == 0 {
			return nil, err
		}
		return built, nil
	}
	built.Program, built.OK = program, len(built.Refused) == 0
	return built, nil
}
