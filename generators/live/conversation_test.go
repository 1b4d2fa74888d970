package live

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
)

var (
	update = flag.Bool("update", false, "record the conversation again")
	long   = flag.Bool("long", false, "replace servers for a minute, and 1,000 times")
)

// The conversation of testdata/conversation.txtar is the same with the server itself, through
// petrock dev --no-petrock, and while the server is replaced.
func TestConversation(t *testing.T) {
	const file = "testdata/conversation.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	script, sections := archive.Files[0].Data, archive.Files[1:]
	if *update {
		sections = nil
		for _, revision := range append(mcp.Revisions(), "2099-01-01") {
			sections = append(sections, txtar.File{Name: string(revision)})
		}
	}
	t.Run("direct", func(t *testing.T) {
		for i := range sections {
			t.Run(sections[i].Name, func(t *testing.T) {
				talk := newConversation(newFixtureWorld(t), sections[i], script)
				talk.hold(talk.w.direct())
				sections[i].Data = []byte(strings.Join(talk.steps, ""))
			})
		}
	})
	if *update {
		archive.Files = append(archive.Files[:1], sections...)
		if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, section := range sections {
		t.Run("dev/"+section.Name, func(t *testing.T) {
			talk := newConversation(newFixtureWorld(t), section, script)
			talk.hold(talk.w.serveLines())
		})
		t.Run("replaced/"+section.Name, func(t *testing.T) {
			w := newFixtureWorld(t)
			interval, until := 50*time.Millisecond, time.Now()
			if *long {
				interval, until = time.Second, time.Now().Add(time.Minute)
			}
			replacements := 0
			for once := true; once || time.Now().Before(until); once = false {
				talk := newConversation(w, section, script)
				stop := talk.replace(interval)
				talk.hold(w.serveLines())
				replacements += stop()
			}
			t.Logf("the server was replaced %d times", replacements)
		})
	}
}

// steps splits a recorded conversation: each step begins with the line that was sent.
func steps(recorded []byte) (all []string) {
	for line := range strings.Lines(string(recorded)) {
		if line[0] != '<' {
			all = append(all, line)
		} else {
			all[len(all)-1] += line
		}
	}
	return all
}

// newFixtureWorld returns a world whose server is the fixture, and whose connections have no tools
// of petrock.
func newFixtureWorld(t *testing.T) *world {
	return newWorld(t, func(w *world) {
		w.noPetrock = true
		w.write("fixture", "")
	})
}

// serveFixture serves the fixture with everything that the conversation needs.
func serveFixture() error {
	server := fixture.New(fatal{}, mcp.Options{
		PageSize: 4, Instructions: "Be brief.", StateKey: []byte(os.Getenv("HELLO_STATE_KEY")),
		Logger: slog.New(slog.DiscardHandler),
	})
	for name, handler := range fixture.AskingTools() {
		if err := server.AddTool(mcp.Tool{Name: name}, handler); err != nil {
			return err
		}
	}
	err := server.AddTool(mcp.Tool{Name: "touch"}, fixture.Handler(func(context.Context) (string, error) {
		server.ResourceUpdated("note://readme")
		return "touched", nil
	}))
	if err != nil {
		return err
	}
	return server.ServeStdio(context.Background(), os.Stdout)
}

// fatal is a [testing.TB] of a program that is not a test.
type fatal struct{ testing.TB }

func (fatal) Helper() {}

func (fatal) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// A conversation of a client.
type conversation struct {
	w        *world
	revision mcp.Revision
	client   []string
	want     []string // nil to record
	steps    []string

	received chan string // closed at the end of the connection
	asked    string      // the id of the last request of the server
	began    bool        // initialize was sent

	still sync.Mutex // held while the server must not be replaced
}

// newConversation returns a conversation that must be like the recorded one, unless nothing is
// recorded.
func newConversation(w *world, recorded txtar.File, client []byte) *conversation {
	return &conversation{w: w, revision: mcp.Revision(recorded.Name), client: strings.Split(strings.TrimSpace(string(client)), "\n"), want: steps(recorded.Data)}
}

// replace replaces the server, again and again. stop ends that, and returns how often it happened.
func (v *conversation) replace(interval time.Duration) (stop func() int) {
	stopped, count := make(chan struct{}), make(chan int)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stopped:
				count <- n
				return
			case <-time.After(interval):
			}
			v.still.Lock()
			before := anyPeer(v.w.sup, serverKind)
			v.w.change("tools", strconv.FormatInt(time.Now().UnixNano(), 10))
			for isStopped := false; !isStopped; {
				if now := anyPeer(v.w.sup, serverKind); now != nil && now != before {
					break
				}
				select {
				case <-stopped:
					isStopped = true
				case <-time.After(5 * time.Millisecond):
				}
			}
			v.still.Unlock()
		}
	}()
	return func() int { close(stopped); return <-count }
}

// hold sends the messages of the client, and compares what it receives.
func (v *conversation) hold(wire jsonrpc.Transport) {
	v.w.t.Helper()
	v.received = make(chan string, 1000)
	go func() {
		defer close(v.received)
		for {
			raw, err := wire.Receive()
			if err != nil {
				return
			}
			v.received <- string(raw)
		}
	}()
	isStill := false
	for i, line := range v.client {
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case line == "@still":
			isStill = true
			continue
		}
		if isStill {
			v.still.Lock()
		}
		v.step(wire, line, i == len(v.client)-1)
		if isStill {
			v.still.Unlock()
			isStill = false
		}
	}
}

func (v *conversation) step(wire jsonrpc.Transport, line string, isLast bool) {
	v.w.t.Helper()
	sent := v.message(line)
	for _, one := range sent {
		if err := wire.Send([]byte(one)); err != nil {
			v.w.t.Fatal(err)
		}
	}
	record, expected := "> "+line+"\n", 0
	at := len(v.steps)
	switch {
	case v.want != nil && at >= len(v.want):
		v.w.t.Fatalf("the step %d is not recorded: %s", at, line)
	case v.want != nil:
		expected = strings.Count(v.want[at], "\n") - 1
	}
	var got []string
	if isLast {
		if err := wire.Close(); err != nil { // only its input
			v.w.t.Error(err)
		}
		for raw := range v.received {
			got = append(got, v.normal(raw))
		}
	} else {
		// All answers precede that to a fence, or follow it soon.
		if err := wire.Send([]byte(`{"jsonrpc":"2.0","id":"fence","method":"ping"}`)); err != nil {
			v.w.t.Fatal(err)
		}
		patience := 15 * time.Second
		for isFenced := false; !isFenced || len(got) < expected || v.want == nil; {
			select {
			case raw, ok := <-v.received:
				if !ok {
					v.w.t.Fatalf("the connection has ended after %s", line)
				}
				if strings.HasPrefix(raw, `{"jsonrpc":"2.0","id":"fence",`) {
					isFenced = true
					if v.want == nil {
						patience = 200 * time.Millisecond
					}
					continue
				}
				got = append(got, v.normal(raw))
				continue
			case <-time.After(patience):
			}
			break
		}
	}
	slices.Sort(got)
	for _, one := range got {
		record += "< " + one + "\n"
	}
	v.steps = append(v.steps, record)
	if v.want != nil && record != v.want[at] {
		v.w.t.Errorf("step %d: got\n%s\nwant\n%s", at, record, v.want[at])
	}
}

// message returns what is sent for a line.
func (v *conversation) message(line string) []string {
	directive, argument, _ := strings.Cut(line, " ")
	size, _ := strconv.Atoi(argument)
	padded := func(size int, id string) string {
		head, tail := `{"jsonrpc":"2.0","method":"ping","params":{"pad":"`, `"},"id":"`+id+`"}`
		return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
	}
	switch directive {
	case "@initialize":
		switch {
		case v.revision == mcp.Latest:
			return nil
		case v.began:
			return []string{`{"jsonrpc":"2.0","method":"notifications/initialized"}`}
		}
		v.began = true
		return []string{`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"` + string(v.revision) +
			`","capabilities":{"sampling":{},"roots":{},"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`}
	case "@raw":
		raw, err := strconv.Unquote(argument)
		if err != nil {
			v.w.t.Fatalf("%s: %v", line, err)
		}
		return []string{raw}
	case "@big":
		return []string{padded(size, "big")}
	case "@long":
		return []string{padded(jsonrpc.DefaultMaxMessage+1, strings.Repeat("i", size-2))}
	case "@deep":
		return []string{`{"jsonrpc":"2.0","method":"ping","params":` + strings.Repeat(`{"a":`, size-2) + "{}" + strings.Repeat("}", size-2) + `,"id":"deep"}`}
	case "@batch":
		return []string{"[" + strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/nothing"},`, size-1) + `{"jsonrpc":"2.0","method":"notifications/nothing"}]`}
	case "@answer":
		if v.asked == "" {
			return nil
		}
		return []string{strings.ReplaceAll(argument, "$ASKED", v.asked)}
	}
	line = strings.ReplaceAll(line, "$REVISION", string(v.revision))
	m := parse([]byte(line))
	if v.revision != mcp.Latest || m.Fault() != nil || !m.IsRequest() || strings.Contains(line, "io.modelcontextprotocol/") || m.Params() != nil && m.Params()[0] != '{' {
		return []string{line}
	}
	meta := without(param(m, "_meta"))
	for key, value := range map[string]string{metaVersion: strconv.Quote(latest), metaCapabilities: `{"sampling":{},"roots":{},"elicitation":{}}`} {
		meta = meta.with(key, []byte(value))
	}
	return []string{string(request(m.ID(), m.Method(), without(m.Params(), "_meta").with("_meta", meta.json()).json()))}
}

var (
	requestState = regexp.MustCompile(`"requestState":"[^"]*"`)
	asks         = regexp.MustCompile(`^{"jsonrpc":"2.0","id":(\d+),"method":`)
)

// normal returns a received message without what differs in each conversation.
func (v *conversation) normal(raw string) string {
	if found := asks.FindStringSubmatch(raw); found != nil {
		v.asked = cmp.Or(found[1], v.asked)
	}
	if len(raw) > 3000 {
		raw = fmt.Sprintf("%s… (%d bytes)", raw[:3000], len(raw))
	}
	return requestState.ReplaceAllString(raw, `"requestState":"$$STATE"`)
}
