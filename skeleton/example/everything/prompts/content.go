package prompts

import (
	"context"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/skeleton/example/everything/media"
)

// Prompts of several messages, which are text, pictures or resources.

// EmbeddedInput is what test_prompt_with_embedded_resource takes.
type EmbeddedInput struct {
	ResourceURI string `json:"resourceUri"` // The address of the resource
}

// Embedded is a prompt with a resource in it.
//
//petrock:name test_prompt_with_embedded_resource
func Embedded(_ context.Context, in EmbeddedInput) ([]mcp.PromptMessage, error) {
	resource := mcp.ResourceContents{URI: in.ResourceURI, MIMEType: "text/plain", Text: "Embedded resource content for testing."}
	return []mcp.PromptMessage{
		{Role: mcp.RoleUser, Content: mcp.EmbeddedResource{Resource: resource}},
		{Role: mcp.RoleUser, Content: mcp.Text{Text: "Please process the embedded resource above."}},
	}, nil
}

// Image is a prompt with a picture in it.
//
//petrock:name test_prompt_with_image
func Image(context.Context, struct{}) ([]mcp.PromptMessage, error) {
	pixel, err := media.Pixel()
	return []mcp.PromptMessage{
		{Role: mcp.RoleUser, Content: mcp.Image{Data: pixel, MIMEType: "image/png"}},
		{Role: mcp.RoleUser, Content: mcp.Text{Text: "Please analyze the image above."}},
	}, err
}
