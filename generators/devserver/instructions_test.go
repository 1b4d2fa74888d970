package devserver

import (
	"strings"
	"testing"
)

// Clients may cut the instructions after 512 characters: these name the tools of the workflow.
func TestInstructionsBeginWithWorkflow(t *testing.T) {
	tools := &Tools{options: Options{CanCreate: true}}
	beginning := tools.instructions()[:512]
	for _, tool := range strings.Fields("project_status new_project generate_tool generate_feature generate_command generate_query generate_worker edit change test call undo redo") {
		if !strings.Contains(beginning, tool) {
			t.Errorf("the first 512 characters do not name %s: %s", tool, beginning)
		}
	}
}
