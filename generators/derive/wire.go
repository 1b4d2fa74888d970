package derive

import (
	"go/ast"
	"path"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// wireFile and nameFile are the derived files of the program that ships.
const (
	wireFile = "wire_gen.go"
	nameFile = "name_gen.go"
)

// A File is a derived file.
type File struct {
	Path string
	Text []byte
}

// Wire derives what the program that ships has of the rest of the project: its name, and the call
// that offers what the packages hold. It goes by the derived files of the packages in the view, so
// that a package from which nothing can be derived right now is offered as before.
func (p Project) Wire(view *typecheck.View) ([]File, error) {
	var files []File
	for _, dir := range p.programs(view) {
		name := gen.NewGoFile(p.Checker.ImportPath(dir), "main")
		name.HeaderComment(typecheck.DerivedMark + " from petrock.json. DO NOT EDIT.")
		name.Comment("// programName is the name of this program and of the server that clients see.")
		name.Const().Id("programName").Op("=").Lit(p.Name)
		text, err := name.Bytes()
		if err != nil {
			return nil, err
		}
		files = append(files, File{path.Join(dir, nameFile), text})
		if text, err = p.wire(view, dir); err != nil {
			return nil, err
		}
		files = append(files, File{path.Join(dir, wireFile), text})
	}
	return files, nil
}

// programs are the folders of programs that offer the project's packages: those that have
// a derived wiring, wherever they were moved to, or else cmd/NAME.
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

// wire writes the wiring of a program.
//
//	// register offers all that the project's packages hold.
//	func register(ctx context.Context, s *mcp.Server) error {
//		if err := prompts.Register(s); err != nil {
//			return err
//		}
//		madeTools, err := tools.New(ctx)
//		if err != nil {
//			return fmt.Errorf("starting the tools: %w", err)
//		}
//		return madeTools.Register(s)
//	}
func (p Project) wire(view *typecheck.View, dir string) ([]byte, error) {
	file := gen.NewGoFile(p.Checker.ImportPath(dir), "main")
	file.HeaderComment(typecheck.DerivedMark + " from the packages of this project. DO NOT EDIT.")
	file.ImportName(p.Core+"/mcp", "mcp")
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
	file.Comment("// register offers all that the project's packages hold.")
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
	p.extensions(file, dir, features)
	return file.Bytes()
}

// extensions writes what a program has beside tools, resources and prompts. Without features nothing of what they
// need is imported.
//
//	// extensions are what the server has beside them.
//	func extensions() []extension {
//		return []extension{data.New(programName, posts.Feature())}
//	}
func (p Project) extensions(file gen.GoFile, dir string, features []jen.Code) {
	result := jen.Nil()
	if len(features) > 0 {
		data := p.Checker.ImportPath(path.Join(dir, "data"))
		file.ImportName(data, "data")
		result = jen.Index().Id("extension").Values(jen.Qual(data, "New").Call(append([]jen.Code{jen.Id("programName")}, features...)...))
	}
	file.Comment("// extensions are what the server has beside them.")
	file.Func().Id("extensions").Params().Index().Id("extension").Block(jen.Return(result))
}

// offers is what a package has for the wiring.
type offers struct {
	name      string // of the package; empty if it offers nothing
	functions bool   // it has func Register
	methods   bool   // its type has a method Register
	feature   bool   // it has func Feature
	maker     maker
}

// offering finds out by the derived file of a package what it offers.
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

// derived is the path of the derived file of a place.
func (p Place) derived() string { return path.Join(p.Dir, path.Base(p.Dir)+"_gen.go") }
