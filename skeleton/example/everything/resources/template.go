package resources

import (
	"context"
	"strings"
)

// TemplateInput is what stands in the address.
type TemplateInput struct {
	ID string `json:"id"` // Which one
}

// TemplateData is what is read there.
type TemplateData struct {
	ID           string `json:"id"`           // Which one
	TemplateTest bool   `json:"templateTest"` // That it is one of many
	Data         string `json:"data"`         // What there is to know of it
}

// Template is the data of one of many things.
//
//petrock:uri test://template/{id}/data
func Template(_ context.Context, in TemplateInput) (TemplateData, error) {
	return TemplateData{in.ID, true, "Data for ID: " + in.ID}, nil
}

// templateIDs are those that begin with what was typed.
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
