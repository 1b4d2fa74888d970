// Package hostile_test sends a server over HTTP what no client should: requests that are malformed, that lie about
// themselves, or that are about what belongs to somebody else. The right status must come back, and nothing else.
package hostile_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The keys of two callers.
const (
	keyA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	keyB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// patience is how long an answer may take.
const patience = 10 * time.Second

// hesitation is how long an answer is waited for before it is said that there is no more to the question.
const hesitation = 300 * time.Millisecond

// address is that of the server, one process for all tests.
var address string

func TestMain(m *testing.M) {
	os.Exit(serve(m))
}

// serve starts the fixture for the tests. It must be there still when they are over, and end well.
func serve(m *testing.M) int {
	dir, err := os.MkdirTemp("", "petrock-hostile")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "fixture")
	if out, err := exec.Command("go", "build", "-o", program, "../fixture").CombinedOutput(); err != nil {
		panic("building the fixture: " + string(out))
	}
	cmd := exec.Command(program, "serve")
	cmd.Env = append(os.Environ(), "FIXTURE_API_KEY="+keyA+","+keyB)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		panic(fmt.Sprint("the server does not say where it listens: ", err))
	}
	address = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "http://"), "/mcp")
	code := m.Run()
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		fmt.Println("FAIL: the server did not end well:", err)
		return 1
	}
	return code
}

// A reply is what a server answers.
type reply struct {
	*http.Response
	body string
}

// code is that of the error in a reply, or 0.
func (r reply) code() int {
	var m struct{ Error struct{ Code int } }
	_ = json.Unmarshal([]byte(r.body), &m) // what is no JSON has none
	return m.Error.Code
}

// exchange sends bytes over a connection of their own and returns all replies. If none comes, it says that there will be no
// more. It does not say so at once: to a server, a client that has nothing more to say may be gone.
func exchange(t *testing.T, raw string) []reply {
	t.Helper()
	all, err := tryExchange(raw)
	if err != nil {
		t.Fatalf("%v, after %q", err, short(raw))
	}
	return all
}

func tryExchange(raw string) ([]reply, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	answered := make(chan struct{})
	defer func() {
		if answered != nil {
			close(answered)
		}
	}()
	go func(answered <-chan struct{}) {
		io.WriteString(conn, raw) // a server may answer before it has read all of it
		select {
		case <-answered:
		case <-time.After(hesitation):
		}
		conn.(*net.TCPConn).CloseWrite()
	}(answered)
	var all []reply
	for reader := bufio.NewReader(conn); ; {
		method := "POST"
		if len(all) == 0 && strings.HasPrefix(raw, "HEAD ") {
			method = "HEAD"
		}
		response, err := http.ReadResponse(reader, &http.Request{Method: method})
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && len(all) > 0 || errors.Is(err, syscall.ECONNRESET) {
				return all, nil
			}
			return all, fmt.Errorf("no well-formed answer: %w", err)
		}
		if response.StatusCode == http.StatusContinue {
			continue // the answer comes yet
		}
		if answered != nil {
			close(answered)
			answered = nil
		}
		body, err := io.ReadAll(response.Body)
		if err != nil && !errors.Is(err, syscall.ECONNRESET) {
			return all, fmt.Errorf("the body of an answer: %w: %s", err, body)
		}
		all = append(all, reply{response, string(body)})
	}
}

// short is the beginning of a text, for messages.
func short(raw string) string {
	const most = 300
	if len(raw) > most {
		return raw[:most] + "…"
	}
	return raw
}

// A request is one that is well-formed but for what a test changes.
type request struct {
	method  string // POST if it is empty
	path    string // /mcp if it is empty
	headers []string
	body    string
	as      string // a key; that of A if it is empty, none if it is "-"
}

// String writes the request as it goes over the wire. A header that is given replaces the usual one; one with an
// empty value takes it away.
func (r request) String() string {
	if r.method == "" {
		r.method = "POST"
	}
	if r.path == "" {
		r.path = "/mcp"
	}
	usual := []string{"Host: " + address, "Content-Type: application/json", "Accept: application/json, text/event-stream", "Connection: close"}
	if r.method == "POST" {
		usual = append(usual, fmt.Sprintf("Content-Length: %d", len(r.body)))
	}
	switch r.as {
	case "-":
	case "":
		usual = append(usual, "X-Api-Token: "+keyA)
	default:
		usual = append(usual, "X-Api-Token: "+r.as)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\n", r.method, r.path)
	given := map[string]bool{}
	for _, header := range r.headers {
		name, value, _ := strings.Cut(header, ":")
		given[strings.ToLower(strings.TrimSpace(name))] = true
		if value != "" {
			fmt.Fprintf(&out, "%s\r\n", header)
		}
	}
	for _, header := range usual {
		name, _, _ := strings.Cut(header, ":")
		if !given[strings.ToLower(name)] {
			fmt.Fprintf(&out, "%s\r\n", header)
		}
	}
	out.WriteString("\r\n" + r.body)
	return out.String()
}

// meta is what a request without a session says of itself.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`

// modern are the headers of such a request.
func modern(method, name string, more ...string) []string {
	headers := append([]string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}, more...)
	if name != "" {
		headers = append(headers, "Mcp-Name: "+name)
	}
	return headers
}

// add is a request that is good.
func add() request {
	return request{headers: modern("tools/call", "add"), body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":40},` + meta + `}}`}
}

// healthy checks that the server still answers those who ask properly.
func healthy(t *testing.T) {
	t.Helper()
	all := exchange(t, add().String())
	if len(all) != 1 || all[0].StatusCode != http.StatusOK || !strings.Contains(all[0].body, `"sum":42`) {
		t.Fatalf("the server is not as it was: %+v", all)
	}
}

// begin opens a session for who has a key, and returns its id.
func begin(t *testing.T, key string) string {
	t.Helper()
	all := exchange(t, request{as: key, body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}`}.String())
	id := all[0].Header.Get("Mcp-Session-Id")
	if all[0].StatusCode != http.StatusOK || id == "" {
		t.Fatalf("initialize: %s: %s", all[0].Status, all[0].body)
	}
	all = exchange(t, request{as: key, headers: []string{"Mcp-Session-Id: " + id}, body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`}.String())
	if all[0].StatusCode != http.StatusAccepted {
		t.Fatalf("initialized: %s: %s", all[0].Status, all[0].body)
	}
	return id
}
