package peers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestLists(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		s := connect(t, version, nil)
		wantAll(t, collect(t, s.Tools(t.Context(), nil), func(v *mcp.Tool) string { return v.Name }),
			"add", "blocks", "count", "fail", "refuse", "revision", "say", "switch", "touch", "wait", "waits")
		wantAll(t, collect(t, s.Resources(t.Context(), nil), func(v *mcp.Resource) string { return v.URI }),
			"note://readme", "note://logo", "note://page-0", "note://page-4")
		wantAll(t, collect(t, s.ResourceTemplates(t.Context(), nil), func(v *mcp.ResourceTemplate) string { return v.URITemplate }), "note://by-id/{id}")
		wantAll(t, collect(t, s.Prompts(t.Context(), nil), func(v *mcp.Prompt) string { return v.Name }), "greet")
	})
}

func TestCall(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		s := connect(t, version, nil)
		result := call(t, s, "add", map[string]any{"a": 2, "b": 40})
		if got := textOf(t, result); got != `{"sum":42}` {
			t.Errorf("text %s", got)
		}
		if version >= "2025-06-18" {
			if got := decode[map[string]float64](t, result)["sum"]; got != 42 {
				t.Errorf("structured sum %v", got)
			}
		}
		if got := textOf(t, call(t, s, "revision", nil)); got != version {
			t.Errorf("called in the revision %q, want %q", got, version)
		}
	})
}

func TestBlocks(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		s := connect(t, version, nil)
		var kinds []string
		for _, block := range call(t, s, "blocks", nil).Content {
			kinds = append(kinds, fmt.Sprintf("%T", block)[len("*mcp."):])
		}
		audio, link := "AudioContent", "ResourceLink"
		if version < "2025-03-26" {
			audio = "EmbeddedResource"
		}
		if version < "2025-06-18" {
			link = "TextContent"
		}
		if want := []string{"TextContent", "ImageContent", audio, "EmbeddedResource", link}; !reflect.DeepEqual(kinds, want) {
			t.Errorf("blocks %q, want %q", kinds, want)
		}
	})
}

func TestErrors(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		s := connect(t, version, nil)
		if r := call(t, s, "fail", nil); !r.IsError || textOf(t, r) != "no luck today" {
			t.Errorf("the tool's error: %+v", r)
		}
		if r := call(t, s, "add", map[string]any{"a": "two"}); !r.IsError {
			t.Errorf("wrong arguments: %+v", r)
		}
		_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "refuse"})
		wantCode(t, err, -5)
		_, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "nobody"})
		wantCode(t, err, jsonrpc.CodeInvalidParams)
		_, err = s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"})
		wantCode(t, err, jsonrpc.CodeInvalidParams)
		_, err = s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "note://by-id/gone"})
		notFound := int64(-32002)
		if version >= stateless {
			notFound = jsonrpc.CodeInvalidParams
		}
		wantCode(t, err, notFound)
	})
}

func wantCode(t *testing.T, err error, code int64) {
	t.Helper()
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("got %v, want the error %d", err, code)
	}
}

func TestReadAndGet(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		s := connect(t, version, nil)
		read := func(uri string) *mcp.ResourceContents {
			t.Helper()
			r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			if err != nil || len(r.Contents) != 1 {
				t.Fatalf("reading %s: %v %v", uri, r, err)
			}
			return r.Contents[0]
		}
		if got := read("note://readme"); got.Text != "hello" || got.URI != "note://readme" {
			t.Errorf("readme %+v", got)
		}
		if got := read("note://logo"); string(got.Blob) != "\x01\x02\x03" {
			t.Errorf("logo %+v", got)
		}
		if got := read("note://by-id/7"); got.Text != "note 7" {
			t.Errorf("note %+v", got)
		}
		p, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "Ada"}})
		if err != nil || len(p.Messages) != 2 || p.Description != "For Ada" {
			t.Errorf("prompt %+v, %v", p, err)
		}
	})
}

func TestComplete(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		s := connect(t, version, nil)
		r, err := s.Complete(t.Context(), &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"},
			Argument: mcp.CompleteParamsArgument{Name: "name", Value: "A"},
			Context:  &mcp.CompleteContext{Arguments: map[string]string{"tone": "kind"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"Aa", "Ab", "known: kind"}; !reflect.DeepEqual(r.Completion.Values, want) {
			t.Errorf("prompt: %q, want %q", r.Completion.Values, want)
		}
		r, err = s.Complete(t.Context(), &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: "note://by-id/{id}"},
			Argument: mcp.CompleteParamsArgument{Name: "id", Value: ""},
		})
		if err != nil || len(r.Completion.Values) != 100 || r.Completion.Total != 150 || !r.Completion.HasMore {
			t.Errorf("resource: %+v, %v", r, err)
		}
	})
}

func TestProgress(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		heard := make(chan *mcp.ProgressNotificationParams, 10)
		s := connect(t, version, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { heard <- r.Params },
		})
		p := &mcp.CallToolParams{Name: "count", Arguments: map[string]any{"to": 3}}
		p.SetProgressToken("token-1")
		if _, err := s.CallTool(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			got := receive(t, heard, "progress")
			message := fmt.Sprintf("at %d", i+1)
			if version < "2025-03-26" {
				message = ""
			}
			if got.ProgressToken != "token-1" || got.Progress != float64(i+1) || got.Total != 3 || got.Message != message {
				t.Errorf("progress %+v", got)
			}
		}
	})
}

func TestCancel(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		s := connect(t, version, nil)
		counts := func() (n struct{ Started, Cancelled int }) {
			t.Helper()
			if err := json.Unmarshal([]byte(textOf(t, call(t, s, "waits", nil))), &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "wait"})
			done <- err
		}()
		eventually(t, "the tool has begun", func() bool { return counts().Started == 1 })
		cancel()
		if err := receive(t, done, "end of the call"); !errors.Is(err, context.Canceled) {
			t.Errorf("the call ended with %v", err)
		}
		eventually(t, "the tool has seen that it was cancelled", func() bool { return counts().Cancelled == 1 })
	})
}

func TestListChanged(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		heard := make(chan string, 10)
		s := connect(t, version, &mcp.ClientOptions{
			ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { heard <- "tools" },
			ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { heard <- "resources" },
			PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { heard <- "prompts" },
		})
		for _, kind := range []string{"tools", "resources", "prompts"} {
			call(t, s, "switch", map[string]any{"kind": kind})
			if got := receive(t, heard, kind+"/list_changed"); got != kind {
				t.Errorf("notified of %s, want %s", got, kind)
			}
		}
		wantAll(t, collect(t, s.Tools(t.Context(), nil), func(v *mcp.Tool) string { return v.Name }), "extra")
	})
}

func TestSubscribe(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		heard := make(chan string, 10)
		s := connect(t, version, &mcp.ClientOptions{
			ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { heard <- r.Params.URI },
		})
		if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "note://readme"}); err != nil {
			t.Fatal(err)
		}
		call(t, s, "touch", map[string]any{"uri": "note://logo"}) // not subscribed
		call(t, s, "touch", map[string]any{"uri": "note://readme"})
		if got := receive(t, heard, "update"); got != "note://readme" {
			t.Errorf("update of %s", got)
		}
		if err := s.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "note://readme"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "note://logo"}); err != nil {
			t.Fatal(err)
		}
		if version >= stateless {
			// Unsubscribing is asynchronous: wait until it has arrived.
			eventually(t, "the old subscription is over", func() bool {
				call(t, s, "touch", map[string]any{"uri": "note://readme"})
				call(t, s, "touch", map[string]any{"uri": "note://logo"})
				got := []string{receive(t, heard, "update")}
				for len(got) < 2 && got[0] == "note://readme" {
					got = append(got, receive(t, heard, "update"))
				}
				return len(got) == 1
			})
			return
		}
		call(t, s, "touch", map[string]any{"uri": "note://readme"})
		call(t, s, "touch", map[string]any{"uri": "note://logo"})
		if got := receive(t, heard, "update"); got != "note://logo" {
			t.Errorf("update of %s after unsubscribing", got)
		}
	})
}
