package generators

import (
	"errors"
	"fmt"
	"path"

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
//
//	// State is what the log says of posts. …
//	type State struct{}
//
//	// NewState is the state before the first command.
//	func NewState() *State { return &State{} }
func plainFeature(p gen.Project, feature string) ([]gen.File, error) {
	dir := featureDir(feature)
	file := gen.NewGoFile(p.Import(dir), feature)
	file.Paragraph(
		fmt.Sprintf("State is what the log says of %s. Commands change it, and nothing else does. It is kept as JSON at times, so", feature),
		"fields are exported.",
	)
	file.Type().Id("State").Struct()
	file.Comment("// NewState is the state before the first command.")
	file.Func().Id("NewState").Params().Op("*").Id("State").Block(jen.Return(jen.Op("&").Id("State").Values()))

	test := replayTest(p, feature, func(g *jen.Group) {
		serveFeature(p, g, feature)
		g.Comment("// Call here what changes the state: client.Given(\"" + feature + "_create\", " + feature + ".Create{Title: \"example\"}).")
		g.Id("client").Dot("Work").Call(jen.Id("t").Dot("Context").Call())
	})
	return rendered(dir, source{"state.go", file}, source{"state_test.go", test})
}

// replayTest is the test that the log gives the same state whenever it is read. Its body executes what is in the log.
func replayTest(p gen.Project, feature string, body func(*jen.Group)) gen.GoFile {
	test := featureTest(p, feature)
	test.Paragraph(
		"The log gives the same state whenever it is read: when a test ends, apptest reads it twice, and once more through a",
		"snapshot, and compares.",
	)
	test.Func().Id("TestReplay").Params(jen.Id("t").Op("*").Qual("testing", "T")).BlockFunc(body)
	return test
}

// featureTest begins a test file of a feature.
func featureTest(p gen.Project, feature string) gen.GoFile {
	imported := p.Import(featureDir(feature))
	test := gen.NewGoFile(imported+"_test", feature+"_test")
	importFeature(p, test, feature)
	test.ImportName(p.Import("core/apptest"), "apptest")
	test.ImportName(p.Import("core/mcptest"), "mcptest")
	return test
}

// serveFeature begins a test with a client of a feature.
func serveFeature(p gen.Project, g *jen.Group, feature string) {
	g.Id("client").Op(":=").Qual(p.Import("core/apptest"), "Serve").Call(jen.Id("t"), jen.Qual(p.Import(featureDir(feature)), "Feature").Call())
}

// A source is a Go file in the making, under its name.
type source struct {
	name string
	file gen.GoFile
}

// rendered are files of a folder.
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
