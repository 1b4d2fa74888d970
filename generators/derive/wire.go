package derive

import (
	"bytes"
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// wireFile is the derived file of the server's package main.
const wireFile = "wire_gen.go"

// Wire derives the wiring of the server: its registrations and extensions. It reads the derived
// files of the packages, so that a package with problems stays registered. The server ignores
// events of the skipped types.
func (p Project) Wire(view *typecheck.View, skipped []string) ([]gen.File, error) {
	var files []gen.File
	for _, dir := range p.programs(view) {
		file := path.Join(dir, wireFile)
		if old := view.File(file); old != nil && slices.ContainsFunc(Places(view), func(place Place) bool { return declarationsIn(view, place).isWrong }) {
			files = append(files, gen.File{Path: file, Text: old.Text}) // a new call of New would not compile either
			continue
		}
		text, err := p.wire(view, dir, skipped)
		if err != nil {
			return nil, err
		}
		files = append(files, gen.File{Path: file, Text: text})
	}
	return files, nil
}

// programs returns the folders of servers: those with a derived wiring, else cmd/NAME.
func (p Project) programs(view *typecheck.View) (dirs []string) {
	for _, dir := range view.Dirs() {
		if file := view.File(path.Join(dir, wireFile)); file != nil && file.IsDerived() {
			dirs = append(dirs, dir)
		}
	}
	if dir := path.Join("cmd", p.Name); len(dirs) == 0 && len(view.Files(dir)) > 0 {
		dirs = []string{dir}
	}
	return dirs
}

// wire returns the wire_gen.go of a server. It imports the extension of a part only if the project
// has the part.
func (p Project) wire(view *typecheck.View, dir string, skipped []string) ([]byte, error) {
	file := gen.NewGoFile(p.Checker.ImportPath(dir), "main")
	file.HeaderComment(typecheck.DerivedMark + " from the packages of this project. DO NOT EDIT.")
	refer := func(imported, pkg, name string) string {
		file.ImportName(imported, pkg)
		return file.Ref(imported, name)
	}
	wiring := refer(p.Core+"/serve", "serve", "Wiring")
	params := [2]string{"_", "_"} // of register: ctx and s if used
	var features, extensions []string
	body, last := "", "nil"
	step := func(before, call string) {
		if last != "nil" {
			body += "if err := " + last + "; err != nil {\nreturn err\n}\n"
		}
		body, last, params[1] = body+before, call, "s"
	}
	for _, place := range Places(view) {
		derived, imported := declarationsIn(view, place), p.Checker.ImportPath(place.Dir)
		if derived.feature {
			features = append(features, refer(imported, derived.pkg, "Feature")+"()")
		}
		if derived.function {
			step("", refer(imported, derived.pkg, "Register")+"(s)")
		}
		if !derived.method {
			continue
		}
		if slices.Contains(derived.arguments, "ctx") {
			params[0] = "ctx"
		}
		file.Import("fmt")
		kind, variable := strings.ToLower(place.receiver()), "new"+place.receiver()
		step(fmt.Sprintf("%s, err := %s(%s)\nif err != nil {\nreturn fmt.Errorf(\"start the %s: %%w\", err)\n}\n",
			variable, refer(imported, derived.pkg, "New"), strings.Join(derived.arguments, ", "), kind), variable+".Register(s)")
	}
	extend := func(pkg string, arguments ...string) {
		function := refer(p.petrockPackage(pkg), path.Base(pkg), "New")
		extensions = append(extensions, function+"("+strings.Join(append([]string{"programName"}, arguments...), ", ")+")")
	}
	if len(features) > 0 {
		const appserve, postgres = "core/app/appserve", "core/app/postgres"
		extend(appserve, features...)
		if len(skipped) > 0 {
			var types []string
			for _, eventType := range slices.Sorted(slices.Values(skipped)) {
				types = append(types, strconv.Quote(eventType))
			}
			extensions[0] += ".Skip(" + strings.Join(types, ", ") + ")"
		}
		if len(view.Files(postgres)) > 0 {
			extensions[0] = refer(p.petrockPackage(appserve), "appserve", "WithPostgres") + "(" + extensions[0] + ", " + refer(p.petrockPackage(postgres), "postgres", "Open") + ")"
		}
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
	file.Text(`// wire returns the registrations and extensions of this project.
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

// declarations are the derived declarations of a package that the wiring calls.
type declarations struct {
	pkg       string   // package name
	function  bool     // has func Register
	method    bool     // has a method Register
	feature   bool     // has func Feature
	arguments []string // of func New: ctx, s, both or none
	isWrong   bool     // func New has other parameters, which is a problem of the package
}

func declarationsIn(view *typecheck.View, place Place) (d declarations) {
	derived := view.File(place.derivedFile())
	if derived == nil || !place.Wired {
		return d
	}
	has := func(text string) bool { return bytes.Contains(derived.Text, []byte(text)) }
	d.pkg = derived.Syntax.Name.Name
	if place.Kind == Feature {
		d.feature = has("\nfunc Feature(")
		return d
	}
	d.function, d.method = has("\nfunc Register("), has(") Register(")
	for _, file := range view.Files(place.Dir) {
		for _, decl := range file.Syntax.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "New" && !file.IsTest() {
				for _, param := range f.Type.Params.List {
					argument := "ctx"
					if _, isPointer := param.Type.(*ast.StarExpr); isPointer {
						argument = "s"
					} else if _, isSelector := param.Type.(*ast.SelectorExpr); !isSelector {
						d.isWrong = true
					}
					d.arguments = append(d.arguments, argument)
				}
			}
		}
	}
	return d
}

// GeneratorProgram derives the project's petrock with the project's own generators. It is separate
// from cmd/petrock, which must build even if the generators do not. The text is nil if the project
// has no generators of its own.
func (p Project) GeneratorProgram(view *typecheck.View) (gen.File, error) {
	dir := path.Join(OwnGenerators, "run")
	file := gen.File{Path: path.Join(dir, "main_gen.go")}
	own, _ := PlaceOf(Generator)
	registry := view.File(own.derivedFile())
	if registry == nil {
		return file, nil
	}
	imported := p.Checker.ImportPath(own.Dir)
	cli, stdfd := p.petrockPackage("generators/cli"), p.petrockPackage("core/stdfd")
	e := gen.NewGoFile(p.Checker.ImportPath(dir), "main")
	e.HeaderComment(typecheck.DerivedMark + " from the package " + own.Dir + ". DO NOT EDIT.")
	e.PackageComment("// Run is this project's petrock with the project's own generators. Petrock builds and starts it\n// to run one of them.")
	e.ImportName(imported, registry.Syntax.Name.Name)
	e.ImportName(cli, "cli")
	e.ImportName(stdfd, "stdfd")
	e.Text(`func main() {
	out, err := stdfd.TakeStdout() // os.Stdout is standard error from here on
	if err != nil {
		fmt.Fprintln(os.Stderr, "petrock:", err)
		os.Exit(1)
	}
	os.Exit(cli.Main(context.Background(), os.Args[1:], out, `+e.Ref(imported, "All")+`()...))
}`, "context", "fmt", "os", cli, stdfd)
	var err error
	file.Text, err = e.Bytes()
	return file, err
}
