package campaign_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/devserver"
)

// A step of a recorded session is a tool call. Save has patterns of texts in its result, by name:
// {name} in later steps stands for the text.
type step struct {
	Tool      string            `json:"tool"`
	Arguments json.RawMessage   `json:"arguments"`
	Want      string            `json:"want"`  // a part of the result
	Error     string            `json:"error"` // a part of the error; without it the call succeeds
	Save      map[string]string `json:"save"`
}

// An agent that has only petrock's tools builds a helpdesk, calls it, renames a field although
// events are stored, breaks and repairs things, and skips an event. Its results are short, and the
// project passes vet and its tests.
func TestSession(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	client := w.serve(devserver.Options{})
	text, err := os.ReadFile("testdata/helpdesk.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	size, saved := 0, map[string]string{}
	for line := range strings.Lines(string(text)) {
		for name, value := range saved {
			line = strings.ReplaceAll(line, "{"+name+"}", value)
		}
		var s step
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		result := client.CallTool(s.Tool, s.Arguments)
		encoded, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		size += len(encoded)
		said := result.Text() + string(result.StructuredContent)
		if result.IsError != (s.Error != "") || !strings.Contains(said, s.Want) || !strings.Contains(said, s.Error) {
			t.Fatalf("%s %s returned\n%s\nwant %s%s", s.Tool, s.Arguments, said, s.Want, s.Error)
		}
		for name, pattern := range s.Save {
			found := regexp.MustCompile(pattern).FindStringSubmatch(said)
			if found == nil {
				t.Fatalf("%s %s returned\n%s\nwithout %s", s.Tool, s.Arguments, said, pattern)
			}
			saved[name] = found[1]
		}
	}
	t.Logf("%d bytes of results", size)
	if size > 120_000 {
		t.Errorf("the results have %d bytes, want at most 120_000", size)
	}
	w.goCommand("vet", "./...")
	w.goCommand("test", "./...")
}
