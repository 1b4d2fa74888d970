package campaign_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/engine"
)

// The contracts of undo and destroy. Each case starts with a project that has the generated tool a.
func TestUndo(t *testing.T) {
	t.Parallel()
	type state struct {
		*world
		e      *engine.Engine
		before tree   // without the tool
		id     string // of the generation
	}
	const edit = "\n// What a user has added.\n"
	for _, test := range pick(t, 2, []struct {
		what string
		do   func(s state)
	}{
		{"an edited file", func(s state) {
			s.write("tools/a.go", s.read("tools/a.go")+edit)
			edited := s.tree()
			refused := s.refusal(second(s.e.Undo(s.Context(), s.id, engine.Options{})))
			if len(refused.Files) != 1 || refused.Files[0].Path != "tools/a.go" || !strings.Contains(refused.Error(), "+"+edit[1:]) || !strings.Contains(refused.Remedy, "With --keep") {
				s.Errorf("the refusal does not show the edit: %v", refused)
			}
			s.unchanged(edited, "after the refusal,")
		}},
		{"a removed file", func(s state) {
			os.Remove(s.path("tools/a_test.go")) // as undo would
			s.undo(s.e, s.id)
			s.unchanged(s.before, "after the undo,")
		}},
		{"keep", func(s state) {
			s.write("tools/a_test.go", strings.Replace(s.read("tools/a_test.go"), "func TestA(", "// It is mine.\nvar _ = tools.A\n\nfunc TestA(", 1))
			refused := s.refusal(second(s.e.Undo(s.Context(), s.id, engine.Options{Keep: true})))
			if len(refused.Diagnostics) == 0 || refused.Diagnostics[0].File != "tools/a_test.go" {
				s.Errorf("keep accepts a test that does not compile without the tool: %v", refused)
			}
			edited := "package tools_test\n\n// Kept is mine.\nconst Kept = 1\n"
			s.write("tools/a_test.go", edited)
			if _, err := s.e.Undo(s.Context(), s.id, engine.Options{Keep: true}); err != nil {
				s.Fatal(err)
			}
			if s.read("tools/a_test.go") != edited {
				s.Error("the kept file has changed")
			}
			os.Remove(s.path("tools/a_test.go"))
			s.unchanged(s.before, "without the file that was kept,")
		}},
		{"keep what others need", func(s state) {
			s.write("tools/a.go", s.read("tools/a.go")+edit)
			if _, err := s.e.Undo(s.Context(), s.id, engine.Options{Keep: true}); err != nil {
				s.Fatal(err)
			}
			s.registers("tools/tools_gen.go", `"a"`) // the function still exists
			s.soundQuickly(s.e)
		}},
		{"force", func(s state) {
			s.write("tools/a.go", s.read("tools/a.go")+edit)
			edited := s.tree()
			undone, err := s.e.Undo(s.Context(), s.id, engine.Options{Force: true})
			if err != nil {
				s.Fatal(err)
			}
			s.unchanged(s.before, "after the undo,")
			s.undo(s.e, undone.Operation)
			s.unchanged(edited, "after the undo of the undo,")
		}},
		{"keep and force", func(s state) {
			if _, err := s.e.Undo(s.Context(), s.id, engine.Options{Force: true, Keep: true}); err == nil {
				s.Error("keep and force are accepted together")
			}
		}},
		{"code depends on it", func(s state) {
			later := s.generate(s.e, "tool", input{Name: "b"})
			s.write("tools/b.go", s.read("tools/b.go")+"\nvar _ AInput\n")
			edited := s.tree()
			for _, o := range []engine.Options{{}, {Force: true}, {Keep: true}, {DryRun: true}} {
				refused := s.refusal(second(s.e.Undo(s.Context(), s.id, o)))
				if len(refused.Diagnostics) == 0 || refused.Diagnostics[0].File != "tools/b.go" || !strings.Contains(refused.Error(), "AInput") {
					s.Errorf("the refusal does not name the dependent code: %v", refused)
				}
				if len(refused.Operations) != 1 || refused.Operations[0] != later.Operation {
					s.Errorf("the refusal names the operations %q, want only %q", refused.Operations, later.Operation)
				}
				s.unchanged(edited, "after the refusal,")
			}
			refused := s.refusal(second(s.e.Destroy(s.Context(), "tool", "a", engine.Options{})))
			if len(refused.Diagnostics) == 0 || refused.Diagnostics[0].File != "tools/b.go" {
				s.Errorf("the refusal to destroy does not name the dependent code: %v", refused)
			}
			s.unchanged(edited, "after the refusal of a destroy,")
		}},
		{"a test builds on it", func(s state) {
			s.write("tools/mine_test.go", "package tools_test\n\nimport \""+module+"/tools\"\n\nvar _ tools.AInput\n")
			edited := s.tree()
			if refused := s.refusal(second(s.e.Undo(s.Context(), s.id, engine.Options{}))); len(refused.Diagnostics) == 0 || refused.Diagnostics[0].File != "tools/mine_test.go" {
				s.Errorf("the refusal does not name the dependent code: %v", refused)
			}
			s.unchanged(edited, "after the refusal,")
		}},
		{"undo of an undo", func(s state) {
			with := s.tree()
			undone := s.undo(s.e, s.id)
			s.unchanged(s.before, "after the undo,")
			again := s.undo(s.e, undone.Operation)
			s.unchanged(with, "after the undo of the undo,")
			s.undo(s.e, again.Operation)
			s.unchanged(s.before, "after three,")
		}},
		{"undo twice", func(s state) {
			undone := s.undo(s.e, s.id)
			refused := s.refusal(second(s.e.Undo(s.Context(), s.id, engine.Options{})))
			if !strings.Contains(refused.Error(), undone.Operation) {
				s.Errorf("the refusal does not name the undo: %v", refused)
			}
			if refused := s.refusal(second(s.e.Undo(s.Context(), "", engine.Options{}))); !strings.Contains(refused.Error(), "nothing to undo") {
				s.Errorf("with nothing to undo: %v", refused)
			}
			s.unchanged(s.before, "after all that,")
		}},
		{"the last one", func(s state) {
			with := s.tree()
			s.generate(s.e, "prompt", input{Name: "b"})
			if undone := s.undo(s.e, ""); len(undone.Next) != 1 || !strings.Contains(undone.Next[0], "undo would now undo "+s.id) {
				s.Errorf("the undo does not name the operation before: %q", undone.Next)
			}
			s.unchanged(with, "after one undo,")
			if undone := s.undo(s.e, ""); undone.Undoes != s.id {
				s.Errorf("a second undo undoes %s, want %s", undone.Undoes, s.id)
			}
			s.unchanged(s.before, "after two,")
		}},
		{"by its number", func(s state) {
			s.undo(s.e, "0001")
			s.unchanged(s.before, "after the undo,")
		}},
		{"an unknown id", func(s state) {
			with := s.tree()
			for _, id := range []string{"0099", "nonsense", "../x", "0001-", "1", s.id + "x", " "} {
				if _, err := s.e.Undo(s.Context(), id, engine.Options{}); err == nil || !strings.Contains(err.Error(), "does not exist") {
					s.Errorf("undo %q: %v", id, err)
				}
			}
			s.unchanged(with, "after that,")
		}},
		{"without a journal", func(s state) {
			with := s.tree()
			if err := removeAll(s.path(".petrock")); err != nil {
				s.Fatal(err)
			}
			s.refusal(second(s.e.Undo(s.Context(), "", engine.Options{})))
			if _, err := s.e.Undo(s.Context(), s.id, engine.Options{}); err == nil {
				s.Error("undo succeeds without a journal")
			}
			s.unchanged(with, "after the refusals,")
			// Later generations can be undone.
			s.generate(s.e, "tool", input{Name: "b"})
			s.undo(s.e, "")
			s.unchanged(with, "after another,")
			// Petrock no longer knows whether a was edited.
			s.refusal(second(s.e.Destroy(s.Context(), "tool", "a", engine.Options{})))
			if _, err := s.e.Destroy(s.Context(), "tool", "a", engine.Options{Force: true}); err != nil {
				s.Fatal(err)
			}
			s.unchanged(s.before, "after a destroy,")
		}},
		{"destroy and undo", func(s state) {
			with := s.tree()
			for _, name := range []string{"a", "A"} {
				gone, err := s.e.Destroy(s.Context(), "tool", name, engine.Options{})
				if err != nil {
					s.Fatal(err)
				}
				s.unchanged(s.before, "after the destroy,")
				s.undo(s.e, gone.Operation)
				s.unchanged(with, "after the undo,")
			}
			// Components of the new project count as generated.
			gone, err := s.e.Destroy(s.Context(), "tool", "add", engine.Options{})
			if err != nil {
				s.Fatal(err)
			}
			s.undo(s.e, gone.Operation)
			s.unchanged(with, "after the undo,")
		}},
		{"destroy all", func(s state) {
			with := s.tree()
			for _, name := range []string{"a", "add"} {
				if _, err := s.e.Destroy(s.Context(), "tool", name, engine.Options{}); err != nil {
					s.Fatal(err)
				}
			}
			s.goCommand("test", "-vet=all", "./cmd/"+name)
			s.fresh(s.e)
			history, err := s.e.History(s.Context())
			if err != nil {
				s.Fatal(err)
			}
			s.undo(s.e, "")
			s.undo(s.e, history.Operations[len(history.Operations)-2].ID)
			s.unchanged(with, "when that is undone,")
			for range 2 {
				if _, err := s.e.Redo(s.Context(), "", engine.Options{}); err != nil {
					s.Fatal(err)
				}
			}
			s.fresh(s.e)
			if _, err := os.Stat(s.path("tools/add.go")); err == nil {
				s.Error("redo does not destroy the tools again")
			}
		}},
		{"destroy an edited file", func(s state) {
			s.write("tools/a.go", s.read("tools/a.go")+edit)
			edited := s.tree()
			refused := s.refusal(second(s.e.Destroy(s.Context(), "tool", "a", engine.Options{})))
			if len(refused.Files) != 1 || !strings.Contains(refused.Error(), "+"+edit[1:]) || !strings.Contains(refused.Remedy, "With --force") {
				s.Errorf("the refusal does not show the edit: %v", refused)
			}
			s.unchanged(edited, "after the refusal,")
			if _, err := s.e.Destroy(s.Context(), "tool", "a", engine.Options{Force: true}); err != nil {
				s.Fatal(err)
			}
			s.unchanged(s.before, "after the destroy,")
			s.undo(s.e, "")
			s.unchanged(edited, "after the undo,")
		}},
		{"destroy one of two in a file", func(s state) {
			s.write("tools/a.go", s.read("tools/a.go")+"\n// Second is another tool.\nfunc Second(ctx context.Context, in AInput) (AOutput, error) { return AOutput{}, nil }\n")
			edited := s.tree()
			refused := s.refusal(second(s.e.Destroy(s.Context(), "tool", "a", engine.Options{Force: true})))
			if !strings.Contains(refused.Error(), "also contains tool second") {
				s.Errorf("the refusal returned %v", refused)
			}
			s.unchanged(edited, "after the refusal,")
		}},
		{"destroy an unknown component", func(s state) {
			with := s.tree()
			for _, what := range [][2]string{{"tool", "b"}, {"prompt", "a"}, {"nonsense", "a"}, {"tool", "../a"}, {"tool", ""}, {"generator", "tool"}} {
				if _, err := s.e.Destroy(s.Context(), what[0], what[1], engine.Options{}); err == nil {
					s.Errorf("the destroyed components include %q", what)
				}
			}
			s.unchanged(with, "after that,")
		}},
		{"edited derived files", func(s state) {
			s.replace("tools/tools_gen.go", "package tools", "package tools // edited")
			s.replace("cmd/hello/wire_gen.go", "package main", "package main // edited")
			s.undo(s.e, s.id)
			s.unchanged(s.before, "after the undo,")
		}},
		{"derived files that are gone", func(s state) {
			if err := removeAll(s.path("tools/tools_gen.go"), s.path("cmd/hello/wire_gen.go")); err != nil {
				s.Fatal(err)
			}
			s.undo(s.e, s.id)
			s.unchanged(s.before, "after the undo,")
		}},
		{"permissions", func(s state) {
			if err := os.Chmod(s.path("tools/a.go"), 0o600); err != nil {
				s.Fatal(err)
			}
			with := s.tree()
			if _, err := s.e.Destroy(s.Context(), "tool", "a", engine.Options{}); err != nil {
				s.Fatal(err)
			}
			s.undo(s.e, "")
			s.unchanged(with, "after the undo,")
		}},
		{"a folder that was empty before", func(s state) {
			if err := os.Mkdir(s.path("prompts"), 0o755); err != nil {
				s.Fatal(err)
			}
			s.generate(s.e, "prompt", input{Name: "b"})
			s.undo(s.e, "")
			delete(s.before, "prompts")
			os.Remove(s.path("prompts")) // it is empty, if it exists
			s.undo(s.e, s.id)
			s.unchanged(s.before, "after the undo,")
		}},
		{"a name that was used and undone", func(s state) {
			s.undo(s.e, s.id)
			s.generate(s.e, "tool", input{Name: "a", Fields: []string{"other:int"}})
			with := s.tree()
			// Restoring the first one would overwrite the second one.
			history, err := s.e.History(s.Context())
			if err != nil {
				s.Fatal(err)
			}
			s.refusal(second(s.e.Undo(s.Context(), history.Operations[1].ID, engine.Options{})))
			s.unchanged(with, "after the refusal,")
		}},
	}) {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			e := w.engine()
			s := state{world: w, e: e, before: w.tree()}
			s.id = w.generate(e, "tool", input{Name: "a", Fields: []string{"x:int", "y:enum(up,down)?"}}).Operation
			test.do(s)
		})
	}
}

// A dry run writes nothing, and prints a diff that git can apply with the same result. The diff
// does not contain the code of parts.
func TestDryRun(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t)
	w.write("tools/old-style.txt", "A file without an end of line")
	for _, args := range [][]string{
		{"generate", "tool", "send-mail", "to", `subject:string:1..100 "What it is about: \"é\" */"`, "--description", "Sends a mail."},
		{"generate", "prompt", "review", "code"},
		{"generate", "resource", "note", "note://{id}"},
		{"destroy", "tool", "add"},
		{"change", "tool", "send_mail", "--rename", "post_mail", "--alias"},
		{"edit", "tools/post_mail.go", "--replace", "post_mail", "--with", "post_a_mail", "--all"},
		{"undo"},
		{"undo", "0004"},
		{"undo", "0002"},
		{"redo"},
		{"undo"}, // the redo
		{"undo"}, // destroy
		{"undo", "0001"},
		{"generate", "feature", "posts", "--crud", "title", `kind:enum(a,b)? "Which: \"é\" */"`},
		{"generate", "command", "users/join", "name", "--description", "Adds a user."},
		{"destroy", "feature", "posts"},
		{"sync"},
	} {
		if args[0] == "sync" {
			w.replace("tools/add.go", "// Add adds", "// Add really adds")
		}
		if slices.Contains(args, "--crud") {
			w.addApp()
		}
		before := w.treeOf(w.dir, true)
		diff, errOut, status := w.run(append(args, "--dry-run")...)
		if status != 0 {
			t.Fatalf("%s --dry-run: exit code %d, want 0: %s", args, status, errOut)
		}
		if how := before.differences(w.treeOf(w.dir, true)); how != "" {
			t.Fatalf("%s --dry-run has changed the project:\n%s", args, how)
		}

		twin := &world{TB: t, base: w.base, dir: t.TempDir()}
		if err := copyProject(w.dir, twin.dir); err != nil {
			t.Fatal(err)
		}
		apply := exec.Command("git", "apply", "--whitespace=error-all", "-")
		apply.Dir, apply.Stdin = twin.dir, strings.NewReader(diff)
		apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+os.TempDir())
		if out, err := apply.CombinedOutput(); err != nil {
			t.Fatalf("git apply of %s: %v\n%s%s", args, err, out, diff)
		}
		plan := regexp.MustCompile(`apply ([0-9a-f]{16})`).FindStringSubmatch(errOut)
		if plan == nil {
			t.Fatalf("%s --dry-run names no plan: %s", args, errOut)
		}
		w.ok("apply", plan[1])
		if how := w.tree().differences(twin.tree()); how != "" {
			t.Errorf("git apply of the diff of %s has a different result:\n%s", args, how)
		}
	}
}

// Refusals have exit code 1, usage errors 2. Both are available as JSON.
func TestStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.tree()
	for _, test := range pick(t, 2, []struct {
		args    []string
		status  int
		refusal bool // the JSON has one
	}{
		{[]string{"undo"}, 1, true},
		{[]string{"redo"}, 1, true},
		{[]string{"undo", "0099"}, 2, false},
		{[]string{"undo", "--keep", "--force"}, 2, false},
		{[]string{"destroy", "tool", "nothing"}, 2, false},
		{[]string{"destroy", "tool"}, 2, false},
		{[]string{"generate", "tool", "add"}, 1, true},
		{[]string{"generate", "tool", "add-input"}, 1, true},
		{[]string{"generate", "tool", "../x"}, 2, false},
		{[]string{"generate", "tool", "x", "a:string; evil"}, 2, false},
		{[]string{"generate", "tool"}, 2, false},
		{[]string{"generate", "nonsense", "x"}, 2, false},
		{[]string{"history", "--dir", "../outside"}, 1, false},
	}) {
		// Without a terminal, a slow machine prints a line of progress before the error.
		_, errOut, status := w.run(test.args...)
		if status != test.status || !strings.Contains("\n"+errOut, "\npetrock: ") {
			t.Errorf("%q: exit code %d, want %d: %s", test.args, status, test.status, errOut)
		}
		out, _, status := w.run(append(test.args, "--json")...)
		if test.args[len(test.args)-1] == "x" && test.args[1] == "nonsense" {
			continue // an unknown command prints no JSON
		}
		var said struct {
			OK      *bool
			Error   string
			Status  int
			Refusal *engine.Refusal
		}
		if err := json.Unmarshal([]byte(out), &said); err != nil || said.OK == nil || *said.OK || said.Error == "" || said.Status != test.status || status != test.status || (said.Refusal != nil) != test.refusal {
			t.Errorf("%q --json: exit code %d, output %s (%v); want %d, and an error with that status and a refusal: %t", test.args, status, out, err, test.status, test.refusal)
		}
	}
	w.unchanged(before, "after all that,")
}
