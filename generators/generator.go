package generators

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// GeneratorInput is the input of Generator.
type GeneratorInput struct {
	Name        string `json:"name"`                  // Name of the generator and of the components it creates, such as handler
	Description string `json:"description,omitempty"` // What the generator does, such as: Creates an HTTP handler.
}

// Generator creates a project-specific generator with a test. The new generator runs as it is and
// creates functions with tests; edit it to create what you need.
func Generator(p gen.Project, in GeneratorInput) (gen.Draft, error) {
	name, err := gen.ParseName(in.Name)
	if err != nil {
		return gen.Draft{}, err
	}
	n := component{kind: "generator", dir: derive.OwnGenerators, name: name, wire: name.Wire(), goName: name.Go()}
	if err := n.checkGeneratorName(in.Name); err != nil {
		return gen.Draft{}, err
	}
	if n.description, err = gen.ParseDescription(in.Description); err != nil {
		return gen.Draft{}, err
	}
	if n.description == "" {
		n.description = fmt.Sprintf("creates %s: functions that return their own name, each with a test.", plural(name.Human()))
	}
	if !name.IsExact() {
		n.directives = append(n.directives, "name "+n.wire)
	}
	folder := plural(strings.ReplaceAll(n.wire, "_", ""))
	draft, err := n.draft(p, n.generatorFile(p, folder), n.generatorTest(p, folder), nil)
	if err != nil {
		return gen.Draft{}, err
	}
	draft.Trial = gen.Trial{Program: derive.OwnGenerators + "/run", Test: "Test" + n.goName}
	draft.Next = []string{
		fmt.Sprintf("Edit %s in %s, and its test in %s.", n.goName, n.path(), n.testPath()),
		"go test ./" + n.dir,
		fmt.Sprintf("go run ./cmd/petrock generate %s first", n.wire),
	}
	return draft, nil
}

// checkGeneratorName refuses a name that petrock or Go already uses.
func (n component) checkGeneratorName(typed string) error {
	plain := strings.ReplaceAll(n.wire, "_", "")
	if plain == "component" || slices.ContainsFunc(All(), func(g gen.Generator) bool { return g.Name == plain }) {
		return fmt.Errorf("petrock has a generator %q; choose another name", typed)
	}
	if token.IsKeyword(n.wire) {
		return fmt.Errorf("%q is a Go keyword; choose another name", typed)
	}
	if n.goName == "All" {
		return fmt.Errorf("the function name All, from %q, is reserved; choose another name", typed)
	}
	return gen.CheckGeneratorName(n.wire)
}

// plural returns the regular plural of a noun.
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

// generatorFile returns the source of a generator that writes its components to folder.
func (n component) generatorFile(p gen.Project, folder string) gen.GoFile {
	file := n.file(p)
	file.ImportName(p.Import("generators/gen"), "gen")
	file.ImportName(jenPath, "jen")
	what := n.name.Human()
	file.Text(strings.NewReplacer("$what", what, "$name", n.goName, "'", "`").Replace(`// $nameInput is the input of $name: arguments and flags on the command line, arguments of its tool.
// See ToolInput in generators/tool.go for an input with fields.
type $nameInput struct {
	Name        string 'json:"name"'                  // Name of the $what, such as first
	Description string 'json:"description,omitempty"' // What the $what is for, such as: Greets the user.
}`))
	n.body = &body{text: strings.NewReplacer("$what", what, "$folder", folder, "$kind", n.wire).Replace(generatorBody)}
	n.writeFunction(file, "p gen.Project, in "+n.goName+"Input", "gen.Draft", "")
	for _, used := range []string{"path", "strings", jenPath, p.Import("generators/gen")} {
		file.Use(used)
	}
	return file
}

const jenPath = "github.com/dave/jennifer/jen"

const generatorBody = `// A Name converts to the spellings that Go, files and people use.
name, err := gen.ParseName(in.Name)
if err != nil {
	return gen.Draft{}, err
}
description, err := gen.ParseDescription(in.Description)
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
//			t.Errorf("got %q", got)
//		}
//	}
test := gen.NewGoFile(imported+"_test", pkg+"_test")
test.ImportName(imported, pkg)
test.Func().Id("Test" + name.Go()).Params(jen.Id("t").Op("*").Qual("testing", "T")).Block(
	jen.If(jen.Id("got").Op(":=").Qual(imported, name.Go()).Call(), jen.Id("got").Op("!=").Lit(name.Wire())).Block(
		jen.Id("t").Dot("Errorf").Call(jen.Lit("got %q"), jen.Id("got")),
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

func (n component) generatorTest(p gen.Project, folder string) gen.GoFile {
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
		t.Fatalf("got %d files, want %d", len(draft.Files), len(wants))
	}
	for i, want := range wants {
		if file := draft.Files[i]; file.Path != want.path || !strings.Contains(string(file.Text), want.text) {
			t.Errorf("got %s, want %s containing %q:\n%s", file.Path, want.path, want.text, file.Text)
		}
	}
	if _, err := $pkg.$name(project, $pkg.$nameInput{Name: "no name"}); err == nil {
		t.Error("a name with a space is accepted")
	}
}`), imported, gens, "strings", "testing")
	return file
}
