package devserver

import (
	"context"
	"fmt"

	"github.com/petrock/petrock/core/mcp"
)

// registerPrompts offers what leads through longer work.
func (t *Tools) registerPrompts(s *mcp.Server) error {
	return mcp.AddPrompt(s, mcp.Prompt{
		Name:        "add_feature",
		Title:       "Add a feature",
		Description: "Leads through adding a feature to the project: from an idea to tools that are tested and have been called.",
		Arguments:   []mcp.PromptArgument{{Name: "feature", Description: "What the server should be able to do, in a sentence or two", Required: true}},
	}, func(_ context.Context, in struct {
		Feature string `json:"feature"`
	}) (string, error) {
		return fmt.Sprintf(addFeature, in.Feature), nil
	})
}

// addFeature is the text of the prompt add_feature.
const addFeature = `Add this to the project: %s

Work with the tools of the petrock server, in this order.
1. Call project_status, and read petrock://project. If the project does not compile, mend that first. Read petrock://docs/tools and petrock://docs/fields if you have not.
2. Decide which tools a model needs for it: few, each with one clear job, named verb_noun, with a description that says when to use it. Something that is only read under an address is a resource; a message that a person asks for is a prompt. What has to be kept between calls is a feature, whose commands and queries are tools: read petrock://docs/features. Put logic that several of them share into a package of its own (plain Go files, written by hand), and let the bodies call it.
3. For what is kept: generate_feature, with crud where it is items, then generate_command, generate_query and generate_worker. For each other tool: generate_tool with name, description, fields (with descriptions, limits, enums), output, body, and at least two examples, one of them an error. If it is refused, read the diagnostics or the failing example, change the body or the example, and call again: nothing was written. Where you are not sure, plan first, look at the diffs, then apply.
4. call each with input that is not among the examples, and look at what comes back as a model would: is it clear, small, and enough?
5. project_status at the end: everything has to compile. Say which tools there are now, what they cost (toolsList), and which operation ids undo them.`
