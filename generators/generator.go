package generators

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// GeneratorInput is what the generator of generators takes.
type GeneratorInput struct {
	Name        string `json:"name"`                  // Name of the generator, and of what it makes, such as handler
	Description string `json:"description,omitempty"` // What the generator makes, such as: Makes a handler of HTTP requests.
}

// Generator makes a generator of the project's own, with its test. It works as it is, making functions with tests;
// change it to make what you need.
func Generator(p gen.Project, in GeneratorInput) (gen.Draft, error) {
	name, err := gen.ParseName(in.Name)
	if err != nil {
		return gen.Draft{}, err
	}
	n := named{kind: "generator", dir: derive.OwnGenerators, name: name, wire: name.Wire(), goName: name.Go()}
	if err := n.free(in.Name); err != nil {
		return gen.Draft{}, err
	}
	if n.description, err = gen.Sentence(in.Description); err != nil {
		return gen.Draft{}, err
	}
	if n.description == "" {
		n.description = fmt.Sprintf("makes %s: functions that answer with their own name, each with its test.", plural(name.Human()))
	}
	if !name.Exact() {
		n.directives = append(n.directives, "name "+n.wire)
	}
	folder := plural(strings.ReplaceAll(n.wire, "_", ""))
	draft, err := n.draft(p, n.generator(p, folder), n.generatorTest(p, folder), nil)
	if err != nil {
		return gen.Draft{}, err
	}
	draft.Trial = gen.Trial{Program: derive.OwnGenerators + "/run", Test: "Test" + n.goName}
	draft.Next = []string{
		fmt.Sprintf("Change what %s makes in %s, and say in its test, %s, what that is.", n.goName, n.path(), n.testPath()),
		"go test ./" + n.dir,
		fmt.Sprintf("go run ./cmd/petrock generate %s first", n.wire),
	}
	return draft, nil
}

func (n named) free(typed string) error {
	plain := strings.ReplaceAll(n.wire, "_", "")
	if plain == "component" || slices.ContainsFunc(All(), func(g gen.Generator) bool { return g.Name == plain }) {
		return fmt.Errorf("petrock has a generator %q; choose another name", typed)
	}
	if token.IsKeyword(n.wire) {
		return fmt.Errorf("%q is a keyword of Go; take another name", typed)
	}
	if n.goName == "All" {
		return fmt.Errorf("the name %q would make a function All, which is the name of something else here; take another", typed)
	}
	return gen.CheckGeneratorName(n.wire)
}

// plural is a noun for several of what it is one of, as a rule.
func plural(noun string) string {
	ends := func(endings ...string) bool {
		return slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(noun, ending) })
	}
	switch {
	case ends("s", "x", "z", "ch", "sh"):
		return noun + "es"
	case ends("y") && !ends("ay", "ey", "iy", "oy", "uy") && len(noun) > 1:
		return strings.TrimSuffix(noun, "y") + "ies"
	}
	return noun + "s"
}

// generator is the file of a generator whose components are in a folder.
func (n named) generator(p gen.Project, folder string) gen.GoFile {
	file := n.file(p)
	file.ImportName(p.Import("generators/gen"), "gen")
	file.ImportName(jenPath, "jen")
	what := n.name.Human()
	file.Text(strings.NewReplacer("$what", what, "$name", n.goName, "'", "`").Replace(`// $nameInput is what the generator of ` + plural(what) + ` takes: words and flags of its command, arguments
// of its tool. ToolInput in generators/tool.go shows how to take fields.
type $nameInput struct {
	Name        string 'json:"name"'                  // Name of the $what, such as first
	Description string 'json:"description,omitempty"' // What the $what is for, such as: Greets the user.
}`))
	n.body = &body{text: strings.NewReplacer("$what", what, "$folder", folder, "$kind", n.wire).Replace(generatorBody)}
	n.function(file, "p gen.Project, in "+n.goName+"Input", "gen.Draft", "")
	for _, used := range []string{"path", "strings", jenPath, p.Import("generators/gen")} {
		file.Use(used)
	}
	return file
}

// jenPath is the import path of jennifer, with which generators write Go.
const jenPath = "github.com/dave/jennifer/jen"

// generatorBody is the body of a new generator.
const generatorBody = `// One name makes those that Go, files and people need; the error says what is wrong with it.
name, err := gen.ParseName(in.Name)
if err != nil {
	return gen.Draft{}, err
}
description, err := gen.Sentence(in.Description)
if err != nil {
	return gen.Draft{}, err
}
const dir = "$folder"
imported, pkg := p.Import(dir), p.Package(dir)

// The $what, such as:
//
//	// First is the $what first. Greets the user.
//	func First() string {
//		return "first"
//	}
file := gen.NewGoFile(imported, pkg)
file.Paragraph(strings.TrimSpace(name.Go() + " is the $what " + name.Human() + ". " + description))
file.Func().Id(name.Go()).Params().String().Block(jen.Return(jen.Lit(name.Wire())))
text, err := file.Bytes()
if err != nil {
	return gen.Draft{}, err
}

// Its test:
//
//	func TestFirst(t *testing.T) {
//		if got := $folder.First(); got != "first" {
//			t.Errorf("it answers %q", got)
//		}
//	}
test := gen.NewGoFile(imported+"_test", pkg+"_test")
test.ImportName(imported, pkg)
test.Func().Id("Test" + name.Go()).Params(jen.Id("t").Op("*").Qual("testing", "T")).Block(
	jen.If(jen.Id("got").Op(":=").Qual(imported, name.Go()).Call(), jen.Id("got").Op("!=").Lit(name.Wire())).Block(
		jen.Id("t").Dot("Errorf").Call(jen.Lit("it answers %q"), jen.Id("got")),
	),
)
tested, err := test.Bytes()
if err != nil {
	return gen.Draft{}, err
}

where := path.Join(dir, name.File("$kind"))
return gen.Draft{
	Kind: "$kind",
	Name: name.Wire(),
	Files: []gen.File{
		{Path: where, Text: text},
		{Path: strings.TrimSuffix(where, ".go") + "_test.go", Text: tested},
	},
	Next: []string{"Write " + name.Go() + " in " + where + ".", "go test ./" + dir},
}, nil`

// generatorTest is the test of a generator.
func (n named) generatorTest(p gen.Project, folder string) gen.GoFile {
	imported, pkg, gens := p.Import(n.dir), p.Package(n.dir), p.Import("generators/gen")
	file := gen.NewGoFile(imported+"_test", pkg+"_test")
	file.ImportName(imported, pkg)
	file.ImportName(gens, "gen")
	file.Text(strings.NewReplacer("$pkg", pkg, "$name", n.goName, "$folder", folder).Replace(`func Test$name(t *testing.T) {
	project := gen.Project{Name: "hello", Module: "example.com/hello"}
	draft, err := $pkg.$name(project, $pkg.$nameInput{Name: "first"})
	if err != nil {
		t.Fatal(err)
	}
	wants := []struct{ path, text string }{
		{"$folder/first.go", "func First() string"},
		{"$folder/first_test.go", "func TestFirst(t *testing.T)"},
	}
	if len(draft.Files) != len(wants) {
		t.Fatalf("it makes %d files, not %d", len(draft.Files), len(wants))
	}
	for i, want := range wants {
		if file := draft.Files[i]; file.Path != want.path || !strings.Contains(string(file.Text), want.text) {
			t.Errorf("%s is not %s with %q in it:\n%s", file.Path, want.path, want.text, file.Text)
		}
	}
	// What cannot be a name is refused.
	if _, err := $pkg.$name(project, $pkg.$nameInput{Name: "no name"}); err == nil {
		t.Error("a name with a space in it is taken")
	}
}`), imported, gens, "strings", "testing")
	return file
}
