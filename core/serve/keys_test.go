package serve

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// runKeys runs the command keys, and returns what it prints.
func runKeys(t *testing.T, status int, args ...string) string {
	t.Helper()
	out := create(t)
	if got := Run(t.Context(), hello(), append([]string{"keys"}, args...), out, out); got != status {
		t.Fatalf("keys %s: exit code %d, want %d: %s", args, got, status, read(t, out))
	}
	return strings.TrimSpace(read(t, out))
}

// The command keys changes the file that --keys or a variable names.
func TestKeysCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if got := runKeys(t, 2, "list"); !strings.Contains(got, "keys needs --keys FILE or HELLO_KEYS") {
		t.Errorf(`keys list without a file prints %q, want it to contain "keys needs --keys FILE or HELLO_KEYS"`, got)
	}
	if got := runKeys(t, 1, "list", "--keys", file); !strings.Contains(got, "no such file") {
		t.Errorf(`keys list of a missing file prints %q, want it to contain "no such file"`, got)
	}
	key := runKeys(t, 0, "add", "alice", "--keys", file)
	t.Setenv("HELLO_KEYS", file)
	var printed []struct{ Name, Hash, Key string }
	if err := json.Unmarshal([]byte(runKeys(t, 0, "add", "bob", "mail:send", "--json")), &printed); err != nil || len(printed) != 1 || len(printed[0].Key) < 26 || printed[0].Name != "bob" {
		t.Fatalf("added %+v, %v; want one key of bob with at least 26 characters", printed, err)
	}
	added := printed[0]
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), key) || strings.Contains(string(text), added.Key) {
		t.Errorf("the file is %s, %v; want no error, and neither %q nor %q in it", text, err, key, added.Key)
	}
	list := strings.Split(runKeys(t, 0, "list"), "\n")
	if len(list) != 2 || !strings.HasPrefix(list[0], "alice             sha256:") || list[1] != "bob               "+added.Hash[:19]+"  mail:send" {
		t.Errorf("listed %q; want alice with a sha256, and bob %s mail:send", list, added.Hash[:19])
	}
	if got := runKeys(t, 0, "revoke", "alice"); got != list[0] {
		t.Errorf("keys revoke alice prints %q, want %q", got, list[0])
	}
	printed = nil
	if err := json.Unmarshal([]byte(runKeys(t, 0, "list", "--json")), &printed); err != nil || len(printed) != 1 || printed[0].Hash != added.Hash || printed[0].Key != "" {
		t.Errorf("listed %+v, %v; want one entry with the hash %s, without the key", printed, err, added.Hash)
	}
	runKeys(t, 0, "revoke", added.Hash[:12])
	if got := runKeys(t, 0, "list", "--json"); got != "[]" {
		t.Errorf(`keys list --json prints %q, want "[]"`, got)
	}
	runKeys(t, 1, "revoke", "bob")
	runKeys(t, 2, "add")
	runKeys(t, 1, "add", "key-1")
}

// serve accepts the keys of a file, checks their scopes, and refuses a revoked key without a
// restart, although SIGHUP would end a process.
func TestServeWithKeyFile(t *testing.T) {
	withoutKeys(t)
	file := filepath.Join(t.TempDir(), "keys")
	runKeys(t, 0, "add", "alice", "--keys", file)
	t.Setenv("HELLO_KEYS", file)
	alice, reader := runKeys(t, 0, "add", "alice"), runKeys(t, 0, "add", "reader", "mail:read")
	address := startServe(t)
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"me","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	for key, want := range map[string]int{alice: 200, reader: 403, "fedcba9876543210": 401} {
		status, text := sendMessage(t, "POST", address, call, "X-Api-Token: "+key, "Mcp-Method: tools/call", "Mcp-Name: send")
		if status != want || status == 403 && !strings.Contains(text, "mail:send") {
			t.Errorf("answered with %d, want %d: %s", status, want, text)
		}
	}

	request, err := http.NewRequestWithContext(t.Context(), "POST", address, strings.NewReader(strings.NewReplacer("tools/list", "subscriptions/listen", `"params":{`, `"params":{"notifications":{},`).Replace(listTools)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen", "X-Api-Token": alice} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	stream := bufio.NewScanner(response.Body)
	if !stream.Scan() || response.StatusCode != 200 {
		t.Fatalf("the stream is answered with %d, and begins with %q; want 200 and an event", response.StatusCode, stream.Text())
	}
	if self, err := os.FindProcess(os.Getpid()); err != nil {
		t.Error(err)
	} else if err := self.Signal(syscall.SIGHUP); err != nil && runtime.GOOS != "windows" {
		t.Errorf("send SIGHUP to the test: %v", err)
	}
	runKeys(t, 0, "revoke", "alice")
	for stream.Scan() {
		continue // until the stream ends
	}
	if err := stream.Err(); err != nil {
		t.Error(err)
	}
	if status, _ := sendMessage(t, "POST", address, listTools, "X-Api-Token: "+alice); status != 401 {
		t.Errorf("a revoked key: got %v, want 401", status)
	}
	if status, _ := sendMessage(t, "POST", address, listTools, "X-Api-Token: "+reader); status != 200 {
		t.Errorf("another key: got %v, want 200", status)
	}
}

// Keys and the state key can be in files. serve prints the callers that have keys.
func TestSecretFiles(t *testing.T) {
	withoutKeys(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"HELLO_API_KEY_FILE": "bob=0123456789abcdef,alice=fedcba9876543210\n", "HELLO_STATE_KEY_FILE": "hunter2\n"} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, file)
	}
	errOut := create(t)
	if status := Run(t.Context(), hello(), []string{"serve", "--addr", "127.0.0.1:0"}, create(t), errOut); status != 1 || !strings.Contains(read(t, errOut), "HELLO_STATE_KEY has 7 characters") {
		t.Errorf(`exit code %d: %s; want 1 and "HELLO_STATE_KEY has 7 characters"`, status, read(t, errOut))
	}
	t.Setenv("HELLO_STATE_KEY_FILE", filepath.Join(dir, "HELLO_API_KEY_FILE"))
	if status, text := sendMessage(t, "POST", startServe(t), listTools, "X-Api-Token: fedcba9876543210"); status != 200 {
		t.Errorf("got %d %q, want 200", status, text)
	}
	s := &httpServer{program: newProgram(keyed(), nil, nil)}
	if err := s.addKeys(); err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(s.startupLines(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil), "\n"); !strings.HasSuffix(said, "\ncallers with keys: alice, bob") {
		t.Errorf(`at startup: got %q, want the suffix "\ncallers with keys: alice, bob"`, said)
	}
}
