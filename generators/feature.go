package generators

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// FeatureInput is what the generator of features takes.
type FeatureInput struct {
	Name   string   `json:"name"`             // One word, such as posts
	Fields []string `json:"fields,omitempty"` // With crud, those of an item, as of generate_tool; id, created_at and updated_at are there anyway
	CRUD   bool     `json:"crud,omitempty"`   // Also make create, update, delete, get and list (in pages)
	Item   string   `json:"item,omitempty"`   // What an item is called, such as post, if the name does not tell
}

// Feature makes a feature: a state on a durable log, for commands, queries and workers. With crud it is finished, with tests.
func Feature(p gen.Project, in FeatureInput) (gen.Draft, error) {
	if err := checkFeature(p, in.Name); err != nil {
		return gen.Draft{}, err
	}
	if there := p.Packages[featureDir(in.Name)]; there != "" {
		return gen.Draft{}, fmt.Errorf("there is a feature %s already; add to it with command, query and worker, such as %s/publish", in.Name, in.Name)
	}
	draft := gen.Draft{Kind: "feature", Name: in.Name}
	fields, err := gen.ParseFields(in.Fields)
	switch {
	case err != nil:
		return gen.Draft{}, err
	case in.CRUD:
		return crudFeature(p, draft, in, fields)
	case len(fields) > 0 || in.Item != "":
		return gen.Draft{}, errors.New("fields, and what an item is called, are for a feature with crud; ask for crud, or leave them out")
	}
	if draft.Files, err = plainFeature(p, in.Name); err != nil {
		return gen.Draft{}, err
	}
	draft.Next = []string{
		fmt.Sprintf("Say in %s what there is to be kept.", path.Join(featureDir(in.Name), "state.go")),
		fmt.Sprintf("Add commands and queries: command %s/create, query %s/get.", in.Name, in.Name),
		"go test ./" + featureDir(in.Name),
	}
	return draft, nil
}

// plainFeature is a state that holds nothing yet, with its test.
func plainFeature(p gen.Project, feature string) ([]gen.File, error) {
	dir := featureDir(feature)
	file := gen.NewGoFile(p.Import(dir), feature)
	file.Text(`// State is what the log says of ` + feature + `. Commands change it, and nothing else does. It is kept as JSON at times, so
// fields are exported.
type State struct{}

// NewState is the state before the first command.
func NewState() *State {
	return &State{}
}`)
	test := featureTest(p, feature)
	test.Text(`// The log gives the same state whenever it is read: when a test ends, apptest reads it twice, and once more through a
// snapshot, and compares.
func TestReplay(t *testing.T) {
	`+serveFeature(p, test, feature)+`// Call here what changes the state: client.Given("`+feature+`_create", `+feature+`.Create{Title: "example"}).
	client.Work(t.Context())
}`, "testing")
	return rendered(dir, source{"state.go", file}, source{"state_test.go", test})
}

func featureTest(p gen.Project, feature string) gen.GoFile {
	imported := p.Import(featureDir(feature))
	test := gen.NewGoFile(imported+"_test", feature+"_test")
	importFeature(p, test, feature)
	test.ImportName(p.Import("core/app/apptest"), "apptest")
	test.ImportName(p.Import("core/mcptest"), "mcptest")
	return test
}

// serveFeature begins a test: client := apptest.Serve(t, posts.Feature()).
func serveFeature(p gen.Project, file gen.GoFile, features ...string) string {
	text := "client := " + file.Ref(p.Import("core/app/apptest"), "Serve") + "(t"
	for _, feature := range features {
		text += ", " + file.Ref(p.Import(featureDir(feature)), "Feature") + "()"
	}
	return text + ")\n"
}

// A source is a Go file in the making, under its name.
type source struct {
	name string
	file gen.GoFile
}

func rendered(dir string, sources ...source) ([]gen.File, error) {
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

// createsFeature is the notice that a feature is created, with the other features and one whose
// name is close.
func createsFeature(p gen.Project, feature string) string {
	var others []string
	meant := ""
	for _, dir := range slices.Sorted(maps.Keys(p.Packages)) {
		name := path.Base(dir)
		if path.Dir(dir) != "features" || p.Packages[dir] == "" || name == feature {
			continue
		}
		others = append(others, name)
		if meant == "" && isNear(name, feature) {
			meant = fmt.Sprintf("; did you mean %s? Then undo this", name)
		}
	}
	notice := "creates the feature " + feature
	if len(others) == 0 {
		return notice
	}
	const most = 12
	if len(others) > most {
		others = append(others[:most], "…")
	}
	return fmt.Sprintf("%s; other features: %s%s", notice, strings.Join(others, ", "), meant)
}

// isNear reports whether one name may be a slip of the pen for the other: two letters are different, missing or too many at
// most.
func isNear(a, b string) bool {
	row := make([]int, len(b)+1) // how far the beginning of a is from each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			swapped := before
			if a[i] != b[j] {
				swapped++
			}
			before = row[j+1]
			row[j+1] = min(swapped, before+1, row[j]+1)
		}
	}
	return row[len(b)] <= 2
}

func featureDir(feature string) string { return path.Join("features", feature) }

// checkFeature says why a feature cannot have a name, and what would do. The name is that of a folder, of a package, and of the
// beginning of what clients see, so it is one word.
func checkFeature(p gen.Project, name string) error {
	const most = 30
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%q cannot be the name of a feature: %s", name[:min(len(name), most)], fmt.Sprintf(format, args...))
	}
	switch {
	case name == "":
		return errors.New("a feature needs a name: posts, for instance")
	case len(name) > most:
		return refuse("it has %d characters, and %d is the most; choose a shorter one", len(name), most)
	case !regexp.MustCompile(`^[a-z][a-z0-9]*$`).MatchString(name):
		better := strings.TrimLeft(regexp.MustCompile(`[^a-z0-9]`).ReplaceAllString(strings.ToLower(name), ""), "0123456789")
		if checkFeature(p, better) != nil {
			better = "posts"
		}
		return refuse("it is that of a package of Go too, so it is one word of small letters of English and digits; try %s", better)
	case len(name) == 1:
		return refuse("one letter says too little, and is what variables are called; try posts")
	case token.IsKeyword(name):
		return refuse("it is a keyword of Go; try %ss", name)
	case types.Universe.Lookup(name) != nil:
		return refuse("it means something to Go already; try my%s", name)
	case gen.IsDevice(name) || slices.Contains([]string{"internal", "vendor", "testdata"}, name):
		return refuse("Go, git or Windows keep it for something of their own; take another, such as posts")
	case isImported(name):
		return refuse("it is the name of something that the code around features uses; take another, such as my%s", name)
	}
	if err := gen.CheckWireName(name, p.Name); err != nil {
		return err
	}
	if there := p.Packages[featureDir(name)]; there != "" && there != name {
		return refuse("the package in %s is called %s; give the package the name of its folder", featureDir(name), there)
	}
	return nil
}

// isImported reports whether a package of a name would be in the way: of what derived files and tests import, and of
// what the program declares that imports all features.
func isImported(name string) bool {
	return slices.Contains([]string{
		"app", "appmcp", "apptest", "mcp", "mcptest", "errors", "json", "time", "context", "strings", "testing",
		"os", "features", "tools", "resources", "prompts", "core", "generators", "cmd",
		"main", "init", "wire", "register", "serve", "appserve", "oauth",
	}, name)
}

func inFeature(p gen.Project, kind, text, description string) (named, error) {
	feature, rest, ok := strings.Cut(text, "/")
	if !ok || rest == "" || feature == "" || strings.Contains(rest, "/") {
		return named{}, fmt.Errorf("the name of a %s is that of its feature, a slash, and its own, such as posts/publish; %q is not", kind, text)
	}
	if err := checkFeature(p, feature); err != nil {
		return named{}, err
	}
	name, err := gen.ParseName(rest)
	if err != nil {
		return named{}, err
	}
	n := named{kind: kind, dir: featureDir(feature), feature: feature, name: name, goName: name.Go(), features: map[string]*gen.Feature{}}
	n.wire = feature + "_" + name.Wire()
	if kind == "worker" {
		n.wire = feature + "/" + name.Wire() // no client sees it
	} else if err := gen.CheckWireName(n.wire, p.Name); err != nil {
		return named{}, err
	}
	if !name.Exact() {
		return named{}, fmt.Errorf("of the name %q Go makes %s, in which the words are not to be found again; take one with longer words", rest, n.goName)
	}
	if isReserved(n.goName) {
		return named{}, fmt.Errorf("the name %q would make a type %s, which is the name of something else in a feature; take another", rest, n.goName)
	}
	n.description, err = gen.Sentence(description)
	return n, err
}

// isReserved reports whether a name of Go has a meaning of its own in the package of a feature.
func isReserved(name string) bool {
	return slices.Contains([]string{"State", "NewState", "Feature", "Map", "Register", "Event"}, name)
}

// called is what a component is called in messages: as the log has it, if it has it.
func (n named) called() string {
	if n.feature != "" {
		return n.feature + "/" + n.name.Wire()
	}
	return n.wire
}

func (n named) apartFrom(fields []gen.Field, methods ...string) error {
	for _, f := range fields {
		if slices.Contains(methods, f.Go) {
			return fmt.Errorf("field %q: in Go a %s has a method %s, so that no field can be called that; give it another name", f.Name, n.kind, f.Go)
		}
	}
	return nil
}

func importFeature(p gen.Project, file gen.GoFile, feature string) {
	switch imported := p.Import(featureDir(feature)); feature {
	case "client", "example", "step", "result", "wrong", "offered", "first", "second", "changed":
		file.ImportAlias(imported, feature+"feature")
	default:
		file.ImportName(imported, feature)
	}
}

// served are the features that a test of a component needs: its own, and those of what is called before.
func (n named) served(p gen.Project) []string {
	all := []string{n.feature}
	for _, c := range n.given {
		all = add(all, featureOf(p, c.tool))
	}
	for _, tool := range n.tools {
		all = add(all, featureOf(p, tool))
	}
	for _, feature := range n.others {
		all = add(all, feature)
	}
	return all
}

func add(features []string, feature string) []string {
	if feature == "" || slices.Contains(features, feature) {
		return features
	}
	return append(features, feature)
}

// featureOf is the feature of the project that a tool is part of, by its name; empty if it is not to be told.
func featureOf(p gen.Project, tool string) string {
	feature, _, _ := strings.Cut(tool, "_")
	if p.Packages[featureDir(feature)] == "" {
		return ""
	}
	return feature
}

// serve begins a test with a client of the features, and with what was done before.
//
//	client := apptest.Serve(t, posts.Feature())
//	client.Given("posts_create", posts.Create{Title: "example"})
func (n named) serve(p gen.Project, file gen.GoFile) string {
	file.ImportName(p.Import("core/app/apptest"), "apptest")
	features := n.served(p)
	for _, feature := range features {
		importFeature(p, file, feature)
	}
	text := serveFeature(p, file, features...)
	for _, c := range n.given {
		text += fmt.Sprintf("client.Given(%q, %s)\n", c.tool, file.Code(n.argument(p, c.tool, c.input)))
	}
	return text
}

// argument is the input of a call of a tool: a Go value, or JSON text if no Go value is known that encodes to it.
func (n named) argument(p gen.Project, tool string, input json.RawMessage) *jen.Statement {
	if made, ok := n.inputOf(p, tool).literal(input); ok {
		return made
	}
	return rawLit(string(input))
}

// inputOf is the type of the input of a tool: the component itself, or a command or query of a feature. It has no name
// if it is not known.
func (n named) inputOf(p gen.Project, tool string) shape {
	if tool == n.wire {
		return n.input
	}
	feature := featureOf(p, tool)
	if feature == "" || p.Feature == nil {
		return shape{}
	}
	known, ok := n.features[feature]
	if !ok {
		known = p.Feature(feature)
		n.features[feature] = known
	}
	if known == nil {
		return shape{}
	}
	for _, part := range slices.Concat(known.Commands, known.Queries) {
		if part.Name == tool {
			return shape{path: p.Import(known.Dir), name: part.Type, fields: part.Fields, strings: known.Strings}
		}
	}
	return shape{}
}
