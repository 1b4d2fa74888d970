package campaign_test

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/cmd/petrock/internal/workdir"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/linked"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/trial"
)

// serve starts the project's dev server, and returns a client.
func (w *world) serve(o devserver.Options) *mcptest.Client {
	w.Helper()
	o.Dir = cmp.Or(o.Dir, w.dir)
	if o.Generators == nil {
		o.Generators = linked.All()
	}
	tools, err := devserver.New(o)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { tools.Close() })
	return mcptest.Connect(w, tools.Server)
}

// mustCall calls a tool of the dev server and returns its result in full. It fails the test on any
// error.
func mustCall[T any](w *world, client *mcptest.Client, tool string, arguments any) (out T) {
	w.Helper()
	if named, ok := arguments.(object); ok {
		whole := object{"detail": true}
		maps.Copy(whole, named)
		arguments = whole
	}
	result := client.CallTool(tool, arguments)
	if result.IsError {
		w.Fatalf("%s returned %s", tool, result.Text())
	}
	if err := json.Unmarshal(result.StructuredContent, &out); err != nil {
		w.Fatalf("%s: %v: %s", tool, err, result.StructuredContent)
	}
	return out
}

type object = map[string]any

// shout is a tool with a body and examples.
func shout() object {
	return object{
		"name": "shout", "description": "Shouts.", "fields": []string{"text:string:1..20 \"What to shout\""},
		"body":     "if in.Text == \"?\" {\n\treturn ShoutOutput{}, errors.New(\"nothing to shout\")\n}\nreturn ShoutOutput{Result: strings.ToUpper(in.Text)}, nil",
		"examples": []object{{"name": "loud", "input": object{"text": "a"}, "output": object{"result": "A"}}, {"input": object{"text": "?"}, "error": "nothing"}},
	}
}

// One call generates a finished tool, which can be called in the same session, and undone.
func TestDevServerFinishesTool(t *testing.T) {
	w := newWorld(t)
	client := w.serve(devserver.Options{})
	before := w.tree()
	made := mustCall[engine.Result](w, client, "generate_tool", shout())
	if made.Trial == nil || !made.Trial.Ran || !reflect.DeepEqual(made.Trial.Passed, []string{"loud", "example 2"}) || len(made.Components) != 1 {
		t.Errorf("got %+v; want one component, and a trial that passed loud and example 2", made)
	}
	if text := w.read("tools/shout.go"); !strings.Contains(text, "import (\n\t\"context\"\n\t\"errors\"\n\t\"strings\"\n)") {
		t.Errorf(`tools/shout.go is %q, want it to contain "import (\n\t\"context\"\n\t\"errors\"\n\t\"strings\"\n)"`, text)
	}
	if said := client.CallTool("call", object{"name": "shout", "arguments": object{"text": "hey"}}); said.IsError || said.Text() != `{"result":"HEY"}` {
		t.Errorf(`shout returned %s; want IsError false and Text "{\"result\":\"HEY\"}"`, said.Text())
	}
	for _, wrong := range []struct{ arguments, says string }{
		{`{"name":"shout","arguments":{"text":"?"}}`, "nothing to shout"},
		{`{"name":"shout","arguments":{"text":1}}`, "invalid arguments"},
		{`{"name":"whisper"}`, `unknown tool "whisper"`},
		{`{"name":"x","kind":"worker"}`, `kind: must be one of "tool", "resource", "prompt"`},
		{`{"name":"note://1"}`, "did not declare the capability resources"},
	} {
		if said := client.CallTool("call", json.RawMessage(wrong.arguments)); !said.IsError || !strings.Contains(said.Text(), wrong.says) {
			t.Errorf("%s returned %s, want %s in it", wrong.arguments, said.Text(), wrong.says)
		}
	}
	shown := mustCall[engine.Inspection](w, client, "inspect_component", object{"name": "shout"})
	source := client.CallTool("inspect_component", object{"name": "shout", "detail": true}).Text()
	if shown.Component.Name != "shout" || !strings.Contains(source, "func Shout(") || !strings.Contains(source, "func TestShout(") {
		t.Errorf("inspect_component returned %+v\n%s; want the name shout, and \"func Shout(\" and \"func TestShout(\" in the source", shown, source)
	}
	w.soundQuickly(w.engine())
	mustCall[engine.Result](w, client, "undo", object{"operation": made.Operation})
	w.unchanged(before, "after undo")
}

// A dev server that was built before the project got its first feature lets the project's own
// petrock create versions of commands.
func TestDevServerLacksPart(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t)
	linkedBefore := w.read(parts.Linked)
	client := w.serve(devserver.Options{Generators: generators.All()})
	made := mustCall[engine.Result](w, client, "generate_command", object{"name": "posts/create", "fields": []string{"title"}, "description": "Creates a post."})
	if linked := w.read(parts.Linked); !strings.Contains(linked, "versions.All()") {
		t.Errorf("%s is\n%s\nwant versions.All() in it", parts.Linked, linked)
	}
	if next := strings.Join(made.Next, "\n"); !strings.Contains(next, `test {"packages":`) {
		t.Errorf("the next steps are\n%s\nwant the calls of tools", next)
	}
	field := object{"kind": "command", "name": "posts/create", "fields": []string{"body"}, "default": []string{"body=none"}}
	planned := object{"dry_run": true}
	maps.Copy(planned, field)
	plan := mustCall[engine.Result](w, client, "change", planned)
	mustCall[engine.Result](w, client, "apply", object{"plan": plan.Plan})
	if text := w.read("features/posts/create_v1.go"); !strings.Contains(text, "func (old CreateV1) Upgrade() Create {") {
		t.Errorf("create_v1.go is\n%s\nwant an Upgrade in it", text)
	}
	w.soundQuickly(w.engine())
	mustCall[engine.Result](w, client, "undo", object{})
	mustCall[engine.Result](w, client, "undo", object{"operation": made.Operation})
	if linked := w.read(parts.Linked); linked != linkedBefore {
		t.Errorf("after undo, %s is\n%s\nwant\n%s", parts.Linked, linked, linkedBefore)
	}
}

// Errors in a body are reported. The project stays unchanged, nothing is left behind, and the dev
// server keeps running.
func TestDevServerSurvivesBodies(t *testing.T) {
	w := newWorld(t)
	outside := filepath.Join(w.base, "outside", "written.txt")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	client := w.serve(devserver.Options{Limits: trial.Limits{Time: 2 * time.Second, Memory: 256 << 20}})
	before, outsideBefore := w.tree(), w.outside()
	all := []struct{ name, body, says string }{
		{"does not compile", "n := in.Text + 1\nreturn BadOutput{Result: n}, nil", "> 17 |     n := in.Text + 1"},
		{"wrong", "return BadOutput{Result: \"b\"}, nil", " = {\"result\":\"b\"}, want {\"result\":\"a\"}"},
		{"panics", "var p *BadOutput\nreturn *p, nil", "tools/bad.go:18: return *p, nil"},
		{"loops", "for {\n}", "did not end within 2s"},
		{"allocates", "var all [][]byte\nfor {\n\tall = append(all, bytes.Repeat([]byte{1}, 1<<20))\n}", "needed more than 256 MiB of memory"},
		{"exits", "os.Exit(3)\nreturn BadOutput{}, nil", "ended the process with exit code 3"},
		{"writes outside", "return BadOutput{Result: \"a\"}, os.WriteFile(" + quote(outside) + ", []byte(\"x\"), 0o644)", "Examples may write only to their working directory"},
	}
	// The cases are slow, so only some of them run by default.
	rand.New(rand.NewPCG(*seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	picked := all[:rounds(1, len(all))]
	t.Logf("%d of %d bodies, with seed %d", len(picked), len(all), *seed)
	for _, test := range picked {
		t.Run(test.name, func(t *testing.T) {
			said := client.CallTool("generate_tool", object{"description": "Does its work.", "name": "bad", "fields": []string{"text"}, "body": test.body,
				"examples": []object{{"input": object{"text": "a"}, "output": object{"result": "a"}}}})
			if !said.IsError || !strings.Contains(said.Text(), test.says) || !strings.Contains(said.Text(), "Nothing was changed") {
				t.Errorf("got:\n%s\nwant %s in it", said.Text(), test.says)
			}
			var fault engine.Fault
			if err := json.Unmarshal(said.StructuredContent, &fault); err != nil || fault.OK || fault.Refusal == nil || fault.Error() != said.Text() {
				t.Errorf("the structured result is %s (%v); want OK false and a refusal with the text %s", said.StructuredContent, err, said.Text())
			}
			w.unchanged(before, "after "+test.name)
		})
	}
	if how := outsideBefore.differences(w.outside()); how != "" {
		t.Errorf("files outside the project differ:\n%s", how)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("the temporary folder contains %v, %v; want it empty", left, err)
	}
	// A body may print, and may write to its working directory.
	made := mustCall[engine.Result](w, client, "generate_tool", object{"description": "Does its work.", "name": "loud", "fields": []string{"text"},
		"body":     "fmt.Println(\"a loud line\")\nif err := os.WriteFile(\"note.txt\", []byte(in.Text), 0o644); err != nil {\n\treturn LoudOutput{}, err\n}\ntext, err := os.ReadFile(\"note.txt\")\nreturn LoudOutput{Result: string(text)}, err",
		"examples": []object{{"input": object{"text": "a"}, "output": object{"result": "a"}}}})
	if !strings.Contains(made.Trial.Printed, "a loud line") || !made.Trial.Confined {
		t.Errorf(`got %+v; want Trial.Printed containing "a loud line" and Trial.Confined true`, made.Trial)
	}
	if said := client.CallTool("call", object{"name": "loud", "arguments": object{"text": "x"}}); said.IsError || said.Text() != `{"result":"x"}` {
		t.Errorf(`called, got %s; want IsError false and Text "{\"result\":\"x\"}"`, said.Text())
	}
}

// quote returns a text as a Go string.
func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(quoted)
}

// Results are short, whatever an agent does, and project_status is quick.
func TestDevServerIsCheap(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	client := w.serve(devserver.Options{})
	total := 0
	for _, step := range []struct {
		tool      string
		arguments object
		isError   bool
		says      string
	}{
		{"project_status", object{}, false, "All packages and tests compile."},
		{"generate_feature", object{"name": "tickets", "crud": true, "fields": []string{"title:string:1..120", "body", "priority:enum(low,normal,high)", "assignee:string?"}}, false, "features/tickets/create.go"},
		{"generate_command", object{"name": "tickets/close", "fields": []string{"id"}, "description": "Closes a ticket.", "check": "return s.checkID(c.ID)", "body": "return CloseOutput{}"}, false, "features/tickets/close.go"},
		{"generate_tool", shout(), false, "examples passed: loud, example 2"},
		{"generate_tool", shout(), true, "destroy_component"},
		{"generate_tool", object{"description": "Does its work.", "name": "bad", "body": "return in.Text, nil"}, true, "> 15 |     return in.Text, nil"},
		{"list_components", object{}, false, "command tickets_close, features/tickets/close.go:"},
		{"list_components", object{"kind": "query", "limit": 1}, false, "1 to 1 of 2 components; pass offset: 1"},
		{"inspect_component", object{"name": "tickets/close"}, false, "func (c Close) Apply("},
		{"inspect_component", object{"name": "tickets_list"}, false, "func (q List) "},
		{"inspect_component", object{"file": "features/tickets/state.go", "from": 1, "to": 3}, false, "lines 1 to 3 of"},
		{"inspect_component", object{"file": "go.sum"}, false, "to read on"},
		{"generate_tool", object{"dry_run": true, "description": "Does its work.", "name": "other"}, false, "apply"},
		{"project_status", object{}, false, "command tickets_close"},
		{"undo", object{}, false, "tools/shout.go"},
		{"history", object{}, false, "generate tool shout (undone by "},
		{"destroy_component", object{"kind": "feature", "name": "tickets"}, false, "features/tickets"},
	} {
		start := time.Now()
		said := client.CallTool(step.tool, step.arguments)
		size := len(said.Text()) + len(said.StructuredContent)
		total += size
		t.Logf("%-18s %5d bytes %v", step.tool, size, time.Since(start).Round(time.Millisecond))
		if size > 2048 || said.IsError != step.isError || !strings.Contains(said.Text(), step.says) {
			t.Errorf("%s returns %d bytes, want %q in it:\n%s\n%s", step.tool, size, step.says, said.Text(), said.StructuredContent)
		}
		if took := time.Since(start); step.tool == "project_status" && total > 2048 && took > time.Second {
			t.Errorf("project_status takes %v after %d operations, want at most 1s", took, total)
		}
	}
	if total > 16<<10 {
		t.Errorf("all results have %d bytes, want at most %d", total, 16<<10)
	}
}

// The command line prints the same JSON as the tool returns, for each form of input.
func TestDevServerMatchesCommandLine(t *testing.T) {
	takesLong(t)
	input := shout()
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	examples, err := json.Marshal(input["examples"])
	if err != nil {
		t.Fatal(err)
	}
	byTool, byFile, byFlags := newWorld(t), newWorld(t), newWorld(t)
	result := byTool.serve(devserver.Options{}).CallTool("generate_tool", input)
	if result.IsError {
		t.Fatal(result.Text())
	}
	byFile.writeAt(filepath.Join(byFile.base, "input.json"), string(text))
	file, errOut, status := byFile.run("generate", "tool", "--input", filepath.Join(byFile.base, "input.json"), "--json")
	if status != 0 {
		t.Fatalf("exit code %d, want 0: %s", status, errOut)
	}
	byFlags.writeAt(filepath.Join(byFlags.base, "body.txt"), input["body"].(string))
	byFlags.writeAt(filepath.Join(byFlags.base, "examples.json"), string(examples))
	flags, errOut, status := byFlags.run("generate", "tool", "shout", input["fields"].([]string)[0], "--description", "Shouts.",
		"--body", "@"+filepath.Join(byFlags.base, "body.txt"), "--examples", "@"+filepath.Join(byFlags.base, "examples.json"), "--json")
	if status != 0 {
		t.Fatalf("exit code %d, want 0: %s", status, errOut)
	}
	want := withoutOperation(t, string(result.StructuredContent))
	for how, got := range map[string]string{"from a file": file, "by flags": flags} {
		if got := withoutOperation(t, got); got != want {
			t.Errorf("%s it prints\n%s\nand the tool returns\n%s", how, got, want)
		}
	}

	// Refusals are the same, too, except for the names of calls.
	refused := byTool.serve(devserver.Options{}).CallTool("generate_tool", input)
	file, _, status = byFile.run("generate", "tool", "--input", filepath.Join(byFile.base, "input.json"), "--json")
	tool := strings.ReplaceAll(string(refused.StructuredContent), "destroy_component", "petrock destroy")
	if got, want := withoutOperation(t, file), withoutOperation(t, tool); got != want || status != 1 || !refused.IsError {
		t.Errorf("the command line refuses with exit code %d and\n%s\nwant 1 and, as the tool (error: %t),\n%s", status, got, refused.IsError, want)
	}
}

// withoutOperation returns normalized JSON without the ids of the operation and the draft.
func withoutOperation(t *testing.T, text string) string {
	t.Helper()
	text = regexp.MustCompile(`"operation": ?"\d{4}-[0-9a-f]+"`).ReplaceAllString(text, `"operation":"ID"`)
	text = regexp.MustCompile(`"draft": ?"[a-z2-7]+"`).ReplaceAllString(text, `"draft":"ID"`)
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	made, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(made)
}

// apply writes the files of the plan, once, and only if it would still write the same files.
func TestDevServerPlans(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	client := w.serve(devserver.Options{})
	before := w.tree()
	input := shout()
	input["kind"] = "tool"
	input["body"] = "if x := &in.Text; len(*x) < 0 && *x > \"\" {\n\tpanic(\"<never>\")\n}\n" + input["body"].(string)
	input["dry_run"] = true
	plan := mustCall[engine.Result](w, client, "generate_component", input)
	again := mustCall[engine.Result](w, client, "generate_component", input)
	if plan.Plan == "" || plan.Plan != again.Plan || !plan.DryRun || plan.Operation != "" {
		t.Errorf(`plans are %+v and %+v; want Plan set, Plan %q, DryRun true and Operation ""`, plan, again, again.Plan)
	}
	w.unchanged(before, "after a plan")

	w.replace("tools/add.go", "// Add adds", "// Add really adds")
	said := client.CallTool("apply", object{"plan": plan.Plan})
	if !said.IsError || !strings.Contains(said.Text(), "would now write different files") || !strings.Contains(said.Text(), "Run the dry run again") {
		t.Errorf(`in a changed project, apply returned %s; want IsError true and Text containing "would now write different files" and "Run the dry run again"`, said.Text())
	}
	w.replace("tools/add.go", "// Add really adds", "// Add adds")
	applied := mustCall[engine.Result](w, client, "apply", object{"plan": plan.Plan})
	plan.Plan, plan.DryRun, plan.Operation, plan.Next = "", false, applied.Operation, applied.Next
	if !reflect.DeepEqual(plan, applied) {
		t.Errorf("applied %+v, want %+v as planned", applied, plan)
	}
	for id, says := range map[string]string{again.Plan: "does not exist", "xyz": "is not a plan id", "../../../etc/pass": "is not a plan id"} {
		if said := client.CallTool("apply", object{"plan": id}); !said.IsError || !strings.Contains(said.Text(), says) {
			t.Errorf("apply %s returned %s; want IsError true and Text containing %q", id, said.Text(), says)
		}
	}
}

// During verification, the client receives progress and can make other calls. If it cancels,
// nothing is written, and the next call works.
func TestDevServerCanBeCancelled(t *testing.T) {
	w := newWorld(t)
	client := w.serve(devserver.Options{})
	before := w.tree()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- client.CallContext(ctx, "tools/call", object{
			"name":      "generate_tool",
			"arguments": object{"name": "endless", "description": "Does its work.", "body": "for {\n}", "examples": []object{{}}},
			"_meta":     object{"progressToken": "p"},
		}, nil)
	}()
	var steps []string
	for len(steps) == 0 || !strings.HasPrefix(steps[len(steps)-1], "testing") {
		var progress struct{ Message string }
		if err := json.Unmarshal(client.Next("notifications/progress").Params, &progress); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, progress.Message)
	}
	if err := client.Call("ping", nil, nil); err != nil {
		t.Errorf("ping returned %v", err)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("a cancelled call returned no error, want one")
	}
	made := mustCall[engine.Result](w, client, "generate_tool", object{"dry_run": true, "description": "Does its work.", "name": "other"})
	if len(made.Files) == 0 {
		t.Errorf("after the cancelled call generate_tool made %+v, want files", made)
	}
	w.unchanged(before, "after cancelling, having seen "+strings.Join(steps, ", ")+",")
}

// A dev server reaches only projects below the directory that it was started in.
func TestDevServerIsRooted(t *testing.T) {
	w := newWorld(t)
	other := newWorld(t)
	if err := os.Symlink(other.dir, filepath.Join(w.base, "link")); err != nil {
		t.Fatal(err)
	}
	w.writeAt(filepath.Join(w.base, "second", "petrock.json"), w.read("petrock.json"))
	below, err := workdir.Open(w.base)
	if err != nil {
		t.Fatal(err)
	}
	client := w.serve(devserver.Options{Dir: w.base, Find: below.Find})
	for _, test := range []struct{ dir, says string }{
		{"", "choose a project with dir: hello, second"},
		{"outside", "no petrock.json in outside or a folder above it"},
		{"nowhere", "name a folder below"},
		{"..", "name a folder below"},
		{other.dir, "name a folder below"},
		{"link", "name a folder below"},
		{"hello/../../" + filepath.Base(other.base) + "/hello", "name a folder below"},
	} {
		for _, tool := range []string{"list_components", "project_status", "undo", "build", "call", "generate_tool"} {
			arguments := object{"dir": test.dir}
			switch tool {
			case "call":
				arguments = object{"dir": test.dir, "name": "add"}
			case "generate_tool":
				arguments = object{"dir": test.dir, "name": "add", "description": "Does its work."}
			}
			isError := tool != "project_status" || test.dir != "" // it works without a project
			if said := client.CallTool(tool, arguments); said.IsError != isError || !strings.Contains(said.Text(), test.says) {
				t.Errorf("%s in %q returned %s, want %s in it", tool, test.dir, said.Text(), test.says)
			}
		}
	}
	for _, dir := range []string{"hello", "./hello/tools", filepath.Join(w.base, "hello")} {
		if listing := mustCall[engine.Listing](w, client, "list_components", object{"dir": dir}); listing.Root != w.dir {
			t.Errorf("list_components in %s is of %q, want %q: %+v", dir, listing.Root, w.dir, listing)
		}
	}
}

// Programs are built in a folder of the project. If it is a link to another folder, build fails.
func TestDevServerBuildsInside(t *testing.T) {
	w := newWorld(t)
	client := w.serve(devserver.Options{})
	outside := w.outside()
	if err := os.MkdirAll(w.path(".petrock"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(w.base, "outside"), w.path(".petrock/bin")); err != nil {
		t.Fatal(err)
	}
	if said := client.CallTool("build", object{}); !said.IsError || !strings.Contains(said.Text(), ".petrock/bin") {
		t.Errorf(`build returned %s; want IsError true and Text containing ".petrock/bin"`, said.Text())
	}
	if how := outside.differences(w.outside()); how != "" {
		t.Errorf("files outside the project differ:\n%s", how)
	}
}

// With --no-exec, petrock runs no code of the project: no examples and no tools.
func TestDevServerWithoutExec(t *testing.T) {
	w := newWorld(t)
	client := w.serve(devserver.Options{NoExec: true})
	for _, tool := range client.Tools() {
		if tool.Name == "call" || tool.Name == "test" {
			t.Errorf("there is a tool %s, want neither call nor test", tool.Name)
		}
		if tool.Annotations.OpenWorldHint != nil && *tool.Annotations.OpenWorldHint && !slices.Contains([]string{"apply", "change", "edit"}, tool.Name) {
			t.Errorf("%s is described as running code", tool.Name)
		}
	}
	marker := filepath.Join(w.base, "ran")
	made := mustCall[engine.Result](w, client, "generate_tool", object{"description": "Does its work.", "name": "mark", "body": "return MarkOutput{}, os.WriteFile(" + quote(marker) + ", nil, 0o644)", "examples": []object{{"output": object{"result": "wrong"}}}})
	if made.Trial == nil || made.Trial.Ran {
		t.Errorf("got %+v; want Trial.Ran false", made.Trial)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Errorf("the body was run: it has created %s", marker)
	}
	if said := client.CallTool("generate_tool", object{"description": "Does its work.", "name": "bad", "body": "return 1"}); !said.IsError {
		t.Errorf("code that does not compile is accepted: %s, want an error", said.Text())
	}

	// A generator that was added later is code of the project, too.
	mustCall[engine.Result](w, client, "generate_component", object{"kind": "generator", "name": "handler"})
	if said := client.CallTool("generate_handler", object{"name": "first"}); !said.IsError || !strings.Contains(said.Text(), "--no-exec") {
		t.Errorf(`the project's own generator returned %s; want IsError true and Text containing "--no-exec"`, said.Text())
	}

	// A restarted dev server has a tool for it, unless it does not compile.
	if client = w.serve(devserver.Options{NoExec: true}); !hasTool(client, "generate_handler") {
		t.Error("there is no tool generate_handler, want it")
	}
	w.write("internal/generators/wrong.go", "package generators\n\nfunc\n")
	client = w.serve(devserver.Options{NoExec: true})
	if hasTool(client, "generate_handler") {
		t.Error("there is a tool generate_handler, want none: its generator does not compile")
	}
	if !hasTool(client, "generate_tool") {
		t.Error("there is no tool generate_tool, want it although another generator does not compile")
	}
	if said := client.CallTool("generate_component", object{"kind": "handler", "name": "first"}); !said.IsError || !strings.Contains(said.Text(), "cannot run internal/generators/run: --no-exec") {
		t.Errorf(`a generator that does not compile returned %s; want IsError true and Text containing "cannot run internal/generators/run: --no-exec"`, said.Text())
	}
	mustCall[engine.Result](w, client, "generate_prompt", object{"description": "Does its work.", "name": "other"})
}

// The dev server warns if a generator's source has changed since it was started, even if nothing
// was generated before.
func TestDevServerKnowsItsGenerators(t *testing.T) {
	w := newWorld(t)
	client := w.serve(devserver.Options{NoExec: true})
	w.replace("generators/resource.go", "holds the arguments of ", "has the arguments of ")
	made := mustCall[engine.Result](w, client, "generate_prompt", object{"dry_run": true, "description": "Does its work.", "name": "first"})
	if len(made.Warnings) != 1 || !strings.Contains(made.Warnings[0].Message, "without the project's version of the generators") {
		t.Errorf(`got the warnings %+v; want one containing "without the project's version of the generators"`, made.Warnings)
	}
	client = w.serve(devserver.Options{NoExec: true})
	if made := mustCall[engine.Result](w, client, "generate_prompt", object{"dry_run": true, "description": "Does its work.", "name": "first"}); len(made.Warnings) > 0 {
		t.Errorf("started again: got the warnings %+v, want none", made.Warnings)
	}
}

// Every tool of the dev server has annotations and a description. Instructions, resources and the
// prompt have content.
func TestDevServerIntroducesItself(t *testing.T) {
	client := newWorld(t).serve(devserver.Options{})
	for _, tool := range client.Tools() {
		if tool.Annotations == nil || len(tool.Description) < 40 {
			t.Errorf("the tool %s is %+v; want annotations, and a description of at least 40 characters", tool.Name, tool)
		}
	}
	if !strings.Contains(client.Instructions, "generate_tool") {
		t.Errorf(`the instructions: got %q, want it to contain "generate_tool"`, client.Instructions)
	}
	for _, resource := range client.Resources() {
		contents := client.ReadResource(resource.URI)
		if len(contents) != 1 || len(contents[0].Text) < 20 {
			t.Errorf("%s holds %+v, want one part of at least 20 characters", resource.URI, contents)
		}
	}
	prompt := client.GetPrompt("add_feature", map[string]string{"feature": "send mails"})
	if text, ok := prompt.Messages[0].Content.(mcp.Text); !ok || !strings.Contains(text.Text, "send mails") {
		t.Errorf(`the prompt is %+v, want a text that contains "send mails"`, prompt)
	}
}
