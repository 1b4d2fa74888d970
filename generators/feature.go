package generators

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// FeatureInput is the input of Feature.
type FeatureInput struct {
	Name   string   `json:"name"`             // One word, such as posts
	Fields []string `json:"fields,omitempty"` // With crud: of an item, besides id, seq, created_at and updated_at; else of the state
	CRUD   bool     `json:"crud,omitempty"`   // Add the commands create, update, delete and the queries get, list
	Item   string   `json:"item,omitempty"`   // With crud: name of one item
}

// Feature creates an event-sourced feature: a state for commands, queries and workers. With crud it
// is complete, with tests.
func Feature(p gen.Project, in FeatureInput) (gen.Draft, error) {
	if err := checkFeature(p, in.Name); err != nil {
		return gen.Draft{}, err
	}
	if p.Packages[featureDir(in.Name)] != "" {
		return gen.Draft{}, fmt.Errorf("feature %s already exists; to add a command, run petrock generate command %[1]s/publish", in.Name)
	}
	draft := gen.Draft{Kind: "feature", Name: in.Name}
	if find := p.Type; find != nil && !in.CRUD {
		p.Type = func(dir, name string) (*gen.GoType, error) {
			if strings.ContainsAny(name, "./") {
				return find(dir, name)
			}
			return &gen.GoType{Path: p.Import(dir), Package: p.Package(dir), Name: name}, nil // plainFeature declares it
		}
	}
	fields, err := p.ParseFields(featureDir(in.Name), in.Fields)
	switch {
	case err != nil:
		return gen.Draft{}, err
	case in.CRUD:
		return crudFeature(p, draft, in, fields)
	case in.Item != "":
		return gen.Draft{}, errors.New("item needs crud (--crud); set it, or omit item")
	}
	if draft.Files, err = plainFeature(p, in.Name, fields); err != nil {
		return gen.Draft{}, err
	}
	if len(fields) == 0 {
		draft.Next = []string{fmt.Sprintf("Declare the state in %s.", path.Join(featureDir(in.Name), "state.go"))}
	}
	for _, name := range namedTypes(fields) {
		draft.Next = append(draft.Next, fmt.Sprintf("Add the fields of %s: run %s.", name, p.Call("change", "kind", "type", "name", in.Name+"/"+name, "fields", []string{"title:string"})))
	}
	draft.Next = append(draft.Next, fmt.Sprintf("Add commands and queries: run %s and %s.",
		p.Call("generate", "kind", "command", "name", in.Name+"/create"), p.Call("generate", "kind", "query", "name", in.Name+"/get")))
	return draft, nil
}

// plainFeature returns the files of a feature with the fields of its state. Types that the fields
// name get a file each, without fields.
func plainFeature(p gen.Project, feature string, fields []gen.Field) ([]gen.File, error) {
	dir := featureDir(feature)
	file := NewFile(p, dir)
	file.PackageComment("// Package " + feature + " is a feature: commands change its state, and queries read it.")
	state := structure{StructCode: gen.StructCode{Prefix: "State", Logged: true}, name: "State", fields: slices.Clone(fields),
		about: "State is the state of " + feature + ", rebuilt from the event log. Only commands change it. Export its fields: snapshots are JSON."}
	initial := ""
	for i, f := range state.fields {
		state.fields[i].Min, state.fields[i].Max = "", "" // snapshots do not check them
		if f.Type.Kind == gen.KindMap {
			initial += f.Go + ": " + state.Type(f) + "{},\n"
		}
	}
	if initial != "" {
		initial = "\n" + initial
	}
	state.write(file)
	file.Text(`// NewState returns the state before the first command.
func NewState() *State {
	return &State{` + initial + `}
}`)
	test := featureTest(p, feature)
	test.Text(`// At the end of each test, apptest replays its event log twice from the start and once from a
// snapshot, and compares the states. Each test of a command replays its own log. The log of this
// test is empty: call Given of the client for commands whose events should be replayed together.
func TestReplay(t *testing.T) {
	`+serveFeatures(p, test, feature)+`
}`, "testing")
	sources := []source{{"state.go", file}, {"state_test.go", test}}
	for _, typ := range namedTypes(fields) {
		name, err := gen.ParseName(typ)
		if err != nil || (derive.Place{Kind: derive.Feature}).IsReserved(typ) {
			return nil, fmt.Errorf("the type name %s is reserved in a feature; choose another name", typ)
		}
		file := NewFile(p, dir)
		structure{name: typ, about: typ + " is part of State."}.write(file)
		sources = append(sources, source{name.File("type"), file})
	}
	return renderFiles(dir, sources...)
}

// namedTypes returns the names of the types of the package that fields have, sorted.
func namedTypes(fields []gen.Field) (names []string) {
	for _, f := range fields {
		if t, _ := f.Type.Enum(); t.Kind == gen.KindGo && !strings.Contains(t.Name, ".") {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func featureTest(p gen.Project, feature string) gen.GoFile {
	test := NewTestFile(p, featureDir(feature))
	importFeature(p, test, feature)
	return test
}

// serveFeatures returns the call in a test that serves features: apptest.Serve(t, posts.Feature()).
func serveFeatures(p gen.Project, file gen.GoFile, features ...string) string {
	text := file.Ref(p.Import("core/app/apptest"), "Serve") + "(t"
	for _, feature := range features {
		text += ", " + file.Ref(p.Import(featureDir(feature)), "Feature") + "()"
	}
	return text + ")"
}

// A source is a Go file that is not rendered yet.
type source struct {
	name string
	file gen.GoFile
}

func renderFiles(dir string, sources ...source) ([]gen.File, error) {
	var files []gen.File
	for _, s := range sources {
		text, err := s.file.Bytes()
		if err != nil {
			return nil, err
		}
		files = append(files, gen.File{Path: path.Join(dir, s.name), Text: text})
	}
	return files, nil
}

func featureDir(feature string) string { return path.Join(derive.Features, feature) }

// checkFeature checks the name of a feature, which is also the name of its folder and package, and
// the prefix of its tools.
func checkFeature(p gen.Project, name string) error {
	if err := derive.CheckNewFeatureName(name); err != nil {
		return err
	}
	if err := gen.CheckWireName(name, p.Name); err != nil {
		return err
	}
	if pkg := p.Packages[featureDir(name)]; pkg != "" && pkg != name {
		return fmt.Errorf("invalid feature name %q: the package in %s is named %s; rename the package to %[1]s", name, featureDir(name), pkg)
	}
	return nil
}

// knownFeature returns a feature of the project, or nil. It asks the project once. The name may be
// empty.
func (n component) knownFeature(name string) *gen.Feature {
	known, ok := n.features[name]
	if !ok && n.project.Feature != nil && name != "" {
		known = n.project.Feature(name)
		n.features[name] = known
	}
	return known
}

// label returns the name of the component in messages: posts/publish in a feature, else as clients
// use it.
func (n component) label() string {
	if n.feature != "" {
		return n.feature + "/" + n.name.Wire()
	}
	return n.wire
}

// importFeature imports a feature, under another name if a variable of generated tests has its
// name.
func importFeature(p gen.Project, file gen.GoFile, feature string) {
	switch imported := p.Import(featureDir(feature)); feature {
	case "client", "example", "step", "first", "second", "got", "ctx", "worker":
		file.ImportAlias(imported, feature+"feature")
	default:
		file.ImportName(imported, feature)
	}
}

// servedFeatures returns the features that the component's test needs: its own or those that the
// body uses, and those of the tools that the test calls. A feature serves the features that it
// uses.
func (n component) servedFeatures() []string {
	all := addFeatures(nil, n.feature)
	if n.feature == "" {
		all = n.body.features(n.project, n.dir)
	}
	for _, s := range slices.Concat(n.given, n.steps) {
		all = addFeatures(all, featureOf(n.project, s.tool))
	}
	return addFeatures(all, n.others...)
}

// addFeatures appends features, unless they are empty or in the list.
func addFeatures(features []string, more ...string) []string {
	for _, feature := range more {
		if feature != "" && !slices.Contains(features, feature) {
			features = append(features, feature)
		}
	}
	return features
}

// featureOf returns the feature of a tool, from its prefix, or "" if there is none.
func featureOf(p gen.Project, tool string) string {
	feature, _, _ := strings.Cut(tool, "_")
	if p.Packages[featureDir(feature)] == "" {
		return ""
	}
	return feature
}

// features returns the features that a body uses, sorted: those that it names, those of other
// packages that it names and, if it has the context that calls need, those of its own package in
// dir. The body may be nil.
func (b *body) features(p gen.Project, dir string) []string {
	var all []string
	if b == nil {
		return nil
	}
	addUsed := func(dir string) {
		if p.Uses != nil {
			all = addFeatures(all, p.Uses(dir)...)
		}
	}
	// It has no errors: parseBody has parsed it before.
	file, _ := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+b.text+"\n}", parser.SkipObjectResolution)
	for node := range ast.Preorder(file) {
		switch node := node.(type) {
		case *ast.Ident:
			if node.Name == "ctx" {
				addUsed(dir)
			}
		case *ast.SelectorExpr: // posts.Get
			name, ok := node.X.(*ast.Ident)
			if !ok || !node.Sel.IsExported() {
				continue
			}
			if p.Packages[featureDir(name.Name)] != "" {
				all = addFeatures(all, name.Name)
				continue
			}
			for other, pkg := range p.Packages {
				if first, _, _ := strings.Cut(other, "/"); pkg == name.Name && first != "core" && first != "generators" {
					addUsed(other)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// testSetup returns the first statements of a test. Components outside of features are registered
// by their package:
//
//	client := apptest.Serve(t, posts.Feature())
//	client.Register(tools.Register)
//	client.Given("posts_create", posts.Create{Title: "example"})
func (n component) testSetup(file gen.GoFile) string {
	features, register := n.servedFeatures(), ""
	if n.feature == "" {
		register = file.Ref(n.project.Import(n.dir), "Register")
	}
	if len(features) == 0 {
		return fmt.Sprintf("client := %s(t, %s)\n", file.Ref(n.project.Import("core/mcptest"), "Serve"), register)
	}
	for _, feature := range features {
		importFeature(n.project, file, feature)
	}
	text := "client := " + serveFeatures(n.project, file, features...) + "\n"
	if register != "" {
		text += "client.Register(" + register + ")\n"
	}
	for _, s := range n.given {
		text += fmt.Sprintf("client.Given(%q, %s)\n", s.tool, file.Code(n.inputOf(s.tool).argument(s.Input)))
	}
	return text
}

// inputOf returns the input type of a tool: the component itself, or a command or query of a
// feature. The name is empty if the type is unknown.
func (n component) inputOf(tool string) shape {
	if tool == n.ownTool() {
		return n.input.shape(n.project.Import(n.dir))
	}
	known := n.knownFeature(featureOf(n.project, tool))
	if known == nil {
		return shape{}
	}
	for _, part := range slices.Concat(known.Commands, known.Queries) {
		if part.Name == tool {
			return shape{path: n.project.Import(known.Dir), name: part.Type, fields: part.Fields, strings: slices.Collect(maps.Keys(known.Strings))}
		}
	}
	return shape{}
}
