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
	"github.com/petrock/petrock/generators/typecheck"
)

// callLimit is how long a component may take to answer.
const callLimit = time.Minute

// CallInput is what call takes.
type CallInput struct {
	Name      string                     `json:"name"`                // Name of a tool, prompt or resource of the project, or the address of a resource
	Arguments map[string]json.RawMessage `json:"arguments,omitempty"` // What it is given
	Kind      CallKind                   `json:"kind,omitempty"`      // What the name is of; tool, or resource for an address, if it is left out
	Dir       string                     `json:"dir,omitempty"`       // Folder of the project
}

// A CallKind is a kind of component that can be called.
type CallKind string

// The kinds that can be called.
const (
	CallTool     CallKind = "tool"
	CallResource CallKind = "resource"
	CallPrompt   CallKind = "prompt"
)

// Call calls a tool of the project (or reads a resource, or fills in a prompt) in its real server, which is derived and
// built first if need be and runs as a process of its own, for this call alone. Use it to try what was just made.
//
//petrock:hints open-world
func (t *Tools) Call(ctx context.Context, in CallInput) (*mcp.ToolResult, error) {
	if t.options.NoExec {
		return Answer(ctx, nil, errors.New("running code is turned off here; start petrock mcp without --no-exec"))
	}
	program, dir, request, err := t.prepare(ctx, in)
	if err != nil {
		return Answer(ctx, nil, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callLimit, fmt.Errorf("%s did not answer within %v, and was stopped", in.Name, callLimit))
	defer cancel()
	server, err := start(ctx, program, dir)
	if err != nil {
		return failed(ctx, err)
	}
	result, err := request(ctx, server)
	server.Close() // so that all that it has to say is said
	if err != nil {
		return failed(ctx, err)
	}
	if said := server.errOut.quoted(); said != "" {
		result.Content = append(shown(result), text(strings.TrimSpace(said))...)
	}
	return result, nil
}

// failed answers with an error. One that ended the call's own context is said too, as the client still waits.
func failed(ctx context.Context, err error) (*mcp.ToolResult, error) {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		ctx, err = context.WithoutCancel(ctx), cause
	}
	return Answer(ctx, nil, err)
}

func shown(r *mcp.ToolResult) []mcp.Content {
	if len(r.Content) == 0 && r.StructuredContent != nil {
		return text(string(r.StructuredContent))
	}
	return r.Content
}

// A request is what a server is asked.
type request func(context.Context, *child) (*mcp.ToolResult, error)

// prepare builds the server, and finds out what to ask it.
func (t *Tools) prepare(ctx context.Context, in CallInput) (program, dir string, ask request, err error) {
	o, done, err := t.take(ctx, in.Dir)
	if err != nil {
		return "", "", nil, err
	}
	defer done()
	built, err := o.build(ctx, nil)
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
		ask = in.tool
	case CallPrompt:
		ask = in.plain("prompts/get", map[string]any{"name": in.Name, "arguments": in.Arguments})
	case CallResource:
		address, err := o.address(ctx, in)
		if err != nil {
			return "", "", nil, err
		}
		ask = in.plain("resources/read", map[string]any{"uri": address})
	}
	o.engine.Step("calling " + in.Name)
	return built.Program, o.engine.Root(), ask, nil
}

// tool calls a tool. If there is none of that name, the error tells those there are.
func (in CallInput) tool(ctx context.Context, server *child) (*mcp.ToolResult, error) {
	result, err := server.CallTool(ctx, in.Name, in.Arguments)
	if answered := (*jsonrpc.Error)(nil); err == nil || !errors.As(err, &answered) {
		return result, err
	}
	_, unknown := server.Tool(ctx, in.Name)
	if missing := (*client.NotFoundError)(nil); errors.As(unknown, &missing) {
		return nil, terminal.Usagef("the project has no tool %q; it has %s (resources and prompts are called with their kind)", in.Name, strings.Join(missing.Available, ", "))
	}
	if unknown != nil {
		return nil, errors.Join(err, unknown)
	}
	return nil, fmt.Errorf("%w%s", err, server.errOut.quoted())
}

func (in CallInput) plain(method string, params map[string]any) request {
	return func(ctx context.Context, server *child) (*mcp.ToolResult, error) {
		result := &mcp.ToolResult{}
		return result, server.Request(ctx, method, params, &result.StructuredContent)
	}
}

// address is where the resource is that is meant by its name and what it is given, or by its address.
func (o *opened) address(ctx context.Context, in CallInput) (string, error) {
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
			return "", terminal.Usagef("%s: a resource is given texts, got %s", name, raw)
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

// A child is a server that was started for a few calls.
type child struct {
	*client.Client
	errOut *tail
}

func start(ctx context.Context, program, dir string) (*child, error) {
	c := &child{errOut: &tail{}}
	var err error
	c.Client, err = client.Start(ctx, client.Command{Program: program, Args: []string{"mcp"}, Dir: dir, Stderr: c.errOut}, client.Options{
		Info:       mcp.Implementation{Name: "petrock", Version: generators.Version},
		Revision:   mcp.LatestHandshake, // whose results have nothing in them but what was asked for
		Timeout:    2 * callLimit,       // the context's limit comes first
		MaxMessage: 4 << 20,
	})
	return c, err
}

// A tail keeps the last of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
	cut  bool
}

// Write takes all, and keeps the last of it.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 8 << 10
	t.text = append(t.text, p...)
	if over := len(t.text) - most; over > 0 {
		t.text, t.cut = append(t.text[:0], t.text[over:]...), true
	}
	return len(p), nil
}

func (t *tail) quoted() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), "\ufffd"))
	switch {
	case text == "":
		return ""
	case t.cut:
		text = "… " + text
	}
	return "\nIts standard error:\n" + text
}

// BuildInput is what build takes.
type BuildInput struct {
	Accept []string `json:"accept,omitempty"` // Commands whose changed fields are recorded although stored events do not fit them
	Dir    string   `json:"dir,omitempty"`    // Folder of the project
}

// A Built is what came of a build.
type Built struct {
	OK          bool                   `json:"ok"`          // The server builds, and all derived files are fresh
	Program     string                 `json:"program"`     // The server, if it builds: run it with the argument mcp
	Derived     []engine.FileChange    `json:"derived"`     // Derived files that were stale, and are fresh now
	Refused     []typecheck.Diagnostic `json:"refused"`     // Why nothing could be derived from some packages, whose derived files stay as they are
	Diagnostics []typecheck.Diagnostic `json:"diagnostics"` // What the compiler says, if it does not build
	Warnings    []typecheck.Diagnostic `json:"warnings"`    // What had better be otherwise; first of all, what would make another state of a log when it is read again
	ToolsList   *engine.Size           `json:"toolsList"`   // What the list of tools costs a model
}

// Build derives what follows from the Go files (schemas, registration) and compiles the server. Run it after
// editing by hand.
//
//petrock:hints additive idempotent closed-world
func (t *Tools) Build(ctx context.Context, in BuildInput) (*mcp.ToolResult, error) {
	return on(ctx, t, in.Dir, func(p *opened) (*Built, error) {
		built, err := p.build(ctx, in.Accept)
		if err != nil {
			return nil, err
		}
		t.refresh(ctx, p)
		if !built.OK {
			return nil, built.refusal()
		}
		return built, nil
	})
}

func (b *Built) refusal() *engine.Refusal {
	return &engine.Refusal{
		Reason:      "the server does not build, or not all of it can be derived:",
		Diagnostics: append(slices.Clone(b.Refused), b.Diagnostics...),
		WayOut:      "Mend that, and build again.",
	}
}

// String is the build as a person reads it.
func (b *Built) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "Built %s\n", b.Program)
	for _, f := range b.Derived {
		fmt.Fprintf(&out, "  %s  %s (derived)\n", f.Action, f.Path)
	}
	if b.ToolsList != nil {
		fmt.Fprintln(&out, b.ToolsList)
	}
	for _, d := range b.Warnings {
		fmt.Fprintf(&out, "warning: %s\n", d)
	}
	return out.String()
}

// build makes the project's server. What is wrong with the project's Go is in the result.
func (o *opened) build(ctx context.Context, accept []string) (*Built, error) {
	synced, err := o.engine.Sync(ctx, engine.Options{Accept: accept})
	if refusal, ok := errors.AsType[*engine.Refusal](err); ok {
		synced, err = &engine.Result{Refused: append([]typecheck.Diagnostic{}, refusal.Diagnostics...)}, nil
		for _, conflict := range refusal.Conflicts {
			synced.Refused = append(synced.Refused, typecheck.Diagnostic{Message: conflict})
		}
	}
	if err != nil {
		return nil, err
	}
	built := &Built{Derived: synced.Files, Refused: synced.Refused, ToolsList: synced.ToolsList, Diagnostics: []typecheck.Diagnostic{}}
	built.Warnings = append(append([]typecheck.Diagnostic{}, synced.Impure...), synced.Warnings...)
	if built.Derived == nil {
		built.Derived = []engine.FileChange{}
	}
	o.engine.Step("compiling")
	root, name := o.engine.Root(), o.engine.Name()
	program := filepath.Join(root, ".petrock", "bin", name)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := inProject(root, ".petrock/bin"); err != nil {
		return nil, err
	}
	_, said, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{Dir: root}, "go", "build", "-o", program, "./"+path.Join("cmd", name))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		found, checkErr := typecheck.CheckPackages(ctx, typecheck.BuildOptions{Dir: root})
		if checkErr != nil {
			return nil, checkErr
		}
		if built.Diagnostics = found.Diagnostics; len(built.Diagnostics) == 0 {
			return nil, fmt.Errorf("%w\n%s", err, bytes.TrimSpace(said))
		}
		return built, nil
	}
	built.Program, built.OK = program, len(built.Refused) == 0
	return built, nil
}

// inProject makes a folder of a project, if it is not there, and refuses one that is a link to somewhere else.
func inProject(root, folder string) error {
	opened, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer opened.Close()
	if err := opened.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("the folder %s, where programs are built to: %w; remove it", folder, err)
	}
	made, err := opened.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("the folder %s, where programs are built to: %w; remove it", folder, err)
	}
	return made.Close()
}
