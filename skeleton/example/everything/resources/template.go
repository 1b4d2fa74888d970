package resources

import (
	"context"
	"strings"
)

// TemplateInput has the variables of the URI.
type TemplateInput struct {
	ID string `json:"id"` // Id of the item
}

// TemplateData is the content of the resource.
type TemplateData struct {
	ID           string `json:"id"`           // Id of the item
	TemplateTest bool   `json:"templateTest"` // Always true
	Data         string `json:"data"`         // Content of the item
}

// Template returns the data of an item.
//
//petrock:uri test://template/{id}/data
func Template(_ context.Context, in TemplateInput) (TemplateData, error) {
	return TemplateData{in.ID, true, "Data for ID: " + in.ID}, nil
}

// templateIDs completes the id.
//
//petrock:completes template
func templateIDs(_ context.Context, _, prefix string, _ map[string]string) ([]string, error) {
	var found []string
	for _, id := range []string{"1", "12", "123"} {
		if strings.HasPrefix(id, prefix) {
			found = append(found, id)
		}
	}
	return found, nil
}
