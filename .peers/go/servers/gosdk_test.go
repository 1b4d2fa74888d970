package servers_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// goSDK is the prefix of package paths of the official Go SDK.
const goSDK = "github.com/modelcontextprotocol/go-sdk/"

// goSDKWays returns the ways to a server of the SDK, over stdio and, with -http, over HTTP. Over
// HTTP the SDK serves stateless revisions only without sessions, which the examples do not enable.
func goSDKWays(t *testing.T, pkg string, args ...string) []way {
	t.Helper()
	program, address := build(t, goSDK+pkg), freeAddress(t)
	serve(t, address, exec.Command(program, append(args, "-http", address)...))
	return []way{overStdio(program, args...), overHTTP("http://" + address).inSessions()}
}

func TestGoSDKHello(t *testing.T) {
	ways := []way{overStdio(build(t, goSDK+"examples/server/hello"))}
	inEach(t, ways, func(t *testing.T, c *client.Client, _ *ears) {
		same(t, "server", c.Server().Name, "greeter")
		has(t, "greet", call(t, c, "greet", map[string]string{"name": "Ada"}), "Hi Ada")
		same(t, "without a name", called(t, c, "greet", map[string]any{}).IsError, true)
	})
}

func TestGoSDKEverything(t *testing.T) {
	inEach(t, goSDKWays(t, "examples/server/everything"), func(t *testing.T, c *client.Client, e *ears) {
		same(t, "server", c.Server().Name, "everything")
		same(t, "instructions", c.Instructions(), "Use this server!")
		same(t, "number of tools", len(toolNames(t, c)), 10)
		if err := c.Ping(t.Context()); err != nil {
			t.Errorf("pinging: %v", err)
		}
		ada := map[string]string{"name": "Ada"}
		same(t, "greet", call(t, c, "greet", ada), "Hi Ada")
		same(t, "structured", string(called(t, c, "greet (structured)", ada).StructuredContent), `{"message":"Hi Ada"}`)
		link, ok := called(t, c, "greet (content with ResourceLink)", ada).Content[0].(mcp.ResourceLink)
		if !ok || link.URI != "data:text/plain,Hi%20Ada" || len(link.Icons) != 1 {
			t.Errorf("a link: %+v", link)
		}
		same(t, "without a name", called(t, c, "greet", map[string]any{}).IsError, true)
		_, err := c.CallTool(t.Context(), "nonesuch", nil)
		fails(t, "a tool that does not exist", err, jsonrpc.InvalidParams)
		var missing *client.NotFoundError
		if _, err := c.Tool(t.Context(), "nonesuch"); !errors.As(err, &missing) || !slices.Contains(missing.Available, "greet") {
			t.Errorf("an unknown tool: %v", err)
		}
		goSDKResources(t, c)
		goSDKQuestions(t, c, e)
	})
}

// goSDKResources reads known and unknown resources.
func goSDKResources(t *testing.T, c *client.Client) {
	t.Helper()
	resources := must[[]mcp.Resource](t)(c.Resources(t.Context()))
	if len(resources) != 1 || resources[0].URI != "embedded:info" || len(resources[0].Icons) != 1 {
		t.Errorf("resources: %+v", resources)
	}
	templates := must[[]mcp.ResourceTemplate](t)(c.ResourceTemplates(t.Context()))
	if len(templates) != 1 || templates[0].URITemplate != "http://example.com/~{resource_name}/" {
		t.Errorf("templates: %+v", templates)
	}
	contents := must[[]mcp.ResourceContents](t)(c.ReadResource(t.Context(), "embedded:info"))
	if len(contents) != 1 || contents[0].Text != "This is the hello example server." || contents[0].MIMEType != "text/plain" {
		t.Errorf("contents: %+v", contents)
	}
	_, err := c.ReadResource(t.Context(), "embedded:nonesuch")
	fails(t, "a resource that does not exist", err, mcp.ResourceNotFound, jsonrpc.InvalidParams)
	_, err = c.ReadResource(t.Context(), "http://example.com/~ada/")
	fails(t, "a resource of another scheme", err, 0, jsonrpc.InternalError)

	prompts := must[[]mcp.Prompt](t)(c.Prompts(t.Context()))
	same(t, "number of prompts", len(prompts), 2)
	prompt := must[*mcp.PromptResult](t)(c.GetPrompt(t.Context(), "greet", map[string]string{"name": "Ada"}))
	if text, ok := prompt.Messages[0].Content.(mcp.Text); !ok || text.Text != "Say hi to Ada" || prompt.Messages[0].Role != mcp.RoleUser {
		t.Errorf("a prompt: %+v", prompt)
	}
	_, err = c.GetPrompt(t.Context(), "nonesuch", nil)
	fails(t, "a prompt that does not exist", err, jsonrpc.InvalidParams)
	values := completePrompt(t, c, "greet", "name", "ad", nil)
	if !slices.Equal(values, []string{"adx"}) {
		t.Errorf("completions: %q", values)
	}
	values = completeResource(t, c, "http://example.com/~{resource_name}/", "resource_name", "b")
	if !slices.Equal(values, []string{"bx"}) {
		t.Errorf("completions: %q", values)
	}
}

// goSDKQuestions calls tools that ask the client. They ask during a call, which stateless revisions
// do not allow.
func goSDKQuestions(t *testing.T, c *client.Client, e *ears) {
	t.Helper()
	callLogged(t, c, "log")
	if m := receive(t, e.logged, "log"); m.level != string(mcp.LevelError) || m.data != `"something happened!"` {
		t.Errorf("logged: %+v", m)
	}
	if c.Revision() == mcp.Latest {
		for _, name := range []string{"sample", "roots"} {
			if result := called(t, c, name, nil); !result.IsError {
				t.Errorf("%s returned %s", name, result.Text())
			}
		}
		return
	}
	call(t, c, "ping", nil)
	same(t, "roots", call(t, c, "roots", nil), "peers:file://"+root)
	same(t, "asked", receive(t, e.asked, "question"), "roots")
	same(t, "sample", call(t, c, "sample", nil), "You said: ")
	receive(t, e.asked, "question")
	if c.Revision() < mcp.Revision20250618 {
		return
	}
	e.fill <- `{"random":"seven"}`
	same(t, "a form", call(t, c, "elicit (form)", nil), "seven")
	same(t, "asked", receive(t, e.asked, "question"), "provide a random string")
	if c.Revision() < mcp.Revision20251125 {
		return
	}
	same(t, "a page", call(t, c, "elicit (url)", nil), "(elicitation pending)")
	has(t, "asked", receive(t, e.asked, "question"), "http://localhost:6062?id=")
	goSDKGiveUp(t, c, e)
}

// goSDKGiveUp cancels a call while it waits for an answer. The server cancels its question.
func goSDKGiveUp(t *testing.T, c *client.Client, e *ears) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	e.fill <- "wait"
	done := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, "elicit (form)", nil)
		done <- err
	}()
	receive(t, e.asked, "question")
	cancel()
	if err := receive(t, done, "end of the call"); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	receive(t, e.forgotten, "withdrawal of the question")
	same(t, "the next call", call(t, c, "greet", map[string]string{"name": "Ada"}), "Hi Ada")
}

func TestGoSDKMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.json")
	inEach(t, goSDKWays(t, "examples/server/memory", "-memory", file), func(t *testing.T, c *client.Client, _ *ears) {
		remember(t, c)
	})
}

// remember stores, finds and deletes an entity. The memory servers of different authors have the
// same tools.
func remember(t *testing.T, c *client.Client) {
	t.Helper()
	ada := map[string]any{"name": "Ada", "entityType": "person", "observations": []string{"counts"}}
	bob := map[string]any{"name": "Bob", "entityType": "person", "observations": []string{"waits"}}
	call(t, c, "create_entities", map[string]any{"entities": []any{ada, bob}})
	call(t, c, "create_relations", map[string]any{"relations": []any{map[string]string{"from": "Ada", "to": "Bob", "relationType": "knows"}}})
	for name, arguments := range map[string]any{
		"read_graph": nil, "search_nodes": map[string]string{"query": "counts"}, "open_nodes": map[string]any{"names": []string{"Ada"}},
	} {
		if arguments == nil {
			arguments = map[string]any{}
		}
		result := called(t, c, name, arguments)
		if result.IsError || !strings.Contains(string(result.StructuredContent), `"Ada"`) {
			t.Errorf("%s: %s", name, result.Text())
		}
	}
	call(t, c, "delete_entities", map[string]any{"entityNames": []string{"Ada", "Bob"}})
	if result := called(t, c, "read_graph", map[string]any{}); strings.Contains(string(result.StructuredContent), `"Ada"`) {
		t.Errorf("after deleting: %s", result.Text())
	}
}

func TestGoSDKThinking(t *testing.T) {
	inEach(t, goSDKWays(t, "examples/server/sequentialthinking"), func(t *testing.T, c *client.Client, _ *ears) {
		names := toolNames(t, c)
		same(t, "number of tools", len(names), 3)
		has(t, "a problem", call(t, c, "start_thinking", map[string]any{"problem": "Why?", "sessionId": "s" + string(c.Revision()), "estimatedSteps": 2}), "Why?")
		resources := must[[]mcp.Resource](t)(c.Resources(t.Context()))
		has(t, "resources", resources[0].URI, "thinking://")
		contents := must[[]mcp.ResourceContents](t)(c.ReadResource(t.Context(), resources[0].URI))
		has(t, "contents", contents[0].Text, "Why?")
	})
}

func TestGoSDKSSE(t *testing.T) {
	address := freeAddress(t)
	host, port, _ := strings.Cut(address, ":")
	serve(t, address, exec.Command(build(t, goSDK+"examples/server/sse"), "-host", host, "-port", port))
	url := "http://" + address + "/greeter1"
	inEach(t, []way{overSSE(url), overHTTP(url).inSessions().as("sse, unannounced")}, func(t *testing.T, c *client.Client, _ *ears) {
		same(t, "server", c.Server().Name, "greeter1")
		same(t, "greet", call(t, c, "greet1", map[string]string{"name": "Ada"}), "Hi Ada")
		_, err := c.CallTool(t.Context(), "nonesuch", nil)
		fails(t, "a tool that does not exist", err, jsonrpc.InvalidParams)
	})
	t.Run("a path where there is nothing", func(t *testing.T) {
		o, _ := listening(t)
		var refused *clienthttp.HTTPError
		if _, err := clienthttp.Dial(t.Context(), clienthttp.Server{URL: "http://" + address + "/nonesuch"}, o); !errors.As(err, &refused) {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestGoSDKConformance tests the SDK's server for the official conformance suite. Unlike the
// examples, it has progress, lists that change, and questions in stateless revisions.
func TestGoSDKConformance(t *testing.T) {
	t.Parallel()
	program, address, stateless := build(t, goSDK+"conformance/everything-server"), freeAddress(t), freeAddress(t)
	serve(t, address, exec.Command(program, "-stateless=false", "-http", address))
	serve(t, stateless, exec.Command(program, "-http", stateless))
	ways := []way{overStdio(program), overHTTP("http://" + address).inSessions(), overHTTP("http://" + stateless).as("http, stateless")}
	inEach(t, ways, func(t *testing.T, c *client.Client, e *ears) {
		alone := strings.Contains(t.Name(), "stateless") // one session per request, or none
		goSDKContent(t, c)
		var progress []float64
		call(t, c, "test_tool_with_progress", nil, client.OnProgress(func(p client.Progress) { progress = append(progress, p.Progress) }))
		if len(progress) < 3 || !slices.IsSorted(progress) {
			t.Errorf("progress: %v", progress)
		}
		if !alone || c.Revision() == mcp.Latest {
			callLogged(t, c, "test_tool_with_logging")
			has(t, "logged", receive(t, e.logged, "log").data, "Tool execution started")
		}
		switch {
		case c.Revision() == mcp.Latest:
			goSDKRounds(t, c, e)
			goSDKChanges(t, c, e)
		case !alone:
			has(t, "sampling", call(t, c, "test_sampling", map[string]string{"prompt": "Hello"}), "You said: Hello")
			goSDKChanges(t, c, e)
			if c.Revision() >= mcp.Revision20251125 {
				same(t, "defaults", call(t, c, "test_elicitation_sep1034_defaults", nil) != "", true)
			}
		}
	})
}

// goSDKContent requests all kinds of content.
func goSDKContent(t *testing.T, c *client.Client) {
	t.Helper()
	image, ok := called(t, c, "test_image_content", nil).Content[0].(mcp.Image)
	if !ok || image.MIMEType != "image/png" || len(image.Data) == 0 {
		t.Errorf("an image: %+v", image)
	}
	audio, ok := called(t, c, "test_audio_content", nil).Content[0].(mcp.Audio)
	if !ok || audio.MIMEType != "audio/wav" || len(audio.Data) == 0 {
		t.Errorf("sound: %+v", audio)
	}
	embedded, ok := called(t, c, "test_embedded_resource", nil).Content[0].(mcp.EmbeddedResource)
	if !ok || embedded.Resource.Text == "" {
		t.Errorf("a resource: %+v", embedded)
	}
	same(t, "an error", called(t, c, "test_error_handling", nil).IsError, true)
	blob := must[[]mcp.ResourceContents](t)(c.ReadResource(t.Context(), "test://static-binary"))
	if len(blob) != 1 || len(blob[0].Blob) == 0 {
		t.Errorf("a blob: %+v", blob)
	}
	filled := must[[]mcp.ResourceContents](t)(c.ReadResource(t.Context(), "test://template/7/data"))
	has(t, "a resource of a template", filled[0].Text, "7")
	prompt := must[*mcp.PromptResult](t)(c.GetPrompt(t.Context(), "test_prompt_with_image", nil))
	if _, ok := prompt.Messages[0].Content.(mcp.Image); !ok {
		t.Errorf("a prompt with an image: %+v", prompt.Messages[0])
	}
	if c.Revision() == mcp.Latest {
		// Over HTTP, a header repeats an argument, and the server compares them.
		call(t, c, "test_x_mcp_header", map[string]any{"region": "Zürich "})
		must[[]mcp.Tool](t)(c.Tools(t.Context()))
		call(t, c, "test_x_mcp_header", map[string]any{"region": "Zürich "})
	}
}

// goSDKRounds calls tools that ask before they answer, in rounds.
func goSDKRounds(t *testing.T, c *client.Client, e *ears) {
	t.Helper()
	e.fill <- `{"name":"Ada"}`
	has(t, "a form", call(t, c, "test_input_required_result_elicitation", nil), "Ada")
	has(t, "sampling", call(t, c, "test_input_required_result_sampling", nil), "You said")
	has(t, "roots", call(t, c, "test_input_required_result_list_roots", nil), root)
	e.fill <- `{"confirmed":true,"ok":true}`
	call(t, c, "test_input_required_result_request_state", nil)
	e.fill <- `{"name":"Ada"}`
	call(t, c, "test_input_required_result_multiple_inputs", nil)
	e.fill <- `{"name":"Ada"}`
	e.fill <- `{"color":"red"}`
	has(t, "two rounds", call(t, c, "test_input_required_result_multi_round", nil), "Ada likes red")
	e.fill <- `{"context":"here"}`
	must[*mcp.PromptResult](t)(c.GetPrompt(t.Context(), "test_input_required_result_prompt", nil))
}

// goSDKChanges changes lists, and waits for a resource that changes every three seconds.
func goSDKChanges(t *testing.T, c *client.Client, e *ears) {
	t.Helper()
	stop := subscribe(t, c, e, "test://watched-resource")
	call(t, c, "test_trigger_tool_change", nil)
	await(t, e.changed, "tools")
	call(t, c, "test_trigger_prompt_change", nil)
	await(t, e.changed, "prompts")
	if strings.HasSuffix(t.Name(), "whatever") {
		await(t, e.updated, "test://watched-resource")
	}
	stop()
}
