package devserver_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/linked"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The dev server looks up the enclosing project at each call, so that errors of earlier calls do
// not stick.
func TestProjectStatus(t *testing.T) {
	t.Setenv("GOWORK", "off")
	root := t.TempDir()
	dir := filepath.Join(root, "tools")
	write(t, filepath.Join(root, "go.mod"), "module example.com/weather\n\ngo 1.26.0\n")
	write(t, filepath.Join(dir, "sun.go"), "package tools\n\nvar Sun int = \"\"\n")
	client := connect(t, devserver.Options{Dir: dir})

	if result := client.CallTool("project_status", map[string]any{}); result.IsError || !strings.Contains(result.Text(), "There is no project: no petrock.json in ") || !strings.Contains(result.Text(), "petrock new") {
		t.Errorf(`without a project, project_status returned %s (error: %t); want no error, and "There is no project: no petrock.json in " and "petrock new" in it`, result.Text(), result.IsError)
	}

	manifest, err := json.Marshal(project.Manifest{Petrock: generators.Version, Name: "weather", Module: "example.com/weather"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, project.FileName), string(manifest))
	sum := engine.Sum{}
	sum.Add("core/a.md", []byte("# A\n"))
	write(t, filepath.Join(root, engine.SumFile), string(sum.Encode()))
	broken := status(t, client)
	if broken.Builds || len(broken.Diagnostics) != 1 || broken.Diagnostics[0].String() != `tools/sun.go:3:15: cannot use "" (untyped string constant) as int value in variable declaration` {
		t.Errorf(`broken, it returned: %+v; want Builds false and the error tools/sun.go:3:15: cannot use "" (untyped string constant) as int value in variable declaration`, broken)
	}

	if text := broken.String(); !strings.Contains(text, "core and generators differ from petrock.sum: 0 changed, 1 missing, 0 added. This is petrock's code; if you did not mean to change it, restore it from version control.\n  missing  core/a.md\n") || broken.PetrockCode.Pristine {
		t.Errorf("without a file of petrock's, it returned (pristine: %t):\n%s\nwant false, and core/a.md as missing", broken.PetrockCode.Pristine, text)
	}
	write(t, filepath.Join(root, "core", "a.md"), "# A\r\n")
	write(t, filepath.Join(dir, "sun.go"), "package tools\n\nvar Sun int\n")
	sound := status(t, client)
	if !sound.Builds || sound.Name != "weather" || sound.Module != "example.com/weather" || sound.Root != root || sound.Petrock != generators.Version || len(sound.Packages) != 1 || sound.Packages[0] != "example.com/weather/tools" {
		t.Errorf("sound, it returned: %+v", sound)
	}
	if text := sound.String(); !strings.Contains(text, "\n  example.com/weather/tools\ncore and generators match petrock.sum (petrock 0.3.0-dev).\nAll packages and tests compile.\nstale: contract.json; run petrock sync\n") {
		t.Errorf("text:\n%s", text)
	}
	if !sound.PetrockCode.Pristine {
		t.Errorf("petrock's files differ: %+v, want them pristine", sound.PetrockCode)
	}
	if text := broken.String(); !strings.Contains(text, "The project does not compile:\ntools/sun.go:3:15: ") {
		t.Errorf(`text of a broken project: got %q, want it to contain "The project does not compile:\ntools/sun.go:3:15: "`, text)
	}

	// The version is that of the code. Unreadable files are a failure even if the project compiles.
	write(t, filepath.Join(root, "generators", "generators.go"), "package generators\n\nconst Version = \"0.1.9\"\n")
	if other := status(t, client); !sound.OK || !other.OK || !strings.Contains(other.String(), "petrock.json names petrock 0.3.0-dev, but the code in generators is petrock 0.1.9. Correct the version in petrock.json.\n") {
		t.Errorf("with other code, it returned (OK: %t, before: %t):\n%s\nwant true twice, and the advice to correct the version in petrock.json", other.OK, sound.OK, other)
	}
	for _, file := range []string{engine.SumFile, "contract.json"} {
		write(t, filepath.Join(root, file), "<<<<<<< HEAD\n")
		if merged := status(t, client); merged.OK || !merged.Builds || !strings.Contains(merged.String(), file+" has conflict markers; resolve the merge") {
			t.Errorf("with conflict markers in %s, it returned:\n%s\nwant OK false, Builds true, and the advice to resolve the merge", file, merged)
		}
		os.Remove(filepath.Join(root, file))
	}
}

// The dev server of a project works only on that project, also after its folder was created again.
func TestDir(t *testing.T) {
	t.Setenv("GOWORK", "off")
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	begin := func(dir string) {
		write(t, filepath.Join(base, dir, "go.mod"), "module example.com/weather\n\ngo 1.26.0\n")
		write(t, filepath.Join(base, dir, project.FileName), `{"name":"weather"}`)
	}
	begin("mine")
	begin("mine/below")
	client := connect(t, devserver.Options{Dir: filepath.Join(base, "mine")})
	list := func(dir, says string) {
		t.Helper()
		if result := client.CallTool("list_components", map[string]any{"dir": dir, "detail": true}); !strings.Contains(result.Text(), says) {
			t.Errorf("in %s got %s, want %s in it", dir, result.Text(), says)
		}
	}
	list("below", "works only on the project in")
	list("..", "works only on the project in")
	root := `"root":` + quote(t, filepath.Join(base, "mine"))
	list("tools", root)
	list(filepath.Join(base, "mine"), root)
	if err := os.RemoveAll(filepath.Join(base, "mine")); err != nil {
		t.Fatal(err)
	}
	begin("mine")
	list(".", root)
}

// A generator whose input or name cannot be a tool does not affect the others.
func TestGeneratorsThatAreNoTools(t *testing.T) {
	tools, err := devserver.New(devserver.Options{Dir: t.TempDir(), Generators: []gen.Generator{
		{Name: "deploy", InputSchema: json.RawMessage(`{"type":"object","properties":{"dir":{"type":"string"}}}`)},
		{Name: "component", InputSchema: json.RawMessage(`{"type":"object"}`)},
		{Name: "note", InputSchema: json.RawMessage(`{"type":"object"}`)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tools.Close() })
	var made []string
	for _, tool := range mcptest.Connect(t, tools.Server).Tools() {
		if strings.HasPrefix(tool.Name, "generate_") {
			made = append(made, tool.Name)
			if tool.Name == "generate_component" && !strings.Contains(tool.Description, "any generator") {
				t.Errorf("generate_component was replaced: %s", tool.Description)
			}
		}
	}
	if !slices.Equal(made, []string{"generate_component", "generate_note"}) {
		t.Errorf("the generator tools are %q, want %q", made, []string{"generate_component", "generate_note"})
	}
}

// Models choose components by their descriptions, so the dev server requires them. On a command
// line they are optional.
func TestDescriptionIsRequired(t *testing.T) {
	client := connect(t, devserver.Options{Dir: t.TempDir()})
	for _, test := range []struct{ tool, arguments, want string }{
		{"generate_tool", `{"name":"greet"}`, "description is missing; models choose a tool by it. Such as: Sends a mail."},
		{"generate_tool", `{"name":"greet","description":" "}`, "description is missing"},
		{"generate_resource", `{"name":"note","uri":"note://{id}"}`, "clients choose a resource by it. Such as: The text of a note."},
		{"generate_prompt", `{"name":"review"}`, "users choose a prompt by it. Such as: Asks for a review."},
		{"generate_command", `{"name":"posts/publish"}`, "models choose a command by it. Such as: Publishes a post."},
		{"generate_query", `{"name":"posts/count"}`, "models choose a query by it. Such as: Counts posts."},
		{"generate_component", `{"kind":"tool","name":"greet"}`, "description is missing"},
		{"generate_component", `{"kind":"query","name":"posts/count"}`, "models choose a query by it. Such as: Counts posts."},
		{"generate_component", `{"kind":"prompt","name":"review"}`, "users choose a prompt by it. Such as: Asks for a review."},
		{"generate_component", `{"name":"greet"}`, "kind is missing; the generators are command, "},
		{"generate_tool", `{"name":"greet","description":"Greets."}`, "no petrock.json"},
		{"generate_tool", `{"from":"./store.Find"}`, "no petrock.json"},
		{"generate_worker", `{"name":"posts/digest","every":"5m"}`, "no petrock.json"},
		{"generate_feature", `{"name":"posts"}`, "no petrock.json"},
		{"generate_component", `{"kind":"generator","name":"macro"}`, "no petrock.json"},
	} {
		result := client.CallTool(test.tool, test.arguments)
		if !result.IsError || !strings.Contains(result.Text(), test.want) {
			t.Errorf("%s(%s) = %s, want the error %q", test.tool, test.arguments, result.Text(), test.want)
		}
	}
}

// quote returns a JSON string.
func quote(t *testing.T, text string) string {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(quoted)
}

// connect starts a dev server with petrock's own generators.
func connect(t *testing.T, o devserver.Options) *mcptest.Client {
	t.Helper()
	o.Generators = linked.All()
	tools, err := devserver.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tools.Close() })
	return mcptest.Connect(t, tools.Server)
}

func status(t *testing.T, client *mcptest.Client) (status devserver.ProjectStatusOutput) {
	t.Helper()
	result := client.CallTool("project_status", map[string]any{"detail": true})
	if result.IsError {
		t.Fatalf("the tool returned the error %s, want success", result.Text())
	}
	if err := json.Unmarshal(result.StructuredContent, &status); err != nil {
		t.Fatal(err)
	}
	return status
}

// Without contract.json, build refuses as sync does, although the server compiles.
func TestBuildWithoutContract(t *testing.T) {
	t.Setenv("GOWORK", "off")
	root := t.TempDir()
	manifest, err := json.Marshal(project.Manifest{Petrock: generators.Version, Name: "weather", Module: "example.com/weather"})
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"go.mod":              "module example.com/weather\n\ngo 1.26.0\n",
		project.FileName:      string(manifest),
		engine.SumFile:        string(engine.Sum{}.Encode()),
		"cmd/weather/main.go": "package main\n\nfunc main() {}\n",
		"core/app/app.go":     "package app\n\ntype Event struct{}\n",
		"features/posts/state.go": `package posts

import (
	"context"

	"example.com/weather/core/app"
)

// State is the state of posts.
type State struct{}

// NewState returns the state before the first command.
func NewState() *State { return &State{} }

// Create creates a post.
type Create struct{}

// CreateOutput is empty.
type CreateOutput struct{}

// Check accepts everything.
func (c Create) Check(ctx context.Context, s *State) error { return nil }

// Apply does nothing.
func (c Create) Apply(s *State, e app.Event) CreateOutput { return CreateOutput{} }
`,
	} {
		write(t, filepath.Join(root, file), text)
	}
	result := connect(t, devserver.Options{Dir: root}).CallTool("build", map[string]any{})
	if !result.IsError || !strings.Contains(result.Text(), "contract.json is missing") {
		t.Errorf(`build returned %s (error: %t); want an error with "contract.json is missing" in it`, result.Text(), result.IsError)
	}
}
