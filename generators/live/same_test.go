package live

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/process"
)

// A client gets the same answers through petrock dev as from the server itself.
func TestSameAnswers(t *testing.T) {
	const params = `{"protocolVersion":"2025-03-26","capabilities":{"sampling":{},"roots":{}},"clientInfo":{"name":"c","version":"1"}}`
	stateless := func(version, more string) string {
		return fmt.Sprintf(`{"_meta":{%q:%q,%q:{}}%s}`, mcp.MetaVersion, version, mcp.MetaCapabilities, more)
	}
	id := int64(10)
	call := func(method, params string) string {
		id++
		if params == "" {
			return string(request(jsonrpc.IntID(id), method, nil))
		}
		return string(request(jsonrpc.IntID(id), method, json.RawMessage(params)))
	}
	latest, unknown := string(mcp.Latest), "2099-01-01"
	noCapabilities := fmt.Sprintf(`{"_meta":{%q:%q},"notifications":{}}`, mcp.MetaVersion, latest)
	w := newWorld(t, func(w *world) { w.noPetrock = true })
	for _, group := range [][]string{
		{ // without a session
			call("tools/call", `{"name":"one"}`),
			call("tools/list", `{}`),
			call("initialize", ""),
			call("initialize", `{"capabilities":{},"clientInfo":{"name":"c","version":"1"}}`),
			call("initialize", `{"protocolVersion":"2025-06-18"}`),
			call("ping", ""),
			call("ping", stateless(unknown, "")),
			call("tools/list", stateless(unknown, "")),
			call("tools/list", noCapabilities),
			call("resources/list", stateless(latest, "")),
			call("server/discover", stateless(latest, "")),
			call("server/discover", stateless(unknown, "")),
			call("subscriptions/listen", stateless(latest, `,"notifications":{"toolsListChanged":true}`)),
			call("subscriptions/listen", stateless(latest, "")),
			call("subscriptions/listen", stateless(latest, `,"notifications":{"toolsListChanged":"yes"}`)),
			call("subscriptions/listen", stateless(unknown, `,"notifications":{"toolsListChanged":true}`)),
			call("subscriptions/listen", noCapabilities),
			`{"jsonrpc":"2.0","id":null,"method":"ping"}`,
			`{"jsonrpc":"1.0","id":1,"method":"ping"}`,
			`{`,
		},
		{ // in a session
			call("initialize", params),
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			call("initialize", params),
			call("no/such", ""),
			call("tools/call", `{"name":"no"}`),
			call("tools/call", `{}`),
			call("tools/call", `{"name":1}`),
			call("tools/list", ""),
			call("tools/list", `{"cursor":"no"}`),
			call("tools/list", `{"cursor":1}`),
			call("tools/list", `[]`),
			call("resources/read", `{"uri":"note://no"}`),
			call("resources/subscribe", `{}`),
			call("logging/setLevel", `{"level":"loud"}`),
			call("prompts/get", `{"name":"no"}`),
			call("completion/complete", `{}`),
			call("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`),
			`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
			// An id in use: the first answer refuses the second call.
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one"}}`,
			// Invalid answers to a question.
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}` + "\n" + `{"jsonrpc":"2.0","id":QUESTION,"result":{},"error":{"code":1,"message":"no"}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}` + "\n" + `{"jsonrpc":"2.0","id":QUESTION,"result":{},}`,
		},
	} {
		direct, through := w.direct(), w.serve()
		for _, messages := range group {
			want, got := w.exchange(direct, messages), w.exchange(through, messages)
			if got != want {
				t.Errorf("%s\nis answered through dev with\n%s\nwant, as by the server,\n%s", messages, got, want)
			}
		}
	}
}

// direct starts the server, and returns a connection to it.
func (w *world) direct() jsonrpc.Transport {
	w.t.Helper()
	server, err := process.Start(process.Command{Program: os.Args[0], Args: []string{"mcp"}, Dir: w.root, Env: map[string]string{"HELLO_STATE_KEY": stateKey}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(server.Close)
	return jsonrpc.NewLines(struct{ io.Reader }{server.Out}, server.In, jsonrpc.LinesOptions{}) // Close ends the input only
}

// exchange sends messages, one a line, and returns the answers: one for a request or a batch, and
// two if the messages have an id that is in use. A message with QUESTION is the answer to each
// question of the server, whose id replaces that word.
func (w *world) exchange(to jsonrpc.Transport, messages string) string {
	w.t.Helper()
	w.remove("go-on")
	send := func(line string) {
		if err := to.Send([]byte(strings.TrimSpace(line))); err != nil {
			w.t.Fatal(err)
		}
	}
	expected, answer := 1, ""
	for line := range strings.Lines(messages) {
		switch {
		case strings.Contains(line, "QUESTION"):
			answer = line
			continue
		case strings.Contains(line, `"wait"`):
			expected++
		case strings.Contains(line, `"method":"notifications/`):
			expected--
		}
		send(line)
	}
	var answers []string
	for len(answers) < expected {
		switch m := w.next(to, messages); {
		case m.IsRequest():
			send(strings.Replace(answer, "QUESTION", m.ID().String(), 1))
		case m.IsResponse(), m.IsBatch(), m.Method() == "notifications/subscriptions/acknowledged":
			answers = append(answers, normalized(m))
			w.write("go-on", "")
		}
	}
	return strings.Join(answers, "\n")
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := os.RemoveAll(filepath.Join(w.root, name)); err != nil {
		w.t.Fatal(err)
	}
}

// next returns the next message from a connection.
func (w *world) next(from jsonrpc.Transport, what string) *jsonrpc.Message {
	w.t.Helper()
	received := make(chan *jsonrpc.Message, 1)
	go func() {
		defer close(received)
		if raw, err := from.Receive(); err == nil {
			received <- parse(raw)
		}
	}()
	m := receive(w.t, received, "message for "+what)
	if m == nil {
		w.t.Fatalf("the connection has ended before the answer to %s", what)
	}
	return m
}

// processID matches the ids of processes, which differ.
var processID = regexp.MustCompile(`process \d+`)

func normalized(m *jsonrpc.Message) string {
	return processID.ReplaceAllString(string(m.Raw()), "process N")
}
