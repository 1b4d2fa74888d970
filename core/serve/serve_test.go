package serve

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/mcphttp"
)

// keyVariable is the environment variable for keys.
const keyVariable = "HELLO_API_KEY"

// withoutKeys unsets keys for a test.
func withoutKeys(t *testing.T) {
	t.Helper()
	t.Setenv(keyVariable, "")
	if err := os.Unsetenv(keyVariable); err != nil {
		t.Fatal(err)
	}
}

// startServe runs serve on a free port, and returns its URL. At the end of the test it stops serve,
// which must exit without an error.
func startServe(t *testing.T, args ...string) (address string) {
	t.Helper()
	reader, errOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out := create(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() {
		status := Run(ctx, hello(), append([]string{"serve", "--addr", "127.0.0.1:0", "--drain", "0"}, args...), out, errOut)
		errOut.Close()
		ended <- status
	}()
	lines := bufio.NewScanner(reader)
	for address == "" && lines.Scan() {
		_, address, _ = strings.Cut(lines.Text(), ": serving ")
	}
	rest := make(chan string)
	go func() {
		text, _ := io.ReadAll(reader)
		rest <- string(text)
	}()
	t.Cleanup(func() {
		cancel()
		said := <-rest
		if status := <-ended; status != 0 {
			t.Errorf("exit code %d, want 0: %s", status, said)
		}
		reader.Close()
	})
	if address == "" {
		t.Fatalf("the server does not serve: %s", lines.Text())
	}
	return address
}

// sendMessage makes a request with headers that are each a name and a value, and returns its status
// and the answer.
func sendMessage(t *testing.T, method, address, body string, headers ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("MCP-Protocol-Version", "2026-07-28")
	request.Header.Set("Mcp-Method", "tools/list")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// listTools lists the tools, in the stateless revision.
const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"me","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

// serve answers at one path of a loopback address, and stops on a signal.
func TestServe(t *testing.T) {
	withoutKeys(t)
	address := startServe(t, "--healthz", "--allow-origin", "https://app.example.com")
	base := strings.TrimSuffix(address, "/mcp")
	for _, test := range []struct {
		method, path string
		header       string
		status       int
	}{
		{"GET", "/healthz", "Origin: http://localhost", 200},
		{"GET", "/", "Origin: http://localhost", 404},
		{"GET", "/mcp/", "Origin: http://localhost", 404},
		{"POST", "/mcp/petrock", "Origin: http://localhost", 404},
		{"POST", "/mcp", "Origin: https://evil.example.com", 403},
	} {
		if status, text := sendMessage(t, test.method, base+test.path, listTools, test.header); status != test.status {
			t.Errorf("%s %s with %q: got %d %q, want %d", test.method, test.path, test.header, status, text, test.status)
		}
	}
	status, text := sendMessage(t, "POST", address, listTools, "Origin: https://app.example.com")
	if (status == 200) != strings.Contains(text, `"tools":[`) || status == 401 || status == 403 {
		t.Errorf("answered with %d: %s; want the tools with 200 and only then, and neither 401 nor 403", status, text)
	}
	if strings.Contains(text, "generate_tool") {
		t.Errorf(`tools/list over HTTP is %q, want it without "generate_tool"`, text)
	}
}

// With keys in the environment, callers need one of them.
func TestServeWithKeys(t *testing.T) {
	withoutKeys(t)
	const first, second = "0123456789abcdef", "fedcba9876543210"
	t.Setenv(keyVariable, first+","+second)
	address := startServe(t)
	if status, _ := sendMessage(t, "POST", address, listTools); status != 401 {
		t.Errorf("without a key: got %v, want 401", status)
	}
	for _, header := range []string{"X-Api-Token: " + first, "Authorization: Bearer " + second} {
		if status, _ := sendMessage(t, "POST", address, listTools, header); status == 401 {
			t.Errorf("the request with %q is answered with 401", header)
		}
	}
}

// serve refuses an invalid key at startup, without printing it.
func TestBadKeys(t *testing.T) {
	withoutKeys(t)
	for _, keys := range []string{"", "hunter2", "0123456789abcdef,", "0123456789abcdef, fedcba9876543210"} {
		t.Setenv(keyVariable, keys)
		errOut := create(t)
		if status := Run(t.Context(), hello(), []string{"serve", "--addr", "127.0.0.1:0"}, create(t), errOut); status != 1 {
			t.Errorf("with %q: exit code %d, want 1", keys, status)
		}
		got := read(t, errOut)
		if !strings.Contains(got, keyVariable) || !strings.Contains(got, "openssl rand -hex 32") {
			t.Errorf(`with %q: got %s; want %q and "openssl rand -hex 32" in it`, keys, got, keyVariable)
		}
		for key := range strings.SplitSeq(keys, ",") {
			if key != "" && strings.Contains(got, strings.TrimSpace(key)) {
				t.Errorf("the output contains the key %q: %s", strings.TrimSpace(key), got)
			}
		}
	}
}

// If keys are required, serve refuses to start without one, even on a loopback address, and prints
// the remedy.
func TestKeysRequired(t *testing.T) {
	withoutKeys(t)
	for _, options := range []mcphttp.ServeOptions{{}, {BehindProxy: true}} {
		s := &httpServer{program: newProgram(keyed(), nil, nil), listen: options}
		if err := s.addKeys(); err == nil || !strings.Contains(err.Error(), keyVariable+" is not set") || !strings.Contains(err.Error(), "openssl rand -hex 32") {
			t.Errorf(`without a key: %v; want an error with %q and "openssl rand -hex 32" in it`, err, keyVariable+" is not set")
		}
	}
	for _, keys := range []string{"", "hunter2", "0123456789abcdef,"} {
		t.Setenv(keyVariable, keys)
		s := &httpServer{program: newProgram(keyed(), nil, nil)}
		if err := s.addKeys(); err == nil || strings.Contains(err.Error(), "unset") || !strings.Contains(err.Error(), "openssl rand -hex 32") {
			t.Errorf(`with %q: %v; want an error without "unset" and an error containing "openssl rand -hex 32"`, keys, err)
		}
	}
	t.Setenv(keyVariable, "0123456789abcdef")
	s := &httpServer{program: newProgram(keyed(), nil, nil)}
	if err := s.addKeys(); err != nil || len(s.listen.Gates) != 1 {
		t.Errorf("with a key, addKeys() = %v and there are %d gates; want no error and one gate", err, len(s.listen.Gates))
	}
}

// The help of serve is true whether keys are required or not.
func TestServeHelp(t *testing.T) {
	for required, c := range map[bool]Config{false: hello(), true: keyed()} {
		c.Addr = "127.0.0.1:9999"
		out := create(t)
		Run(t.Context(), c, []string{"serve", "--help"}, out, out)
		help := read(t, out)
		if got := strings.Contains(help, "--keys is required"); got != required {
			t.Errorf("keys are required: %t; the help contains %q: %t, want %t\n%s", required, "--keys is required", got, required, help)
		}
		if got := strings.Contains(help, "every program on this machine may call"); got == required {
			t.Errorf("keys are required: %t; the help says that every program may call: %t, want %t\n%s", required, got, !required, help)
		}
		if strings.Count(help, "127.0.0.1:9999") != 1 {
			t.Errorf("the default address 127.0.0.1:9999 is in the help %d times, want once:\n%s", strings.Count(help, "127.0.0.1:9999"), help)
		}
	}
}

func TestBadStateKey(t *testing.T) {
	withoutKeys(t)
	t.Setenv("HELLO_STATE_KEY", "hunter2")
	errOut := create(t)
	if status := Run(t.Context(), hello(), []string{"serve", "--addr", "127.0.0.1:0"}, create(t), errOut); status != 1 {
		t.Errorf("exit code %d, want 1", status)
	}
	if got := read(t, errOut); !strings.Contains(got, "openssl rand -hex 32") || strings.Contains(got, "hunter2") {
		t.Errorf(`got %s; want "openssl rand -hex 32" in it, and no "hunter2"`, got)
	}
}

func TestAddressInUse(t *testing.T) {
	withoutKeys(t)
	listener, err := mcphttp.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	errOut := create(t)
	if status := Run(t.Context(), hello(), []string{"serve", "--addr", listener.Addr().String()}, create(t), errOut); status != 1 {
		t.Errorf("exit code %d, want 1", status)
	}
	if got := read(t, errOut); !strings.Contains(got, "choose another port") {
		t.Errorf(`standard error is %q, want it to contain "choose another port"`, got)
	}
}

// A fakeKeeper is an authenticator that refuses all callers, or is not configured.
type fakeKeeper struct {
	fakeExtension
	unused bool
	asked  *string
}

func (k fakeKeeper) SetupHint() string { return "name an issuer" }

func (k fakeKeeper) Gate(resource string, _ *slog.Logger) (auth.Gate, map[string]http.Handler, error) {
	*k.asked = resource
	if k.unused {
		return nil, nil, k.fail
	}
	gate, err := auth.Keys("tokens", []string{"0123456789abcdef"})
	return gate, map[string]http.Handler{"/page": http.NotFoundHandler()}, errors.Join(err, k.fail)
}

func TestGatekeeper(t *testing.T) {
	withoutKeys(t)
	near, far := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8181}, &net.TCPAddr{IP: net.IPv4zero, Port: 8181}
	for _, test := range []struct {
		name      string
		keeper    fakeKeeper
		publicURL string
		addr      net.Addr
		asked     string
		gates     int
		says      string // the error
	}{
		{"on this machine", fakeKeeper{}, "", near, "http://127.0.0.1:8181/mcp", 1, ""},
		{"in public", fakeKeeper{}, "https://mcp.example.com/mcp", far, "https://mcp.example.com/mcp", 1, ""},
		{"in public, without a name", fakeKeeper{}, "", far, "", 1, ""},
		{"not in use", fakeKeeper{unused: true}, "", far, "", 0, ""},
		{"with a fault", fakeKeeper{fakeExtension: fakeExtension{fail: errors.New("no issuer")}}, "", near, "http://127.0.0.1:8181/mcp", 0, "no issuer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked := ""
			test.keeper.asked = &asked
			s := &httpServer{program: newProgram(hello(fakeExtension{}, test.keeper), nil, nil), publicURL: test.publicURL}
			err := s.addGates(test.addr)
			if err == nil && test.says != "" || err != nil && (test.says == "" || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("got the error %v, want %q", err, test.says)
			}
			if asked != test.asked || len(s.listen.Gates) != test.gates || len(s.listen.Extra) != test.gates {
				t.Errorf("it was asked for %q, and there are %d gates and %d pages; want %q, %d and %d", asked, len(s.listen.Gates), len(s.listen.Extra), test.asked, test.gates, test.gates)
			}
			if said := strings.Join(s.startupLines(test.addr, nil), "\n"); err == nil && strings.Contains(said, "not configured; name an issuer") != test.keeper.unused {
				t.Errorf("at startup: got\n%s", said)
			}
			if test.gates > 0 && !strings.Contains(s.handler.Challenge([]string{"a"}), `error="insufficient_scope", scope="a"`) {
				t.Errorf(`the challenge for a missing scope is %s, want error="insufficient_scope", scope="a"`, s.handler.Challenge([]string{"a"}))
			}
		})
	}
}

// serve prints its URL and its authentication.
func TestAnnounce(t *testing.T) {
	withoutKeys(t)
	gate, err := auth.Keys("hello", []string{"0123456789abcdef"})
	if err != nil {
		t.Fatal(err)
	}
	open, closed := &httpServer{program: newProgram(hello(), nil, nil)}, &httpServer{program: newProgram(hello(), nil, nil), listen: mcphttp.ServeOptions{Gates: []auth.Gate{gate}}}
	for _, test := range []struct {
		serving *httpServer
		ip      string
		says    string
	}{
		{open, "127.0.0.1", "serving http://127.0.0.1:8181/mcp\nevery program on this machine may call"},
		{closed, "::", "serving http://127.0.0.1:8181/mcp\nlistening on all addresses of this machine\ncallers must send a key as X-Api-Token"},
		{closed, "0.0.0.0", "serving http://127.0.0.1:8181/mcp\nlistening on all"},
		{closed, "::1", "serving http://[::1]:8181/mcp\ncallers must"},
	} {
		said := strings.Join(test.serving.startupLines(&net.TCPAddr{IP: net.ParseIP(test.ip), Port: 8181}, nil), "\n")
		if !strings.HasPrefix(said, test.says) || strings.Contains(said, "token of") {
			t.Errorf("on %s: got\n%s; want it to start with %q, and no \"token of\" in it", test.ip, said, test.says)
		}
	}
}

// serve warns about tools whose scopes are not checked.
func TestUnasked(t *testing.T) {
	withoutKeys(t)
	scoped := map[string][]string{"add": nil, "send": {"mail:send"}, "read": {"mail:read"}}
	open, closed := &httpServer{program: newProgram(hello(), nil, nil)}, &httpServer{program: newProgram(hello(), nil, nil), listen: mcphttp.ServeOptions{Gates: []auth.Gate{nil}}}
	if got := open.uncheckedScopes(scoped); !strings.Contains(got, "read, send") {
		t.Errorf(`uncheckedScopes() = %q, want it to contain "read, send"`, got)
	}
	if got := open.uncheckedScopes(map[string][]string{"add": nil}) + closed.uncheckedScopes(scoped); got != "" {
		t.Errorf(`got %q, want ""`, got)
	}
}

// --grace 0 means no grace period, although 0 means the default in package mcphttp.
func TestNoGrace(t *testing.T) {
	for flag, want := range map[string]time.Duration{"--grace=0": time.Nanosecond, "--grace=1s": time.Second, "--healthz": 10 * time.Second} {
		s := &httpServer{program: newProgram(hello(), nil, nil)}
		cmd := new(cobra.Command)
		s.addServeFlags(cmd)
		if err := cmd.ParseFlags([]string{flag}); err != nil {
			t.Fatal(err)
		}
		if err := s.check(cmd); err != nil || s.listen.Grace != want {
			t.Errorf("%s is a grace period of %v, %v; want %v and no error", flag, s.listen.Grace, err, want)
		}
	}
}
