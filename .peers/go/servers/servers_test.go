// Package servers_test tests petrock's client with third-party servers: the examples of the
// official Go SDK and of mcp-go, and the reference servers on npm.
package servers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/client/testdata/watch"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// patience is the timeout for events that must happen.
const patience = 10 * time.Second

var (
	scratch string // temporary folder for programs
	root    string // root of the client: a folder in scratch
)

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "petrock-servers"); err != nil {
		panic(err)
	}
	root = filepath.Join(scratch, "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		panic(err)
	}
	flag.Parse()
	status := m.Run()
	os.RemoveAll(scratch)
	os.Exit(status)
}

var (
	building sync.Mutex
	built    = map[string]string{}
)

// build builds a program of a required module, once, and returns its path.
func build(t *testing.T, pkg string) string {
	t.Helper()
	return buildOnce(t, pkg, pkg)
}

// buildAt is [build] for a program with a fixed address, which it replaces.
func buildAt(t *testing.T, pkg, written, address string) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		t.Fatalf("finding %s: %v", pkg, err)
	}
	sources, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*.go"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("finding the files of %s: %v", pkg, err)
	}
	changed, copies := false, t.TempDir()
	var files []string
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		other := bytes.ReplaceAll(text, []byte(written), []byte(address))
		changed = changed || !bytes.Equal(text, other)
		files = append(files, filepath.Join(copies, filepath.Base(source)))
		if err := os.WriteFile(files[len(files)-1], other, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !changed {
		t.Fatalf("%s no longer contains %s", pkg, written)
	}
	return buildOnce(t, pkg+" "+address, files...)
}

func buildOnce(t *testing.T, key string, args ...string) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	if built[key] == "" {
		program := filepath.Join(scratch, fmt.Sprintf("server%d", len(built)))
		if out, err := exec.Command("go", append([]string{"build", "-o", program}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", key, err, out)
		}
		built[key] = program
	}
	return built[key]
}

// freeAddress returns a free local address.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// serve starts a server and waits until it listens at an address. The server is killed at the end
// of the test.
func serve(t *testing.T, address string, cmd *exec.Cmd) {
	t.Helper()
	said := &text{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("the server wrote:\n%s", said)
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the server exited before it listened: %v", err)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not listen at %s: %v", address, err)
		}
	}
}

// text is a buffer that is safe for concurrent use.
type text struct {
	mu sync.Mutex
	b  strings.Builder
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// A way is a way to connect to a server: by a command, or by a URL.
type way struct {
	name    string
	command client.Command
	address string
	sse     bool
	wishes  []mcp.Revision // to request; "" negotiates
	best    mcp.Revision   // the negotiated revision
}

// inSessions returns a way to a server that has only revisions with a handshake.
func (w way) inSessions() way {
	w.wishes, w.best = handshakes, mcp.LatestHandshake
	return w
}

// as returns the way under another name.
func (w way) as(name string) way {
	w.name = name
	return w
}

func overStdio(program string, args ...string) way {
	return way{name: "stdio", command: client.Command{Program: program, Args: args}, wishes: either, best: mcp.Latest}
}

func overHTTP(address string) way {
	return way{name: "http", address: address, wishes: either, best: mcp.Latest}
}

func overSSE(address string) way {
	return way{name: "sse", address: address, sse: true}.inSessions()
}

var (
	// handshakes has "" and each revision with a handshake.
	handshakes = []mcp.Revision{"", mcp.Revision20251125, mcp.Revision20250618, mcp.Revision20250326, mcp.Revision20241105}
	// either has the stateless revision too.
	either = append([]mcp.Revision{"", mcp.Latest}, handshakes[1:]...)
)

// inEach runs a test over each way, with each of its revisions.
func inEach(t *testing.T, ways []way, f func(*testing.T, *client.Client, *ears)) {
	t.Helper()
	for _, w := range ways {
		for _, wish := range w.wishes {
			name, want := string(wish), wish
			if wish == "" {
				name, want = "whatever", w.best
			}
			t.Run(w.name+" "+name, func(t *testing.T) {
				o, e := listening(t)
				o.Revision = wish
				c := connect(t, w, o)
				if c.Revision() != want {
					t.Errorf("revision %s, want %s", c.Revision(), want)
				}
				f(t, c, e)
			})
		}
	}
}

// callLogged calls a tool, and requests all log messages.
func callLogged(t *testing.T, c *client.Client, tool string) {
	t.Helper()
	params := map[string]any{"name": tool}
	if c.Revision() == mcp.Latest {
		params["_meta"] = map[string]any{mcp.MetaLogLevel: mcp.LevelDebug}
	} else if err := c.Request(t.Context(), "logging/setLevel", map[string]any{"level": mcp.LevelDebug}, nil); err != nil {
		t.Errorf("setting the level: %v", err)
	}
	if err := c.Request(t.Context(), "tools/call", params, nil); err != nil {
		t.Errorf("%s: %v", tool, err)
	}
}

// completeResource returns completions for a variable of a resource template.
func completeResource(t *testing.T, c *client.Client, template, variable, prefix string) []string {
	t.Helper()
	return complete(t, c, map[string]any{
		"ref":      map[string]string{"type": "ref/resource", "uri": template},
		"argument": map[string]string{"name": variable, "value": prefix},
	})
}

// completePrompt returns the completions of an argument of a prompt. known are the other arguments.
func completePrompt(t *testing.T, c *client.Client, prompt, argument, prefix string, known map[string]string) []string {
	t.Helper()
	params := map[string]any{
		"ref":      map[string]string{"type": "ref/prompt", "name": prompt},
		"argument": map[string]string{"name": argument, "value": prefix},
	}
	if known != nil {
		params["context"] = map[string]any{"arguments": known}
	}
	return complete(t, c, params)
}

func complete(t *testing.T, c *client.Client, params map[string]any) []string {
	t.Helper()
	var result struct {
		Completion struct {
			Values []string `json:"values"`
		} `json:"completion"`
	}
	if err := c.Request(t.Context(), "completion/complete", params, &result); err != nil {
		t.Fatalf("complete %v: %v", params, err)
	}
	return result.Completion.Values
}

// subscribe subscribes to a resource and, in stateless revisions, to changes of the lists.
func subscribe(t *testing.T, c *client.Client, e *ears, uri string) (stop func()) {
	t.Helper()
	end, err := e.Subscribe(t.Context(), c, uri)
	if err != nil {
		t.Fatalf("subscribing: %v", err)
	}
	return func() {
		t.Helper()
		if err := end(); err != nil {
			t.Errorf("unsubscribing: %v", err)
		}
	}
}

// connect connects to a server, and closes the connection at the end of the test.
func connect(t *testing.T, w way, o client.Options) *client.Client {
	t.Helper()
	said := &text{}
	var c *client.Client
	var err error
	began := time.Now()
	if w.address == "" {
		cmd := w.command
		cmd.Stderr = said
		c, err = client.Start(t.Context(), cmd, o)
	} else {
		c, err = clienthttp.Dial(t.Context(), clienthttp.Server{URL: w.address, SSE: w.sse}, o)
	}
	if err != nil {
		t.Fatalf("connecting: %v\nthe server wrote:\n%s", err, said)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("connecting took %v", took)
	}
	t.Cleanup(func() {
		began := time.Now()
		if err := c.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("closing took %v", took)
		}
		if t.Failed() {
			t.Logf("the server wrote:\n%s", said)
		}
	})
	return c
}

type logMessage struct{ level, data string }

// ears receive notifications and questions to a client.
type ears struct {
	*watch.Watcher
	logged    chan logMessage
	updated   chan string // resources
	changed   chan string // lists
	asked     chan string // summaries of questions
	fill      chan string // answers to the next forms; without one, a form is declined
	roots     []mcp.Root
	forgotten chan struct{} // receives a value for each cancelled question
	forgiven  string        // a warning that does not fail the test
}

// listening returns options of a client that answers all questions and sends everything to e.
// Warnings of the client fail the test.
func listening(t *testing.T) (client.Options, *ears) {
	t.Helper()
	e := &ears{
		Watcher: watch.New(), logged: make(chan logMessage, 100), updated: make(chan string, 100), changed: make(chan string, 100), asked: make(chan string, 100),
		fill: make(chan string, 10), roots: []mcp.Root{{URI: "file://" + root, Name: "peers"}}, forgotten: make(chan struct{}, 10),
	}
	complaints := &text{}
	t.Cleanup(func() {
		for line := range strings.Lines(complaints.String()) {
			if e.forgiven == "" || !strings.Contains(line, e.forgiven) {
				t.Errorf("warning of the client: %s", line)
			}
		}
	})
	e.Changed = func(list string) { offer(e.changed, list) }
	e.Updated = func(uri string) { offer(e.updated, uri) }
	e.Logged = func(level, data string) { offer(e.logged, logMessage{level, data}) }
	return client.Options{
		Info:         mcp.Implementation{Name: "petrock-peer", Version: "1"},
		Logger:       slog.New(slog.NewTextHandler(complaints, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Notification: e.Notification,
		Roots: func(context.Context) ([]mcp.Root, error) {
			offer(e.asked, "roots")
			return e.roots, nil
		},
		OpenURL: func(_ context.Context, u *mcp.URLElicitation) error {
			offer(e.asked, u.URL)
			u.Action = mcp.ActionAccept
			return nil
		},
		Elicit: e.elicit,
		Sample: func(_ context.Context, s *mcp.Sampling) error {
			said := ""
			if len(s.Messages) > 0 {
				if text, ok := s.Messages[0].Content[0].(mcp.Text); ok {
					said = text.Text
				}
			}
			offer(e.asked, said)
			s.Answer = mcp.SampledMessage{Role: mcp.RoleAssistant, Model: "parrot", StopReason: "endTurn", Content: []mcp.Content{mcp.Text{Text: "You said: " + said}}}
			return nil
		},
	}, e
}

// elicit answers a form with the next value of fill. With "wait", it waits until the question is
// cancelled.
func (e *ears) elicit(ctx context.Context, form *mcp.Elicitation) error {
	offer(e.asked, form.Message)
	select {
	case filled := <-e.fill:
		if filled == "wait" {
			<-ctx.Done()
			offer(e.forgotten, struct{}{})
			return ctx.Err()
		}
		form.Action, form.Content = mcp.ActionAccept, json.RawMessage(filled)
	default:
		form.Action = mcp.ActionDecline
	}
	return nil
}

// offer sends a value unless the channel is full.
func offer[T any](c chan<- T, v T) {
	select {
	case c <- v:
	default:
	}
}

// receive waits for a value from c.
func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("no %s within %v", what, patience)
		panic("unreachable")
	}
}

// await waits for a certain value, and skips others.
func await[T comparable](t *testing.T, c <-chan T, want T) {
	t.Helper()
	for {
		if receive(t, c, fmt.Sprint(want)) == want {
			return
		}
	}
}

// must fails the test on an error.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// call calls a tool and returns its text. It fails the test on any error.
func call(t *testing.T, c *client.Client, name string, arguments any, options ...client.CallOption) string {
	t.Helper()
	result := called(t, c, name, arguments, options...)
	if result.IsError {
		t.Fatalf("%s returned %s", name, result.Text())
	}
	return result.Text()
}

// called calls a tool. It fails the test on a protocol error.
func called(t *testing.T, c *client.Client, name string, arguments any, options ...client.CallOption) *mcp.ToolResult {
	t.Helper()
	result, err := c.CallTool(t.Context(), name, arguments, options...)
	if err != nil {
		t.Fatalf("calling %s: %v", name, err)
	}
	return result
}

// same fails the test unless got equals want.
func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// has fails the test unless a text contains another.
func has(t *testing.T, what, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%s: got %q, want %q in it", what, got, want)
	}
}

// fails fails the test unless err is an error of the server with one of the codes.
func fails(t *testing.T, what string, err error, codes ...jsonrpc.Code) {
	t.Helper()
	var e *jsonrpc.Error
	if !errors.As(err, &e) || !slices.Contains(codes, e.Code) {
		t.Errorf("%s: got the error %v, want one of code %v", what, err, codes)
	}
}

// toolNames returns the names of all tools.
func toolNames(t *testing.T, c *client.Client) []string {
	t.Helper()
	var names []string
	for _, tool := range must[[]mcp.Tool](t)(c.Tools(t.Context())) {
		names = append(names, tool.Name)
	}
	return names
}
