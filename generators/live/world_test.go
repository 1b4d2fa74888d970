package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/testdata/watch"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/plumbing/project"
)

// The test binary is also the servers that the tests run.
const (
	serverVariable     = "PETROCK_LIVE_SERVER"
	supervisorVariable = "PETROCK_LIVE_SUPERVISOR"
)

func TestMain(m *testing.M) {
	if Guard() {
		return
	}
	serve := serveTest
	switch {
	case os.Getenv(supervisorVariable) != "":
		os.Unsetenv(supervisorVariable)
		serve = superviseTest
	case os.Getenv(serverVariable) != "":
	default:
		os.Setenv(serverVariable, "1")
		os.Exit(fixture.Run(m))
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// stateKey is the key of all servers.
const stateKey = "0123456789abcdef0123456789abcdef"

type none struct{}

// An action is the input of petrock_log.
type action struct {
	Action string `json:"action"`
}

// A status is the output of tools of the dev server.
type status struct {
	OK   bool   `json:"ok"`
	Text string `json:"text"`
}

// serveTest serves the tools that the file tools lists, one a line. Without arguments after mcp it
// is the project's server, else the dev server.
func serveTest() error {
	o := mcp.Options{Instructions: "Be brief.", StateKey: []byte(os.Getenv("HELLO_STATE_KEY"))}
	if how, err := os.ReadFile("endless"); err == nil {
		o.Hook = endless(string(how))
	}
	server := mcp.NewServer(mcp.Implementation{Name: "hello", Version: "1"}, o)
	if slices.Contains(os.Args, "--prefix") {
		return errors.Join(
			mcp.AddTool(server, mcp.Tool{Name: "petrock_build"}, func(context.Context, struct {
				NoCompile bool `json:"no_compile,omitempty"`
			}) (string, error) {
				for {
					if _, err := os.Stat(".busy"); err != nil {
						return "derived", nil
					}
					time.Sleep(time.Millisecond)
				}
			}),
			mcp.AddTool(server, mcp.Tool{Name: "petrock_add"}, func(_ context.Context, in struct{ Name string }) (string, error) {
				f, err := os.OpenFile("tools", os.O_APPEND|os.O_WRONLY, 0)
				if err == nil {
					_, err = f.WriteString(in.Name + "\n")
					err = errors.Join(err, f.Close())
				}
				return "added", err
			}),
			mcp.AddTool(server, mcp.Tool{Name: "petrock_log"}, func(_ context.Context, in action) (status, error) {
				return status{true, in.Action}, nil
			}),
			mcp.AddTool(server, mcp.Tool{Name: "petrock_data"}, func(ctx context.Context, in action) (string, error) {
				for _, err := os.Stat(".hold"); err == nil && ctx.Err() == nil; _, err = os.Stat(".hold") {
					time.Sleep(time.Millisecond)
				}
				running, err := filepath.Glob("running-*")
				return fmt.Sprintf("%d servers have %s open", len(running), os.Getenv("HELLO_DATA")), err
			}),
			mcp.AddTool(server, mcp.Tool{Name: "petrock_project_status"}, func(context.Context, none) (status, error) { return status{true, "all is well"}, nil }),
			mcp.AddTool(server, mcp.Tool{Name: "petrock_list_components"}, func(context.Context, none) (string, error) { return "components", nil }),
			mcp.AddResource(server, mcp.Resource{URI: "petrock://project", Name: "project"}, func(context.Context) (string, error) { return "petrock's", nil }),
			server.ServeStdio(context.Background(), os.Stdout),
		)
	}
	if _, err := os.Stat("rogue"); err == nil { // it and its child ignore the end of its input
		if err := exec.Command("setsid", "sleep", "1000").Start(); err != nil {
			return err
		}
		defer func() { select {} }()
	}
	if _, err := os.Stat("fixture"); err == nil {
		return serveFixture()
	}
	listed, err := os.ReadFile("tools")
	if err != nil {
		return err
	}
	open := fmt.Sprint("running-", os.Getpid())
	if err := os.WriteFile(open, nil, 0o644); err != nil {
		return err
	}
	defer os.Remove(open)
	readOnly := ""
	for _, arg := range os.Args {
		if reason, ok := strings.CutPrefix(arg, "--read-only="); ok {
			readOnly = reason
		}
	}
	for stuck, _ := os.ReadFile(".stuck"); string(stuck) == "hang" && readOnly == ""; stuck, _ = os.ReadFile(".stuck") {
		time.Sleep(time.Millisecond)
	}
	if stuck, err := os.ReadFile(".stuck"); err == nil && (readOnly == "" || string(stuck) == "all") {
		return errors.New("hello: event 8 of the log cannot be read\nthe remedy\nshow it")
	}
	for _, name := range strings.Fields(string(listed)) {
		switch name {
		case "refuse":
			if readOnly == "" { // otherwise an earlier build, without this line
				return errors.New("a log line\nhello: event 7 of the log cannot be read: this server does not start\nthe remedy\nshow it\nmap it\nskip it\nand more")
			}
		case "hang":
			select {}
		}
		err = errors.Join(err, mcp.AddTool(server, mcp.Tool{Name: name}, func(context.Context, none) (string, error) {
			return fmt.Sprintf("%s of process %d", name, os.Getpid()), nil
		}))
	}
	return errors.Join(err,
		mcp.AddTool(server, mcp.Tool{Name: "crash"}, func(context.Context, none) (string, error) {
			go func() { panic("boom") }()
			select {}
		}),
		mcp.AddTool(server, mcp.Tool{Name: "write"}, func(context.Context, none) (string, error) {
			if readOnly != "" {
				return "", errors.New(readOnly)
			}
			return "written", nil
		}),
		mcp.AddTool(server, mcp.Tool{Name: "panic"}, func(context.Context, none) (string, error) { panic("not so bad") }),
		mcp.AddTool(server, mcp.Tool{Name: "wait"}, func(ctx context.Context, _ none) (string, error) {
			mcp.Progress(ctx, 1, 2, "waiting")
			for {
				if _, err := os.Stat("go-on"); err == nil {
					return fmt.Sprintf("waited in process %d", os.Getpid()), nil
				}
				select {
				case <-ctx.Done():
					_ = os.WriteFile("cancelled", nil, 0o644)
					return "", ctx.Err()
				case <-time.After(time.Millisecond):
				}
			}
		}),
		mcp.AddTool(server, mcp.Tool{Name: "ask"}, func(ctx context.Context, _ none) (string, error) {
			mcp.Logger(ctx).Warn("asking")
			question := &mcp.Sampling{Key: "q", MaxTokens: 10, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: []mcp.Content{mcp.Text{Text: "hi"}}}}}
			roots := &mcp.RootList{Key: "r"}
			if err := mcp.Ask(ctx, question, roots); err != nil {
				return "", err
			}
			return question.Answer.Text() + " " + roots.Roots[0].URI, nil
		}),
		mcp.AddResource(server, mcp.Resource{URI: "note://1", Name: "note"}, func(context.Context) (string, error) { return "a note", nil }),
		mcp.AddTool(server, mcp.Tool{Name: "features"}, func(context.Context, none) (string, error) {
			executable, err := os.Executable()
			if err != nil {
				return "", err
			}
			stamp, err := project.Stamp(executable)
			return strings.Replace(os.Getenv("HELLO_FEATURES"), stamp, "this executable:", 1), err
		}),
		mcp.AddTool(server, mcp.Tool{Name: "touch"}, func(context.Context, none) (string, error) {
			server.ResourceUpdated("note://1")
			return "", nil
		}),
		server.ServeStdio(context.Background(), os.Stdout),
	)
}

// endless returns a hook that gives tools/list endless pages.
func endless(how string) mcp.Hook {
	pages := 0
	return func(ctx context.Context, c *mcp.Call, next func(context.Context) (any, error)) (any, error) {
		if c.Method != "tools/list" || slices.Contains(os.Args, "--prefix") {
			return next(ctx)
		}
		pages++
		cursor, description := fmt.Sprint(pages), ""
		switch how {
		case "same":
			cursor = "again"
		case "large":
			description = strings.Repeat("x", 4<<20)
		}
		return json.RawMessage(fmt.Sprintf(`{"tools":[{"name":"t%d","description":"%s","inputSchema":{"type":"object"}}],"nextCursor":"%s"}`, pages, description, cursor)), nil
	}
}

// A world is a project whose builds are made up: the program is this test, and its tools are the
// lines of the file tools.
type world struct {
	t    *testing.T
	root string
	sup  *Supervisor
	log  *lockedBuffer

	mu      sync.Mutex
	blocked chan struct{} // closed when builds may go on; nil if they may
	failure error         // of builds
	changes chan struct{}

	args                   []string // of the project's server
	noPetrock              bool
	stored                 *builder // keeps an executable for each program; nil for this test's alone
	alone                  bool     // no other test runs
	slowStart, firstAnswer time.Duration
	listed                 func() error // called after the features were listed; nil does nothing
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newWorld(t *testing.T, prepare ...func(*world)) *world {
	t.Helper()
	w := &world{t: t, root: t.TempDir(), log: &lockedBuffer{}, changes: make(chan struct{}, 1), slowStart: 10 * time.Second, firstAnswer: time.Minute}
	w.write("tools", "one\n")
	w.write("contract.json", `{"tools":{"one":{"name":"one","inputSchema":{"type":"object"}}}}`)
	for _, f := range prepare {
		f(w)
	}
	if !w.alone {
		t.Parallel()
	}
	w.sup = start(Options{Root: w.root, Name: "hello", Args: w.args, NoPetrock: w.noPetrock, Log: w.log, environ: append(os.Environ(), "HELLO_STATE_KEY="+stateKey)}, files{
		snapshot: func() (snapshot, error) { return takeSnapshot(w.root) },
		changes:  w.changes,
		build:    w.build,
		features: w.features,
		release: func(p program) {
			if w.stored != nil {
				w.stored.release(p)
			}
		},
		close:    func() error { return nil },
		patience: 200 * time.Millisecond, firstAnswer: w.firstAnswer, slowStart: w.slowStart,
	})
	t.Cleanup(func() {
		w.unblock()
		w.sup.Close()
		if t.Failed() {
			t.Logf("log:\n%s", w.log)
		}
	})
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.root, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// change writes a file and reports the change.
func (w *world) change(name, text string) {
	w.write(name, text)
	select {
	case w.changes <- struct{}{}:
	default:
	}
}

func (w *world) unblock() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.blocked != nil {
		close(w.blocked)
		w.blocked = nil
	}
}

// build makes a program whose id is the content of the file tools.
func (w *world) build(ctx context.Context, folder string) (program, error) {
	w.mu.Lock()
	blocked, failure := w.blocked, w.failure
	w.mu.Unlock()
	if blocked != nil {
		select {
		case <-blocked:
		case <-ctx.Done():
			return program{}, ctx.Err()
		}
	}
	if failure != nil {
		return program{}, failure
	}
	text, err := os.ReadFile(filepath.Join(w.root, "tools"))
	if folder == petrockFolder {
		text = nil
	}
	if w.stored != nil && err == nil {
		return w.store(path.Base(folder), text)
	}
	return program{path: os.Args[0], id: checksum(text)}, err
}

// store makes a program whose executable is a link to this test.
func (w *world) store(name string, text []byte) (program, error) {
	p := program{path: filepath.Join(w.stored.dir, fmt.Sprintf("%s-%x", name, checksum(text))), id: checksum(text)}
	if _, err := os.Stat(p.path); err == nil {
		return p, nil
	}
	return p, os.Symlink(os.Args[0], p.path)
}

// features returns the content of the file fingerprints.
func (w *world) features(context.Context) (string, error) {
	text, _ := os.ReadFile(filepath.Join(w.root, "fingerprints")) // it is optional
	w.mu.Lock()
	listed := w.listed
	w.mu.Unlock()
	if listed != nil {
		return string(text), listed()
	}
	return string(text), nil
}

// serve starts a session and returns the client's end.
func (w *world) serve() jsonrpc.Transport {
	ours, theirs := jsonrpc.Pipe()
	w.start(theirs, func() { ours.Close() })
	return ours
}

// serveLines is serve for a connection like that of a process: its Close ends the input only.
func (w *world) serveLines() jsonrpc.Transport {
	w.t.Helper()
	in, toServer, err := os.Pipe()
	fromServer, out, err2 := os.Pipe()
	if err := errors.Join(err, err2); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { fromServer.Close() })
	w.start(jsonrpc.NewLines(in, out, jsonrpc.LinesOptions{MaxMessage: MaxMessage}), func() { toServer.Close() })
	return jsonrpc.NewLines(struct{ io.Reader }{fromServer}, toServer, jsonrpc.LinesOptions{MaxMessage: MaxMessage})
}

// start starts a session, which end ends.
func (w *world) start(theirs jsonrpc.Transport, end func()) {
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- w.sup.Serve(ctx, theirs) }()
	w.t.Cleanup(func() {
		end()
		select {
		case err := <-ended:
			if err != nil {
				w.t.Errorf("serve: %v", err)
			}
		case <-time.After(20 * time.Second):
			w.t.Error("the session does not end")
		}
		cancel()
	})
}

func (w *world) connect(o client.Options) *client.Client {
	w.t.Helper()
	c, err := client.Over(w.t.Context(), w.serve(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return c
}

// watch connects a client that sends to changed when the list of tools has changed.
func (w *world) watch(revision mcp.Revision, changed chan<- struct{}) *client.Client {
	w.t.Helper()
	watcher := watch.New()
	watcher.Changed = func(list string) {
		if list == "tools" {
			changed <- struct{}{}
		}
	}
	c := w.connect(client.Options{Revision: revision, Notification: watcher.Notification})
	if _, err := watcher.Subscribe(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
	return c
}

func call(t *testing.T, c *client.Client, tool string) string {
	t.Helper()
	result, err := c.CallTool(t.Context(), tool, nil)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return result.Text()
}

func toolNames(t *testing.T, c *client.Client) []string {
	t.Helper()
	tools, err := c.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}

// receive waits for a value.
func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

func eachRevision(t *testing.T, run func(*testing.T, mcp.Revision)) {
	for _, revision := range mcp.Revisions() {
		t.Run(string(revision), func(t *testing.T) { run(t, revision) })
	}
}
