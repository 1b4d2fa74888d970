package derive

import (
	"fmt"
	"go/ast"
	"path"
	"strings"

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

// wire writes the wiring of a program: its wire_gen.go. The packages of a part are imported only by
// projects that have it.
func (p Project) wire(view *typecheck.View, dir string) ([]byte, error) {
	file := gen.NewGoFile(p.Checker.ImportPath(dir), "main")
	file.HeaderComment(typecheck.DerivedMark + " from the packages of this project. DO NOT EDIT.")
	refer := func(imported, pkg, name string) string {
		file.ImportName(imported, pkg)
		return file.Ref(imported, name)
	}
	wiring := refer(p.Core+"/serve", "serve", "Wiring")
	params := [2]string{"_", "_"} // their names: ctx and s, if they are used
	var features, extensions []string
	body, last := "", "nil"
	step := func(before, call string) {
		if last != "nil" {
			body += "if err := " + last + "; err != nil {\nreturn err\n}\n"
		}
		body, last, params[1] = body+before, call, "s"
	}
	for _, place := range Places(view) {
		offers, imported := offering(view, place), p.Checker.ImportPath(place.Dir)
		if offers.feature {
			features = append(features, refer(imported, offers.name, "Feature")+"()")
		}
		if offers.functions {
			step("", refer(imported, offers.name, "Register")+"(s)")
		}
		if !offers.methods {
			continue
		}
		var arguments []string
		if offers.maker.context {
			params[0] = "ctx"
			arguments = append(arguments, "ctx")
		}
		if offers.maker.server {
			arguments = append(arguments, "s")
		}
		file.Use("fmt")
		made, what := "made"+place.receiver(), strings.ToLower(place.receiver())
		step(fmt.Sprintf("%s, err := %s(%s)\nif err != nil {\nreturn fmt.Errorf(\"starting the %s: %%w\", err)\n}\n",
			made, refer(imported, offers.name, "New"), strings.Join(arguments, ", "), what), made+".Register(s)")
	}
	extend := func(pkg string, arguments ...string) {
		made := refer(p.petrockPackage(pkg), path.Base(pkg), "New")
		extensions = append(extensions, made+"("+strings.Join(append([]string{"programName"}, arguments...), ", ")+")")
	}
	if len(features) > 0 {
		extend("core/app/appserve", features...)
	}
	for _, part := range parts.All() {
		if part.Extension != "" && len(view.Files(part.Extension)) > 0 {
			extend(part.Extension)
		}
	}
	fields := "Register: register,\n"
	if len(extensions) > 0 {
		list := "[]" + file.Ref(p.Core+"/serve", "Extension")
		fields += "Extensions: func(programName string) " + list + " {\nreturn " + list + "{" + strings.Join(extensions, ", ") + "}\n},\n"
	}
	file.Text(`// wire returns what the packages of this project offer.
func wire() `+wiring+` {
	return `+wiring+`{
`+fields+`}
}

// register registers the tools, resources and prompts of this project.
func register(`+params[0]+` context.Context, `+params[1]+` *`+refer(p.Core+"/mcp", "mcp", "Server")+`) error {
`+body+`return `+last+`
}`, "context")
	return file.Bytes()
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
	if derived == nil || !place.Wired {
		return o
	}
	o.name = derived.Syntax.Name.Name
	for _, decl := range derived.Syntax.Decls {
		f, ok := decl.(*ast.FuncDecl)
		switch {
		case ok && f.Name.Name == "Register" && place.Kind != Feature:
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
	imported := p.Checker.ImportPath(own.Dir)
	cli, stdout := p.petrockPackage("generators/cli"), p.petrockPackage("core/serve/stdout")
	e := gen.NewGoFile(p.Checker.ImportPath(dir), "main")
	e.HeaderComment(typecheck.DerivedMark + " from the package " + own.Dir + ". DO NOT EDIT.")
	e.PackageComment("// Run is this project's petrock with the project's own generators. Petrock builds and starts it\n// when one of those is wanted.")
	e.ImportName(imported, registry.Syntax.Name.Name)
	e.ImportName(cli, "cli")
	e.ImportName(stdout, "stdout")
	e.Text(`func main() {
	out := os.NewFile(stdout.FD(), "stdout") // os.Stdout is standard error from here on
	os.Exit(cli.Main(context.Background(), os.Args[1:], out, `+e.Ref(imported, "All")+`()...))
}`, "context", "os", cli, stdout)
	var err error
	file.Text, err = e.Bytes()
	return file, err
}
