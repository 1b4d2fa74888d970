package derive

import (
	"go/ast"
	"path"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// wireFile is the derived file of the program that ships.
const wireFile = "wire_gen.go"

// A File is a derived file.
type File struct {
	Path string
	Text []byte
}

// Wire derives the wiring of the program that ships: what it registers, and its extensions. It reads the derived files of the packages
// in the view, so that a package from which nothing can be derived right now stays registered.
func (p Project) Wire(view *typecheck.View) ([]File, error) {
	var files []File
	for _, dir := range p.programs(view) {
		text, err := p.wire(view, dir)
		if err != nil {
			return nil, err
		}
		files = append(files, File{path.Join(dir, wireFile), text})
	}
	return files, nil
}

// programs returns the folders of programs that offer the project's packages: those that have a derived wiring, or else cmd/NAME.
func (p Project) programs(view *typecheck.View) []string {
	var dirs []string
	for _, dir := range view.Dirs() {
		if file := view.File(path.Join(dir, wireFile)); file != nil && file.IsDerived() {
			dirs = append(dirs, dir)
		}
	}
	if usual := path.Join("cmd", p.Name); len(dirs) == 0 && len(view.Files(usual)) > 0 {
		dirs = []string{usual}
	}
	return dirs
}

// wire writes the wiring of a program: its wire_gen.go.
func (p Project) wire(view *typecheck.View, dir string) ([]byte, error) {
	file := gen.NewGoFile(p.Checker.ImportPath(dir), "main")
	file.HeaderComment(typecheck.DerivedMark + " from the packages of this project. DO NOT EDIT.")
	file.ImportName(p.Core+"/mcp", "mcp")
	file.ImportName(p.Core+"/serve", "serve")
	var steps []*jen.Statement // the last of which may be returned
	var made []int             // which steps are preceded by the making of something
	var makers []jen.Code
	usesContext := false
	var features []jen.Code
	for _, place := range Places(view) {
		offers := offering(view, place)
		if offers.feature {
			imported := p.Checker.ImportPath(place.Dir)
			file.ImportName(imported, offers.name)
			features = append(features, jen.Qual(imported, "Feature").Call())
		}
		if !place.Wired || place.Kind == Feature || offers.name == "" {
			continue
		}
		imported := p.Checker.ImportPath(place.Dir)
		file.ImportName(imported, offers.name)
		if offers.functions {
			steps = append(steps, jen.Qual(imported, "Register").Call(jen.Id("s")))
		}
		if !offers.methods {
			continue
		}
		variable := "made" + place.receiver()
		var arguments []jen.Code
		if offers.maker.context {
			arguments = append(arguments, jen.Id("ctx"))
			usesContext = true
		}
		if offers.maker.server {
			arguments = append(arguments, jen.Id("s"))
		}
		made = append(made, len(steps))
		makers = append(makers, jen.List(jen.Id(variable), jen.Err()).Op(":=").Qual(imported, "New").Call(arguments...).Line().
			If(jen.Err().Op("!=").Nil()).Block(
			jen.Return(jen.Qual("fmt", "Errorf").Call(jen.Lit("starting the "+strings.ToLower(place.receiver())+": %w"), jen.Err())),
		))
		steps = append(steps, jen.Id(variable).Dot("Register").Call(jen.Id("s")))
	}
	ctx, server := "_", "s"
	if usesContext {
		ctx = "ctx"
	}
	if len(steps) == 0 {
		server = "_"
	}
	p.wiring(view, file, features)
	file.Comment("// register registers the tools, resources and prompts of this project.")
	file.Func().Id("register").Params(jen.Id(ctx).Qual("context", "Context"), jen.Id(server).Op("*").Qual(p.Core+"/mcp", "Server")).Error().BlockFunc(func(g *jen.Group) {
		for i, step := range steps {
			if len(made) > 0 && made[0] == i {
				g.Add(makers[0])
				made, makers = made[1:], makers[1:]
			}
			if i == len(steps)-1 {
				g.Return(step)
				return
			}
			g.If(jen.Err().Op(":=").Add(step), jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Err()))
		}
		g.Return(jen.Nil())
	})
	return file.Bytes()
}

// wiring writes the function wire. The packages of a part are imported only by projects that have it.
func (p Project) wiring(view *typecheck.View, file gen.GoFile, features []jen.Code) {
	program := jen.Id("programName")
	var extensions []jen.Code
	extend := func(pkg string, arguments ...jen.Code) {
		imported := p.petrockPackage(pkg)
		file.ImportName(imported, path.Base(pkg))
		extensions = append(extensions, jen.Qual(imported, "New").Call(append([]jen.Code{program}, arguments...)...))
	}
	if len(features) > 0 {
		extend("core/app/appserve", features...)
	}
	for _, part := range parts.All() {
		if part.Extension != "" && len(view.Files(part.Extension)) > 0 {
			extend(part.Extension)
		}
	}
	serve := path.Join(p.Core, "serve")
	fields := []jen.Code{gen.KeyValue("Register", jen.Id("register"))}
	if len(extensions) > 0 {
		list := jen.Index().Qual(serve, "Extension")
		newList := jen.Func().Params(program.Clone().String()).Add(list).Block(jen.Return(list.Clone().Values(extensions...)))
		fields = append(fields, gen.KeyValue("Extensions", newList))
	}
	file.Comment("// wire returns what the packages of this project offer.")
	file.Func().Id("wire").Params().Qual(serve, "Wiring").Block(
		jen.Return(jen.Qual(serve, "Wiring").Custom(gen.Multiline(), fields...)),
	)
}

// offers is what a package has for the wiring.
type offers struct {
	name      string // of the package; empty if it offers nothing
	functions bool   // it has func Register
	methods   bool   // its type has a method Register
	feature   bool   // it has func Feature
	maker     maker
}

func offering(view *typecheck.View, place Place) offers {
	var o offers
	derived := view.File(place.derived())
	if derived == nil {
		return o
	}
	o.name = derived.Syntax.Name.Name
	for _, decl := range derived.Syntax.Decls {
		f, ok := decl.(*ast.FuncDecl)
		switch {
		case ok && f.Name.Name == "Register":
			o.functions = o.functions || f.Recv == nil
			o.methods = o.methods || f.Recv != nil
		case ok && place.Kind == Feature && f.Name.Name == "Feature":
			o.feature = true
		}
	}
	for _, file := range view.Files(place.Dir) {
		for _, decl := range file.Syntax.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "New" && !file.IsTest() {
				o.maker = made(f)
			}
		}
	}
	return o
}

// made is what a func New takes, by its syntax: of what it may take, the server alone is a pointer.
func made(f *ast.FuncDecl) maker {
	m := maker{known: true}
	for _, field := range f.Type.Params.List {
		if _, pointer := field.Type.(*ast.StarExpr); pointer {
			m.server = true
		} else {
			m.context = true
		}
	}
	return m
}

func (p Place) derived() string { return path.Join(p.Dir, path.Base(p.Dir)+"_gen.go") }

func (p Project) petrockPackage(dir string) string { return path.Join(path.Dir(p.Core), dir) }

// RunGenerators derives the program that runs the project's own generators: the project's petrock
// with them in it. It is a program of its own, so that cmd/petrock builds while they do not. The
// text is nil if the project has none.
func (p Project) RunGenerators(view *typecheck.View) (File, error) {
	dir := path.Join(OwnGenerators, "run")
	file := File{Path: path.Join(dir, "main_gen.go")}
	own, _ := PlaceOf(Generator)
	registry := view.File(own.derived())
	if registry == nil {
		return file, nil
	}
	imported, cli, stdout := p.Checker.ImportPath(own.Dir), p.petrockPackage("generators/cli"), p.petrockPackage("core/serve/stdout")
	e := gen.NewGoFile(p.Checker.ImportPath(dir), "main")
	e.HeaderComment(typecheck.DerivedMark + " from the package " + own.Dir + ". DO NOT EDIT.")
	e.PackageComment("// Run is this project's petrock with the project's own generators. Petrock builds and starts it\n// when one of those is wanted.")
	e.ImportName(imported, registry.Syntax.Name.Name)
	e.ImportName(cli, "cli")
	e.ImportName(stdout, "stdout")
	e.Func().Id("main").Params().Block(
		jen.Id("out").Op(":=").Qual("os", "NewFile").Call(jen.Qual(stdout, "FD").Call(), jen.Lit("stdout")).Comment("// os.Stdout is standard error from here on"),
		jen.Qual("os", "Exit").Call(jen.Qual(cli, "Main").Call(
			jen.Qual("context", "Background").Call(), jen.Qual("os", "Args").Index(jen.Lit(1).Op(":")), jen.Id("out"), jen.Qual(imported, "All").Call().Op("..."),
		)),
	)
	var err error
	file.Text, err = e.Bytes()
	return file, err
}

// renderGenerators writes the list of generators: generators_gen.go.
func (f *finder) renderGenerators() ([]byte, error) {
	e := emitter{gen.NewGoFile(f.pkg.Path(), f.pkg.Name()), f.Core}
	e.HeaderComment(typecheck.DerivedMark + " from the functions of this package. DO NOT EDIT.")
	gens := f.petrockPackage("generators/gen")
	e.ImportName(gens, "gen")
	var schemas, list []jen.Code
	for _, c := range f.found.Components {
		schemas = append(schemas, c.schemas()...)
	}
	e.Const().Defs(schemas...)
	for _, c := range f.found.Components {
		list = append(list, jen.Custom(gen.Multiline(),
			gen.KeyValue("Name", jen.Lit(c.Name)),
			gen.KeyValue("Description", jen.Lit(c.Description)),
			gen.KeyValue("InputSchema", e.rawMessage(c.constant("inputSchema"))),
			gen.KeyValue("Make", jen.Qual(gens, "Typed").Call(jen.Id(c.Func))),
		))
	}
	e.Comment("// All are the generators, sorted by name.")
	e.Func().Id("All").Params().Index().Qual(gens, "Generator").Block(
		jen.Return(jen.Index().Qual(gens, "Generator").Custom(gen.Multiline(), list...)),
	)
	return e.Bytes()
}
