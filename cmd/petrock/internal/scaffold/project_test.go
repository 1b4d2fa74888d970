package scaffold_test

import (
	"bytes"
	"encoding/json"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"golang.org/x/mod/modfile"

	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/parts"
)

// repository is petrock's own folder.
const repository = "../../../.."

func makeFiles(t *testing.T, s scaffold.Sources, a scaffold.Answers) map[string]string {
	t.Helper()
	made, err := s.Make(a)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, file := range made {
		files[file.Path] = string(file.Data)
	}
	return files
}

func ownModule(t *testing.T) *modfile.File {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// The same answers give the same bytes, in the same order.
func TestSameEveryTime(t *testing.T) {
	answers := scaffold.Answers{Name: "hello", Module: "example.com/hello"}
	first, err := scaffold.Embedded().Make(answers)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again, err := scaffold.Embedded().Make(answers)
		if err != nil {
			t.Fatal(err)
		}
		if len(again) != len(first) {
			t.Fatalf("the second time there are %d files, want %d", len(again), len(first))
		}
		for i := range again {
			if again[i].Path != first[i].Path || !bytes.Equal(again[i].Data, first[i].Data) {
				t.Fatalf("%s, %d bytes, differs from %s, %d bytes, of the first time", again[i].Path, len(again[i].Data), first[i].Path, len(first[i].Data))
			}
		}
	}
}

// The Go files of a project are formatted, import packages of the project's own module, and do not
// mention petrock's repository.
func TestGo(t *testing.T) {
	home := ownModule(t).Module.Mod.Path
	ours := regexp.MustCompile(regexp.QuoteMeta(home) + `|(?i)\bskeleton\b|\bscaffold\b`)
	for _, module := range []string{"hello", "example.com/deep/path/to/hello", "zz.example.com/hello/v2"} {
		files := makeFiles(t, scaffold.Embedded(), scaffold.Answers{Name: "my-hello", Module: module})
		for name, text := range files {
			if strings.HasPrefix(name, "core/") || strings.HasPrefix(name, "generators/") {
				if strings.HasSuffix(name, "_test.go") || path.Base(name) == "embed.go" {
					t.Errorf("the project has %s, which must not be copied", name)
				}
				if found := ours.FindString(text); found != "" {
					t.Errorf("%s names %q, want no words of petrock's own", name, found)
				}
			}
			if strings.Contains(text, home) {
				t.Errorf("%s is %q, want it without petrock's own module %q", name, text, home)
			}
			if path.Ext(name) != ".go" {
				continue
			}
			formatted, err := format.Source([]byte(text))
			if err != nil || string(formatted) != text {
				t.Errorf("%s is\n%s\n(%v), want it as gofmt writes it:\n%s", name, text, err, formatted)
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range file.Imports {
				imported, _ := strconv.Unquote(spec.Path.Value)
				inside, ok := strings.CutPrefix(imported, module+"/")
				if ok && !hasFolder(files, inside) {
					t.Errorf("%s imports %s, which does not exist", name, imported)
				}
			}
		}
		if text := files["cmd/my-hello/main.go"]; !strings.Contains(text, `Name: "my-hello",`) {
			t.Errorf(`cmd/my-hello/main.go is %q, want it to contain "Name: \"my-hello\","`, text)
		}
	}
}

func hasFolder(files map[string]string, folder string) bool {
	for name := range files {
		if path.Dir(name) == folder {
			return true
		}
	}
	return false
}

// allParts returns the answers that lead to a project with every part that answers can add.
func allParts() scaffold.Answers {
	return scaffold.Answers{Name: "hello", Module: "hello", Example: "tasks", OAuth: true}
}

// All Go of core and generators that is not a test is embedded, however deep it is. Parts that no
// answer leads to are in their archives.
func TestAllIsEmbedded(t *testing.T) {
	files := makeFiles(t, scaffold.Embedded(), allParts())
	for _, part := range parts.All() {
		archive, ok := files[part.Archive()]
		if !ok {
			continue
		}
		code, err := part.Unpack("hello", []byte(archive))
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range code {
			files[name] = string(text)
		}
	}
	for _, tree := range []string{"core", "generators"} {
		root := os.DirFS(filepath.Join(repository, tree))
		err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "testdata" {
				return fs.SkipDir
			}
			if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") || d.Name() == "embed.go" {
				return err
			}
			if _, ok := files[path.Join(tree, name)]; !ok {
				t.Errorf("the project lacks %s/%s", tree, name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The project requires modules at the same versions as petrock, and go.sum is complete.
func TestVersionsArePetrocks(t *testing.T) {
	files := makeFiles(t, scaffold.Embedded(), allParts())
	own := ownModule(t)
	versions := map[string]string{}
	for _, require := range own.Require {
		versions[require.Mod.Path] = require.Mod.Version
	}
	parsed, err := modfile.Parse("go.mod", []byte(files["go.mod"]), nil)
	if err != nil {
		t.Fatal(err)
	}
	if parsed.Go.Version != own.Go.Version {
		t.Errorf("go.mod names go %s, want %s", parsed.Go.Version, own.Go.Version)
	}
	ownSums, err := os.ReadFile(filepath.Join(repository, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for _, require := range parsed.Require {
		if got, want := require.Mod.Version, versions[require.Mod.Path]; got != want {
			t.Errorf("version of %s in the project = %s, want %q", require.Mod.Path, got, want)
		}
		if !strings.Contains(files["go.sum"], require.Mod.Path+" "+require.Mod.Version+" h1:") {
			t.Errorf("go.sum is %q, want it to contain %q", files["go.sum"], require.Mod.Path+" "+require.Mod.Version+" h1:")
		}
	}
	for line := range strings.Lines(files["go.sum"]) {
		fields := strings.Fields(line)
		required := slices.ContainsFunc(parsed.Require, func(r *modfile.Require) bool { return r.Mod.Path == fields[0] })
		known := strings.Contains(string(ownSums), strings.Join(fields[:2], " ")+" ")
		if (required || known) && !strings.Contains(string(ownSums), line) { // only tests of required modules need the others
			t.Errorf("petrock's go.sum lacks a line of the project's: %s", line)
		}
	}
}

// The configuration files of clients and services are valid, and start programs that exist.
func TestConfigurations(t *testing.T) {
	files := makeFiles(t, scaffold.Embedded(), scaffold.Answers{Name: "my-hello", Module: "example.com/hello"})
	for name, key := range map[string]string{
		".mcp.json": "mcpServers", ".cursor/mcp.json": "mcpServers", ".gemini/settings.json": "mcpServers", ".vscode/mcp.json": "servers", "crush.json": "mcp",
	} {
		var config map[string]json.RawMessage
		if err := json.Unmarshal([]byte(files[name]), &config); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var servers map[string]struct {
			Type, Command string
			Args          []string
			Timeout       int
		}
		if err := json.Unmarshal(config[key], &servers); err != nil {
			t.Fatalf("%s: %s: %v", name, key, err)
		}
		got := servers["my-hello"]
		if args := strings.Join(got.Args, " "); len(servers) != 1 || got.Command != "go" || !strings.HasSuffix(args, "/cmd/petrock dev") {
			t.Errorf("%s has %d servers, and starts one with %s %s; want one, started with go … /cmd/petrock dev", name, len(servers), got.Command, args)
		}
		if got.Type != "stdio" && name != ".gemini/settings.json" {
			t.Errorf("%s: type %q", name, got.Type)
		}
		if least, ok := map[string]int{"crush.json": 60, ".gemini/settings.json": 60_000}[name]; ok && got.Timeout < least {
			t.Errorf("%s: timeout %d", name, got.Timeout)
		}
	}
	if got := strings.Count(files[".codex/config.toml"], "[mcp_servers."); got != 1 {
		t.Errorf(".codex/config.toml has %d servers, want 1:\n%s", got, files[".codex/config.toml"])
	}
	for _, line := range []string{"[mcp_servers.my-hello]", `args = ["run", "example.com/hello/cmd/petrock", "dev"]`, "startup_timeout_sec = 300"} {
		if !strings.Contains(files[".codex/config.toml"], line+"\n") {
			t.Errorf(".codex/config.toml is %q, want it to contain the line %q", files[".codex/config.toml"], line)
		}
	}
	if !strings.Contains(files["CLAUDE.md"], "@AGENTS.md") {
		t.Errorf(`CLAUDE.md is %q, want it to contain "@AGENTS.md"`, files["CLAUDE.md"])
	}
	// go build leaves a program in the root; a folder of that name is not ignored.
	if !strings.Contains(files[".gitignore"], "\n/my-hello\n!/my-hello/\n") {
		t.Errorf(`.gitignore is %q, want it to contain "\n/my-hello\n!/my-hello/\n"`, files[".gitignore"])
	}
	for line := range strings.Lines(files[".gitignore"]) {
		line = strings.TrimSpace(line)
		anchored := strings.HasPrefix(line, "/") && strings.HasSuffix(line, "/") && !strings.Contains(line, "*")
		if !anchored && !strings.HasPrefix(line, "#") && line != ".DS_Store" && line != "/my-hello" && line != "!/my-hello/" {
			t.Errorf(".gitignore has %s, which may be the name of a component", line)
		}
	}
}

// Each template is required to create a project.
func TestTemplatesAreUsed(t *testing.T) {
	sources := scaffold.Embedded()
	all, err := fs.Glob(sources.Templates, "project/*")
	if err != nil || len(all) == 0 {
		t.Fatalf("found %d templates, %v; want at least one", len(all), err)
	}
	for _, missing := range all {
		less := fstest.MapFS{}
		for _, name := range all {
			data, err := fs.ReadFile(sources.Templates, name)
			if err != nil {
				t.Fatal(err)
			}
			less[name] = &fstest.MapFile{Data: data}
		}
		delete(less, missing)
		without := sources
		without.Templates = less
		if _, err := without.Make(scaffold.Answers{Name: "hello", Module: "hello"}); err == nil {
			t.Errorf("without %s: err = nil, want an error", missing)
		}
	}
}

// petrock.json describes the project, and petrock.sum records petrock's files and the first tools.
func TestManifest(t *testing.T) {
	files := makeFiles(t, scaffold.Embedded(), scaffold.Answers{Name: "hello", Module: "example.com/hello"})
	var manifest project.Manifest
	if err := json.Unmarshal([]byte(files[project.FileName]), &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Name != "hello" || manifest.Module != "example.com/hello" || manifest.Petrock == "" || manifest.Example != "" {
		t.Errorf(`got %+v; want Name "hello", Module "example.com/hello", Petrock set and Example ""`, manifest)
	}
	if size := len(files[project.FileName]); size > 2<<10 {
		t.Errorf("petrock.json has %d bytes, want at most %d", size, 2<<10)
	}
	sum, err := engine.ParseSum([]byte(files[engine.SumFile]))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		folder, _, _ := strings.Cut(name, "/")
		want := folder == "core" || folder == "generators" || folder == "tools"
		if sum.Matches(name, []byte(text)) != want {
			t.Errorf("recorded %s: %v, want %v", name, !want, want)
		}
	}
	if encoded := string(sum.Encode()); encoded != files[engine.SumFile] {
		t.Errorf("petrock.sum is %q, want it sorted: %q", files[engine.SumFile], encoded)
	}
}

// An example adds files to the default project and replaces some.
func TestExample(t *testing.T) {
	sources := scaffold.Embedded()
	home := ownModule(t).Module.Mod.Path
	over := fstest.MapFS{}
	err := fs.WalkDir(sources.Skeleton, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(sources.Skeleton, name)
		over[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	over["example/moon/tools/moon.go"] = &fstest.MapFile{Data: []byte("package tools\n\nimport _ \"" + home + "/skeleton/example/moon/phase\"\n")}
	over["example/moon/phase/phase.go"] = &fstest.MapFile{Data: []byte("package phase\n")}
	over["example/moon/cmd/server/version.go"] = &fstest.MapFile{Data: []byte("package main\n\nconst version = \"2\"\n")}
	over["example/moon/cmd/server/standin.go"] = &fstest.MapFile{Data: []byte("package main\n\nfunc main() {}\n")}
	over["example/plain/phase/phase.go"] = &fstest.MapFile{Data: []byte("package phase\n")}
	sources.Skeleton = over

	files := makeFiles(t, sources, scaffold.Answers{Name: "luna", Module: "example.com/luna", Example: "moon"})
	if got := files["tools/moon.go"]; !strings.Contains(got, `"example.com/luna/phase"`) {
		t.Errorf(`tools/moon.go is %q, want it to contain "\"example.com/luna/phase\""`, got)
	}
	for _, name := range []string{"phase/phase.go", "cmd/luna/main.go"} {
		if files[name] == "" {
			t.Errorf("the project has no %s, want it", name)
		}
	}
	if got, want := files["cmd/luna/version.go"], "package main\n\nconst version = \"2\"\n"; got != want {
		t.Errorf("cmd/luna/version.go is %q, want that of the example: %q", got, want)
	}
	for _, name := range []string{"tools/add.go", "tools/add_test.go", "tools/tools_gen.go", "cmd/luna/standin.go"} {
		if files[name] != "" {
			t.Errorf("the project has %s, want it left out:\n%s", name, files[name])
		}
	}
	files = makeFiles(t, sources, scaffold.Answers{Name: "luna", Module: "luna", Example: "plain"})
	for _, name := range []string{"phase/phase.go", "tools/add.go"} {
		if files[name] == "" {
			t.Errorf("a project of an example without tools has no %s, want it", name)
		}
	}
	if _, err := sources.Make(scaffold.Answers{Name: "luna", Module: "luna", Example: "sun"}); err == nil || !strings.Contains(err.Error(), "choose one of everything, moon, moonphase, plain") {
		t.Errorf(`with an unknown example: got %v, want an error containing "choose one of everything, moon, moonphase, plain"`, err)
	}
	if _, err := scaffold.Embedded().Make(scaffold.Answers{Name: "luna", Module: "luna", Example: "../base"}); err == nil {
		t.Error("with a path as example: err = nil, want an error")
	}
}

// The example everything wires all its components, and keeps the tool add.
func TestEverything(t *testing.T) {
	sources := scaffold.Embedded()
	files := makeFiles(t, sources, scaffold.Answers{Name: "demo", Module: "example.com/demo", Example: "everything"})
	plain := makeFiles(t, sources, scaffold.Answers{Name: "demo", Module: "example.com/demo"})
	for _, line := range []string{"prompts.Register(s)", "resources.Register(s)", "tools.Register(s)", "tools.New(s)", `"example.com/demo/resources"`} {
		if !strings.Contains(files["cmd/demo/wire_gen.go"], line) {
			t.Errorf("cmd/demo/wire_gen.go is %q, want it to contain %q", files["cmd/demo/wire_gen.go"], line)
		}
	}
	for _, name := range []string{"tools/add.go", "tools/add_test.go", "cmd/demo/main.go", "go.mod"} {
		if files[name] != plain[name] {
			t.Errorf("%s differs from the default project: got %q, want %q", name, files[name], plain[name])
		}
	}
	for name, text := range files {
		if strings.Contains(text, ownModule(t).Module.Mod.Path) || strings.Contains(text, "skeleton/") {
			t.Errorf("%s names petrock's module or skeleton, want neither:\n%s", name, text)
		}
	}
	if !strings.Contains(files["README.md"], "conformance suite") {
		t.Errorf("README.md is\n%s\nwant it to name the conformance suite", files["README.md"])
	}
	if want := `"example": "everything"`; !strings.Contains(files[project.FileName], want) {
		t.Errorf("%s is\n%s\nwant %s in it", project.FileName, files[project.FileName], want)
	}
	long := scaffold.Answers{Name: "a-name-that-is-rather-long", Module: "example.com/long", Example: "everything"}
	if _, err := sources.Make(long); err == nil || !strings.Contains(err.Error(), "choose a shorter name") {
		t.Errorf(`with a long name: %v; want an error containing "choose a shorter name"`, err)
	}
}

// The example tasks wires its features and the tools that use them, in the project's own module.
func TestTasks(t *testing.T) {
	sources := scaffold.Embedded()
	files := makeFiles(t, sources, scaffold.Answers{Name: "jobs", Module: "example.com/jobs", Example: "tasks"})
	for _, line := range []string{"tools.Register(s)", "appserve.New(programName, chats.Feature(), tasks.Feature())", `"example.com/jobs/features/tasks"`} {
		if !strings.Contains(files["cmd/jobs/wire_gen.go"], line) {
			t.Errorf("cmd/jobs/wire_gen.go is %q, want it to contain %q", files["cmd/jobs/wire_gen.go"], line)
		}
	}
	for name, text := range files {
		if strings.Contains(text, ownModule(t).Module.Mod.Path) || strings.Contains(text, "skeleton/") {
			t.Errorf("%s names petrock's module or skeleton, want neither:\n%s", name, text)
		}
	}
	if files["tools/add.go"] != "" {
		t.Errorf(`tools/add.go of the default project: got %q, want none`, files["tools/add.go"])
	}
	if !strings.Contains(files["README.md"], "get_next_task") {
		t.Errorf(`README.md is %q, want it to contain "get_next_task"`, files["README.md"])
	}
	long := scaffold.Answers{Name: strings.Repeat("a", 42), Module: "example.com/long", Example: "tasks"}
	if _, err := sources.Make(long); err == nil || !strings.Contains(err.Error(), "with the tool report_task_done it is 1 characters too long") {
		t.Errorf(`with a name that leaves no room for the tools of a feature: %v; want an error containing "with the tool report_task_done it is 1 characters too long"`, err)
	}
}

// The example moonphase requires an API key over HTTP. Its program and documents use the name of
// the project for it.
func TestMoonphase(t *testing.T) {
	sources := scaffold.Embedded()
	for _, name := range []string{"moonphase", "luna-2"} {
		answers := scaffold.Answers{Name: name, Module: "example.com/moon", Example: "moonphase"}
		files := makeFiles(t, sources, answers)
		for _, file := range []string{"tools/moonphase.go", "moon/moon.go"} {
			if files[file] == "" {
				t.Errorf("the project has no %s, want it", file)
			}
		}
		for _, file := range []string{"tools/add.go", "tools/add_test.go", "cmd/" + name + "/standin.go"} {
			if files[file] != "" {
				t.Errorf("the project has %s, want it left out:\n%s", file, files[file])
			}
		}
		if wired := files["cmd/"+name+"/wire_gen.go"]; !strings.Contains(wired, "tools.New()") {
			t.Errorf(`the wiring: got %q, want it to contain "tools.New()"`, wired)
		}
		for file, text := range files {
			if strings.Contains(text, ownModule(t).Module.Mod.Path) || strings.Contains(text, "skeleton/") {
				t.Errorf("%s names petrock's module or skeleton, want neither:\n%s", file, text)
			}
		}
		variable := project.Variable(name, "api_key")
		for _, file := range []string{"README.md", "AGENTS.md"} {
			if text := files[file]; !strings.Contains(text, "not start without") || !strings.Contains(text, variable) || strings.Contains(text, "tools/add") || strings.Contains(text, `"add"`) {
				t.Errorf("%s is\n%s\nwant \"not start without\" and %q in it, and neither \"tools/add\" nor %q", file, text, variable, `"add"`)
			}
		}
	}
}

// The facts about keys and tools are those of the project.
func TestFacts(t *testing.T) {
	for _, example := range append(scaffold.Embedded().Examples(), "") {
		answers := scaffold.Answers{Name: "hello", Module: "hello", Example: example}
		files, facts := makeFiles(t, scaffold.Embedded(), answers), answers.Facts()
		if keyed := strings.Contains(files["cmd/hello/main.go"], "KeysRequired: true,"); keyed != facts.Keyed {
			t.Errorf("the example %q requires keys: %t, want %t", example, keyed, facts.Keyed)
		}
		if files["tools/"+facts.Tool+".go"] == "" || files["tools/"+facts.Tool+"_test.go"] == "" || !strings.Contains(files["tools/tools_gen.go"], `"`+facts.Tool+`"`) {
			t.Errorf("the example %[1]q lacks tools/%[2]s.go (%[3]d bytes), tools/%[2]s_test.go (%[4]d bytes), or the tool in tools/tools_gen.go:\n%[5]s", example, facts.Tool, len(files["tools/"+facts.Tool+".go"]), len(files["tools/"+facts.Tool+"_test.go"]), files["tools/tools_gen.go"])
		}
	}
}

// README.md and AGENTS.md are short, and stay true when the example's tool is destroyed.
func TestDocumentsAreShort(t *testing.T) {
	for _, example := range append(scaffold.Embedded().Examples(), "") {
		for _, oauth := range []bool{false, true} {
			answers := scaffold.Answers{Name: "hello", Module: "example.com/hello", Example: example, OAuth: oauth}
			files := makeFiles(t, scaffold.Embedded(), answers)
			if lines := strings.Count(files["README.md"], "\n"); lines > 120 {
				t.Errorf("example %q: README.md has %d lines, want at most 120", example, lines)
			}
			if lines, bytes := strings.Count(files["AGENTS.md"], "\n"), len(files["AGENTS.md"]); lines > 80 || bytes > 4096 {
				t.Errorf("example %q: AGENTS.md has %d lines and %d bytes, want at most 80 and 4096", example, lines, bytes)
			}
			for _, name := range []string{"README.md", "AGENTS.md"} {
				for line := range strings.Lines(files[name]) {
					if utf8.RuneCountInString(line) > 121 && !strings.HasPrefix(line, "|") {
						t.Errorf("example %q: %s: line over 120 columns: %s", example, name, line)
					}
				}
				if example == "" && regexp.MustCompile(`\badd(\.go|_test\.go)\b|call add\b`).MatchString(files[name]) {
					t.Errorf("%s names the tool add, which can be destroyed", name)
				}
			}
		}
	}
}

// A project with tokens differs from one without by the part oauth, its wiring and README.md.
func TestOAuth(t *testing.T) {
	answers := scaffold.Answers{Name: "hello", Module: "example.com/hello"}
	plain := makeFiles(t, scaffold.Embedded(), answers)
	oauth, _ := parts.Find("oauth")
	answers.OAuth = true
	files := makeFiles(t, scaffold.Embedded(), answers)
	for name, text := range files {
		before, there := plain[name]
		if name == "cmd/hello/wire_gen.go" {
			if !strings.Contains(text, `"example.com/hello/core/auth/oauth"`) || !strings.Contains(text, "oauth.New(programName)") || strings.Contains(before, "oauth") {
				t.Errorf("%s is\n%s\nand without tokens\n%s\nwant %q and \"oauth.New(programName)\" only in the first", name, text, before, `"example.com/hello/core/auth/oauth"`)
			}
		} else if name == "README.md" {
			if !strings.Contains(text, "HELLO_OAUTH_ISSUER`. Without an issuer, tokens are not checked") || strings.Contains(before, "tokens are not checked") {
				t.Errorf("%s is\n%s\nwant it to say that tokens are not checked without an issuer, but without the part\n%s", name, text, before)
			}
		} else if oauth.Holds(name) || name == "go.mod" || name == "go.sum" || name == engine.SumFile {
			if text == before {
				t.Errorf("%s is the same with and without tokens: %q", name, text)
			}
		} else if !there || text != before {
			t.Errorf("%s exists: %t, with the text %q; want true and %q", name, there, text, before)
		}
	}
	if files[oauth.Archive()] != "" || plain[oauth.Archive()] == "" {
		t.Errorf("%s has %d bytes in the project with the part, and %d without; want it only without", oauth.Archive(), len(files[oauth.Archive()]), len(plain[oauth.Archive()]))
	}
}

func TestModuleThatIsRequired(t *testing.T) {
	if _, err := scaffold.Embedded().Make(scaffold.Answers{Name: "cobra", Module: "github.com/spf13/cobra"}); err == nil || !strings.Contains(err.Error(), "requires") {
		t.Errorf(`the path of a requirement is taken: %v; want an error containing "requires"`, err)
	}
}

// The program of a project is main.go, of at most 30 lines, and the derived wire_gen.go.
func TestProgram(t *testing.T) {
	for _, example := range append(scaffold.Embedded().Examples(), "") {
		files := makeFiles(t, scaffold.Embedded(), scaffold.Answers{Name: "hello", Module: "hello", Example: example})
		count, lines := 0, 0
		for name, text := range files {
			if strings.HasPrefix(name, "cmd/hello/") {
				count++
				lines += strings.Count(text, "\n")
			}
		}
		if main := strings.Count(files["cmd/hello/main.go"], "\n"); count != 2 || main > 30 || example == "" && lines > 60 {
			t.Errorf("the example %q has %d files with %d lines in cmd/hello, %d of them in main.go", example, count, lines, main)
		}
	}
}

func BenchmarkMake(b *testing.B) {
	for b.Loop() {
		if _, err := scaffold.Embedded().Make(scaffold.Answers{Name: "hello", Module: "example.com/hello"}); err != nil {
			b.Fatal(err)
		}
	}
}

// Actions are pinned by commit and images by digest, in what petrock writes and in its own
// workflow.
func TestPinned(t *testing.T) {
	uses := regexp.MustCompile(`uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	from := regexp.MustCompile(`^FROM (scratch$|[\w.:/-]+@sha256:[0-9a-f]{64} )`)
	pinned := 0
	for _, pattern := range []string{"templates/project/*", ".github/workflows/*", "skeleton/*/*"} {
		files, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, _ := os.ReadFile(file) // folders hold no text
			for line := range strings.Lines(string(text)) {
				line = strings.TrimSpace(line)
				switch {
				case strings.Contains(line, "uses: ") && !uses.MatchString(line), strings.HasPrefix(line, "FROM ") && !from.MatchString(line):
					t.Errorf("%s: %s is not pinned", file, line)
				case strings.Contains(line, "uses: "), strings.HasPrefix(line, "FROM "):
					pinned++
				}
			}
		}
	}
	if pinned < 9 {
		t.Errorf("%d lines are pinned, want at least 9", pinned)
	}
}
