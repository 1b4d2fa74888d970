package devserver

import (
	"strings"
	"testing"
)

// Clients may cut the instructions after 512 characters: these name the tools of the workflow.
func TestInstructionsBeginWithWorkflow(t *testing.T) {
	const workflow = "project_status generate_tool generate_feature generate_command generate_query generate_worker edit change test call undo redo"
	for names, o := range map[string]Options{workflow + " new_project": {}, workflow + " petrock_edit": {Prefix: "petrock_"}} {
		tools := &Tools{options: o, canCreate: o.Prefix == ""}
		text, err := tools.instructions()
		if err != nil {
			t.Fatal(err)
		}
		beginning := text[:512]
		for _, name := range strings.Fields(names) {
			if !strings.Contains(beginning, name) {
				t.Errorf("the first 512 characters are %q, want them to name %s", beginning, name)
			}
		}
	}
}
