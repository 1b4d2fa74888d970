package prompts

import (
	"context"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/skeleton/example/everything/media"
)

// Prompts with several messages: text, images, resources.

// EmbeddedInput is the input of test_prompt_with_embedded_resource.
type EmbeddedInput struct {
	ResourceURI string `json:"resourceUri"` // URI of the resource
}

// Embedded returns a prompt with an embedded resource.
//
//petrock:name test_prompt_with_embedded_resource
func Embedded(_ context.Context, in EmbeddedInput) ([]mcp.PromptMessage, error) {
	resource := mcp.ResourceContents{URI: in.ResourceURI, MIMEType: "text/plain", Text: "Embedded resource content for testing."}
	return []mcp.PromptMessage{
		{Role: mcp.RoleUser, Content: mcp.EmbeddedResource{Resource: resource}},
		{Role: mcp.RoleUser, Content: mcp.Text{Text: "Please process the embedded resource above."}},
	}, nil
}

// Image returns a prompt with an image.
//
//petrock:name test_prompt_with_image
func Image(context.Context, struct{}) ([]mcp.PromptMessage, error) {
	pixel, err := media.Pixel()
	return []mcp.PromptMessage{
		{Role: mcp.RoleUser, Content: mcp.Image{Data: pixel, MIMEType: "image/png"}},
		{Role: mcp.RoleUser, Content: mcp.Text{Text: "Please analyze the image above."}},
	}, err
}
