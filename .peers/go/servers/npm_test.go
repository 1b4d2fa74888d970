package servers_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

var (
	npm  = flag.String("npm", "", "the folder below which npm has installed the reference servers; without it they are not driven")
	node = flag.String("node", "node", "the program that runs them")
)

// reference returns the script of a reference server.
func reference(t *testing.T, name string) string {
	t.Helper()
	if *npm == "" {
		t.Skip("-npm, the folder of the reference servers, is not set")
	}
	script, err := filepath.Abs(filepath.Join(*npm, "node_modules/@modelcontextprotocol/server-"+name+"/dist/index.js"))
	if err == nil {
		_, err = os.Stat(script)
	}
	if err != nil {
		t.Fatalf("the server is not installed: %v", err)
	}
	return script
}

// serveReference starts a reference server over HTTP, and returns its URL without a path.
func serveReference(t *testing.T, script, transport string) string {
	t.Helper()
	_, port, _ := strings.Cut(freeAddress(t), ":")
	cmd := exec.Command(*node, script, transport)
	cmd.Env = append(os.Environ(), "PORT="+port)
	serve(t, "localhost:"+port, cmd)
	return "http://localhost:" + port
}

func TestReferenceEverything(t *testing.T) {
	t.Parallel()
	script := reference(t, "everything")
	sse := serveReference(t, script, "sse") + "/sse"
	ways := []way{
		overStdio(*node, script).inSessions(),
		overHTTP(serveReference(t, script, "streamableHttp") + "/mcp").inSessions(),
		overSSE(sse),
		overHTTP(sse).inSessions().as("sse, unannounced"),
	}
	inEach(t, ways, func(t *testing.T, c *client.Client, e *ears) {
		same(t, "server", c.Server().Name, "mcp-servers/everything")
		has(t, "instructions", c.Instructions(), "Everything")
		names := toolNames(t, c)
		if !slices.Contains(names, "echo") || !slices.Contains(names, "trigger-sampling-request") {
			t.Errorf("tools: %q", names)
		}
		referenceContent(t, c)
		referenceResources(t, c, e)
		referenceQuestions(t, c, e)
		referenceChanges(t, c, e)
		referenceProgress(t, c)
		if err := c.Ping(t.Context()); err != nil {
			t.Errorf("pinging: %v", err)
		}
	})
}

// referenceContent requests all kinds of content.
func referenceContent(t *testing.T, c *client.Client) {
	t.Helper()
	same(t, "echo", call(t, c, "echo", map[string]string{"message": "Grüße\n\"你好\""}), "Echo: Grüße\n\"你好\"")
	has(t, "sum", call(t, c, "get-sum", map[string]any{"a": 2, "b": 3.5}), "5.5")
	same(t, "a sum of words", called(t, c, "get-sum", map[string]any{"a": "two", "b": "three"}).IsError, true)
	if result := called(t, c, "nonesuch", nil); !result.IsError {
		t.Errorf("an unknown tool: %s", result.Text())
	}
	image, ok := called(t, c, "get-tiny-image", nil).Content[1].(mcp.Image)
	if !ok || image.MIMEType != "image/png" || len(image.Data) == 0 {
		t.Errorf("an image: %+v", image)
	}
	text, ok := called(t, c, "get-annotated-message", map[string]any{"messageType": "error", "includeImage": true}).Content[0].(mcp.Text)
	if !ok || text.Annotations == nil || len(text.Annotations.Audience) != 2 {
		t.Errorf("annotated: %+v", text)
	}
	var weather struct{ Temperature float64 }
	structured := called(t, c, "get-structured-content", map[string]string{"location": "Chicago"}).StructuredContent
	if err := json.Unmarshal(structured, &weather); err != nil || weather.Temperature == 0 {
		t.Errorf("structured: %s, %v", structured, err)
	}
	link, ok := called(t, c, "get-resource-links", map[string]int{"count": 2}).Content[1].(mcp.ResourceLink)
	if !ok || !strings.HasPrefix(link.URI, "demo://resource/dynamic/") {
		t.Errorf("a link: %+v", link)
	}
	embedded, ok := called(t, c, "get-resource-reference", map[string]any{"resourceType": "Blob", "resourceId": 3}).Content[1].(mcp.EmbeddedResource)
	if !ok || !strings.Contains(string(embedded.Resource.Blob), "Resource 3") {
		t.Errorf("a resource: %+v", embedded)
	}
}

// referenceResources reads resources, and gets prompts.
func referenceResources(t *testing.T, c *client.Client, e *ears) {
	t.Helper()
	resources := must[[]mcp.Resource](t)(c.Resources(t.Context()))
	if len(resources) < 5 {
		t.Fatalf("resources: %+v", resources)
	}
	contents := must[[]mcp.ResourceContents](t)(c.ReadResource(t.Context(), resources[0].URI))
	same(t, "the type of a document", contents[0].MIMEType, "text/markdown")
	same(t, "number of templates", len(must[[]mcp.ResourceTemplate](t)(c.ResourceTemplates(t.Context()))), 2)
	contents = must[[]mcp.ResourceContents](t)(c.ReadResource(t.Context(), "demo://resource/dynamic/text/7"))
	has(t, "a text", contents[0].Text, "Resource 7")
	contents = must[[]mcp.ResourceContents](t)(c.ReadResource(t.Context(), "demo://resource/dynamic/blob/7"))
	has(t, "a blob", string(contents[0].Blob), "Resource 7")
	_, err := c.ReadResource(t.Context(), "demo://nonesuch")
	fails(t, "a resource that does not exist", err, jsonrpc.InvalidParams, mcp.ResourceNotFound)

	same(t, "number of prompts", len(must[[]mcp.Prompt](t)(c.Prompts(t.Context()))), 4)
	prompt := must[*mcp.PromptResult](t)(c.GetPrompt(t.Context(), "args-prompt", map[string]string{"city": "Bern"}))
	if text, ok := prompt.Messages[0].Content.(mcp.Text); !ok || text.Text != "What's weather in Bern?" {
		t.Errorf("a prompt: %+v", prompt)
	}
	prompt = must[*mcp.PromptResult](t)(c.GetPrompt(t.Context(), "resource-prompt", map[string]string{"resourceType": "Text", "resourceId": "2"}))
	if !slices.ContainsFunc(prompt.Messages, func(m mcp.PromptMessage) bool { _, ok := m.Content.(mcp.EmbeddedResource); return ok }) {
		t.Errorf("a prompt with a resource: %+v", prompt)
	}
	_, err = c.GetPrompt(t.Context(), "args-prompt", nil)
	fails(t, "a prompt without its argument", err, jsonrpc.InvalidParams)
	values := completePrompt(t, c, "completable-prompt", "department", "S", nil)
	if !slices.Equal(values, []string{"Sales", "Support"}) {
		t.Errorf("completions: %q", values)
	}
	values = completeResource(t, c, "demo://resource/dynamic/text/{resourceId}", "resourceId", "12")
	if !slices.Equal(values, []string{"12"}) {
		t.Errorf("completions: %q", values)
	}
	if c.Revision() >= mcp.Revision20250618 {
		values = completePrompt(t, c, "completable-prompt", "name", "", map[string]string{"department": "Sales"})
		if !slices.Equal(values, []string{"David", "Eve", "Frank"}) {
			t.Errorf("completions: %q", values)
		}
	}
}

// referenceQuestions calls tools that ask the client.
func referenceQuestions(t *testing.T, c *client.Client, e *ears) {
	t.Helper()
	await(t, e.asked, "roots") // without a call
	has(t, "roots", call(t, c, "get-roots-list", nil), root)
	if err := c.Notify(t.Context(), "notifications/roots/list_changed", nil); err != nil {
		t.Errorf("notify that roots changed: %v", err)
	}
	await(t, e.asked, "roots")
	has(t, "sampling", call(t, c, "trigger-sampling-request", map[string]any{"prompt": "Why?", "maxTokens": 10}), "You said: Resource trigger-sampling-request context: Why?")
	receive(t, e.asked, "question")
	if c.Revision() < mcp.Revision20250618 {
		return
	}
	e.fill <- `{"name":"Ada"}`
	said := call(t, c, "trigger-elicitation-request", nil)
	has(t, "a form", said, "- Name: Ada")
	has(t, "a form, its defaults", said, `"pet-1"`)
	has(t, "declined", call(t, c, "trigger-elicitation-request", nil), "User declined")
	if c.Revision() < mcp.Revision20251125 {
		return
	}
	page := map[string]any{"url": "https://example.com/page"}
	has(t, "a page", call(t, c, "trigger-url-elicitation", page), "User completed the URL elicitation")
	await(t, e.asked, "https://example.com/page")
	page["errorPath"] = true
	result, err := c.CallTool(t.Context(), "trigger-url-elicitation", page)
	var asks *jsonrpc.Error
	if !errors.As(err, &asks) || asks.Code != -32042 || !strings.Contains(string(asks.Data), "https://modelcontextprotocol.io") {
		t.Errorf("a page first: %v, %v", result, err)
	}
}

// referenceChanges waits for notifications that the server sends without a call.
func referenceChanges(t *testing.T, c *client.Client, e *ears) {
	t.Helper()
	const uri = "demo://resource/dynamic/text/1"
	stop := subscribe(t, c, e, uri)
	call(t, c, "toggle-subscriber-updates", nil)
	await(t, e.updated, uri)
	call(t, c, "toggle-subscriber-updates", nil)
	stop()
	callLogged(t, c, "toggle-simulated-logging")
	for !strings.Contains(receive(t, e.logged, "log").data, "message") { // after messages about roots and subscriptions
	}
	call(t, c, "toggle-simulated-logging", nil)
	zipped := called(t, c, "gzip-file-as-resource", map[string]string{"name": "hello.txt.gz", "data": "data:text/plain;base64,SGVsbG8="})
	await(t, e.changed, "resources")
	link, ok := zipped.Content[0].(mcp.ResourceLink)
	if !ok {
		t.Fatalf("zipped: %+v", zipped.Content)
	}
	contents := must[[]mcp.ResourceContents](t)(c.ReadResource(t.Context(), link.URI))
	if blob := contents[0].Blob; len(blob) < 2 || blob[0] != 0x1f || blob[1] != 0x8b {
		t.Errorf("zipped: %x", blob)
	}
}

// referenceProgress waits for the progress of a long call, and cancels another one.
func referenceProgress(t *testing.T, c *client.Client) {
	t.Helper()
	var progress []float64
	call(t, c, "trigger-long-running-operation", map[string]any{"duration": 0.2, "steps": 4}, client.OnProgress(func(p client.Progress) { progress = append(progress, p.Progress) }))
	if !slices.Equal(progress, []float64{1, 2, 3, 4}) {
		t.Errorf("progress: %v", progress)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := c.CallTool(ctx, "trigger-long-running-operation", map[string]any{"duration": 2, "steps": 20}, client.OnProgress(func(client.Progress) { cancel() }))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	same(t, "the next call", call(t, c, "echo", map[string]string{"message": "still"}), "Echo: still")
}

func TestReferenceFilesystem(t *testing.T) {
	script := reference(t, "filesystem")
	other := t.TempDir()
	inEach(t, []way{overStdio(*node, script, root).inSessions()}, func(t *testing.T, c *client.Client, e *ears) {
		await(t, e.asked, "roots") // they replace the folder in its arguments
		note := filepath.Join(root, "note.txt")
		call(t, c, "write_file", map[string]string{"path": note, "content": "one\ntwo\nthree"})
		has(t, "read", call(t, c, "read_text_file", map[string]any{"path": note, "tail": 1}), "three")
		has(t, "edit", call(t, c, "edit_file", map[string]any{"path": note, "edits": []any{map[string]string{"oldText": "two", "newText": "2"}}}), "+2")
		if text, err := os.ReadFile(note); err != nil || string(text) != "one\n2\nthree" {
			t.Errorf("the file: %q, %v", text, err)
		}
		has(t, "list", call(t, c, "list_directory", map[string]string{"path": root}), "[FILE] note.txt")
		has(t, "search", call(t, c, "search_files", map[string]string{"path": root, "pattern": "*.txt"}), "note.txt")
		has(t, "info", call(t, c, "get_file_info", map[string]string{"path": note}), "size: 11")
		refused := called(t, c, "read_text_file", map[string]string{"path": "/etc/hostname"})
		if !refused.IsError || !strings.Contains(refused.Text(), "denied") {
			t.Errorf("a file elsewhere: %s", refused.Text())
		}
		e.roots = []mcp.Root{{URI: "file://" + other}}
		if err := c.Notify(t.Context(), "notifications/roots/list_changed", nil); err != nil {
			t.Fatal(err)
		}
		await(t, e.asked, "roots")
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) { // until the server has read the new roots
			allowed := call(t, c, "list_allowed_directories", nil)
			if strings.Contains(allowed, other) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("other roots: %s", allowed)
			}
		}
	})
}

func TestReferenceMemory(t *testing.T) {
	script := reference(t, "memory")
	w := overStdio(*node, script).inSessions()
	w.command.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.json")}
	inEach(t, []way{w}, func(t *testing.T, c *client.Client, _ *ears) {
		same(t, "number of tools", len(toolNames(t, c)), 9)
		remember(t, c)
	})
}
