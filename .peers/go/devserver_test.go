package peers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A made component is a generation with a call and its expected result.
type made struct {
	kind  string
	input map[string]any
	call  map[string]any // arguments of the tool call
	says  string         // part of the result
}

// components returns ten components, half of them with bodies and examples.
func components() []made {
	written := func(name, body string, fields []string, example, given map[string]any, says string) made {
		return made{"tool", map[string]any{
			"name": name, "description": "Does " + name + ".", "fields": fields, "body": body, "examples": []any{example},
		}, map[string]any{"name": name, "arguments": given}, says}
	}
	return []made{
		written("shout", "return ShoutOutput{Result: strings.ToUpper(in.Text)}, nil", []string{"text"},
			map[string]any{"input": map[string]any{"text": "a"}, "output": map[string]any{"result": "A"}}, map[string]any{"text": "abc"}, "ABC"),
		written("halve", "if in.N%2 != 0 {\n\treturn HalveOutput{}, fmt.Errorf(\"%d is odd\", in.N)\n}\nreturn HalveOutput{Result: strconv.Itoa(in.N / 2)}, nil", []string{"n:int"},
			map[string]any{"input": map[string]any{"n": 3}, "error": "3 is odd"}, map[string]any{"n": 84}, "42"),
		written("weekday", "return WeekdayOutput{Result: in.Day.UTC().Weekday().String()}, nil", []string{"day:time"},
			map[string]any{"input": map[string]any{"day": "2026-01-01T00:00:00Z"}, "output": map[string]any{"result": "Thursday"}}, map[string]any{"day": "2026-01-02T00:00:00Z"}, "Friday"),
		{"resource", map[string]any{"name": "square", "uri": "square://{n}", "description": "The square of a number.",
			"body":     "n, err := strconv.Atoi(in.N)\nif err != nil {\n\treturn \"\", err\n}\nreturn strconv.Itoa(n * n), nil",
			"examples": []any{map[string]any{"input": map[string]any{"n": "4"}, "output": "16"}, map[string]any{"input": map[string]any{"n": "x"}, "error": "invalid syntax"}}},
			map[string]any{"name": "square://12"}, "144"},
		{"prompt", map[string]any{"name": "greet", "fields": []string{"who"}, "description": "Greets.", "body": `return "Greet " + in.Who + ".", nil`,
			"examples": []any{map[string]any{"input": map[string]any{"who": "Ann"}, "output": "Greet Ann."}}},
			map[string]any{"kind": "prompt", "name": "greet", "arguments": map[string]any{"who": "Bob"}}, "Greet Bob."},
		{"tool", map[string]any{"name": "later", "fields": []string{"a:int", "b:enum(x,y)?"}}, map[string]any{"name": "later", "arguments": map[string]any{"a": 1}}, "not written yet"},
		{"tool", map[string]any{"name": "gone", "fields": []string{"a:int"}}, nil, ""},
		{"resource", map[string]any{"name": "note", "uri": "note://{id}"}, map[string]any{"kind": "resource", "name": "note://7"}, "not written yet"},
		{"prompt", map[string]any{"name": "review", "fields": []string{"code"}}, map[string]any{"kind": "prompt", "name": "review", "arguments": map[string]any{"code": "x"}}, "not written yet"},
		{"resource", map[string]any{"name": "lost", "uri": "lost://x"}, nil, ""},
	}
}

// The official client uses petrock's dev server, starting in an empty folder: it creates a project,
// lists, plans, applies, generates ten components, undoes two of them, builds, and calls the other
// eight, in one session.
func TestDevServer(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		t.Run(version, func(t *testing.T) { driveDevServer(t, version) })
	}
}

func driveDevServer(t *testing.T, version string) {
	t.Parallel()
	dir := t.TempDir()
	s := startPetrock(t, dir, version)
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		if tool.Description == "" || tool.Annotations == nil {
			t.Errorf("%s has no description or no annotations", tool.Name)
		}
	}
	for _, want := range []string{"generate_tool", "generate_resource", "generate_prompt", "generate_feature", "generate_command", "generate_query", "generate_worker", "generate_component", "apply", "undo", "change", "log", "history", "list_components", "inspect_component", "project_status", "build", "edit", "test", "call", "new_project"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no tool %s among %v", want, names)
		}
	}

	if r := call(t, s, "project_status", nil); r.IsError || !strings.Contains(textOf(t, r), "new_project") {
		t.Errorf("without a project, project_status returned %s", textOf(t, r))
	}
	mustCall(t, s, "new_project", map[string]any{"name": "hello"})

	all := components()
	undo := map[string]string{} // operations by name
	for i, c := range all {
		if c.input["description"] == nil {
			c.input["description"] = "Is for this test."
		}
		tool, input := "generate_"+c.kind, c.input
		switch {
		case i == 0: // with a plan
			input = map[string]any{"dry_run": true}
			for key, value := range c.input {
				input[key] = value
			}
			plan := mustCall(t, s, tool, input)
			if plan["plan"] == "" || plan["dryRun"] != true || len(plan["files"].([]any)) < 3 {
				t.Fatalf("the dry run returned %v", plan)
			}
			if _, err := os.Stat(filepath.Join(dir, "hello", "tools", "shout.go")); err == nil {
				t.Fatal("a dry run writes files")
			}
			tool, input = "apply", map[string]any{"plan": plan["plan"]}
		case i == 1: // with generate_component
			tool, input = "generate_component", map[string]any{"kind": c.kind}
			for key, value := range c.input {
				input[key] = value
			}
		}
		result := mustCall(t, s, tool, input)
		undo[c.input["name"].(string)] = result["operation"].(string)
	}
	for _, name := range []string{"gone", "lost"} {
		mustCall(t, s, "undo", map[string]any{"operation": undo[name]})
	}
	if built := mustCall(t, s, "build", nil); built["ok"] != true {
		t.Fatalf("build returned %v", built)
	}
	for _, c := range all {
		if c.call == nil {
			continue
		}
		if said := textOf(t, call(t, s, "call", c.call)); !strings.Contains(said, c.says) {
			t.Errorf("%v returned %s, want %s in it", c.call, said, c.says)
		}
	}
	if listing := mustCall(t, s, "list_components", map[string]any{"detail": true}); len(listing["components"].([]any)) != 9 {
		t.Errorf("list_components returned %v", listing)
	}
	test := exec.Command("go", "test", "./tools", "./resources", "./prompts", "./cmd/...")
	test.Dir = filepath.Join(dir, "hello")
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("go test: %v\n%s", err, out)
	}
	history, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "petrock://history"})
	if err != nil || !strings.Contains(history.Contents[0].Text, undo["gone"]) {
		t.Errorf("petrock://history: %v, %v", history, err)
	}
}

// mustCall calls a tool and fails the test on any error.
func mustCall(t *testing.T, s *mcp.ClientSession, tool string, input map[string]any) map[string]any {
	t.Helper()
	result := call(t, s, tool, input)
	if result.IsError {
		t.Fatalf("%s %v returned %s", tool, input, textOf(t, result))
	}
	var out map[string]any
	text, err := json.Marshal(result.StructuredContent)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatalf("%s: %v: %s", tool, err, textOf(t, result))
	}
	return out
}

// startPetrock starts petrock's dev server in a folder.
func startPetrock(t *testing.T, dir, version string) *mcp.ClientSession {
	t.Helper()
	program := filepath.Join(t.TempDir(), "petrock")
	build := exec.Command("go", "build", "-o", program, "./cmd/petrock")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building petrock: %v\n%s", err, out)
	}
	command := exec.Command(program, "mcp")
	command.Dir, command.Stderr = dir, os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "go-peer", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: command, TerminateDuration: time.Minute}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(fmt.Errorf("connecting: %w", err))
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return session
}
