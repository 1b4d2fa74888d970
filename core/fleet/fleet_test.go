package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/fleet"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcpconfig"
	"github.com/petrock/petrock/core/mcphttp"
)

// kindVariable has this program be a server of some kind.
const kindVariable = "PETROCK_TEST_SERVER"

func TestMain(m *testing.M) {
	kind, delay, _ := strings.Cut(os.Getenv(kindVariable), " ")
	if wait, err := time.ParseDuration(delay); err == nil {
		time.Sleep(wait)
	}
	switch kind {
	case "":
		os.Exit(m.Run())
	case "good":
		if err := newServer(os.Args[1:]...).ServeStdio(context.Background(), os.Stdout); err != nil {
			os.Exit(1)
		}
	case "garbage":
		fmt.Println("Listening on port 3000 ...")
		fmt.Scanln(new(int)) // the first line, and never an answer
		select {}
	case "dies":
		fmt.Fprintln(os.Stderr, "no database")
		os.Exit(3)
	}
}

// newServer has tools of certain names.
func newServer(tools ...string) *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "test", Version: "1"}, mcp.Options{})
	for _, name := range tools {
		err := s.AddTool(mcp.Tool{Name: name}, func(context.Context, json.RawMessage) (*mcp.ToolResult, error) { return mcp.TextResult(name), nil })
		if err != nil {
			panic(err)
		}
	}
	return s
}

// entry is a server in a configuration: this program, of some kind.
func entry(t *testing.T, name, kind string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`%q: {"command": %q, "args": ["%s"], "env": {%q: %q}}`, name, self, strings.Join(args, `", "`), kindVariable, kind)
}

// config is a .mcp.json of entries.
func config(t *testing.T, entries ...string) []*mcpconfig.Server {
	t.Helper()
	return read(t, ".mcp.json", `{"mcpServers": {`+strings.Join(entries, ",\n")+`}}`)
}

func read(t *testing.T, name, text string) []*mcpconfig.Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := mcpconfig.Read(file, mcpconfig.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Servers()
}

// Of twenty servers three are broken, each in its own way, and the tools of the others are there as soon as the slowest of those is.
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
	const limit = 20 * time.Second // of which nothing must be seen
	all := fleet.Start(t.Context(), config(t, entries...), fleet.Options{Limit: limit})
	begin := time.Now()
	good := map[string]bool{}
	bad := map[string]error{}
	for offer := range all.Tools(t.Context()) {
		if offer.Err != nil {
			bad[offer.Name()] = offer.Err
			continue
		}
		good[offer.Name()] = true
		if len(offer.Tools) != 2 || "good"+strings.TrimPrefix(offer.Tools[1].Name, "tool") != offer.Name() {
			t.Errorf("%s has %v", offer.Name(), offer.Tools)
		}
		if len(good) == 17 {
			break
		}
	}
	took := time.Since(begin)
	var last time.Duration
	for name := range good {
		last = max(last, all.Member(name).Took())
	}
	t.Logf("17 of 20 after %v; the slowest good one was ready after %v", took, last)
	if len(good) != 17 || took > last+2*time.Second || took > limit/2 {
		t.Errorf("%d are there after %v", len(good), took)
	}
	if m, tool, err := all.Find(t.Context(), "good9", "common"); err != nil || m.Name() != "good9" || tool.Name != "common" {
		t.Errorf("finding a tool gives %v, %v", tool, err)
	}
	client, err := all.Member("good16").Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if result, err := client.CallTool(t.Context(), "tool16", nil); err != nil || result.Text() != "tool16" {
		t.Errorf("calling it gives %v, %v", result, err)
	}
	for name, want := range map[string]string{"absent": "not found in PATH", "dies": "no database"} {
		if _, err := all.Member(name).Client(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	select {
	case <-all.Member("garbage").Settled():
		t.Error("the one that never answers is ready")
	default:
	}
	begin = time.Now()
	if err := all.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("closing took %v", took)
	}
	if _, err := all.Member("garbage").Client(t.Context()); err == nil || !strings.Contains(err.Error(), "Listening on port") {
		t.Errorf("garbage: %v", err)
	}
}

func TestFind(t *testing.T) {
	all := fleet.Start(t.Context(), config(t,
		entry(t, "one", "good", "add", "both"),
		entry(t, "two", "good", "both", "mul"),
		`"unset": {"command": "${NO_SUCH_VARIABLE_ANYWHERE}"}`,
	), fleet.Options{})
	defer all.Close()
	for _, test := range []struct{ server, tool, want, err string }{
		{"", "add", "one", ""},
		{"", "mul", "two", ""},
		{"two", "both", "two", ""},
		{"", "both", "", "one, two"},
		{"", "nothing", "", "could not: unset"},
		{"one", "mul", "", "add, both"},
		{"three", "mul", "", "one, two, unset"},
		{"unset", "mul", "", "NO_SUCH_VARIABLE_ANYWHERE"},
	} {
		m, tool, err := all.Find(t.Context(), test.server, test.tool)
		switch {
		case test.err != "":
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%v: %v", test, err)
			}
		case err != nil || m.Name() != test.want || tool.Name != test.tool:
			t.Errorf("%v: %v, %v, %v", test, m, tool, err)
		}
	}
}

// What the configuration switches off is off.
func TestDisabled(t *testing.T) {
	web := httptest.NewServer(mcphttp.NewHandler(newServer("a", "b", "c"), mcphttp.Options{}))
	defer web.Close()
	all := fleet.Start(t.Context(), read(t, "crush.json", `{"mcp": {
		"off":  {"type": "http", "url": "`+web.URL+`", "disabled": true},
		"less": {"type": "http", "url": "`+web.URL+`", "disabled_tools": ["b"]},
		"only": {"type": "http", "url": "`+web.URL+`", "enabled_tools": ["c"]}
	}}`), fleet.Options{})
	defer all.Close()
	got := map[string]string{}
	for offer := range all.Tools(t.Context()) {
		if offer.Err != nil && !errors.Is(offer.Err, fleet.ErrDisabled) {
			t.Errorf("%s: %v", offer.Name(), offer.Err)
		}
		for _, tool := range offer.Tools {
			got[offer.Name()] += tool.Name
		}
	}
	if fmt.Sprint(got) != "map[less:ac only:c]" {
		t.Errorf("there are %v", got)
	}
	if _, _, err := all.Find(t.Context(), "less", "b"); err == nil {
		t.Error("a tool that is off is found")
	}
}

// Each has its own limit, and what is not wanted any more is not waited for.
func TestLimits(t *testing.T) {
	all := fleet.Start(t.Context(), config(t, entry(t, "garbage", "garbage")), fleet.Options{Limit: 200 * time.Millisecond})
	for m := range all.Settled(t.Context()) {
		if _, err := m.Client(t.Context()); err == nil || !strings.Contains(err.Error(), "200ms") {
			t.Errorf("it says %v", err)
		}
		if m.Took() < 200*time.Millisecond {
			t.Errorf("it took %v", m.Took())
		}
	}
	if err := all.Close(); err != nil {
		t.Error(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	all = fleet.Start(ctx, config(t, entry(t, "garbage", "garbage")), fleet.Options{})
	cancel()
	short, end := context.WithTimeout(t.Context(), 8*time.Second)
	defer end()
	if _, err := all.Member("garbage").Client(short); !errors.Is(err, context.Canceled) {
		t.Errorf("it says %v", err)
	}
	all.Close()
}
