package campaign_test

import (
	"slices"
	"testing"

	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
)

// Examples of tools, resources and prompts that use a feature prepare data, call other tools in
// between, and advance the clock.
func TestExamplesUseFeatures(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	client := w.serve(devserver.Options{})
	mustCall[engine.Result](w, client, "generate_feature", object{"name": "tickets", "crud": true, "fields": []string{"title", "owner:string?"}})
	const body = "got, err := app.Query(ctx, tickets.Get{ID: in.ID})\nif err != nil {\n\treturn \"\", err\n}\nreturn got.Title, nil"
	create := object{"tool": "tickets_create", "input": object{"title": "VPN", "owner": "Ann"}}
	first := object{"input": object{"id": "id1"}, "output": "VPN"}
	none := object{"name": "none", "input": object{"id": "id9"}, "error": "no ticket"}
	rename := object{"tool": "tickets_update", "input": object{"id": "id1", "title": "Mail"}}
	renamed := object{"name": "renamed", "input": object{"id": "id1"}, "output": "Mail"}
	for _, test := range []struct {
		tool  string
		input object
		want  []string
	}{
		{"generate_resource", object{"description": "Does its work.", "name": "ticket", "uri": "ticket://{id}", "body": body, "examples": []object{create, first, none, rename, renamed}},
			[]string{"example 2", "none", "example 4", "renamed"}},
		{"generate_prompt", object{"description": "Does its work.", "name": "triage", "fields": []string{"id"}, "body": body, "examples": []object{create, first, none}},
			[]string{"example 2", "none"}},
		{"generate_prompt", object{"description": "Does its work.", "name": "later", "fields": []string{"id"}, "body": body, "examples": []object{create, rename, renamed, first}}, nil},
		{"generate_tool", object{"description": "Does its work.", "name": "age", "fields": []string{"id"}, "output": []string{"hours:int"},
			"body":     "got, err := app.Query(ctx, tickets.Get{ID: in.ID})\nreturn AgeOutput{Hours: int(app.Now(ctx).Sub(got.CreatedAt).Hours())}, err",
			"examples": []object{create, {"later": "336h", "input": object{"id": "id1"}, "output": object{"hours": 336}}}},
			[]string{"example 2"}},
	} {
		if test.want == nil {
			if said := client.CallTool(test.tool, test.input); !said.IsError {
				t.Errorf("%v is accepted: %s; want an error", test.input, said.Text())
			}
			continue
		}
		made := mustCall[engine.Result](w, client, test.tool, test.input)
		if made.Trial == nil || !slices.Equal(made.Trial.Passed, test.want) {
			t.Errorf("%v: got %+v, want %q", test.input["name"], made.Trial, test.want)
		}
	}
	w.goCommand("test", "./tools", "./resources", "./prompts", "./features/...")
	w.formatted("tools", "resources", "prompts")
}

// Generated tests serve the features that the code uses, even through other packages.
func TestGeneratedTestsServeUsedFeatures(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	client := w.serve(devserver.Options{})
	mustCall[engine.Result](w, client, "generate_query", object{"description": "Does its work.", "name": "desk/overdue", "output": []string{"n:int"}, "body": "return OverdueOutput{N: 2}, nil"})
	worker := mustCall[engine.Result](w, client, "generate_worker", object{"name": "fines/charge", "every": "24h", "body": "_, err := app.Query(ctx, desk.Overdue{})\nreturn err"})
	mustCall[engine.Result](w, client, "edit", object{"edits": []object{{"path": "late/late.go", "text": "package late\n\n// Count returns the number of late items.\nfunc Count(ctx context.Context) (int, error) {\n\tgot, err := app.Query(ctx, desk.Overdue{})\n\treturn got.N, err\n}\n"}}})
	tool := mustCall[engine.Result](w, client, "generate_tool", object{"description": "Does its work.", "name": "late", "output": []string{"n:int"}, "body": "n, err := late.Count(ctx)\nreturn LateOutput{N: n}, err", "examples": []object{{"output": object{"n": 2}}}})
	for _, made := range []*engine.Result{&worker, &tool} {
		if made.Tests == nil || !made.Tests.OK || made.Tests.Passed == 0 {
			t.Errorf("%s: the tests are %+v; want them OK, and at least one passed", made.Name, made.Tests)
		}
	}
	w.goCommand("test", "./...")
}

// A change edits the inputs of its own tool only, and passes the tests.
func TestChangeLeavesOtherTools(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	client := w.serve(devserver.Options{})
	mustCall[engine.Result](w, client, "generate_feature", object{"name": "posts", "crud": true, "fields": []string{"title"}})
	const test = "package posts_test\n\nfunc TestMany(t *testing.T) {\n\tclient := apptest.Serve(t, posts.Feature())\n\tclient.CheckTool(t, \"posts_create\", mcptest.Example{Input: map[string]any{\"title\": \"a\"}})\n\tclient.CheckTool(t, \"posts_list\", mcptest.Example{Input: `{\"limit\":5}`})\n\tclient.CheckTool(t, \"posts_list\", mcptest.Example{Input: map[string]any{\"limit\": 5}})\n}\n"
	mustCall[engine.Result](w, client, "edit", object{"test": true, "edits": []object{{"path": "features/posts/many_test.go", "text": test}}})
	for _, change := range []object{
		{"name": "posts/create", "fields": []string{"project:string"}, "default": []string{"project=x"}},
		{"name": "posts/create", "rename_fields": []string{"title=headline"}},
	} {
		changed := mustCall[engine.Result](w, client, "change", change)
		if changed.Tests == nil || !changed.Tests.OK {
			t.Errorf("%v: the tests are %+v; want Tests.OK true", change, changed.Tests)
		}
	}
	w.goCommand("test", "./features/...")
}
