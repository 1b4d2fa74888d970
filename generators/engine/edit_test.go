package engine_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/engine"
)

// edit edits files. The edits are JSON.
func (b *bench) edit(edits string, o engine.Options) (*engine.Result, error) {
	b.Helper()
	var list []engine.FileEdit
	if err := json.Unmarshal([]byte(edits), &list); err != nil {
		b.Fatal(err)
	}
	return b.Edit(b.Context(), list, o)
}

// changes returns the actions and paths of a result.
func changes(r *engine.Result) string {
	var all []string
	for _, f := range r.Files {
		all = append(all, string(f.Action)+" "+f.Path)
	}
	return strings.Join(all, ", ")
}

// snapshot returns the texts of all files of the project outside of .petrock.
func (b *bench) snapshot() map[string]string {
	all := map[string]string{}
	for _, name := range b.files(".") {
		if !strings.HasPrefix(name, ".petrock/") && name != "link" {
			all[name] = b.read(name)
		}
	}
	return all
}

// differing returns the names of the files that differ between two snapshots.
func differing(before, after map[string]string) []string {
	var names []string
	for name, text := range before {
		if now, ok := after[name]; !ok || now != text {
			names = append(names, name)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestEdit(t *testing.T) {
	b := open(t)
	b.write("data/run.sh", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(b.dir, "data/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := b.snapshot()
	var ids []string
	for _, c := range []struct{ edits, changes, file, text string }{
		// Go is formatted, imports are added and removed, derived files follow.
		{`[{"path":"tools/add.go","replace":[{"old":"// Add ","new":"// Add quickly "}]},{"path":"tools/loud.go","text":"package tools\nimport (\"fmt\";\"sort\")\nfunc loud(s string) string {return fmt.Sprint(strings.ToUpper(s))}"}]`,
			"update contract.json, update tools/add.go, create tools/loud.go, update tools/tools_gen.go",
			"tools/loud.go", "package tools\n\nimport (\n\t\"fmt\"\n\t\"strings\"\n)\n\nfunc loud(s string) string { return fmt.Sprint(strings.ToUpper(s)) }\n"},
		// Later edits see earlier ones.
		{`[{"path":"notes.txt","text":"one two two"},{"path":"notes.txt","replace":[{"old":"one","new":"1"},{"old":"two","new":"2","all":true}]},{"path":"notes.txt","rename":"docs/notes.txt"}]`,
			"create docs/notes.txt", "docs/notes.txt", "1 2 2"},
		// A renamed file keeps its permissions.
		{`[{"path":"data/run.sh","rename":"data/start.sh","replace":[{"old":"#!/bin/sh\n","new":"#!/bin/sh\nexit\n"}]}]`,
			"delete data/run.sh, create data/start.sh", "data/start.sh", "#!/bin/sh\nexit\n"},
		// Files in testdata are neither formatted nor checked.
		{`[{"path":"tools/testdata/bad.go","text":"package  bad {"}]`, "create tools/testdata/bad.go", "tools/testdata/bad.go", "package  bad {"},
		{`[{"path":"empty.txt","text":""}]`, "create empty.txt", "empty.txt", ""},
		// A change of another package changes what is derived from tools that import it.
		{`[{"path":"units/units.go","text":"package units\n\n// A Unit is one.\ntype Unit string\n\n// The units.\nconst Meter Unit = \"m\"\n"},{"path":"tools/far.go","text":"package tools\n\n// FarInput is the input of far.\ntype FarInput struct {\n\tUnit units.Unit ` + "`json:\\\"unit\\\"`" + ` // Unit\n}\n\n// Far is far.\nfunc Far(ctx context.Context, in FarInput) (string, error) { return string(in.Unit), nil }\n"}]`,
			"update contract.json, create tools/far.go, update tools/tools_gen.go, create units/units.go", "units/units.go", "package units\n\n// A Unit is one.\ntype Unit string\n\n// The units.\nconst Meter Unit = \"m\"\n"},
		{`[{"path":"units/units.go","replace":[{"old":"const Meter Unit = \"m\"","new":"const (\n\tMeter Unit = \"m\"\n\tMile Unit = \"mi\"\n)"}]}]`,
			"update contract.json, update tools/tools_gen.go, update units/units.go", "units/units.go", "package units\n\n// A Unit is one.\ntype Unit string\n\n// The units.\nconst (\n\tMeter Unit = \"m\"\n\tMile  Unit = \"mi\"\n)\n"},
		{`[{"path":"tools/loud.go","delete":true},{"path":"empty.txt","delete":true}]`, "delete empty.txt, delete tools/loud.go", "docs/notes.txt", "1 2 2"},
		{`[{"path":"docs/notes.txt","text":"1 2 2"}]`, "", "docs/notes.txt", "1 2 2"},
	} {
		r, err := b.edit(c.edits, engine.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.edits, err)
		}
		if got := changes(r); got != c.changes || !r.OK {
			t.Errorf("%s: got the changes %s (OK %t), want %s", c.edits, got, r.OK, c.changes)
		}
		if got := b.read(c.file); got != c.text {
			t.Errorf("%s: %s is\n%s\nwant\n%s", c.edits, c.file, got, c.text)
		}
		if r.Operation != "" {
			ids = append(ids, r.Operation)
		}
	}
	if info, err := os.Stat(filepath.Join(b.dir, "data/start.sh")); err != nil {
		t.Error(err)
	} else if info.Mode().Perm() != 0o755 {
		t.Errorf("start.sh has the mode %v, want %v", info.Mode().Perm(), os.FileMode(0o755))
	}
	if r, err := b.Check(t.Context()); err != nil || !r.OK {
		t.Errorf("after all edits: %s (%v); want no error and OK true", r, err)
	}
	for _, id := range slices.Backward(ids) {
		if _, err := b.Undo(t.Context(), id, engine.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if after := b.snapshot(); !maps.Equal(before, after) {
		t.Errorf("after undoing all, the files are %q", slices.Sorted(maps.Keys(after)))
	}
}

// A test of a new feature may use the function Feature, which is derived only then.
func TestEditAddsFeature(t *testing.T) {
	b := open(t)
	_, err := b.edit(`[{"path":"features/probe/state.go","text":"package probe\n\ntype State struct{}\n\nfunc NewState() *State { return &State{} }\n"},
		{"path":"features/probe/probe_test.go","text":"package probe_test\n\nvar _ = probe.Feature\n"}]`, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := b.read("features/probe/probe_test.go"); !strings.Contains(text, "import \"hello/features/probe\"") {
		t.Errorf("the test is\n%s\nwant the import of its package", text)
	}
}

func TestEditIsRefused(t *testing.T) {
	b := open(t)
	b.write("other/go.mod", "module other\n")
	if err := os.Symlink("tools", filepath.Join(b.dir, "link")); err != nil {
		t.Skip(err)
	}
	before := b.snapshot()
	for edits, want := range map[string]string{
		`[{"path":"../x.go","text":""}]`:                                          "../x.go: is outside the project",
		`[{"path":"/etc/passwd","text":""}]`:                                      "/etc/passwd: is outside the project",
		`[{"path":".git/config","text":""}]`:                                      ".git/config: is reserved",
		`[{"path":".petrock/lock","text":""}]`:                                    ".petrock/lock: is reserved",
		`[{"path":"tools","text":""}]`:                                            "tools: is a folder; name a file in it",
		`[{"path":"link/add.go","delete":true}]`:                                  "link is a symbolic link; name the file by its real path",
		`[{"path":"other/x.go","text":"package x"}]`:                              "is in another module (other/go.mod)",
		`[{"path":"tools/go.mod","text":"module x"}]`:                             "would make tools another module",
		`[{"path":"core/mcp/mcp.go","delete":true}]`:                              "is in a folder with petrock's code",
		`[{"path":"generators/x.go","text":"package x"}]`:                         "write your own code in another folder",
		`[{"path":"tools/tools_gen.go","delete":true}]`:                           "edit that, and it follows",
		`[{"path":"cmd/hello/wire_gen.go","text":""}]`:                            "edit that, and it follows",
		`[{"path":"tools/x_gen.go","text":"package tools"}]`:                      "names ending in _gen.go are for derived files",
		`[{"path":"contract.json","text":"{}"}]`:                                  "contract.json: records what the server promises",
		`[{"path":"petrock.json","text":"{}"}]`:                                   "only its initialisms may change",
		`[{"path":"petrock.sum","text":""}]`:                                      "it never needs an edit",
		`[{"path":"go.sum","text":""}]`:                                           "edit go.mod",
		`[{"path":"go.mod","delete":true}]`:                                       "edit go.mod: a project needs it",
		`[{"path":"go.mod","replace":[{"old":"module hello","new":"module x"}]}]`: "Keep the module directive",
		`[]`:                 "there are no edits",
		`[{"path":"x.txt"}]`: "pass text, replace, rename or delete",
		`[{"path":"tools/add.go","delete":true,"text":""}]`:                    "pass one of them",
		`[{"path":"add.go","delete":true}]`:                                    "does not exist; pass text to create it",
		`[{"path":"x.txt","delete":true}]`:                                     "does not exist; pass text to create it",
		`[{"path":"tools/add.go","rename":"features/posts/get.go"}]`:           "the file already exists",
		`[{"path":"tools/add.go","rename":"core/add.go"}]`:                     "rename to core/add.go: is in a folder with petrock's code",
		`[{"path":"tools/add.go","replace":[{"old":"","new":"x"}]}]`:           "old is empty",
		`[{"path":"tools/add.go","replace":[{"old":"func  Add(","new":"x"}]}]`: "old does not occur: \"func  Add(\"",
		`[{"path":"tools/add.go","replace":[{"old":"Add","new":"x"}]}]`:        "add lines around it, or set all",
		// Errors in the result.
		`[{"path":"tools/add.go","text":"package tools\n\nfunc {"}]`:                                             "syntax error",
		`[{"path":"tools/add.go","delete":true},{"path":"tools/x.go","text":"package tools\n\nvar X = add"}]`:    "undefined: add",
		`[{"path":"tools/x.go","text":"package tools\n\nvar X = nowhere.X"}]`:                                    "no package nowhere with X",
		`[{"path":"features/users/users.go","replace":[{"old":"type State struct","new":"type Other struct"}]}]`: "features/users",
		// Stored events and replay.
		`[{"path":"data/log.db","text":"x"}]`: "is the server's event log",
		`[{"path":"features/posts/create.go","replace":[{"old":"json:\"title\"","new":"json:\"headline\""}]}]`: "keep old events readable with petrock change command posts/create --rename-field title=headline; or, if no stored data matters, edit again with --accept posts/create",
		`[{"path":"features/posts/now.go","text":"package posts\nimport \"hello/core/app\"\n// Now is one.\ntype Now struct{}\n// Check passes.\nfunc (Now) Check(ctx context.Context, s *State) error { return nil }\n// Apply reads the clock.\nfunc (Now) Apply(s *State, e app.Event) time.Time { return time.Now() }"}]`: "Now.Apply → time.Now",
	} {
		_, err := b.edit(edits, engine.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", edits, err, want)
		}
		if names := differing(before, b.snapshot()); len(names) > 0 {
			t.Fatalf("the refused edit %s has changed %q, want nothing changed", edits, names)
		}
	}
	_, err := b.edit(`[{"path":"tools/add.go","replace":[{"old":"func  Add(","new":"x"}]}]`, engine.Options{})
	b.checkError(err, "| func Add(")
}

// Errors in files that are not edited come with their lines too. Only new errors refuse an edit.
func TestEditInBrokenProject(t *testing.T) {
	b := open(t)
	b.write("money/money.go", "package money\n\nfunc Cents() int { return 1 }\n")
	b.write("shop/shop.go", "package shop\n\nimport \"hello/money\"\n\nvar Price = money.Cents()\n")
	_, err := b.edit(`[{"path":"money/money.go","replace":[{"old":"Cents","new":"Euros"}]}]`, engine.Options{})
	b.checkError(err, "shop/shop.go:5:19: undefined: money.Cents")
	b.checkError(err, "> 5 | var Price = money.Cents()")

	b.write("tools/broken.go", "package tools\n\nfunc {\n")
	r, err := b.edit(`[{"path":"tools/fine.go","text":"package tools\n\nvar fine int\n"}]`, engine.Options{})
	if err != nil || r.OK || len(r.Refused) == 0 {
		t.Errorf("an edit in a broken package: %s (%v); want no error, OK false and some refused", r, err)
	}
	r, err = b.edit(`[{"path":"tools/broken.go","text":"package tools\n\nvar whole int\n"}]`, engine.Options{})
	if err != nil || !r.OK {
		t.Errorf("an edit that repairs the package: %s (%v); want no error and OK true", r, err)
	}
}

// An edit of go.mod is verified with the code that needs it, and can be undone in both directions.
func TestEditGoMod(t *testing.T) {
	b := open(t)
	t.Setenv("GOFLAGS", "")
	b.write("other/go.mod", "module example.com/other\n\ngo 1.26.0\n")
	b.write("other/other.go", "package other\n\n// N is a number.\nconst N = 1\n")
	mod := `{"path":"go.mod","replace":[{"old":"go 1.26.0","new":"go 1.26.0\n\nrequire example.com/other v0.0.0\n\nreplace example.com/other => ./other"}]}`
	r, err := b.edit("["+mod+"]", engine.Options{})
	if err != nil || len(r.Notices) != 1 || !strings.Contains(r.Notices[0], "removed those that no package needs: example.com/other") {
		t.Fatalf(`a requirement that is not needed: %s (%v); want no error and one notice containing "removed those that no package needs: example.com/other"`, r, err)
	}
	if _, err := b.Undo(t.Context(), r.Operation, engine.Options{}); err != nil {
		t.Fatal(err)
	}
	before := b.snapshot()
	_, err = b.edit(`[{"path":"use/use.go","text":"package use\n\nimport \"example.com/other\"\n\nvar N = other.N\n"}]`, engine.Options{})
	b.checkError(err, "could not import example.com/other")
	_, err = b.edit("["+mod+`,{"path":"use/use.go","text":"package use\n\nimport \"example.com/other\"\n\nvar N = other.M\n"}]`, engine.Options{})
	b.checkError(err, "undefined: other.M")
	r, err = b.edit("["+mod+`,{"path":"use/use.go","text":"package use\n\nimport \"example.com/other\"\n\nvar N = other.N\n"}]`, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	after := b.snapshot()
	undone, err := b.Undo(t.Context(), r.Operation, engine.Options{})
	if names := differing(before, b.snapshot()); err != nil || len(names) > 0 {
		t.Fatalf("undo: %v, and these files differ: %q; want no error and the files of before", err, names)
	}
	_, err = b.Undo(t.Context(), undone.Operation, engine.Options{})
	if names := differing(after, b.snapshot()); err != nil || len(names) > 0 {
		t.Errorf("redo: %v, and these files differ: %q; want no error and the files after the edit", err, names)
	}
}

func TestEditRunsTests(t *testing.T) {
	b := open(t)
	b.write("money/money.go", "package money\n\nfunc Cents() int { return 100 }\n")
	b.write("money/old_test.go", "package money\n\nimport \"testing\"\n\nfunc TestOld(t *testing.T) { t.Error(\"always\") }\n")
	b.write("shop/shop_test.go", "package shop\n\nimport (\n\t\"testing\"\n\n\t\"hello/money\"\n)\n\nfunc TestPrice(t *testing.T) {\n\tif money.Cents() < 50 {\n\t\tt.Errorf(\"too cheap: %d\", money.Cents())\n\t}\n}\n")
	before := b.snapshot()
	_, err := b.edit(`[{"path":"money/money.go","replace":[{"old":"100","new":"10"}]}]`, engine.Options{Test: true})
	b.checkError(err, "tests would fail:\n  shop TestPrice (shop/shop_test.go:11: t.Errorf(\"too cheap: %d\", money.Cents())):\n    too cheap: 10\nNothing was changed.")
	if names := differing(before, b.snapshot()); len(names) > 0 {
		t.Errorf("the refused edit has changed %q, want nothing changed", names)
	}
	r, err := b.edit(`[{"path":"money/money.go","replace":[{"old":"100","new":"99"}]}]`, engine.Options{Test: true})
	if err != nil || r.Tests == nil || r.Tests.Passed != 1 || r.Tests.Failed != 1 || !r.Tests.Older || !strings.Contains(r.String(), "No new failures: 1 passed, 1 failed in 2 packages. These failed before, and still fail.\n  money TestOld") {
		t.Errorf("with a test that failed before: %s (%v)", r, err)
	}
	_, err = b.edit(`[{"path":"a.txt","text":""}]`, engine.Options{Test: true, NoExec: true})
	b.checkError(err, "--no-exec")
}

func TestTests(t *testing.T) {
	b := open(t)
	b.write("core/mcp/mcp_test.go", "package mcp\n\nimport \"testing\"\n\nfunc TestCore(t *testing.T) {}\n")
	b.write("tools/add_test.go", "package tools\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {}\n\nfunc TestLong(t *testing.T) { t.Fatal(string(make([]byte, 3000))) }\n")
	b.write("features/posts/posts_test.go", "package posts\n\nimport \"testing\"\n\nfunc TestPosts(t *testing.T) { gone() }\n")
	for _, c := range []struct {
		o    engine.TestOptions
		want string
	}{
		{engine.TestOptions{Packages: []string{"tools"}, Run: "TestAdd$"}, "All tests passed: 1 passed in 1 package."},
		{engine.TestOptions{Packages: []string{"./tools/", "hello/core/..."}, Run: "TestAdd|TestCore"}, "All tests passed: 2 passed in 2 packages."},
		{engine.TestOptions{Packages: []string{"features/..."}}, "Some packages do not compile, or fail go vet. Tests of the others: 0 passed in 0 packages.\n  features/posts/posts_test.go:5:32: undefined: gone\n      2 | \n      3 | import \"testing\""},
		{engine.TestOptions{}, "Tests failed: 1 passed, 1 failed in 1 package."},
		{engine.TestOptions{Packages: []string{"user"}}, "package, file or component \"user\" does not exist; the folders with tests are features/posts, tools"},
		{engine.TestOptions{Packages: []string{"tools"}, Run: "TestNone"}, "\"TestNone\" matches no test or benchmark in tools"},
	} {
		r, err := b.Test(t.Context(), c.o)
		text := ""
		if err != nil {
			text = err.Error()
		} else {
			text = r.String()
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%+v: got %s, want %q in it", c.o, text, c.want)
		}
	}
	whole, err := b.Test(t.Context(), engine.TestOptions{Packages: []string{"tools"}})
	if err != nil || len(whole.Failures[0].Message) < 3000 {
		t.Fatalf("got %s (%v); want no error and a first failure with at least 3000 bytes", whole, err)
	}
	if short := whole.Short(5).(*engine.TestResult); len(short.Failures[0].Message) > 600 {
		t.Errorf("the short form has a message of %d bytes, want at most 600: %+v", len(short.Failures[0].Message), short)
	}
}
