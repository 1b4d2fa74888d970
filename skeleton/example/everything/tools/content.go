package tools

import (
	"context"
	"errors"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/skeleton/example/everything/media"
)

// Kinds of results: text, images, audio, resources and links to them. Add shows structured output.

// SimpleText returns text.
//
//petrock:name test_simple_text
//petrock:hints read-only closed-world
func SimpleText(context.Context, struct{}) (string, error) {
	return "This is a simple text response for testing.", nil
}

// ImageContent returns an image.
//
//petrock:name test_image_content
//petrock:hints read-only closed-world
func ImageContent(context.Context, struct{}) (*mcp.ToolResult, error) {
	pixel, err := media.Pixel()
	return &mcp.ToolResult{Content: []mcp.Content{mcp.Image{Data: pixel, MIMEType: "image/png"}}}, err
}

// AudioContent returns audio.
//
//petrock:name test_audio_content
//petrock:hints read-only closed-world
func AudioContent(context.Context, struct{}) (*mcp.ToolResult, error) {
	return &mcp.ToolResult{Content: []mcp.Content{mcp.Audio{Data: media.Silence(), MIMEType: "audio/wav"}}}, nil
}

// EmbeddedResource returns a resource with its contents.
//
//petrock:name test_embedded_resource
//petrock:hints read-only closed-world
func EmbeddedResource(context.Context, struct{}) (*mcp.ToolResult, error) {
	return &mcp.ToolResult{Content: []mcp.Content{mcp.EmbeddedResource{Resource: mcp.ResourceContents{
		URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content.",
	}}}}, nil
}

// ResourceLink returns a link to a resource.
//
//petrock:name test_resource_link
//petrock:hints read-only closed-world
func ResourceLink(context.Context, struct{}) (*mcp.ToolResult, error) {
	return &mcp.ToolResult{Content: []mcp.Content{mcp.ResourceLink{Resource: mcp.Resource{
		URI: "test://static-text", Name: "static_text", MIMEType: "text/plain",
	}}}}, nil
}

// MultipleContent returns text, an image and a resource.
//
//petrock:name test_multiple_content_types
//petrock:hints read-only closed-world
func MultipleContent(context.Context, struct{}) (*mcp.ToolResult, error) {
	pixel, err := media.Pixel()
	return &mcp.ToolResult{Content: []mcp.Content{
		mcp.Text{Text: "Multiple content types test:"},
		mcp.Image{Data: pixel, MIMEType: "image/png"},
		mcp.EmbeddedResource{Resource: mcp.ResourceContents{
			URI: "test://mixed-content-resource", MIMEType: "application/json", Text: `{"test":"data","value":123}`,
		}},
	}}, err
}

// ErrorHandling fails. The model sees the error.
//
//petrock:name test_error_handling
//petrock:hints read-only closed-world
func ErrorHandling(context.Context, struct{}) (string, error) {
	return "", errors.New("this tool intentionally returns an error for testing")
}
