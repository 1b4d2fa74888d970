package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
)

// A bench is a project with features, and an engine for it.
type bench struct {
	*testing.T
	*engine.Engine
	dir string
}

// open writes the project and derives from it. Its only generator writes the file of its input, and
// prints the feature posts.
func open(t *testing.T) *bench {
	t.Helper()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod -ldflags=-w") // -w makes linking faster
	archive, err := txtar.ParseFile("testdata/features.txtar")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, dir: t.TempDir()}
	for _, f := range archive.Files {
		b.write(f.Name, string(f.Data))
	}
	b.Engine, err = engine.Open(b.dir, []gen.Generator{
		gen.New("command", "", `{}`, func(p gen.Project, in struct{ File, Text string }) (gen.Draft, error) {
			known := p.Feature("posts")
			name := "posts_" + strings.TrimSuffix(path.Base(in.File), ".go")
			return gen.Draft{Kind: "command", Name: name, Files: []gen.File{{Path: in.File, Text: []byte(in.Text)}}, Next: []string{fmt.Sprintf("%+v", known)}}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	synced, err := b.Sync(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !synced.OK || len(synced.Diagnostics)+len(synced.Warnings)+len(synced.Impure) > 0 || synced.ToolsList.Tools != 4 {
		t.Fatalf("deriving: %s; want OK, no diagnostics or warnings, and four tools", synced)
	}
	return b
}

func (b *bench) write(name, text string) {
	b.Helper()
	file := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

// read returns the text of a file of the project.
func (b *bench) read(name string) string {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, filepath.FromSlash(name)))
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// files returns the paths below a folder of the project.
func (b *bench) files(dir string) []string {
	var files []string
	filepath.WalkDir(filepath.Join(b.dir, dir), func(name string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			inside, _ := filepath.Rel(b.dir, name)
			files = append(files, filepath.ToSlash(inside))
		}
		return nil
	})
	return files
}

// checkError fails unless an error contains a text.
func (b *bench) checkError(err error, part string) {
	b.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		b.Errorf("got error %v, want %q", err, part)
	}
}

// command returns the Go source of a command of posts.
func command(name, apply string) string {
	return fmt.Sprintf(`package posts

import (
	"context"
	"time"

	"hello/core/app"
)

// %s is one.
type %[1]s struct{}

// Check always lets it pass.
func (c %[1]s) Check(ctx context.Context, s *State) error { return nil }

// Apply does something.
func (c %[1]s) Apply(s *State, e app.Event) time.Time { %s }
`, name, apply)
}

// generate runs the generator.
func (b *bench) generate(file, text string) (*engine.Result, error) {
	input, err := json.Marshal(map[string]string{"File": file, "Text": text})
	if err != nil {
		b.Fatal(err)
	}
	return b.Generate(b.Context(), "command", input, engine.Options{})
}

func TestFeaturesAreShown(t *testing.T) {
	b := open(t)
	listing, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range listing.Components {
		if c.Kind == "feature" && c.Description != "What the log says of "+c.Name+"." {
			t.Errorf("%s is described as %q", c.Name, c.Description)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s %s", c.Kind, c.Name, c.Func, c.Feature, c.EventType))
	}
	want := []string{
		"command posts_create Create posts posts/create", "command users_create Create users users/create",
		"feature posts State posts ", "feature users State users ",
		"query posts_get Get posts ", "tool add Add  ", "worker posts/digest Digest posts ",
	}
	if !slices.Equal(got, want) || listing.ToolsList.Tools != 4 {
		t.Errorf("the components are %q, and the tools %v; want %q, and 4 tools", got, listing.ToolsList, want)
	}
	for _, c := range []struct{ kind, name, file string }{
		{"", "posts_create", "features/posts/create.go"},
		{"command", "posts/create", "features/posts/create.go"},
		{"", "posts-get", "features/posts/get.go"},
		{"query", "Get", "features/posts/get.go"},
		{"worker", "posts/digest", "features/posts/digest.go"},
		{"feature", "users", "features/users/users.go"},
	} {
		shown, err := b.Inspect(t.Context(), c.kind, c.name)
		if err != nil || shown.Component.File != c.file {
			t.Errorf("%s %s is %+v (%v); want no error and Component.File %q", c.kind, c.name, shown, err, c.file)
		}
	}
	_, err = b.Inspect(t.Context(), "command", "Create")
	b.checkError(err, `"Create" is ambiguous: posts_create or users_create`)
	_, err = b.Inspect(t.Context(), "query", "posts_create")
	b.checkError(err, "the project has posts_get")
}

func TestFeaturesAreDestroyed(t *testing.T) {
	b := open(t)
	o := engine.Options{Force: true}
	before := b.files("features")
	_, err := b.Destroy(t.Context(), "command", "posts/create", engine.Options{})
	b.checkError(err, "you have edited files of command posts/create:")
	_, err = b.Destroy(t.Context(), "command", "posts/create", o)
	b.checkError(err, "digest.go")
	_, err = b.Destroy(t.Context(), "command", "users_create", o)
	b.checkError(err, "features/users/users.go also contains feature users")
	_, err = b.Destroy(t.Context(), "feature", "users", o)
	b.checkError(err, "digest.go")
	_, err = b.Destroy(t.Context(), "query", "posts_create", o)
	b.checkError(err, "the project has posts_get")

	var ids []string
	for _, c := range []struct{ kind, name, next string }{
		{"worker", "posts/digest", "If you renamed it, add //petrock:name digest"},
		{"command", "posts_create", ""},
		{"query", "posts/get", ""},
		{"feature", "users", ""},
		{"feature", "posts", "Part app is no longer used; run petrock remove app to remove it."},
	} {
		result, err := b.Destroy(t.Context(), c.kind, c.name, o)
		if err != nil {
			t.Fatalf("%s %s: %v", c.kind, c.name, err)
		}
		if next := strings.Join(result.Next, "\n"); !strings.Contains(next, c.next) || c.next == "" && next != "" {
			t.Errorf("after %s %s the next step is %q, want %q in it", c.kind, c.name, next, c.next)
		}
		ids = append(ids, result.Operation)
	}
	if left := b.files("features"); len(left) > 0 {
		t.Errorf("the features folder still contains %q, want nothing", left)
	}
	if wiring, _ := os.ReadFile(filepath.Join(b.dir, "cmd/hello/wire_gen.go")); strings.Contains(string(wiring), "appserve") {
		t.Errorf(`the wiring: got %q, want it without "appserve"`, string(wiring))
	}
	for _, id := range slices.Backward(ids) {
		if _, err := b.Undo(t.Context(), id, engine.Options{}); err != nil {
			t.Fatalf("undoing %s: %v", id, err)
		}
	}
	if after := b.files("features"); !slices.Equal(before, after) {
		t.Errorf("after undoing all, the files are %q, want %q", after, before)
	}
	if result, err := b.Check(t.Context()); err != nil || !result.OK {
		t.Errorf("after all, %s (%v); want no error and OK true", result, err)
	}
}

func TestApplyIsPure(t *testing.T) {
	b := open(t)
	made, err := b.generate("features/posts/good.go", command("Good", "return e.Time"))
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Components) != 1 || made.Components[0].EventType != "posts/good" || made.ToolsList.Tools != 5 || !strings.Contains(made.Next[0], "Fields:[{Name:Title Type:string Tag:json:") {
		t.Errorf(`it makes %+v; want the command posts/good, five tools, and "Fields:[{Name:Title Type:string Tag:json:" as the next step`, made)
	}
	_, err = b.generate("features/posts/bad.go", command("Bad", "return time.Now()"))
	b.checkError(err, "Bad.Apply → time.Now")
	b.checkError(err, "> 17 | func (c Bad) Apply")
	if slices.Contains(b.files("features/posts"), "features/posts/bad.go") {
		t.Errorf(`features/posts has %q, want it without the refused "features/posts/bad.go"`, b.files("features/posts"))
	}

	ordered, err := b.generate("features/posts/order.go", command("Order", "for id := range s.Titles { s.Titles[\"all\"] += id }; return e.Time"))
	if err != nil || len(ordered.Warnings) != 1 || !strings.Contains(ordered.Warnings[0].Message, "a loop over a map") {
		t.Errorf(`a loop over a map: got %s (%v); want no error and one warning containing "a loop over a map"`, ordered, err)
	}

	b.write("features/posts/worse.go", command("Worse", "return time.Now()"))
	if synced, err := b.Sync(t.Context(), engine.Options{}); err != nil || !synced.OK || len(synced.Impure) != 1 || !strings.Contains(synced.String(), "warning: features/posts/worse.go:17") {
		t.Errorf(`sync returned %s (%v); want no error, OK, and one impure function: "warning: features/posts/worse.go:17"`, synced, err)
	}
	if checked, err := b.Check(t.Context()); err != nil || checked.OK || checked.Stale() != "" || !strings.Contains(checked.Impurities(), "Worse.Apply → time.Now") {
		t.Errorf(`a check returned %s (%v); want no error, OK false, Stale "" and Impurities containing "Worse.Apply → time.Now"`, checked, err)
	}
	if _, err := b.Undo(t.Context(), made.Operation, engine.Options{}); err != nil {
		t.Error(err)
	}
	if _, err := b.generate("features/posts/other.go", command("Other", "return e.Time")); err != nil {
		t.Errorf("impure code that existed before blocks a change: %v", err)
	}
}

// A command that is saved half-typed can be changed again, and leaves no operation. Fields that
// were recorded before are still protected.
func TestSavedFeatures(t *testing.T) {
	b := open(t)
	save := func(file, text string) *engine.Result {
		t.Helper()
		b.write(file, text)
		synced, err := b.Sync(t.Context(), engine.Options{Saved: true})
		if err != nil {
			t.Fatal(err)
		}
		if synced.Operation != "" {
			t.Errorf("sync recorded the operation %s, want none", synced.Operation)
		}
		return synced
	}
	half := strings.Replace(command("Publish", "return e.Time"), "{", "{ Tit string `json:\"tit\"`;", 1)
	for _, text := range []string{half, command("Publish", "return e.Time")} {
		if synced := save("features/posts/publish.go", text); len(synced.Refused) > 0 || !synced.OK {
			t.Errorf("saved: %s; want OK true and nothing refused", synced)
		}
	}
	contract, err := os.ReadFile(filepath.Join(b.dir, "contract.json"))
	if err != nil || !strings.Contains(string(contract), "posts_publish") || strings.Contains(string(contract), `"posts/publish"`) {
		t.Errorf(`the contract is %s, %v; want no error, "posts_publish" in it, and no "\"posts/publish\""`, contract, err)
	}
	before, err := os.ReadFile(filepath.Join(b.dir, "features/posts/create.go"))
	if err != nil {
		t.Fatal(err)
	}
	b.write("features/posts/create.go", strings.Replace(string(before), `json:"title"`, `json:"name"`, 1))
	if synced, err := b.Sync(t.Context(), engine.Options{Saved: true}); err == nil && len(synced.Refused) == 0 {
		t.Errorf("a recorded field was renamed: %s", synced)
	}
}

func TestBrokenFeatures(t *testing.T) {
	b := open(t)
	derived := filepath.Join(b.dir, "features/posts/posts_gen.go")
	was, err := os.ReadFile(derived)
	if err != nil {
		t.Fatal(err)
	}
	// Two tools have one name.
	_, err = b.generate("features/posts/plus.go", strings.Replace(command("Plus", "return e.Time"), "// Plus is one.", "// Plus is one.\n//\n//petrock:name add", 1))
	b.checkError(err, "Plus has the name add, which Add in tools/add.go already has")

	// A feature that does not parse keeps its derived file, and other features can change.
	b.write("features/posts/broken.go", "package posts\n\nfunc {\n")
	b.write("features/users/get.go", "package users\n\nimport \"context\"\n\n// Get is one.\ntype Get struct{}\n\nfunc (Get) Answer(ctx context.Context, s *State) (int, error) { return s.N, nil }\n")
	synced, err := b.Sync(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(derived); string(now) != string(was) {
		t.Errorf("the derived file of the broken feature is now\n%s\n%v, want\n%s", now, err, was)
	}
	if synced.OK || len(synced.Files) != 2 || synced.Files[1].Path != "features/users/users_gen.go" {
		t.Errorf("sync returned %s; want OK false and two files, the second features/users/users_gen.go", synced)
	}
	_, err = b.Destroy(t.Context(), "query", "posts_get", engine.Options{Force: true})
	b.checkError(err, "cannot derive from features/posts")
	if _, err := b.Destroy(t.Context(), "query", "users_get", engine.Options{Force: true}); err != nil {
		t.Errorf("destroy in another feature: %v", err)
	}
	if err := os.Remove(filepath.Join(b.dir, "features/posts/broken.go")); err != nil {
		t.Fatal(err)
	}

	// A feature in a nested module is an error.
	b.write("features/users/go.mod", "module other\n")
	_, err = b.generate("features/posts/good.go", command("Good", "return e.Time"))
	b.checkError(err, "features/users is in another module")
}
