// Package scaffold makes a new project out of what petrock carries with it: as files in
// memory, the same bytes for the same answers every time. It reads and writes nothing on disk.
package scaffold

import (
	"bytes"
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

	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
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
	Path string // from the project's root, with slashes
	Data []byte
}

// Make is the project that the answers lead to, sorted by path. The error says what is wrong
// with the answers, or with petrock itself.
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
	if err := wire(files, a); err != nil {
		return nil, err
	}
	if err := render(s.Templates, a, put); err != nil {
		return nil, err
	}
	var err error
	if files["go.mod"], files["go.sum"], err = parts.NewModules(a.Module, used); err != nil {
		return nil, err
	}
	if err := checkRequirements(files["go.mod"], a); err != nil {
		return nil, err
	}
	manifest := project.Manifest{Petrock: generators.Version, Name: a.Name, Module: a.Module, Example: a.Example}
	text, err := manifest.Encode()
	if err != nil {
		return nil, err
	}
	put(engine.SumFile, sum(files).Encode())
	put(project.FileName, text)
	var made []File
	for _, file := range slices.Sorted(maps.Keys(files)) {
		made = append(made, File{Path: file, Data: files[file]})
	}
	return made, nil
}

// Check says what is wrong with the answers.
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
		return fmt.Errorf("there is no example %q, nor any other in this version; leave --example away for a plain project", a.Example)
	case !slices.Contains(examples, a.Example):
		return fmt.Errorf("there is no example %q; there are %s", a.Example, strings.Join(examples, ", "))
	}
	return nil
}

// adapt makes Go that was written in petrock's module that of the project.
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

// importPaths returns what a file imports, if it is Go.
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

// checkRequirements refuses the path of a module that the project itself needs.
func checkRequirements(goMod []byte, a Answers) error {
	parsed, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return fmt.Errorf("reading %w", err)
	}
	for _, require := range parsed.Require {
		if require.Mod.Path == a.Module {
			return &terminal.UsageError{Err: fmt.Errorf("%q cannot be the path of a module: the project requires one of that path", a.Module)}
		}
	}
	return nil
}

// sum records petrock's own files, and the Go files that the user starts with: destroy removes
// those without asking for as long as nobody has edited them.
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

// Facts are what texts say of a project's server, which depends on the example that it began with.
type Facts struct {
	Tool  string // one of its tools, which is in a file of its own
	Words string // arguments for that tool, as you type them in a terminal
	Keyed bool   // it is meant for HTTP, and does not start there without a key
}

// Facts are those of the project that the answers lead to.
func (a Answers) Facts() Facts {
	switch a.Example {
	case "moonphase":
		return Facts{Tool: "moonphase", Words: "when=2024-04-23T23:49:00Z", Keyed: true}
	case "tasks":
		return Facts{Tool: "get_next_task", Words: "agent=ann"}
	}
	return Facts{Tool: "add", Words: "a=2 b=3"}
}

// texts says what the templates become.
func texts() map[string]string {
	return map[string]string{
		"AGENTS.md.tmpl":     "AGENTS.md",
		"CLAUDE.md.tmpl":     "CLAUDE.md",
		"Dockerfile.tmpl":    "Dockerfile",
		"README.md.tmpl":     "README.md",
		"codex.toml.tmpl":    ".codex/config.toml",
		"crush.json.tmpl":    "crush.json",
		"cursor.json.tmpl":   ".cursor/mcp.json",
		"dockerignore.tmpl":  ".dockerignore",
		"gitattributes.tmpl": ".gitattributes",
		"gitignore.tmpl":     ".gitignore",
		"mcp.json.tmpl":      ".mcp.json",
		"vscode.json.tmpl":   ".vscode/mcp.json",
		"workflow.yml.tmpl":  ".github/workflows/check.yml",
	}
}

// words are what templates may say.
type words struct {
	Name   string // of the project
	Module string // path of the module
	Image  string // of a container: the name, as those are spelt

	Example string // what the project began with; empty for nothing
	OAuth   bool   // its server checks bearer tokens
	Facts          // what its server is like

	DataVariable   string // the environment variable for where data is
	KeyVariable    string // the one for API keys
	StateVariable  string // the one for the key of what goes through clients
	IssuerVariable string // the one for the issuer of tokens
}

// render calls put for each text of the project.
func render(templates fs.FS, a Answers, put func(file string, data []byte)) error {
	say := words{
		Name: a.Name, Module: a.Module, Image: image(a.Name), Example: a.Example, OAuth: a.OAuth, Facts: a.Facts(),
		DataVariable: project.Variable(a.Name, "data"), KeyVariable: project.Variable(a.Name, "api_key"),
		StateVariable: project.Variable(a.Name, "state_key"), IssuerVariable: project.Variable(a.Name, "oauth_issuer"),
	}
	for from, to := range texts() {
		parsed, err := template.New(from).Option("missingkey=error").ParseFS(templates, path.Join("project", from))
		if err != nil {
			return fmt.Errorf("reading the template of %s: %w", to, err)
		}
		var text bytes.Buffer
		if err := parsed.Execute(&text, say); err != nil {
			return fmt.Errorf("writing %s: %w", to, err)
		}
		put(to, text.Bytes())
	}
	return nil
}

// image is a name as those of containers are spelt.
func image(name string) string {
	return regexp.MustCompile(`[-_]+`).ReplaceAllString(strings.ToLower(name), "-")
}

// wire derives the wiring of a project.
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
				return &terminal.UsageError{Err: fmt.Errorf("%q cannot be the name of this project: clients put it before the names of tools, and with %s that is %d characters more than they take; choose a shorter one", a.Name, tool, over)}
			}
		}
	}
	derived, err := project.Wire(view)
	if err != nil {
		return fmt.Errorf("deriving the wiring: %w", err)
	}
	for _, file := range derived {
		files[file.Path] = file.Text
	}
	return nil
}

// toolNames returns the names of the tools of a package, by its derived file, which may be nil.
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
