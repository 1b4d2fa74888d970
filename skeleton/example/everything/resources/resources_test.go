package resources_test

import (
	"testing"

	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/skeleton/example/everything/resources"
)

func TestResources(t *testing.T) {
	client := mcptest.Serve(t, resources.Register)
	for _, example := range []mcptest.Example{
		{Name: "static text", Input: "test://static-text", Output: "This is the content of the static text resource."},
		{Name: "watched", Input: "test://watched-resource"},
		{Name: "template", Input: "test://template/123/data", Output: `{"id":"123","templateTest":true,"data":"Data for ID: 123"}`},
		{Name: "unknown", Input: "test://nothing", Error: "test://nothing"},
	} {
		t.Run(example.Name, func(t *testing.T) { client.CheckResource(t, example) })
	}
	if read := client.ReadResource("test://static-binary"); len(read) != 1 || read[0].MIMEType != "image/png" || len(read[0].Blob) == 0 {
		t.Errorf("the picture is %+v; want one part of the type image/png with data", read)
	}
}

// The variables of a URI are completed.
func TestTemplateIDs(t *testing.T) {
	client := mcptest.Serve(t, resources.Register)
	var result struct {
		Completion struct {
			Values []string `json:"values"`
		} `json:"completion"`
	}
	err := client.Call("completion/complete", map[string]any{
		"ref":      map[string]any{"type": "ref/resource", "uri": "test://template/{id}/data"},
		"argument": map[string]any{"name": "id", "value": "12"},
	}, &result)
	if err != nil || len(result.Completion.Values) != 2 {
		t.Errorf("12 is completed to %q (%v); want two values and no error", result.Completion.Values, err)
	}
}
