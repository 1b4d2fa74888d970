package hostile_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Sessions of other callers look as if they did not exist.
func TestSessionsOfOthers(t *testing.T) {
	mine, theirs := begin(t, keyA), begin(t, keyB)
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	in := func(method, key string, sessions ...string) request {
		r := request{method: method, as: key, headers: []string{"Mcp-Protocol-Version: 2025-11-25"}}
		for _, session := range sessions {
			r.headers = append(r.headers, "Mcp-Session-Id: "+session)
		}
		if method == "POST" {
			r.body = ping
		}
		return r
	}
	last := "A"
	if strings.HasSuffix(mine, last) {
		last = "B"
	}
	trials := []trial{
		{"mine", in("POST", keyA, mine), is(200), 0},
		{"theirs, with their key", in("POST", keyB, theirs), is(200), 0},
	}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		trials = append(trials,
			trial{method + " in a session of another", in(method, keyA, theirs), is(404), 0},
			trial{method + " in a session that is guessed", in(method, keyA, mine[:len(mine)-1]+last), is(404), 0},
			trial{method + " in a session with a truncated id", in(method, keyA, mine[:len(mine)-1]), is(404), 0},
			trial{method + " in a session in small letters", in(method, keyA, strings.ToLower(mine)), is(404), 0},
			trial{method + " in a session with a long name", in(method, keyA, strings.Repeat("A", 8000)), is(404), 0},
			trial{method + " in a session with an odd name", in(method, keyA, `../../"'<x>`), is(404), 0},
			trial{method + " in two sessions", in(method, keyA, mine, theirs), is(400, 405), 0},
			trial{method + " in one session, twice", in(method, keyA, mine, mine), is(400, 405), 0},
			trial{method + " without a key", in(method, "-", mine), is(401), 0},
		)
	}
	trials = append(trials,
		trial{"POST in no session", in("POST", keyA), is(400), 0},
		trial{"a version that is not of sessions", request{headers: []string{"Mcp-Session-Id: " + mine, "Mcp-Protocol-Version: junk"}, body: ping}, is(400), 0},
		trial{"mine is still there", in("POST", keyA, mine), is(200), 0},
		trial{"theirs is still there", in("POST", keyB, theirs), is(200), 0},
		trial{"the end of mine", in("DELETE", keyA, mine), is(200, 204), 0},
		trial{"after its end", in("POST", keyA, mine), is(404), 0},
		trial{"another end", in("DELETE", keyA, mine), is(404), 0},
	)
	try(t, trials)
}

// stream opens a stream and returns the ids of its first events.
func stream(t *testing.T, r request, events int) (ids []string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, r.String()); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for len(ids) < events && lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			ids = append(ids, id)
		}
	}
	if len(ids) < events {
		t.Fatalf("%s: %d events of %d: %v", response.Status, len(ids), events, lines.Err())
	}
	return ids
}

// A stream can be resumed only in its own session.
func TestResumptionOfOthers(t *testing.T) {
	mine, theirs := begin(t, keyA), begin(t, keyB)
	count := request{
		headers: []string{"Mcp-Session-Id: " + theirs}, as: keyB,
		body: `{"jsonrpc":"2.0","id":"secret","method":"tools/call","params":{"name":"count","arguments":{"to":5},"_meta":{"progressToken":"secret"}}}`,
	}
	ids := stream(t, count, 3) // then disconnects
	after := func(key, session string, events ...string) request {
		r := request{method: "GET", as: key, headers: []string{"Mcp-Session-Id: " + session, "Mcp-Protocol-Version: 2025-11-25"}}
		for _, id := range events {
			r.headers = append(r.headers, "Last-Event-ID: "+id)
		}
		return r
	}
	name, _, _ := strings.Cut(ids[0], "-")
	try(t, []trial{
		{"an event of another, in mine", after(keyA, mine, ids[1]), is(400), 0},
		{"an event of another, in theirs", after(keyA, theirs, ids[1]), is(404), 0},
		{"without a key", after("-", theirs, ids[1]), is(401), 0},
		{"no event at all", after(keyB, theirs, "nothing"), is(400), 0},
		{"one that has not been", after(keyB, theirs, name+"-99999"), is(400), 0},
		{"one before the first", after(keyB, theirs, name+"--1"), is(400), 0},
		{"one with a huge number", after(keyB, theirs, name+"-99999999999999999999999"), is(400), 0},
		{"one with words behind it", after(keyB, theirs, ids[1]+"-1"), is(400), 0},
		{"two events", after(keyB, theirs, ids[0], ids[1]), is(400), 0},
		{"a long one", after(keyB, theirs, strings.Repeat("9", 8000)), is(400), 0},
	})
	rest := exchange(t, after(keyB, theirs, ids[1]).String())
	if len(rest) != 1 || rest[0].StatusCode != http.StatusOK || !strings.Contains(rest[0].body, "counted to 5") || strings.Contains(rest[0].body, `"progress":1,`) {
		t.Errorf("the rest of the stream in its own session: %+v", rest)
	}
}

// The server rejects a request state that was changed, or that belongs to another caller or call.
func TestRequestState(t *testing.T) {
	ask := func(key, tool, more string) request {
		return request{as: key, headers: modern("tools/call", tool), body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},%s%s}}`, tool, more, meta)}
	}
	first := exchange(t, ask(keyA, "ask_twice", "").String())
	second := exchange(t, ask(keyA, "ask_twice", `"inputResponses":{"name":{"action":"accept","content":{"name":"Ada"}}},"requestState":`+quoted(state(t, first))+`,`).String())
	good := state(t, second)
	with := func(key, tool, state, answers string) request {
		return ask(key, tool, `"inputResponses":`+answers+`,"requestState":`+quoted(state)+`,`)
	}
	const blue = `{"color":{"action":"accept","content":{"color":"blue"}}}`
	var trials []trial
	for name, bad := range map[string]string{
		"changed at the end":       good + "x",
		"changed at the beginning": "x" + good,
		"cut":                      good[:len(good)-1],
		"half":                     good[:len(good)/2],
		"nothing":                  "",
		"another text":             "e30.e30.e30",
		"one character changed":    strings.Map(turn(good[len(good)/3]), good),
		"the other letters":        strings.ToUpper(good),
		"twice":                    good + good,
		"much":                     strings.Repeat("A", 100_000),
		"with a zero in it":        good[:4] + "\x00" + good[4:],
	} {
		trials = append(trials, trial{"a state " + name, with(keyA, "ask_twice", bad, blue), is(200, 400), -32602})
	}
	trials = append(trials,
		trial{"the state of another caller", with(keyB, "ask_twice", good, blue), is(200, 400), -32602},
		trial{"the state of another tool", with(keyA, "ask_form", good, blue), is(200, 400), -32602},
		trial{"a state that is a number", ask(keyA, "ask_twice", `"inputResponses":`+blue+`,"requestState":5,`), is(200, 400), -32602},
		trial{"answers that are null", with(keyA, "ask_twice", good, "null"), is(200, 400), -32602},
		trial{"an answer that is a number", with(keyA, "ask_twice", good, `{"color":12345}`), is(200, 400), -32602},
	)
	try(t, trials)
	last := exchange(t, with(keyA, "ask_twice", good, blue).String())
	if len(last) != 1 || !strings.Contains(last[0].body, `{\"color\":\"blue\",\"name\":\"Ada\"}`) {
		t.Errorf("the unchanged state: %+v", last)
	}
}

// turn replaces one character.
func turn(c byte) func(rune) rune {
	return func(r rune) rune {
		if r == rune(c) {
			return r ^ 1
		}
		return r
	}
}

func quoted(text string) string {
	out, _ := json.Marshal(text) // a string cannot fail
	return string(out)
}

// state returns the request state in a response.
func state(t *testing.T, all []reply) string {
	t.Helper()
	var m struct{ Result struct{ RequestState string } }
	if err := json.Unmarshal([]byte(all[0].body), &m); err != nil || m.Result.RequestState == "" {
		t.Fatalf("no state: %v: %s", err, all[0].body)
	}
	return m.Result.RequestState
}
