package main

import (
	"bytes"
	"strings"
	"testing"
)

// httpResults has ours and mcpgo over HTTP, in one round.
func httpResults() *results {
	r := newResults(options{rounds: 1, over: "http"}, []server{{name: "ours"}, {name: "mcpgo"}})
	r.add("ours", "handshake"+httpMany, 80)
	r.add("mcpgo", "handshake"+httpMany, 40)
	r.add("ours", sessionsRSS, 30)
	r.add("mcpgo", sessionsRSS, 20)
	return r
}

func TestHTTPTargets(t *testing.T) {
	words := map[string]string{}
	for _, v := range judge(httpResults()) {
		if _, double := words[v.target.name]; double {
			t.Errorf("two targets %s", v.target.name)
		}
		words[v.target.name] = v.word
	}
	for name, want := range map[string]string{
		"handshake_mcpgo": "met", "sessions_mb_mcpgo": "missed", "handshake_floor": "not measured", "stateless_cpu_mcpgo": "not measured", "streams_collected_mb_gosdk": "not measured",
	} {
		if words[name] != want {
			t.Errorf("%s: %q, want %q", name, words[name], want)
		}
	}
}

func TestHTTPReport(t *testing.T) {
	var out bytes.Buffer
	r := httpResults()
	if err := writeTables(&out, r, judge(r)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"over http", "| 64 clients, thousand calls a second, 2025-11-25 |", "2.00×", "missed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "Latency") {
		t.Errorf("latencies over HTTP:\n%s", &out)
	}
}
