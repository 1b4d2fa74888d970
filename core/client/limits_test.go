package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// hostileServer is an in-memory server. answer returns the result of a request, or sends messages
// itself and returns "". answers receives the answers of the client.
func hostileServer(t *testing.T, o client.Options, answer func(method string, say func(string)) string, answers func(string)) *client.Client {
	t.Helper()
	ours, theirs := jsonrpc.Pipe()
	say := func(text string) { _ = theirs.Send([]byte(text)) }
	go func() {
		for {
			raw, err := theirs.Receive()
			if err != nil {
				return
			}
			var m message
			switch err := json.Unmarshal(raw, &m); {
			case err != nil || m.ID == nil:
			case m.Method == "":
				answers(string(raw))
			case m.Method == "initialize":
				say(fmt.Sprintf(initialized, m.ID))
			default:
				if result := answer(m.Method, say); result != "" {
					say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
				}
			}
		}
	}()
	o.Handshake = true
	c, err := client.Over(t.Context(), ours, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A list ends with an error that names the limit, long before it fills the memory.
func TestLimitsOfLists(t *testing.T) {
	for _, test := range []struct {
		name, page, says string
		pages            int32 // at most
	}{
		{"large pages", `{"tools":[{"name":"` + strings.Repeat("x", 3<<20) + `"}],"nextCursor":"more"}`, "tools/list has more than 33554432 bytes", 11},
		{"large rest", `{"tools":[],"rest":"` + strings.Repeat("x", 3<<20) + `","nextCursor":"more"}`, "tools/list has more than 33554432 bytes", 11},
		{"many pages", `{"tools":[{"name":"x"}],"nextCursor":"more"}`, "tools/list has more than 1000 pages", 1000},
		{"many entries", `{"tools":[1` + strings.Repeat(",1", 60_000) + `],"nextCursor":"more"}`, "tools/list has more than 100000 entries", 2},
		{"many values", `{"tools":[1` + strings.Repeat(",1", 1_000_000) + `]}`, "the result of tools/list has more than 1000000 JSON values", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var pages atomic.Int32
			c := hostileServer(t, client.Options{}, func(string, func(string)) string {
				pages.Add(1)
				return test.page
			}, nil)
			if _, err := c.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), test.says) || pages.Load() > test.pages {
				t.Errorf("after %d pages: %v; want an error containing %q after at most %d pages", pages.Load(), err, test.says, test.pages)
			}
		})
	}
}

// A result with many values is refused. One that is a long text is not.
func TestLimitsOfResults(t *testing.T) {
	results := map[string]string{
		"many": `{"content":[{}` + strings.Repeat(",{}", 1_000_000) + `]}`,
		"long": `{"content":[{"type":"text","text":"` + strings.Repeat(`,[\"{`, 1_000_000) + `"}]}`,
	}
	for name, result := range results {
		c := hostileServer(t, client.Options{}, func(string, func(string)) string { return result }, nil)
		_, err := c.CallTool(t.Context(), name, nil)
		if err == nil && name == "many" || err != nil && (name != "many" || !strings.Contains(err.Error(), "the result of tools/call has more than 1000000 JSON values")) {
			t.Errorf(`%s: %v; want an error only for many, containing "the result of tools/call has more than 1000000 JSON values"`, name, err)
		}
	}
}

// Requests of the server that wait are limited in number and size. The refusal names the limit.
func TestLimitsOfRequests(t *testing.T) {
	for name, size := range map[string]int{"many": 10, "large": 64 << 10} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var waiting, refused atomic.Int32
				o := client.Options{MaxMessage: 256 << 10, Elicit: func(ctx context.Context, _ *mcp.Elicitation) error {
					waiting.Add(1)
					<-ctx.Done()
					return ctx.Err()
				}}
				c := hostileServer(t, o, func(_ string, say func(string)) string {
					for i := range 300 {
						say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":{"message":%q}}`, i, strings.Repeat("x", size)))
					}
					return `{"content":[]}`
				}, func(text string) {
					if strings.Contains(text, "limit") {
						refused.Add(1)
					}
				})
				if _, err := c.CallTool(t.Context(), "asks", nil); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				most := map[string]int32{"many": 101, "large": 3}[name]
				if waiting.Load() > most || waiting.Load()+refused.Load() != 300 {
					t.Errorf("%d requests wait, %d were refused; want at most %d to wait, and 300 in all", waiting.Load(), refused.Load(), most)
				}
				c.Close()
			})
		})
	}
}

// MaxNotifications limits notifications.
func TestLimitsOfNotifications(t *testing.T) {
	flood := func(_ string, say func(string)) string {
		for range 300 {
			say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		return `{"content":[]}`
	}
	c := hostileServer(t, client.Options{MaxNotifications: 200}, flood, nil)
	if _, err := c.CallTool(t.Context(), "floods", nil); err == nil || !strings.Contains(err.Error(), "more than 200 notifications") {
		t.Errorf(`the call ends with %v; want an error containing "more than 200 notifications"`, err)
	}
}

// The error about an unknown tool names the nearest ones, and how to list the others.
func TestNotFoundIsShort(t *testing.T) {
	err := &client.NotFoundError{Kind: "tool", Name: "post_creat", Hint: "run hello tools", Available: []string{
		"add", "posts_list", "users_create", "posts_create", "a", "b", "c", "d", "e", "f",
	}}
	if got, want := err.Error(), `tool "post_creat" not found; the server has posts_create, users_create, posts_list, add, a, b, c, d and 2 more; run hello tools`; got != want {
		t.Errorf("the message is %s, want %s", got, want)
	}
	for err, want := range map[*client.NotFoundError]string{
		{Kind: "tool", Name: "x", Hint: "run hello tools", Available: []string{"add", "b"}}: `tool "x" not found; the server has add, b`,
		{Kind: "prompt", Hint: "run hello prompts"}:                                         `prompt "" not found; the server has no prompts`,
	} {
		if got := err.Error(); got != want {
			t.Errorf("the message is %s, want %s", got, want)
		}
	}
	names := make([]string, 50_000)
	for i := range names {
		names[i] = "tool"
	}
	if text := (&client.NotFoundError{Kind: "tool", Name: "x", Available: names}).Error(); len(text) > 5000 {
		t.Errorf("the message has %d bytes, want at most 5000", len(text))
	}
}

// A message for the model without content is refused before the program sees it.
func TestSamplingWithoutContent(t *testing.T) {
	answers := make(chan string, 1)
	sample := func(context.Context, *mcp.Sampling) error {
		t.Error("the program sees it")
		return nil
	}
	c := hostileServer(t, client.Options{Sample: sample}, func(_ string, say func(string)) string {
		say(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[{"role":"user"}],"maxTokens":1}}`)
		return `{"tools":[]}`
	}, func(text string) { answers <- text })
	if _, err := c.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := <-answers; !strings.Contains(text, "messages[0].content: must be a content block or a list of them") {
		t.Errorf(`the answer is %q, want it to contain "messages[0].content: must be a content block or a list of them"`, text)
	}
}
