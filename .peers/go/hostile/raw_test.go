// Package hostile_test sends hostile requests to a server over HTTP: malformed ones, inconsistent
// ones, and ones for data of other callers. The server must respond with the right status and leak
// nothing.
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

// patience is the timeout of a response.
const patience = 10 * time.Second

// hesitation is the time before exchange closes its side of the connection.
const hesitation = 300 * time.Millisecond

// address is the address of the server, one process for all tests.
var address string

func TestMain(m *testing.M) {
	os.Exit(serve(m))
}

// serve starts the fixture for the tests. It must run until their end, and exit with 0.
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

// A reply is a response of the server.
type reply struct {
	*http.Response
	body string
}

// code returns the code of the JSON-RPC error in a reply, or 0.
func (r reply) code() int {
	var m struct{ Error struct{ Code int } }
	_ = json.Unmarshal([]byte(r.body), &m) // a body that is not JSON has no code
	return m.Error.Code
}

// exchange sends bytes over a new connection and returns all replies. If none arrives in time, it
// closes its side of the connection. It does not do so immediately, because a server may take that
// for a disconnect.
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
		io.WriteString(conn, raw) // may fail: a server may answer before it has read everything
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
			return all, fmt.Errorf("malformed response: %w", err)
		}
		if response.StatusCode == http.StatusContinue {
			continue // the final response follows
		}
		if answered != nil {
			close(answered)
			answered = nil
		}
		body, err := io.ReadAll(response.Body)
		if err != nil && !errors.Is(err, syscall.ECONNRESET) {
			return all, fmt.Errorf("body of a response: %w: %s", err, body)
		}
		all = append(all, reply{response, string(body)})
	}
}

// short returns the beginning of a text, for messages.
func short(raw string) string {
	const maxShown = 300
	if len(raw) > maxShown {
		return raw[:maxShown] + "…"
	}
	return raw
}

// A request is a well-formed request, unless a test changes it.
type request struct {
	method  string // default POST
	path    string // default /mcp
	headers []string
	body    string
	as      string // a key; "" for that of A, "-" for none
}

// String encodes the request. A header replaces the default one, or removes it if the value is
// empty.
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

// meta is _meta of a stateless request.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`

// modern returns the headers of a stateless request.
func modern(method, name string, more ...string) []string {
	headers := append([]string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}, more...)
	if name != "" {
		headers = append(headers, "Mcp-Name: "+name)
	}
	return headers
}

// add returns a valid request.
func add() request {
	return request{headers: modern("tools/call", "add"), body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":40},` + meta + `}}`}
}

// healthy checks that the server still answers valid requests.
func healthy(t *testing.T) {
	t.Helper()
	all := exchange(t, add().String())
	if len(all) != 1 || all[0].StatusCode != http.StatusOK || !strings.Contains(all[0].body, `"sum":42`) {
		t.Fatalf("the server no longer answers: %+v", all)
	}
}

// begin opens a session with a key, and returns its id.
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
