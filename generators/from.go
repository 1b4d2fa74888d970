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

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// toolFrom makes a tool of a function of the project: its parameters are the input, its results the
// output, its doc comment the description.
func toolFrom(p gen.Project, in ToolInput) (gen.Draft, error) {
	switch {
	case len(in.Fields)+len(in.Output) > 0:
		return gen.Draft{}, fmt.Errorf("a tool that is made of %s takes and returns what that does; leave fields and output out", in.From)
	case in.Body != "":
		return gen.Draft{}, fmt.Errorf("a tool that is made of %s does what that does; leave the body out", in.From)
	case p.Function == nil:
		return gen.Draft{}, errors.New("the functions of the project cannot be looked up here")
	}
	f, err := p.Function(in.From)
	if err != nil {
		return gen.Draft{}, err
	}
	if in.Name == "" {
		in.Name = f.Name()
	}
	n, err := names(p, "tool", "tools", in.Name, in.Description)
	if err != nil {
		if _, wrong := gen.Sentence(in.Description); in.Name == f.Name() && wrong == nil {
			err = fmt.Errorf("%w: the tool of %s can have a name of its own", err, f.Ref)
		}
		return gen.Draft{}, err
	}
	if err := n.take(in.Written, true); err != nil {
		return gen.Draft{}, err
	}
	takes, err := takenBy(f, p.Module)
	if err != nil {
		return gen.Draft{}, err
	}
	gives, err := givenBy(f)
	if err != nil {
		return gen.Draft{}, err
	}

	file := n.file(p)
	w := &wrapper{named: n, function: f, takes: takes, gives: gives}
	w.write(file)
	test := n.refusedTest(p, takes.required())
	if len(n.examples) > 0 {
		test, err = n.toolExamples(p)
	}
	draft, err := n.draft(p, file, test, err)
	draft.Next = w.next()
	return draft, err
}

// A wrapper is a tool that calls a function of the project.
type wrapper struct {
	named
	function *gen.Function
	takes    taken
	gives    given
}

// write writes the tool: types for its parameters and results, and a function that calls the one of
// the project.
func (w *wrapper) write(file gen.GoFile) {
	spelled := speller{packages: map[string]string{w.function.Path: w.function.Package}}
	input, output := jen.Id(w.goName+"Input"), jen.Id(w.goName+"Output")
	if w.takes.whole != nil {
		input = spelled.write(w.takes.whole)
	} else {
		w.structure(file, &spelled, "Input", "is what "+w.wire+" takes.", w.takes.parts)
	}
	if w.gives.whole != nil {
		output = spelled.write(w.gives.whole)
	} else {
		w.structure(file, &spelled, "Output", "is what "+w.wire+" returns.", w.gives.parts)
	}
	local := spelled.declare(file, append([]string{"context", "ctx", "in", "err", w.goName, w.goName + "Input", w.goName + "Output"}, w.function.Taken...))

	w.comment(file)
	file.Text(fmt.Sprintf("func %s(%s %s, %s %s) (%s, error) {\n%s\n}", w.goName, w.takes.named("ctx"), file.Ref("context", "Context"),
		w.takes.named("in"), file.Code(input), file.Code(output), w.call(file, local)))
}

func (w *wrapper) structure(file gen.GoFile, spelled *speller, what, about string, parts []part) {
	file.Comment(fmt.Sprintf("// %s%s %s", w.goName, what, about))
	var members []jen.Code
	for _, p := range parts {
		f := gen.Field{Name: p.name, Go: p.goName, Optional: p.optional, Description: p.about}
		members = append(members, jen.Id(f.Go).Add(spelled.write(p.held)).Op("`"+structure{}.tags(f)+"`").Comment("// "+f.Comment()))
	}
	file.Type().Id(w.goName + what).Struct(members...)
}

// comment writes the doc comment of the function: the description that was given, or else the comment
// of the function that it calls, under its own name.
func (w *wrapper) comment(file gen.GoFile) {
	text := w.goName + " " + w.about()
	if doc := strings.TrimRight(w.function.Doc, "\n"); w.description == "" && doc != "" {
		text = doc
		if rest, ok := strings.CutPrefix(doc, w.function.Name()); ok && (rest == "" || strings.ContainsRune(" \t\n,:;.", rune(rest[0]))) {
			text = w.goName + rest
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != '\t' {
			line = " " + line
		}
		file.Comment("//" + line)
	}
	direct(file, w.directives)
}

// call is the statements that call the function, and return what it returns as the output.
func (w *wrapper) call(file gen.GoFile, imported map[string]bool) string {
	call := file.Ref(w.function.Path, strings.Join(w.function.Call, ".")) + "(" + strings.Join(w.takes.arguments, ", ") + ")"
	if w.gives.whole != nil && w.gives.fails {
		return "return " + call
	}
	output := w.goName + "Output"
	var names, set []string
	for _, p := range w.gives.parts {
		name := p.local(append(names, "context", "ctx", "in", "err", output), imported)
		names, set = append(names, name), append(set, p.goName+": "+name)
	}
	failed := "err != nil {\nreturn " + output + "{}, err\n}\n"
	made := "return " + output + "{" + strings.Join(set, ", ") + "}, nil"
	switch {
	case w.gives.whole != nil:
		return "return " + call + ", nil"
	case w.gives.nothing && w.gives.fails:
		return "if err := " + call + "; " + failed + "return " + output + "{Done: true}, nil"
	case w.gives.nothing:
		return call + "\nreturn " + output + "{Done: true}, nil"
	case w.gives.fails:
		return strings.Join(names, ", ") + ", err := " + call + "\nif " + failed + made
	case len(set) == 1:
		return "return " + output + "{" + w.gives.parts[0].goName + ": " + call + "}, nil"
	}
	return strings.Join(names, ", ") + " := " + call + "\n" + made
}

func (w *wrapper) next() []string {
	var next []string
	if w.description == "" && w.function.Doc == "" {
		next = append(next, fmt.Sprintf("Say in the comment of %s what it is for, and derive again (sync, or build): models choose by it.", w.goName))
	}
	if w.takes.whole == nil && len(w.takes.parts) > 0 {
		next = append(next, fmt.Sprintf("Say in the comments of %sInput, in %s, what its fields mean, and derive again (sync, or build): models fill them in by that.", w.goName, w.path()))
	}
	if len(w.examples) == 0 {
		next = append(next, fmt.Sprintf("Say in its test, %s, what %s returns for an input of yours.", w.testPath(), w.wire))
	}
	return append(next, fmt.Sprintf("go test ./%s", w.dir))
}

func requiredBy(schema json.RawMessage) string {
	var document struct{ Required []string }
	if json.Unmarshal(schema, &document) != nil || len(document.Required) == 0 {
		return ""
	}
	return document.Required[0]
}

// structOf is the struct that a type is or points to, with whether it points there; nil if it is none.
func structOf(t types.Type) (made types.Type, pointer bool) {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t, pointer = p.Elem(), true
	}
	if _, ok := t.Underlying().(*types.Struct); !ok {
		return nil, false
	}
	return t, pointer
}

// A part is a parameter or a result of a function, as a field of what a tool takes or returns.
type part struct {
	name     string     // in JSON
	goName   string     // of the field
	was      string     // in the function, may be empty
	held     types.Type // of the field
	optional bool
	about    string // what it is, if its name does not say so
}

// parts names the fields that parameters or results become: after them, or after what they are if
// they have no name, or none that JSON and Go both take. No two are alike but for case.
type parts struct {
	list  []part
	other string // what those without a name are called
	alone bool   // there is one alone, which needs no number
}

func (p *parts) add(v *types.Var, at int, held types.Type, optional bool) part {
	text := gen.WireName(v.Name())
	name, err := gen.ParseFieldName(text)
	if v.Name() == "_" || err != nil {
		text = p.other
		if !p.alone {
			text = fmt.Sprintf("%s%d", p.other, at)
		}
		name, _ = gen.NameOfValue(text) // it has letters
	}
	for base, number := text, 2; p.has(text, name.Go()); number++ {
		text = fmt.Sprintf("%s_%d", base, number)
		name, _ = gen.NameOfValue(text) // it has letters
	}
	made := part{name: text, goName: name.Go(), was: v.Name(), held: held, optional: optional}
	p.list = append(p.list, made)
	return made
}

// has reports whether a field has a name, in JSON, where case may not count, or in Go.
func (p *parts) has(name, goName string) bool {
	return slices.ContainsFunc(p.list, func(other part) bool {
		return strings.EqualFold(other.name, name) || other.goName == goName
	})
}

// local is the name of a variable that holds the part. It is not one of others, of a package that is
// imported, or of Go itself.
func (p part) local(others []string, imported map[string]bool) string {
	taken := func(name string) bool {
		return slices.Contains(others, name) || imported[name] || isGo(name)
	}
	name := p.was
	if !token.IsIdentifier(name) || name == "_" {
		name = strings.ToLower(p.goName[:1]) + p.goName[1:]
	}
	for base, number := name, 2; taken(name); number++ {
		name = fmt.Sprintf("%s%d", base, number)
	}
	return name
}

func isGo(name string) bool { return token.IsKeyword(name) || types.Universe.Lookup(name) != nil }

// taken is what a tool takes for a function.
type taken struct {
	whole     types.Type // a struct of the project that is the input itself; nil if there is none
	parts     []part     // the fields of the input otherwise
	arguments []string   // of the call
	uses      []string   // of ctx and in
	needs     string     // a property that whole requires, may be empty
}

// named is a parameter of the tool, which has no name if it is not used.
func (t taken) named(name string) string {
	if slices.Contains(t.uses, name) {
		return name
	}
	return "_"
}

func (t taken) required() string {
	for _, p := range t.parts {
		if !p.optional {
			return p.name
		}
	}
	return t.needs
}

// takenBy looks at the parameters of a function. One that is a context gets the tool's. One that is a
// struct of the project, and the only other one, is the input itself.
func takenBy(f *gen.Function, module string) (taken, error) {
	var t taken
	params := f.Signature.Params()
	fields := parts{other: "arg"}
	alone := 1
	for v := range params.Variables() {
		if derive.IsContext(v.Type()) {
			alone++
		}
	}
	for i := range params.Len() {
		v := params.At(i)
		if derive.IsContext(v.Type()) {
			t.arguments = append(t.arguments, "ctx")
			t.uses = append(t.uses, "ctx")
			continue
		}
		t.uses = append(t.uses, "in")
		held, pointer, schema, err := heldFor(f, v.Type())
		if err != nil {
			return taken{}, f.Errorf("JSON cannot fill %s: %s", f.Parameter(i), reason(err))
		}
		address := ""
		if pointer {
			address = "&"
		}
		if params.Len() == alone && isInput(held, schema, module) {
			t.whole, t.needs = held, requiredBy(schema)
			t.arguments = append(t.arguments, address+"in")
			continue
		}
		last := f.Signature.Variadic() && i == params.Len()-1
		_, absent := types.Unalias(held).(*types.Pointer)
		made := fields.add(v, i+1, held, last || absent)
		argument := address + "in." + made.goName
		if last {
			argument += "..."
		}
		t.arguments = append(t.arguments, argument)
	}
	t.parts = fields.list
	return t, nil
}

// heldFor is the type of what is held for a parameter, whether the parameter is a pointer to that, and
// its schema. Functions count on pointers to structs, so those are not left out; other pointers may be.
func heldFor(f *gen.Function, t types.Type) (held types.Type, pointer bool, schema json.RawMessage, err error) {
	if made, pointer := structOf(t); pointer {
		if schema, err := f.Input(made); err == nil && derive.IsObject(string(schema)) {
			return made, true, schema, nil
		}
	}
	schema, err = f.Input(t)
	return t, false, schema, err
}

// isInput reports whether a type can be the input of a tool itself: a struct of the project without
// defaults, which only inputs of package tools have.
func isInput(t types.Type, schema json.RawMessage, module string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if made, pointer := structOf(t); !ok || made == nil || pointer {
		return false
	}
	return named.Obj().Pkg() != nil && strings.HasPrefix(named.Obj().Pkg().Path()+"/", module+"/") &&
		derive.IsObject(string(schema)) && !strings.Contains(string(schema), `"default":`)
}

// reason is what is wrong, without the way out, which is another one here.
func reason(err error) string {
	why, _, _ := strings.Cut(err.Error(), "; ")
	return why
}

// given is what a function gives a tool back.
type given struct {
	whole   types.Type // what is the output itself; nil if there is none
	parts   []part     // the fields of the output otherwise
	nothing bool       // but for an error
	fails   bool       // its last result is an error
}

// givenBy looks at the results of a function. A struct with a name is the output itself if
// it is alone; so is a pointer to one, unless it may be nil without an error.
func givenBy(f *gen.Function) (given, error) {
	var g given
	results := f.Signature.Results()
	count := results.Len()
	if count > 0 && derive.IsError(results.At(count-1).Type()) {
		g.fails = true
		count--
	}
	fields := parts{other: "result", alone: count == 1}
	for i := range count {
		v := results.At(i)
		if derive.IsError(v.Type()) {
			return given{}, f.Errorf("%s is not the last one, and a tool has one error alone", f.Result(i))
		}
		schema, err := f.Output(v.Type())
		if err != nil {
			return given{}, f.Errorf("JSON cannot hold %s: %s", f.Result(i), reason(err))
		}
		made, pointer := structOf(v.Type())
		if _, named := made.(interface{ Obj() *types.TypeName }); count == 1 && named && (schema == nil || derive.IsObject(string(schema)) && (g.fails || !pointer)) {
			g.whole = v.Type()
			return g, nil
		}
		if schema == nil {
			return given{}, f.Errorf("%s decides what the client is told, and so has to be the only one beside an error", f.Result(i))
		}
		fields.add(v, i+1, v.Type(), false)
	}
	if g.parts = fields.list; count == 0 {
		g.nothing = true
		g.parts = []part{{name: "done", goName: "Done", held: types.Typ[types.Bool], about: "It was done"}}
	}
	return g, nil
}

// A speller writes types down, and keeps which packages that takes.
type speller struct {
	packages map[string]string // by import path, their names
}

// write is a type as Go source. It is one that JSON can hold, and whose names can be used.
func (s *speller) write(t types.Type) *jen.Statement {
	switch t := t.(type) {
	case *types.Alias:
		if t.Obj().Pkg() != nil && !t.Obj().Exported() {
			return s.write(t.Rhs())
		}
		return s.name(t.Obj(), t.TypeArgs())
	case *types.Named:
		return s.name(t.Obj(), t.TypeArgs())
	case *types.Pointer:
		return jen.Op("*").Add(s.write(t.Elem()))
	case *types.Slice:
		return jen.Index().Add(s.write(t.Elem()))
	case *types.Array:
		return jen.Index(jen.Lit(int(t.Len()))).Add(s.write(t.Elem()))
	case *types.Map:
		return jen.Map(s.write(t.Key())).Add(s.write(t.Elem()))
	case *types.Struct:
		return jen.StructFunc(func(g *jen.Group) {
			for i := range t.NumFields() {
				field := jen.Add(s.write(t.Field(i).Type()))
				if !t.Field(i).Embedded() {
					field = jen.Id(t.Field(i).Name()).Add(field)
				}
				if tag := t.Tag(i); tag != "" {
					field.Add(rawLit(tag))
				}
				g.Add(field)
			}
		})
	case *types.Interface:
		return jen.Any() // others hold no JSON
	}
	return jen.Id(t.String())
}

func (s *speller) name(name *types.TypeName, of *types.TypeList) *jen.Statement {
	made := jen.Id(name.Name())
	if pkg := name.Pkg(); pkg != nil {
		s.packages[pkg.Path()] = pkg.Name()
		made = jen.Qual(pkg.Path(), name.Name())
	}
	var arguments []jen.Code
	for t := range of.Types() {
		arguments = append(arguments, s.write(t))
	}
	if len(arguments) > 0 {
		made.Types(arguments...)
	}
	return made
}

// declare tells a file the names of the packages, and returns them. None is one of those that are
// taken, or Go's own: a package that is called so gets another name.
func (s *speller) declare(file gen.GoFile, taken []string) map[string]bool {
	names := map[string]bool{}
	for _, imported := range slices.Sorted(maps.Keys(s.packages)) {
		name := s.packages[imported]
		for number := 2; names[name] || slices.Contains(taken, name) || isGo(name); number++ {
			name = fmt.Sprintf("%s%d", s.packages[imported], number)
		}
		names[name] = true
		if name == lastWord(imported) {
			file.ImportName(imported, name)
		} else {
			file.ImportAlias(imported, name)
		}
	}
	return names
}

// lastWord is what a package is called if it goes by its import path.
func lastWord(imported string) string {
	above, base := path.Split(imported)
	if above != "" && regexp.MustCompile(`^v[0-9]+$`).MatchString(base) {
		return path.Base(above)
	}
	return base
}
