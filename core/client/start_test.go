package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// startUnruly starts a server that breaks a rule. It ends with the test.
func startUnruly(t *testing.T, rule string, o client.Options) *client.Client {
	t.Helper()
	c, err := client.Start(t.Context(), testServer(t, rule), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Invalid messages of the server do not affect a call.
func TestProcessTalksNonsense(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"garbage", "twice", "others", "unknown"} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			c := startUnruly(t, rule, client.Options{MaxMessage: 1 << 16})
			for range 3 {
				result, err := c.CallTool(t.Context(), "any", nil)
				if err != nil || result.Text() != "fine" {
					t.Errorf(`got %+v, %v; want no error and Text "fine"`, result, err)
				}
			}
		})
	}
}

// The error of a call without a valid answer says why, and does not affect the next call.
func TestProcessAnswersBadly(t *testing.T) {
	for _, test := range []struct {
		rule, want string
		lives      bool
	}{
		{"broken", "invalid answer to tools/call: a response cannot hold both", true},
		{"nonsense", "read the result of tools/call: must be an object", true},
		{"never", "no answer to tools/call within 100ms", true},
		{"late", "no answer to tools/call within 100ms", true},
		{"crashes", "the server exited (exit status 2): call tools/call: the connection is closed\nIts standard error:\npanic: out of luck", false},
		{"leaves", "the server exited (exit status 0): call tools/call: the connection is closed", false},
	} {
		t.Run(test.rule, func(t *testing.T) {
			c := startUnruly(t, test.rule, client.Options{})
			var options []client.CallOption
			if test.rule == "never" || test.rule == "late" {
				options = append(options, client.WithTimeouts(100*time.Millisecond, 0))
			}
			var connection *client.ConnectionError
			_, err := c.CallTool(t.Context(), "any", nil, options...)
			if !errors.As(err, &connection) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("CallTool() = %v, want a ConnectionError that contains %q", err, test.want)
			}
			if test.rule == "late" {
				time.Sleep(150 * time.Millisecond) // until the stray answer has arrived
			}
			if err := c.Ping(t.Context()); test.lives != (err == nil) {
				t.Errorf("Ping() after the call = %v, want success: %t", err, test.lives)
			}
		})
	}
}

// All calls end with the server.
func TestProcessDies(t *testing.T) {
	t.Parallel()
	c := startUnruly(t, "never", client.Options{})
	errs := make(chan error)
	for range 10 {
		go func() {
			_, err := c.CallTool(context.Background(), "any", nil)
			errs <- err
		}()
	}
	time.Sleep(50 * time.Millisecond)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for range 10 {
		if err := <-errs; !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("a call ends with %v, want %v", err, jsonrpc.ErrClosed)
		}
	}
}

func TestProcessDoesNotServe(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		"dies":    "the server exited (exit status 3): call server/discover: the connection is closed\nIts standard error:\ncannot open the database",
		"silent":  "no answer to the first request within 300ms",
		"babbles": `wrote to standard output: "Welcome to the server"; only MCP messages belong there`,
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			timeout := time.Second // so that the server is seen to exit or to print
			if rule == "silent" {
				timeout = 300 * time.Millisecond
			}
			var connection *client.ConnectionError
			_, err := client.Start(t.Context(), testServer(t, rule), client.Options{ConnectTimeout: timeout})
			if !errors.As(err, &connection) || !strings.Contains(err.Error(), want) {
				t.Errorf("Start() = %v, want a ConnectionError that contains %q", err, want)
			}
		})
	}
}

// Servers without server/discover refuse it or exit.
func TestProcessOfAnOlderRevision(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"older", "fine"} {
		t.Run(rule, func(t *testing.T) {
			c := startUnruly(t, rule, client.Options{})
			if c.Revision() != mcp.Revision20250618 || c.Server().Name != "unruly" {
				t.Errorf(`it speaks %s, and is %q; want %s and "unruly"`, c.Revision(), c.Server().Name, mcp.Revision20250618)
			}
		})
	}
	if _, err := client.Start(t.Context(), testServer(t, "fine"), client.Options{Revision: mcp.Latest}); err == nil || !strings.Contains(err.Error(), "no method") {
		t.Errorf(`another revision: %v; want an error containing "no method"`, err)
	}
	if _, err := client.Start(t.Context(), testServer(t, "fine"), client.Options{Revision: mcp.LatestHandshake}); err == nil || !strings.Contains(err.Error(), "chose revision 2025-06-18, not 2025-11-25") {
		t.Errorf(`another revision: %v; want an error containing "chose revision 2025-06-18, not 2025-11-25"`, err)
	}
}

// If a server never answers server/discover, the client sends initialize after three seconds.
func TestServerIgnoresDiscover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := jsonrpc.Pipe()
		go func() {
			for {
				raw, err := theirs.Receive()
				if err != nil {
					return
				}
				var m message
				if json.Unmarshal(raw, &m) == nil && m.Method == "initialize" {
					theirs.Send(fmt.Appendf(nil, initialized, m.ID))
				}
			}
		}()
		began := time.Now()
		c, err := client.Over(t.Context(), ours, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if c.Revision() != mcp.Revision20250618 || c.Server().Name != "unruly" {
			t.Errorf(`it speaks %s, and is %q; want %s and "unruly"`, c.Revision(), c.Server().Name, mcp.Revision20250618)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it connects after %v, want %v", took, 3*time.Second)
		}
	})
}

// Close ends the process of a server in any case.
func TestProcessEnds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it has no signals")
	}
	for rule, most := range map[string]time.Duration{"fine": 250 * time.Millisecond, "lingers": 590 * time.Millisecond, "stubborn": 3 * time.Second, "children": 3 * time.Second} {
		t.Run(rule, func(t *testing.T) {
			said := &lockedBuffer{}
			cmd := testServer(t, rule)
			cmd.Stderr = said
			c, err := client.Start(t.Context(), cmd, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > most+2*time.Second {
				t.Errorf("it took %v, want at most %v", took, most+2*time.Second)
			}
			if pid, ok := strings.CutPrefix(strings.TrimSpace(said.String()), "sleeper "); ok {
				number, _ := strconv.Atoi(pid)
				if p, err := os.FindProcess(number); err == nil {
					p.Kill() // it exited when its input was closed, so its children got no signal
				}
			}
			if zombies := children(t); zombies != "" {
				t.Errorf("these processes still exist: %s", zombies)
			}
		})
	}
}

// children lists the child processes that were not waited for, or nothing on systems without /proc.
func children(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
