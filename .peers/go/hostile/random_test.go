package hostile_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	seed   = flag.Uint64("seed", 0, "of the random requests; another one each time if it is not given")
	random = flag.Int("random", 3000, "how many random requests are sent")
)

// pieces are inserted into requests at random places.
var pieces = []string{
	"\r\n", "\n", "\r", "\x00", " ", "\t", ":", ",", ";", "\r\n\r\n", "0\r\n\r\n", "\xff\xfe", "{", "}", "[", "]", `"`, `\`, "null", "-1", "1e999", "99999999999999999999",
	"Transfer-Encoding: chunked\r\n", "Content-Length: 0\r\n", "Content-Length: 99999\r\n", "Host: evil.example\r\n", "Origin: http://evil.example\r\n", "Connection: upgrade\r\n", "Upgrade: websocket\r\n",
	"Expect: 100-continue\r\n", "Mcp-Session-Id: x\r\n", "Mcp-Protocol-Version: 2025-11-25\r\n", "Mcp-Protocol-Version: 2026-07-28\r\n", "Last-Event-ID: 1-1\r\n", "Mcp-Name: =?base64?!?=\r\n",
	`"id":null,`, `"id":[],`, `"_meta":null,`, `"params":[],`, `"method":"initialize",`, `"method":"subscriptions/listen",`, "HTTP/1.0", "HTTP/2.0", "GET ", "DELETE ",
}

// statuses are the allowed statuses: no 5xx.
var statuses = []int{200, 202, 204, 400, 401, 403, 404, 405, 406, 408, 413, 414, 415, 417, 429, 431, 501, 503, 505}

// The responses to mutated requests are well-formed, are not server errors, and do not leak data of
// other callers.
func TestRandom(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano()) % 1e9
	}
	t.Logf("%d requests, -seed %d", *random, *seed)
	mine, theirs := begin(t, keyA), begin(t, keyB)
	good := []string{
		add().String(),
		request{headers: []string{"Mcp-Session-Id: " + mine}, body: `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}`}.String(),
		request{headers: []string{"Mcp-Session-Id: " + mine}, body: `{"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"note://readme"}}`}.String(),
		request{body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`}.String(),
		request{method: "GET", headers: []string{"Mcp-Session-Id: " + mine + "x", "Last-Event-ID: 1-1"}}.String(),
		request{method: "DELETE", headers: []string{"Mcp-Session-Id: " + mine + "x"}}.String(),
		request{headers: modern("server/discover", ""), body: `{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{` + meta + `}}`}.String(),
	}
	var all sync.WaitGroup
	const workers = 16
	for worker := range workers {
		all.Go(func() {
			for i := worker; i < *random; i += workers {
				dice := rand.New(rand.NewPCG(*seed, uint64(i)))
				raw := mutate(dice, good[dice.IntN(len(good))])
				if err := harmless(raw, theirs); err != nil {
					t.Errorf("request %d: %v, for %q", i, err, short(raw))
				}
			}
		})
	}
	all.Wait()
	healthy(t)
	if got := exchange(t, request{as: keyB, headers: []string{"Mcp-Session-Id: " + theirs}, body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`}.String()); got[0].StatusCode != 200 {
		t.Errorf("a session that no request named has not survived: %s", got[0].Status)
	}
}

// mutate changes a request in one to four places.
func mutate(dice *rand.Rand, raw string) string {
	for range 1 + dice.IntN(4) {
		at := dice.IntN(len(raw) + 1)
		to := min(len(raw), at+dice.IntN(40))
		switch dice.IntN(6) {
		case 0: // insert a piece
			raw = raw[:at] + pieces[dice.IntN(len(pieces))] + raw[at:]
		case 1: // delete
			raw = raw[:at] + raw[to:]
		case 2: // repeat
			raw = raw[:to] + raw[at:]
		case 3: // change a byte
			if at < len(raw) {
				raw = raw[:at] + string([]byte{byte(dice.IntN(256))}) + raw[at+1:]
			}
		case 4: // insert a line
			if end := strings.Index(raw, "\r\n"); end >= 0 {
				raw = raw[:end+2] + pieces[dice.IntN(len(pieces))] + raw[end+2:]
			}
		case 5: // truncate
			if dice.IntN(4) == 0 {
				raw = raw[:at]
			}
		}
		if raw == "" {
			return "\r\n"
		}
	}
	return raw
}

// harmless sends a request and returns an error unless the responses are allowed.
func harmless(raw, secret string) error {
	replies, err := tryExchange(raw)
	if err != nil {
		return err
	}
	for _, one := range replies {
		switch {
		case !slices.Contains(statuses, one.StatusCode):
			return fmt.Errorf("the status %s: %s", one.Status, one.body)
		case strings.Contains(one.body, secret) || strings.Contains(one.body, keyA) || strings.Contains(one.body, keyB) || strings.Contains(one.body, "goroutine "):
			return fmt.Errorf("a leak: %s", one.body)
		case one.code() == -32603:
			return fmt.Errorf("an internal error: %s", one.body)
		}
	}
	return nil
}
