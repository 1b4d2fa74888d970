package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
)

// behaviorVariable makes the test binary a server. Its value is the behavior.
const behaviorVariable = "PETROCK_TEST_SERVER"

func TestMain(m *testing.M) {
	switch behavior := os.Getenv(behaviorVariable); behavior {
	case "":
		os.Exit(fixture.Run(m))
	case "good":
		server := mcp.NewServer(mcp.Implementation{Name: "good", Version: "1"}, mcp.Options{})
		err := server.AddTool(mcp.Tool{Name: "nothing"}, fixture.Nothing)
		if err == nil {
			err = server.ServeStdio(context.Background(), os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		serveUnruly(behavior)
	}
}

// testServer is the command of a server with the given behavior.
func testServer(t *testing.T, behavior string) client.Command {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	grace := 300 * time.Millisecond
	switch behavior {
	case "silent", "babbles", "deaf", "stubborn", "lingers", "children": // they use it up
		grace = 100 * time.Millisecond
	}
	return client.Command{Program: program, Env: map[string]string{behaviorVariable: behavior}, Grace: grace}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf strings.Builder
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

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// initialized is the response to initialize. It formats the id of the request.
const initialized = `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"unruly","version":"1"}}}`

// serveUnruly is a server that breaks one rule of the protocol.
func serveUnruly(rule string) {
	switch rule {
	case "silent":
		time.Sleep(time.Hour)
	case "dies":
		fmt.Fprintln(os.Stderr, "cannot open the database")
		os.Exit(3)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "children":
		// A process that outlives the server and holds its standard output.
		sleeper := exec.Command("sleep", "60")
		sleeper.Stdout, sleeper.Stderr = os.Stdout, os.Stderr
		if err := sleeper.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Fprintln(os.Stderr, "sleeper", sleeper.Process.Pid)
	case "garbage":
		fmt.Println("Listening on nothing in particular")
		fmt.Println(`{"jsonrpc":"2.0"`)
		fmt.Println("\x00\xff")
		fmt.Println(strings.Repeat("x", 100_000))
	case "babbles":
		fmt.Println("Welcome to the server")
		time.Sleep(time.Hour)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m message
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		if !answerUnruly(rule, m) {
			return
		}
	}
	if rule == "stubborn" || rule == "lingers" {
		time.Sleep(time.Hour)
	}
}

// answerUnruly answers a request, and reports whether to go on.
func answerUnruly(rule string, m message) bool {
	switch m.Method {
	case "server/discover":
		if rule == "older" {
			fmt.Fprintln(os.Stderr, "expected initialize")
			os.Exit(1)
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no method"}}`+"\n", m.ID)
	case "initialize":
		fmt.Printf(initialized+"\n", m.ID)
	case "tools/call":
		if rule == "deaf" {
			time.Sleep(time.Hour)
		}
		return callUnruly(rule, m)
	default:
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID)
	}
	return true
}

func callUnruly(rule string, m message) bool {
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"fine"}]}}`+"\n", m.ID)
	switch rule {
	case "twice":
		fmt.Print(answer + answer)
	case "others":
		fmt.Print(`{"jsonrpc":"2.0","id":999,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":"1","result":{}}` + "\n" + answer)
	case "late":
		go func() {
			time.Sleep(200 * time.Millisecond)
			fmt.Print(answer)
		}()
	case "never":
	case "crashes":
		fmt.Fprintln(os.Stderr, "panic: out of luck")
		os.Exit(2)
	case "leaves":
		return false
	case "broken":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{},"error":{}}`+"\n", m.ID)
	case "nonsense":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":[1,2]}`+"\n", m.ID)
	case "unknown":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"hologram","data":1},{"type":"text","text":"fine"}]}}`+"\n", m.ID)
	default:
		fmt.Print(answer)
	}
	return true
}
