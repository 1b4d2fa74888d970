// Package scaffold makes the files of a new project in memory, from files that petrock embeds. The
// same answers make the same bytes. It does not access the disk.
package scaffold

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"golang.org/x/mod/modfile"

	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// A File is one file of a project.
type File struct {
	Path string // relative to the project's root, with slashes
	Data []byte
}

// Make returns the files of a project, sorted by path.
func (s Sources) Make(a Answers) ([]File, error) {
	if err := s.Check(a); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	put := func(file string, data []byte) { files[file] = data }
	for _, tree := range s.trees(a) {
		if err := tree.read(a.Name, put); err != nil {
			return nil, err
		}
	}
	if err := adapt(files, a); err != nil {
		return nil, err
	}
	used := packParts(files, a)
	var err error
	if files[parts.Linked], err = parts.LinkedText(a.Module, used); err != nil {
		return nil, err
	}
	if err := wire(files, a); err != nil {
		return nil, err
	}
	if err := render(s.Templates, a, put); err != nil {
		return nil, err
	}
	bare := fmt.Appendf(nil, "module %s\n\ngo 1.26.0\n", modfile.AutoQuote(a.Module))
	if files["go.mod"], files["go.sum"], _, err = parts.ChangeModules(bare, nil, nil, used, nil); err != nil {
		return nil, err
	}
	if err := checkRequirements(files["go.mod"], a); err != nil {
		return nil, err
	}
	manifest := project.Manifest{Petrock: generators.Version, Name: a.Name, Module: a.Module, Example: a.Example}
	text, err := json.MarshalIndent(manifest, "", "\t")
	if err != nil {
		return nil, err
	}
	put(engine.SumFile, sum(files).Encode())
	put(project.FileName, append(text, '\n'))
	var made []File
	for _, file := range slices.Sorted(maps.Keys(files)) {
		made = append(made, File{Path: file, Data: files[file]})
	}
	return made, nil
}

// Check returns an error for invalid answers.
func (s Sources) Check(a Answers) error {
	if err := CheckName(a.Name); err != nil {
		return err
	}
	if err := CheckModule(a.Module); err != nil {
		return err
	}
	if a.Example == "" {
		return nil
	}
	switch examples := s.Examples(); {
	case len(examples) == 0:
		return fmt.Errorf("unknown example %q: this version has no examples; omit --example", a.Example)
	case !slices.Contains(examples, a.Example):
		return fmt.Errorf("unknown example %q; choose one of %s", a.Example, strings.Join(examples, ", "))
	}
	return nil
}

// adapt rewrites import paths to those of the project, and sets its name.
func adapt(files map[string][]byte, a Answers) error {
	moves := moves(a)
	for name, src := range files {
		if path.Ext(name) != ".go" {
			continue
		}
		moved, err := imports.Rewrite(name, src, moves)
		if err != nil {
			return err
		}
		files[name] = moved
	}
	main := path.Join("cmd", a.Name, "main.go")
	named, err := setField(main, files[main], "Name", a.Name)
	if err != nil {
		return err
	}
	files[main] = named
	return nil
}

// packParts replaces the code of parts that the project does not use by their archives. It returns
// the names of the others.
func packParts(files map[string][]byte, a Answers) (used []string) {
	for _, part := range parts.All() {
		code := map[string][]byte{}
		isUsed := a.OAuth && part.Name == "oauth"
		for name, text := range files {
			switch folder, _, _ := strings.Cut(name, "/"); {
			case part.Holds(name):
				code[name] = text
			case !slices.Contains(engine.PetrockFolders(), folder) && part.IsUsedBy(name, a.Module, importPaths(name, text)):
				isUsed = true
			}
		}
		if isUsed {
			used = append(used, part.Name)
			continue
		}
		for name := range code {
			delete(files, name)
		}
		files[part.Archive()] = part.Pack(a.Module, code)
	}
	return used
}

// importPaths returns the imports of a Go file, or nil for other files.
func importPaths(name string, text []byte) []string {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
	if path.Ext(name) != ".go" || err != nil {
		return nil
	}
	var all []string
	for _, spec := range file.Imports {
		if imported, err := strconv.Unquote(spec.Path.Value); err == nil {
			all = append(all, imported)
		}
	}
	return all
}

// checkRequirements refuses a module path that the project itself requires.
func checkRequirements(goMod []byte, a Answers) error {
	parsed, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return fmt.Errorf("read %w", err)
	}
	for _, require := range parsed.Require {
		if require.Mod.Path == a.Module {
			return &terminal.UsageError{Err: fmt.Errorf("invalid module path %q: the project requires a module with that path", a.Module)}
		}
	}
	return nil
}

// sum records petrock's own files, and the user's initial Go files, which destroy may remove until
// they are edited.
func sum(files map[string][]byte) engine.Sum {
	s := engine.Sum{}
	for name, data := range files {
		folder, _, _ := strings.Cut(name, "/")
		if slices.Contains(engine.PetrockFolders(), folder) || path.Ext(name) == ".go" && folder != "cmd" {
			s.Add(name, data)
		}
	}
	return s
}

// Facts describe the server of a new project. They depend on its example.
type Facts struct {
	Tool      string // name of a tool
	Arguments string // for that tool, as typed in a terminal
	Keyed     bool   // it serves HTTP, and requires an API key
}

// Facts returns the facts of the project.
func (a Answers) Facts() Facts {
	switch a.Example {
	case "moonphase":
		return Facts{Tool: "moonphase", Arguments: "when=2024-04-23T23:49:00Z", Keyed: true}
	case "tasks":
		return Facts{Tool: "get_next_task", Arguments: "agent=ann"}
	}
	return Facts{Tool: "add", Arguments: "a=2 b=3"}
}

// outputs maps templates to the files that they make.
func outputs() map[string]string {
	return map[string]string{
		"AGENTS.md.tmpl":     "AGENTS.md",
		"CLAUDE.md.tmpl":     "CLAUDE.md",
		"Dockerfile.tmpl":    "Dockerfile",
		"README.md.tmpl":     "README.md",
		"codex.toml.tmpl":    ".codex/config.toml",
		"crush.json.tmpl":    "crush.json",
		"cursor.json.tmpl":   ".cursor/mcp.json",
		"dockerignore.tmpl":  ".dockerignore",
		"gemini.json.tmpl":   ".gemini/settings.json",
		"gitattributes.tmpl": ".gitattributes",
		"gitignore.tmpl":     ".gitignore",
		"mcp.json.tmpl":      ".mcp.json",
		"vscode.json.tmpl":   ".vscode/mcp.json",
		"workflow.yml.tmpl":  ".github/workflows/check.yml",
	}
}

type templateData struct {
	Name   string // of the project
	Module string // path of the module
	Image  string // name of the container image

	Example string // name of the example, or empty
	OAuth   bool   // its server checks bearer tokens
	Facts

	// Names of environment variables.
	DataVariable   string // data folder
	KeyVariable    string // API keys
	StateVariable  string // key that signs the state in questions to clients
	IssuerVariable string // issuer of tokens
}

// render executes the templates, and calls put for each file.
func render(templates fs.FS, a Answers, put func(file string, data []byte)) error {
	data := templateData{
		Name: a.Name, Module: a.Module, Image: image(a.Name), Example: a.Example, OAuth: a.OAuth, Facts: a.Facts(),
		DataVariable: project.Variable(a.Name, "data"), KeyVariable: project.Variable(a.Name, "api_key"),
		StateVariable: project.Variable(a.Name, "state_key"), IssuerVariable: project.Variable(a.Name, "oauth_issuer"),
	}
	for from, to := range outputs() {
		parsed, err := template.New(from).Option("missingkey=error").ParseFS(templates, path.Join("project", from))
		if err != nil {
			return fmt.Errorf("read template of %s: %w", to, err)
		}
		var text bytes.Buffer
		if err := parsed.Execute(&text, data); err != nil {
			return fmt.Errorf("execute template of %s: %w", to, err)
		}
		put(to, text.Bytes())
	}
	return nil
}

var dashes = regexp.MustCompile(`[-_]+`)

// image returns a valid name for a container image.
func image(name string) string {
	return dashes.ReplaceAllString(strings.ToLower(name), "-")
}

// wire derives wire_gen.go. It refuses a project name that makes a tool name too long for clients.
func wire(files map[string][]byte, a Answers) error {
	written := map[string][]byte{}
	for name, text := range files {
		folder, _, _ := strings.Cut(name, "/")
		extends := slices.ContainsFunc(parts.All(), func(p parts.Part) bool { return path.Dir(name) == p.Extension })
		if extends || !slices.Contains(engine.PetrockFolders(), folder) {
			written[name] = text
		}
	}
	store := typecheck.NewStore(nil, &build.Default)
	project := derive.Project{
		Name:    a.Name,
		Core:    path.Join(a.Module, "core"),
		Checker: typecheck.NewChecker(typecheck.Module{Path: a.Module}, nil, store.Fset()),
	}
	view := store.Empty().With(written)
	for _, place := range derive.Places(view) {
		if place.Kind != derive.Tool && place.Kind != derive.Feature {
			continue
		}
		for _, tool := range toolNames(view.File(path.Join(place.Dir, path.Base(place.Dir)+"_gen.go"))) {
			if over := len(tool) - gen.MaxNameLength(a.Name); over > 0 {
				return &terminal.UsageError{Err: fmt.Errorf("invalid project name %q: clients use it as a prefix of tool names, and with the tool %s it is %d characters too long; choose a shorter name", a.Name, tool, over)}
			}
		}
	}
	derived, err := project.Wire(view, nil)
	if err != nil {
		return fmt.Errorf("derive wire_gen.go: %w", err)
	}
	for _, file := range derived {
		files[file.Path] = file.Text
	}
	return nil
}

// toolNames returns the names of the tools in a derived file, which may be nil.
func toolNames(derived *typecheck.File) []string {
	if derived == nil || !derived.IsDerived() {
		return nil
	}
	var names []string
	for node := range ast.Preorder(derived.Syntax) {
		pair, ok := node.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, isName := pair.Key.(*ast.Ident)
		value, isText := pair.Value.(*ast.BasicLit)
		if isName && isText && key.Name == "Name" {
			if text, err := strconv.Unquote(value.Value); err == nil {
				names = append(names, text)
			}
		}
	}
	return names
}
