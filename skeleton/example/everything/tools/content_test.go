package tools_test

import (
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/skeleton/example/everything/tools"
)

func TestPlainTools(t *testing.T) {
	client := mcptest.Serve(t, tools.Register)
	for name, example := range map[string]mcptest.Example{
		"about":                    {Input: `{}`, Output: `{"revision":"2025-11-25","client":"mcptest"}`},
		"test_simple_text":         {Input: `{}`, Output: "This is a simple text response for testing."},
		"test_error_handling":      {Input: `{}`, Error: "intentionally"},
		"test_tool_with_progress":  {Input: `{}`, Output: "The work is done."},
		"test_tool_with_logging":   {Input: `{}`, Output: "Three messages were logged."},
		"test_logging_tool":        {Input: `{}`, Output: "A message was logged."},
		"test_reconnection":        {Input: `{}`, Output: "The client reconnected for this result."},
		"test_custom_header":       {Input: `{"region":"east"}`, Output: "The region is east"},
		"json_schema_2020_12_tool": {Input: `{"contactMethod":"phone","phone":"1234"}`, Output: "Call 1234"},
	} {
		t.Run(name, func(t *testing.T) { client.CheckTool(t, name, example) })
	}
	client.CheckTool(t, "json_schema_2020_12_tool", mcptest.Example{Input: `{"contactMethod":"phone","email":"a@example.com"}`, Error: "phone"})
}

func TestContent(t *testing.T) {
	client := mcptest.Serve(t, tools.Register)
	image, _ := client.CallTool("test_image_content", nil).Content[0].(mcp.Image)
	audio, _ := client.CallTool("test_audio_content", nil).Content[0].(mcp.Audio)
	if image.MIMEType != "image/png" || len(image.Data) == 0 || audio.MIMEType != "audio/wav" || len(audio.Data) == 0 {
		t.Errorf(`the picture is %s, the sound is %s; want MIMEType "image/png", some data, MIMEType "audio/wav" and some data`, image.MIMEType, audio.MIMEType)
	}
	resource, _ := client.CallTool("test_embedded_resource", nil).Content[0].(mcp.EmbeddedResource)
	link, _ := client.CallTool("test_resource_link", nil).Content[0].(mcp.ResourceLink)
	if resource.Resource.URI != "test://embedded-resource" || link.URI != "test://static-text" {
		t.Errorf(`the resource is %+v, the link leads to %s; want Resource.URI "test://embedded-resource" and URI "test://static-text"`, resource.Resource, link.URI)
	}
	if all := client.CallTool("test_multiple_content_types", nil).Content; len(all) != 3 {
		t.Errorf("there are %d content blocks, want 3", len(all))
	}
}

// Clients that ask for progress and log messages receive them.
func TestWhatGoesOnMeanwhile(t *testing.T) {
	client := mcptest.Serve(t, tools.Register)
	call := map[string]any{"name": "test_tool_with_progress", "_meta": map[string]any{"progressToken": "p"}}
	if err := client.Call("tools/call", call, nil); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		client.Next("notifications/progress")
	}
	if err := client.Call("logging/setLevel", map[string]any{"level": "info"}, nil); err != nil {
		t.Fatal(err)
	}
	client.CallTool("test_tool_with_logging", nil)
	for range 3 {
		client.Next("notifications/message")
	}
}
