package devserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/trial"
	"github.com/petrock/petrock/generators/typecheck"
)

const callTimeout = time.Minute

// CallInput is the input of call.
type CallInput struct {
	Name      string                     `json:"name"`                // Or URI of a resource
	Arguments map[string]json.RawMessage `json:"arguments,omitempty"` // Of the call
	Kind      CallKind                   `json:"kind,omitempty"`      // Default: resource for a URI, else tool
	InDir
}

// A CallKind is a kind of component that can be called.
type CallKind string

// The kinds that can be called.
const (
	CallTool     CallKind = "tool"
	CallResource CallKind = "resource"
	CallPrompt   CallKind = "prompt"
)

// Call calls a tool of the project, reads a resource or gets a prompt. Each call builds the server and starts
// a new process.
//
//petrock:hints open-world
func (t *Tools) Call(ctx context.Context, in CallInput) (*mcp.ToolResult, error) {
	if t.options.NoExec {
		return Answer(ctx, nil, errors.New("call is disabled by --no-exec; start petrock mcp without it"))
	}
	program, dir, request, err := t.prepare(ctx, in)
	if err != nil {
		return Answer(ctx, nil, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("call %s: timeout after %v", in.Name, callTimeout))
	defer cancel()
	server, err := startServer(ctx, program, dir)
	if err != nil {
		return failure(ctx, err)
	}
	result, err := request(ctx, server)
	server.Close() // waits for all of its standard error
	if err != nil {
		return failure(ctx, err)
	}
	if stderr := server.errOut.quote(); result.IsError && stderr != "" {
		result.Content = append(contentOf(result), text(strings.TrimSpace(stderr))...)
	}
	return result, nil
}

// failure returns an error result. If the timeout of the call has passed, the error says so.
func failure(ctx context.Context, err error) (*mcp.ToolResult, error) {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		ctx, err = context.WithoutCancel(ctx), cause
	}
	return Answer(ctx, nil, nameLogTool(err))
}

func contentOf(r *mcp.ToolResult) []mcp.Content {
	if len(r.Content) == 0 && r.StructuredContent != nil {
		return text(string(r.StructuredContent))
	}
	return r.Content
}

// A request calls a component of a server.
type request func(context.Context, *childServer) (*mcp.ToolResult, error)

// prepare builds the server and returns the request of a call.
func (t *Tools) prepare(ctx context.Context, in CallInput) (program, dir string, ask request, err error) {
	o, done, err := t.acquire(ctx, in.Dir)
	if err != nil {
		return "", "", nil, err
	}
	defer done()
	built, err := o.build(ctx, BuildInput{})
	if err != nil {
		return "", "", nil, err
	}
	if !built.OK {
		return "", "", nil, built.refusal()
	}
	if in.Arguments == nil {
		in.Arguments = map[string]json.RawMessage{}
	}
	if in.Kind == "" && strings.Contains(in.Name, "://") {
		in.Kind = CallResource
	}
	switch in.Kind {
	case "", CallTool:
		ask = in.callTool
	case CallPrompt:
		ask = rawRequest("prompts/get", map[string]any{"name": in.Name, "arguments": in.Arguments})
	case CallResource:
		uri, err := o.resourceURI(ctx, in)
		if err != nil {
			return "", "", nil, err
		}
		ask = rawRequest("resources/read", map[string]any{"uri": uri})
	}
	o.engine.Step("calling " + in.Name)
	return built.Program, o.engine.Root(), ask, nil
}

// callTool calls a tool. If it does not exist, the error lists the existing ones.
func (in CallInput) callTool(ctx context.Context, server *childServer) (*mcp.ToolResult, error) {
	result, err := server.CallTool(ctx, in.Name, in.Arguments)
	if answered := (*jsonrpc.Error)(nil); err == nil || !errors.As(err, &answered) {
		return result, err
	}
	_, unknown := server.Tool(ctx, in.Name)
	if missing := (*client.NotFoundError)(nil); errors.As(unknown, &missing) {
		return nil, terminal.Usagef("the project has no tool %q; it has %s (set kind for a resource or prompt)", in.Name, strings.Join(missing.Available, ", "))
	}
	if unknown != nil {
		return nil, errors.Join(err, unknown)
	}
	return nil, fmt.Errorf("%w%s", err, server.errOut.quote())
}

// rawRequest returns a request whose result is sent once, as text.
func rawRequest(method string, params map[string]any) request {
	return func(ctx context.Context, server *childServer) (*mcp.ToolResult, error) {
		var raw json.RawMessage
		if err := server.Request(ctx, method, params, &raw); err != nil {
			return nil, fmt.Errorf("%w%s", err, server.errOut.quote())
		}
		return mcp.TextResult(string(raw)), nil
	}
}

// resourceURI returns the URI of a resource, which the call identifies by its URI, or by name and
// arguments.
func (o *openProject) resourceURI(ctx context.Context, in CallInput) (string, error) {
	if strings.Contains(in.Name, ":") {
		return in.Name, nil
	}
	listing, err := o.engine.List(ctx)
	if err != nil {
		return "", err
	}
	values := map[string]string{}
	for name, raw := range in.Arguments {
		var value string
		if err := json.Unmarshal(raw, &value); err != nil {
			return "", terminal.Usagef("%s: must be a string, got %s", name, raw)
		}
		values[name] = value
	}
	var names []string
	for _, c := range listing.Components {
		if c.Kind != derive.Resource {
			continue
		}
		if c.Name == in.Name {
			return derive.Expand(c.URI, values)
		}
		names = append(names, c.Name+" ("+c.URI+")")
	}
	return "", terminal.Usagef("the project has no resource %q; it has %s", in.Name, strings.Join(names, ", "))
}

// A childServer is a running server of the project.
type childServer struct {
	*client.Client
	errOut *tail
}

func startServer(ctx context.Context, program, dir string) (*childServer, error) {
	c := &childServer{errOut: &tail{root: dir}}
	var err error
	c.Client, err = client.Start(ctx, client.Command{Program: program, Args: []string{"mcp"}, Dir: dir, Stderr: c.errOut}, client.Options{
		Info:       mcp.Implementation{Name: "petrock", Version: generators.Version},
		Revision:   mcp.LatestHandshake, // later revisions add members to results
		Timeout:    2 * callTimeout,     // the context ends earlier
		MaxMessage: 4 << 20,
	})
	return c, err
}

// A tail is a writer that keeps the last 8 KiB.
type tail struct {
	root string // of the project
	mu   sync.Mutex
	text []byte
	cut  bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const maxBytes = 8 << 10
	t.text = append(t.text, p...)
	if over := len(t.text) - maxBytes; over > 0 {
		t.text, t.cut = append(t.text[:0], t.text[over:]...), true
	}
	return len(p), nil
}

func (t *tail) quote() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := shortenStacks(strings.TrimSpace(strings.ToValidUTF8(string(t.text), "\ufffd")), t.root)
	switch {
	case text == "":
		return ""
	case t.cut:
		text = "… " + text
	}
	return "\nStandard error of the server:\n" + text
}

// shortenStacks replaces the stacks of panics by their place in the project. A handler that panics logs its
// stack in quotes; a crash prints the stacks of all goroutines.
func shortenStacks(text, root string) string {
	stacks := regexp.MustCompile(`(?s) stack="((?:[^"\\]|\\.)*)"?|\n\ngoroutine \d+ .*`)
	return stacks.ReplaceAllStringFunc(text, func(stack string) string {
		file, line := trial.CrashPlace(root, strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(stack))
		if file == "" {
			return ""
		}
		return fmt.Sprintf(" at %s:%d", file, line)
	})
}

// BuildInput is the input of build.
type BuildInput struct {
	Accept    []string `json:"accept,omitempty"`     // Commands whose stored events may become unreadable
	NoCompile bool     `json:"no_compile,omitempty"` // Only derive and check types
	Common
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
	LeftOut     string                 `json:"leftOut,omitempty"`     // What the short form leaves out
}

// Short returns the short form of the build.
//
//petrock:ignore
func (b *BuildOutput) Short(most int) any {
	c := &engine.Cutter{Most: most}
	s := *b
	s.Derived = c.Files(b.Derived)
	s.Refused = c.Diagnostics(b.Refused, "error")
	s.Diagnostics = c.Diagnostics(b.Diagnostics, "error")
	s.Warnings = c.Diagnostics(b.Warnings, "warning")
	s.LeftOut = c.LeftOut()
	return &s
}

// Build updates derived files and compiles the server. Run it after editing Go files without petrock.
//
//petrock:hints additive idempotent closed-world
func (t *Tools) Build(ctx context.Context, in BuildInput) (*mcp.ToolResult, error) {
	return withProject(WithDetail(ctx, in.Detail), t, in.Dir, func(p *openProject) (*BuildOutput, error) {
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

// addDiagnostics adds compiler errors that do not prevent deriving.
func (b *BuildOutput) addDiagnostics(found []typecheck.Diagnostic) {
	for _, d := range found {
		if !slices.ContainsFunc(b.Refused, func(other typecheck.Diagnostic) bool { return other.String() == d.String() }) {
			b.Diagnostics = append(b.Diagnostics, d)
		}
	}
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

// build updates derived files, and compiles the project's server or checks types. The result contains
// errors in the project's Go code.
func (o *openProject) build(ctx context.Context, in BuildInput) (*BuildOutput, error) {
	synced, err := o.engine.Sync(ctx, engine.Options{Accept: in.Accept, Saved: in.NoCompile})
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
		built.addDiagnostics(found)
		built.OK = len(built.Refused)+len(found) == 0
		return built, err
	}
	o.engine.Step("compiling")
	root, name := o.engine.Root(), o.engine.Name()
	program := filepath.Join(root, ".petrock", "bin", name)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := makeFolder(root, ".petrock/bin"); err != nil {
		return nil, err
	}
	_, errOut, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{Dir: root}, "go", "build", "-o", program, "./"+path.Join("cmd", name))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		found, checkErr := typecheck.CheckPackages(ctx, typecheck.BuildOptions{Dir: root})
		if checkErr != nil {
			return nil, checkErr
		}
		built.addDiagnostics(o.engine.WithSource(found.Diagnostics))
		if len(found.Diagnostics) == 0 {
			return nil, fmt.Errorf("%w\n%s", err, bytes.TrimSpace(errOut))
		}
		return built, nil
	}
	built.Program, built.OK = program, len(built.Refused) == 0
	return built, nil
}

// makeFolder creates a folder of a project if it does not exist. It refuses a link out of the project.
func makeFolder(root, folder string) error {
	opened, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer opened.Close()
	if err := opened.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("create folder %s: %w; remove the file or link at this path", folder, err)
	}
	created, err := opened.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("open folder %s: %w; remove the file or link at this path", folder, err)
	}
	return created.Close()
}
