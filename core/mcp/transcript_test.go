package mcp_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
)

// update rewrites the transcripts: go test ./core/mcp -run Transcripts -update.
var update = flag.Bool("update", false, "rewrite the transcripts")

// TestTranscripts replays the sessions of testdata/transcripts. In each archive, the section
// "client" has the messages of the client, and a section for each revision has the whole session: >
// marks sent messages, < marks the answers.
//
// A line of "client" is sent as it is, with $REVISION replaced, unless it begins with
//
//	@init [JSON]   the handshake, with these capabilities; its answer is left out
//	@raw "text"    the text between the quotes, in Go's syntax
//	@big N         a ping of N bytes
//	@deep N        a ping with params nested N deep
//	@advance D     lets time pass
//	@add NAME      the server adds a tool of that name
//	@remove NAME   the server removes it
//	@updated URI   the server reports that a resource has changed
//	@updated-all T the same for all resources whose URIs begin with T
//	@stop          the server is shut down
//	@eof           the client closes its input
//	#              a comment
//
// Values that differ in each run are replaced: a requestState by $STATE1, $STATE2 and so on, which
// the client can also send, and an elicitationId by $ID. $ASKED is the id of the latest request of
// the server.
//
// Further sections configure the test:
//
//	page           the page size
//	asking         adds the tools that ask
//	typed          adds typed Go functions
//	only           the revisions to run
//	also           revisions to run without a handshake; the test adds the _meta that they need
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/transcripts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d transcripts, %v; want at least one", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { testTranscript(t, file) })
	}
}

func testTranscript(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	revisions := mcp.HandshakeRevisions()
	if slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return f.Name == "only" }) {
		revisions = revisionsOf(archive, "only")
	}
	also := revisionsOf(archive, "also")
	for _, revision := range append(revisions, also...) {
		t.Run(string(revision), func(t *testing.T) {
			var got string
			synctest.Test(t, func(t *testing.T) {
				p := newSession(t, section(archive, "page"), section(archive, "asking") != "")
				if section(archive, "typed") != "" {
					addTyped(t, p.server)
				}
				p.stateless = slices.Contains(also, revision)
				got = p.run(strings.ReplaceAll(section(archive, "client"), "$REVISION", string(revision)))
			})
			want := section(archive, string(revision))
			switch {
			case *update:
				setSection(archive, string(revision), got)
			case got != want:
				t.Errorf("the conversation is\n%s\nand should be\n%s", got, want)
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func revisionsOf(a *txtar.Archive, name string) []mcp.Revision {
	var list []mcp.Revision
	for _, r := range strings.Fields(section(a, name)) {
		list = append(list, mcp.Revision(r))
	}
	return list
}

func section(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func setSection(a *txtar.Archive, name, text string) {
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		i = len(a.Files)
		a.Files = append(a.Files, txtar.File{Name: name})
	}
	a.Files[i].Data = []byte(text)
}

// A session is a connection with a server that records all messages.
type session struct {
	t      *testing.T
	server *mcp.Server
	in     *io.PipeWriter
	out    output
	script strings.Builder
	stop   context.CancelFunc
	ended  chan error

	stateless bool     // without a handshake
	states    []string // all received requestStates
	asked     string   // the id of the latest request of the server
}

func newSession(t *testing.T, pageSize string, asking bool) *session {
	size, _ := strconv.Atoi(strings.TrimSpace(pageSize))
	p := &session{t: t, server: fixture.New(t, mcp.Options{
		PageSize:     size,
		Instructions: "Add before you subtract.",
		Logger:       slog.New(slog.DiscardHandler),
	}), ended: make(chan error, 1)}
	if asking {
		for name, handler := range fixture.AskingTools() {
			if err := p.server.AddTool(mcp.Tool{Name: name}, handler); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, w := io.Pipe()
	p.in = w
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go func() {
		p.ended <- p.server.Serve(ctx, jsonrpc.NewLines(r, &p.out, jsonrpc.LinesOptions{}))
	}()
	return p
}

func (p *session) run(client string) string {
	for line := range strings.Lines(client) {
		line = strings.TrimSuffix(line, "\n")
		if line != "" && line[0] == '#' {
			continue
		}
		p.step(line)
	}
	p.in.Close()
	defer p.stop()
	if err := <-p.ended; err != nil {
		p.t.Errorf("serving: %v", err)
	}
	p.recordOutput()
	return p.script.String()
}

func (p *session) step(line string) {
	directive, argument, _ := strings.Cut(line, " ")
	switch directive {
	case "@init":
		if p.stateless {
			return
		}
		capabilities := cmp.Or(argument, "{}")
		p.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"` + p.revision() + `","capabilities":` + capabilities + `,"clientInfo":{"name":"c","version":"1"}}}`)
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		synctest.Wait()
		p.out.take()
		return
	case "@raw":
		raw, err := strconv.Unquote(argument)
		if err != nil {
			p.t.Fatalf("%s: %v", line, err)
		}
		p.send(raw)
	case "@big":
		size, _ := strconv.Atoi(argument)
		head, tail := `{"jsonrpc":"2.0","method":"ping","params":{"pad":"`, `"},"id":"big"}`
		p.send(head + strings.Repeat("x", size-len(head)-len(tail)) + tail)
	case "@deep":
		levels, _ := strconv.Atoi(argument)
		p.send(`{"jsonrpc":"2.0","method":"ping","params":` + strings.Repeat(`{"a":`, levels-2) + "{}" + strings.Repeat("}", levels-2) + `,"id":"deep"}`)
	case "@advance":
		d, err := time.ParseDuration(argument)
		if err != nil {
			p.t.Fatalf("%s: %v", line, err)
		}
		time.Sleep(d)
	case "@add":
		if err := p.server.AddTool(mcp.Tool{Name: argument}, fixture.Nothing); err != nil {
			p.t.Fatal(err)
		}
	case "@remove":
		p.server.RemoveTool(argument)
	case "@updated":
		p.server.ResourceUpdated(argument)
	case "@updated-all":
		p.server.ResourcesUpdated(func(uri string) bool { return strings.HasPrefix(uri, argument) })
	case "@stop":
		p.stop()
	case "@eof":
		p.in.Close()
	default:
		sent := line
		for i, state := range p.states {
			sent = strings.ReplaceAll(sent, fmt.Sprintf("$STATE%d", i+1), state)
		}
		sent = strings.ReplaceAll(sent, "$ASKED", cmp.Or(p.asked, "0"))
		if p.stateless {
			sent = p.addMeta(sent)
		}
		p.send(sent)
		line = "> " + line
	}
	fmt.Fprintln(&p.script, line)
	p.recordOutput()
}

// revision returns the revision of the session, which is the last element of the test's name.
func (p *session) revision() string { return p.t.Name()[strings.LastIndex(p.t.Name(), "/")+1:] }

func (p *session) send(line string) {
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatalf("sending %s: %v", line, err)
	}
}

// recordOutput records the output of the server until all goroutines are blocked.
func (p *session) recordOutput() {
	synctest.Wait()
	for line := range strings.Lines(p.out.take()) {
		line = regexp.MustCompile(`"requestState":"[^"]*"`).ReplaceAllStringFunc(line, func(state string) string {
			p.states = append(p.states, strings.Split(state, `"`)[3])
			return fmt.Sprintf(`"requestState":"$STATE%d"`, len(p.states))
		})
		line = regexp.MustCompile(`"elicitationId":"[^"]*"`).ReplaceAllString(line, `"elicitationId":"$$ID"`)
		if request := regexp.MustCompile(`^{"jsonrpc":"2.0","id":(\d+),"method":`).FindStringSubmatch(line); request != nil {
			p.asked = request[1]
		}
		fmt.Fprintf(&p.script, "< %s", line)
	}
}

// addMeta adds the _meta of the stateless era to a request, unless it has some of it. It does not
// change notifications and invalid JSON.
func (p *session) addMeta(line string) string {
	var message map[string]any
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	if d.Decode(&message) != nil || message["id"] == nil || message["method"] == nil || strings.Contains(line, "io.modelcontextprotocol/") {
		return line
	}
	params, ok := message["params"].(map[string]any)
	if _, given := message["params"]; given && !ok {
		return line
	}
	if !ok {
		params = map[string]any{}
	}
	meta, ok := params["_meta"].(map[string]any)
	if _, given := params["_meta"]; given && !ok {
		return line
	}
	if !ok {
		meta = map[string]any{}
	}
	meta["io.modelcontextprotocol/protocolVersion"] = mcp.Revision20260728
	meta["io.modelcontextprotocol/clientCapabilities"] = map[string]any{}
	params["_meta"], message["params"] = meta, params
	sent, err := json.Marshal(message)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(sent)
}

// output collects the unread output of the server.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.buf.Reset()
	return o.buf.String()
}
