package servers

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/cmd/petrock/internal/mcpconfig"
	"github.com/petrock/petrock/core/mcphttp"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
)

// newTarget returns a target with a timeout.
func newTarget(limit time.Duration) *target {
	flags := &mcpcli.Flags{}
	cmd := &cobra.Command{Use: "tools"}
	flags.Add(cmd)
	t := &target{}
	t.Flags(cmd, flags)
	flags.Timeout = limit
	return t
}

// config reads a configuration file.
func config(t *testing.T, name, text string) []*mcpconfig.Server {
	t.Helper()
	c, err := mcpconfig.Read(write(t, t.TempDir(), name, text), mcpconfig.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Servers()
}

// Three of twenty servers are broken. The tools of the others arrive when the slowest of them is
// ready.
func TestTwenty(t *testing.T) {
	const slowest = 300 * time.Millisecond
	var entries []string
	for i := range 17 {
		delay := slowest * time.Duration(i) / 16
		entries = append(entries, entry(t, fmt.Sprintf("good%d", i), "good "+delay.String(), fmt.Sprintf("tool%d", i), "common"))
	}
	entries = append(entries[:5:5], append([]string{
		`"absent": {"command": "no-such-program-anywhere"}`,
		entry(t, "garbage", "garbage"),
		entry(t, "dies", "dies"),
	}, entries[5:]...)...)
	const limit = 20 * time.Second
	all := config(t, ".mcp.json", `{"mcpServers": {`+strings.Join(entries, ",\n")+`}}`)
	begin := time.Now()
	good, bad := 0, map[string]string{}
	var took time.Duration
	for list := range newTarget(limit).listTools(t.Context(), all) {
		if list.err != nil {
			bad[list.server] = list.err.Error()
		} else if good++; len(list.tools) != 2 || "good"+strings.TrimPrefix(list.tools[1].Name, "tool") != list.server {
			t.Errorf("%s has the tools %v; want two, the second named after the server", list.server, list.tools)
		}
		if good == 17 && len(bad) == 2 {
			took = time.Since(begin)
			break // garbage never answers
		}
	}
	if good != 17 || took > limit/2 {
		t.Errorf("got the tools of %d servers after %v; want 17 after at most %v", good, took, limit/2)
	}
	for name, want := range map[string]string{"absent": "not found in PATH", "dies": "no database"} {
		if !strings.Contains(bad[name], want) {
			t.Errorf("%s: got %q, want it to contain %q", name, bad[name], want)
		}
	}
	if total := time.Since(begin); total > took+10*time.Second {
		t.Errorf("listing and ending the servers took %v, want at most %v", total, took+10*time.Second)
	}
}

// A configuration can disable servers and tools.
func TestDisabled(t *testing.T) {
	web := httptest.NewServer(mcphttp.NewHandler(newServer("a", "b", "c"), mcphttp.Options{}))
	defer web.Close()
	all := config(t, "crush.json", `{"mcp": {
		"off":  {"type": "http", "url": "`+web.URL+`", "disabled": true},
		"less": {"type": "http", "url": "`+web.URL+`", "disabled_tools": ["b"]},
		"only": {"type": "http", "url": "`+web.URL+`", "enabled_tools": ["c"]}
	}}`)
	got := map[string]string{}
	for list := range newTarget(time.Minute).listTools(t.Context(), all) {
		if list.err != nil {
			t.Errorf("%s: %v", list.server, list.err)
		}
		for _, tool := range list.tools {
			got[list.server] += tool.Name
		}
	}
	if fmt.Sprint(got) != "map[less:ac only:c]" {
		t.Errorf("got %v, want map[less:ac only:c]", got)
	}
}

// The timeout and the context end waiting for a server that never answers.
func TestLimits(t *testing.T) {
	all := config(t, ".mcp.json", `{"mcpServers": {`+entry(t, "garbage", "garbage")+`}}`)
	for list := range newTarget(200*time.Millisecond).listTools(t.Context(), all) {
		if list.err == nil || !strings.Contains(list.err.Error(), "200ms") {
			t.Errorf(`got %v; want an error containing "200ms"`, list.err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	begin := time.Now()
	for list := range newTarget(time.Minute).listTools(ctx, all) {
		if list.err == nil {
			t.Error("a server that never answers was listed without an error, want one")
		}
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("cancelling took %v, want at most %v", took, 10*time.Second)
	}
}
