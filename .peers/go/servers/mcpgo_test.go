package servers_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// mcpGo is the prefix of package paths of mcp-go's examples.
const mcpGo = "github.com/mark3labs/mcp-go/examples/"

// serveMCPGo starts an example at a free port instead of 8080, and returns its URL.
func serveMCPGo(t *testing.T, example string, args ...string) string {
	t.Helper()
	address := freeAddress(t)
	serve(t, address, exec.Command(buildAt(t, mcpGo+example, `Start(":8080")`, `Start("`+address+`")`), args...))
	return "http://" + address + "/mcp"
}

func TestMCPGoEverything(t *testing.T) {
	t.Parallel()
	ways := []way{overStdio(build(t, mcpGo+"everything")), overHTTP(serveMCPGo(t, "everything", "-t", "http"))}
	inEach(t, ways, func(t *testing.T, c *client.Client, e *ears) {
		same(t, "server", c.Server().Name, "example-servers/everything")
		same(t, "number of tools", len(toolNames(t, c)), 6)
		same(t, "echo", call(t, c, "echo", map[string]string{"message": "Grüße"}), "Echo: Grüße")
		has(t, "add", call(t, c, "add", map[string]any{"a": 2, "b": 3.5}), "5.5")
		result := called(t, c, "getTinyImage", nil)
		if image, ok := result.Content[1].(mcp.Image); len(result.Content) != 3 || !ok || len(image.Data) == 0 {
			t.Errorf("an image: %+v", result.Content)
		}
		link, ok := called(t, c, "get_resource_link", nil).Content[1].(mcp.ResourceLink)
		if !ok || link.URI != "file:///example/document.pdf" {
			t.Errorf("a link: %+v", link)
		}
		_, err := c.CallTool(t.Context(), "nonesuch", nil)
		fails(t, "a tool that does not exist", err, jsonrpc.InvalidParams, jsonrpc.MethodNotFound, -32002)
		same(t, "progress for another client", call(t, c, "notify", nil), "notification sent successfully")
		var progress []float64
		call(t, c, "longRunningOperation", map[string]any{"duration": 0.3, "steps": 3}, client.OnProgress(func(p client.Progress) { progress = append(progress, p.Progress) }))
		if len(progress) < 2 || !slices.IsSorted(progress) { // sometimes the server does not send the last one
			t.Errorf("progress: %v", progress)
		}
		mcpGoResources(t, c, e)
		if err := c.Ping(t.Context()); err != nil {
			t.Errorf("pinging: %v", err)
		}
		mcpGoGiveUp(t, c)
	})
}

// mcpGoResources reads resources and templates.
func mcpGoResources(t *testing.T, c *client.Client, e *ears) {
	t.Helper()
	same(t, "number of resources", len(must[[]mcp.Resource](t)(c.Resources(t.Context()))), 101)
	same(t, "number of templates", len(must[[]mcp.ResourceTemplate](t)(c.ResourceTemplates(t.Context()))), 1)
	contents := must[[]mcp.ResourceContents](t)(c.ReadResource(t.Context(), "test://static/resource/1"))
	same(t, "a text", contents[0].Text, "Text content for resource 1")
	contents = must[[]mcp.ResourceContents](t)(c.ReadResource(t.Context(), "test://static/resource/2"))
	same(t, "a blob", string(contents[0].Blob), "Binary content for resource 2")
	contents = must[[]mcp.ResourceContents](t)(c.ReadResource(t.Context(), "test://dynamic/resource/17"))
	same(t, "a resource of a template", contents[0].URI, "test://dynamic/resource/17")
	_, err := c.ReadResource(t.Context(), "test://nonesuch")
	fails(t, "a resource that does not exist", err, mcp.ResourceNotFound, jsonrpc.InvalidParams)

	same(t, "number of prompts", len(must[[]mcp.Prompt](t)(c.Prompts(t.Context()))), 2)
	prompt := must[*mcp.PromptResult](t)(c.GetPrompt(t.Context(), "complex_prompt", map[string]string{"temperature": "0.5", "style": "formal"}))
	if text, ok := prompt.Messages[0].Content.(mcp.Text); len(prompt.Messages) != 3 || !ok || !strings.Contains(text.Text, "temperature=0.5, style=formal") {
		t.Errorf("a prompt: %+v", prompt)
	}
	values := completePrompt(t, c, "complex_prompt", "style", "c", nil)
	if !slices.Equal(values, []string{"casual", "creative"}) {
		t.Errorf("completions: %q", values)
	}
	values = completeResource(t, c, "test://dynamic/resource/{id}", "id", "1")
	if len(values) == 0 || !strings.HasPrefix(values[0], "1") {
		t.Errorf("completions: %q", values)
	}
	subscribe(t, c, e, "test://static/resource/1")()
}

// mcpGoGiveUp cancels a long call at its first progress notification.
func mcpGoGiveUp(t *testing.T, c *client.Client) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := c.CallTool(ctx, "longRunningOperation", map[string]any{"duration": 1, "steps": 10}, client.OnProgress(func(client.Progress) { cancel() }))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	same(t, "the next call", call(t, c, "echo", map[string]string{"message": "still"}), "Echo: still")
}

func TestMCPGoTyped(t *testing.T) {
	inEach(t, []way{overStdio(build(t, mcpGo+"typed_tools"))}, func(t *testing.T, c *client.Client, _ *ears) {
		arguments := map[string]any{"name": "Ada", "age": 36, "is_vip": true, "languages": []string{"en", "de"}, "metadata": map[string]string{"location": "London"}, "any_data": []int{1}}
		has(t, "a greeting", call(t, c, "greeting", arguments), "Hello, Ada! You are 36 years old.")
		same(t, "no name", called(t, c, "greeting", map[string]any{}).IsError, true)
	})
}

func TestMCPGoStructured(t *testing.T) {
	inEach(t, []way{overStdio(build(t, mcpGo+"structured_input_and_output"))}, func(t *testing.T, c *client.Client, _ *ears) {
		tool := must[*mcp.Tool](t)(c.Tool(t.Context(), "get_weather"))
		if c.Revision() >= mcp.Revision20250618 && tool.OutputSchema == nil {
			t.Error("the tool has no output schema")
		}
		result := called(t, c, "get_weather", map[string]any{"location": "Bern", "units": "celsius"})
		var weather struct{ Location string }
		if err := json.Unmarshal(result.StructuredContent, &weather); err != nil || weather.Location != "Bern" {
			t.Errorf("the weather: %s, %v", result.StructuredContent, err)
		}
		if list := called(t, c, "get_assets", map[string]any{}); c.Revision() == mcp.Latest && !strings.HasPrefix(string(list.StructuredContent), "[") {
			t.Errorf("a list as a result: %s", list.StructuredContent)
		}
	})
}

// asksNoMore checks that a tool fails that asks during a call, which stateless revisions do not
// allow.
func asksNoMore(t *testing.T, c *client.Client, name string, arguments any) {
	t.Helper()
	const why = "server-initiated requests are not supported"
	result, err := c.CallTool(t.Context(), name, arguments)
	if err != nil {
		has(t, name, err.Error(), why)
	} else if !result.IsError || !strings.Contains(result.Text(), why) {
		t.Errorf("%s returned %s", name, result.Text())
	}
}

func TestMCPGoElicitation(t *testing.T) {
	inEach(t, []way{overStdio(build(t, mcpGo+"elicitation"))}, func(t *testing.T, c *client.Client, e *ears) {
		same(t, "number of tools", len(toolNames(t, c)), 4)
		if c.Revision() < mcp.Revision20250618 {
			return // revisions without elicitation
		}
		if c.Revision() == mcp.Latest {
			asksNoMore(t, c, "create_project", nil)
			return
		}
		e.fill <- `{"projectName":"moon","framework":"vue"}`
		same(t, "a form", call(t, c, "create_project", nil), "Created project 'moon' with framework: vue, tests: true")
		has(t, "declined", call(t, c, "create_project", nil), "user declined")
		has(t, "short data", call(t, c, "process_data", map[string]string{"data": "short"}), "Processed 5 characters")
		e.fill <- `{"proceed":false,"reason":"no time"}`
		has(t, "long data", call(t, c, "process_data", map[string]string{"data": strings.Repeat("long ", 50)}), "Processing declined: no time")
		if c.Revision() == mcp.Revision20251125 {
			has(t, "a page", call(t, c, "auth_via_url", nil), "User accepted URL open request")
			_, err := c.CallTool(t.Context(), "protected_action", nil)
			fails(t, "a page first", err, -32042)
		}
	})
}

func TestMCPGoRoots(t *testing.T) {
	ways := []way{overStdio(build(t, mcpGo+"roots_server")), overHTTP(serveMCPGo(t, "roots_http_server"))}
	inEach(t, ways, func(t *testing.T, c *client.Client, e *ears) {
		if c.Revision() == mcp.Latest {
			asksNoMore(t, c, "roots", map[string]string{"testonly": "yes"})
			return
		}
		e.forgiven = "notification received: notifications/roots/list_changed" // the example prints it to standard output
		has(t, "roots", call(t, c, "roots", map[string]string{"testonly": "yes"}), "file://"+root)
		if err := c.Notify(t.Context(), "notifications/roots/list_changed", nil); err != nil {
			t.Errorf("notify that roots changed: %v", err)
		}
		has(t, "roots, after a line that is not a message", call(t, c, "roots", map[string]string{"testonly": "yes"}), "file://"+root)
	})
}

func TestMCPGoSampling(t *testing.T) {
	ways := []way{overStdio(build(t, mcpGo+"sampling_server")), overHTTP(serveMCPGo(t, "sampling_http_server"))}
	inEach(t, ways, func(t *testing.T, c *client.Client, e *ears) {
		if c.Revision() == mcp.Latest {
			asksNoMore(t, c, "ask_llm", map[string]string{"question": "Why?"})
			return
		}
		has(t, "sampling", call(t, c, "ask_llm", map[string]string{"question": "Why?"}), "LLM Response (model: parrot): You said: Why?")
		same(t, "asked", receive(t, e.asked, "question"), "Why?")
	})
}

func TestMCPGoSSE(t *testing.T) {
	address := freeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	serve(t, address, exec.Command(build(t, mcpGo+"dynamic_path"), "-addr", ":"+port))
	url := "http://localhost:" + port + "/api/ada/sse"
	inEach(t, []way{overSSE(url), overHTTP(url).inSessions().as("sse, unannounced")}, func(t *testing.T, c *client.Client, _ *ears) {
		same(t, "echo", call(t, c, "echo", map[string]string{"message": "hello"}), "Echo: hello")
		_, err := c.CallTool(t.Context(), "nonesuch", nil)
		fails(t, "a tool that does not exist", err, jsonrpc.InvalidParams, jsonrpc.MethodNotFound, -32002)
	})
}

// TestMCPGoConformance tests mcp-go's server for the official conformance suite, which has more
// features than the examples.
func TestMCPGoConformance(t *testing.T) {
	address := freeAddress(t)
	cmd := exec.Command(build(t, mcpGo+"conformance"))
	cmd.Env = append(os.Environ(), "CONFORMANCE_ADDR="+address)
	serve(t, address, cmd)
	inEach(t, []way{overHTTP("http://" + address + "/mcp")}, func(t *testing.T, c *client.Client, e *ears) {
		audio, ok := called(t, c, "test_audio_content", nil).Content[0].(mcp.Audio)
		if !ok || len(audio.Data) == 0 {
			t.Errorf("sound: %+v", audio)
		}
		embedded, ok := called(t, c, "test_embedded_resource", nil).Content[0].(mcp.EmbeddedResource)
		if !ok || embedded.Resource.Text == "" {
			t.Errorf("a resource: %+v", embedded)
		}
		same(t, "an error", called(t, c, "test_error_handling", nil).IsError, true)
		callLogged(t, c, "test_tool_with_logging")
		has(t, "logged", receive(t, e.logged, "log").data, "Tool execution started")
		if c.Revision() == mcp.Latest {
			asksNoMore(t, c, "test_sampling", map[string]string{"prompt": "Hello"})
			return
		}
		has(t, "sampling", call(t, c, "test_sampling", map[string]string{"prompt": "Hello"}), "You said: Hello")
		if c.Revision() >= mcp.Revision20250618 {
			e.fill <- `{"username":"ada","email":"ada@example.com"}`
			has(t, "a form", call(t, c, "test_elicitation", map[string]string{"message": "Who?"}), "action=accept")
			e.fill <- `{}`
			has(t, "defaults", call(t, c, "test_elicitation_sep1034_defaults", nil), "John Doe")
		}
	})
}

func TestMCPGoAsker(t *testing.T) {
	program, address := build(t, "./asker"), freeAddress(t)
	serve(t, address, exec.Command(program, address))
	inEach(t, []way{overStdio(program), overHTTP("http://" + address + "/mcp")}, func(t *testing.T, c *client.Client, e *ears) {
		if c.Revision() >= mcp.Revision20250618 {
			e.fill <- `{"approve":true}`
			same(t, "accepted", call(t, c, "deploy", map[string]string{"environment": "moon"}), "deployed to moon")
			same(t, "asked", receive(t, e.asked, "question"), "Deploy to moon?")
			same(t, "declined", call(t, c, "deploy", map[string]string{"environment": "moon"}), "not deployed")
		}
		stop := subscribe(t, c, e, "note://1")
		call(t, c, "grow", nil)
		await(t, e.changed, "tools")
		same(t, "a tool that is new", call(t, c, "grown", nil), "new")
		call(t, c, "touch", nil)
		if c.Revision() != mcp.Latest || strings.Contains(t.Name(), "stdio") { // there, mcp-go does not send broadcasts on HTTP streams
			await(t, e.updated, "note://1")
		}
		stop()
	})
}
