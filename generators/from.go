package generators

import (
	"cmp"
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

// toolFrom creates a tool that wraps a function of the project. The parameters are the input, the
// results the output, the doc comment the description.
func toolFrom(p gen.Project, in ToolInput) (gen.Draft, error) {
	switch {
	case len(in.Fields)+len(in.Output) > 0:
		return gen.Draft{}, fmt.Errorf("a tool from %s has the parameters and results of that function; omit fields and output", in.From)
	case in.Body != "":
		return gen.Draft{}, fmt.Errorf("a tool from %s calls that function; omit body", in.From)
	case p.Function == nil:
		return gen.Draft{}, errors.New("cannot look up functions of the project here")
	}
	f, err := p.Function(in.From)
	if err != nil {
		return gen.Draft{}, err
	}
	in.Name = cmp.Or(in.Name, f.Name())
	n, err := newComponent(p, "tool", "tools", in.Name, in.Description, Implementation{})
	if err != nil {
		if _, wrong := gen.ParseDescription(in.Description); in.Name == f.Name() && wrong == nil {
			err = fmt.Errorf("%w; set \"name\" for the tool of %s", err, f.Ref)
		}
		return gen.Draft{}, err
	}
	if err := n.setImplementation(p, in.Implementation, true); err != nil {
		return gen.Draft{}, err
	}
	params, err := paramsOf(f, p.Module)
	if err != nil {
		return gen.Draft{}, err
	}
	results, err := resultsOf(f)
	if err != nil {
		return gen.Draft{}, err
	}

	file := n.file(p)
	w := &wrapper{component: n, function: f, params: params, results: results}
	w.write(file)
	test := n.requiredTest(p, params.hasRequired)
	if len(n.examples) > 0 {
		test, err = n.toolExamples(p)
	}
	draft, err := n.draft(p, file, test, err)
	draft.Next = w.next()
	return draft, err
}

// A wrapper is a tool that calls a function of the project.
type wrapper struct {
	component
	function *gen.Function
	params   params
	results  results
}

// write writes the tool: its input and output types, and a function that calls the wrapped one.
func (w *wrapper) write(file gen.GoFile) {
	types := typeWriter{packages: map[string]string{w.function.Path: w.function.Package}}
	input, output := jen.Id(w.goName+"Input"), jen.Id(w.goName+"Output")
	if w.params.whole != nil {
		input = types.write(w.params.whole)
	} else {
		w.writeStruct(file, &types, "Input", "is the input of "+w.wire+".", w.params.fields)
	}
	if w.results.whole != nil {
		output = types.write(w.results.whole)
	} else {
		w.writeStruct(file, &types, "Output", "is the output of "+w.wire+".", w.results.fields)
	}
	imported := types.declare(file, append([]string{"context", "ctx", "in", "err", w.goName, w.goName + "Input", w.goName + "Output"}, w.function.Taken...))

	w.writeComment(file)
	file.Text(fmt.Sprintf("func %s(%s %s, %s %s) (%s, error) {\n%s\n}", w.goName, w.params.nameIfUsed("ctx"), file.Ref("context", "Context"),
		w.params.nameIfUsed("in"), file.Code(input), file.Code(output), w.call(file, imported)))
}

func (w *wrapper) writeStruct(file gen.GoFile, types *typeWriter, suffix, about string, fields []wrapperField) {
	file.Comment(fmt.Sprintf("// %s%s %s", w.goName, suffix, about))
	var members []jen.Code
	for _, field := range fields {
		f := gen.Field{Name: field.name, Go: field.goName, Optional: field.optional, Description: field.about}
		members = append(members, jen.Id(f.Go).Add(types.write(field.typ)).Op("`"+structure{}.tags(f)+"`").Comment("// "+f.Comment()))
	}
	file.Type().Id(w.goName + suffix).Struct(members...)
}

// writeComment writes the doc comment of the tool: the description if one is set, else the doc comment
// of the wrapped function under the tool's name.
func (w *wrapper) writeComment(file gen.GoFile) {
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
	writeDirectives(file, w.directives)
}

// call returns the statements that call the wrapped function and return its results as the output.
func (w *wrapper) call(file gen.GoFile, imported map[string]bool) string {
	call := file.Ref(w.function.Path, strings.Join(w.function.Call, ".")) + "(" + strings.Join(w.params.arguments, ", ") + ")"
	if w.results.whole != nil && w.results.returnsError {
		return "return " + call
	}
	output := w.goName + "Output"
	var names, set []string
	for _, f := range w.results.fields {
		name := f.variable(append(names, "context", "ctx", "in", "err", output), imported)
		names, set = append(names, name), append(set, f.goName+": "+name)
	}
	failed := "err != nil {\nreturn " + output + "{}, err\n}\n"
	returned := "return " + output + "{" + strings.Join(set, ", ") + "}, nil"
	switch {
	case w.results.whole != nil:
		return "return " + call + ", nil"
	case w.results.none && w.results.returnsError:
		return "if err := " + call + "; " + failed + "return " + output + "{Done: true}, nil"
	case w.results.none:
		return call + "\nreturn " + output + "{Done: true}, nil"
	case w.results.returnsError:
		return strings.Join(names, ", ") + ", err := " + call + "\nif " + failed + returned
	case len(set) == 1:
		return "return " + output + "{" + w.results.fields[0].goName + ": " + call + "}, nil"
	}
	return strings.Join(names, ", ") + " := " + call + "\n" + returned
}

func (w *wrapper) next() []string {
	var next []string
	if w.description == "" && w.function.Doc == "" {
		next = append(next, w.describeStep())
	}
	if w.params.whole == nil && len(w.params.fields) > 0 {
		next = append(next, fmt.Sprintf("Describe the fields of %sInput in %s, then run petrock sync: models read the comments.", w.goName, w.path()))
	}
	if len(w.examples) == 0 {
		next = append(next, fmt.Sprintf("Write the test of %s in %s.", w.wire, w.testPath()))
	}
	return append(next, fmt.Sprintf("go test ./%s", w.dir))
}

// hasRequired reports whether a schema has required properties.
func hasRequired(schema json.RawMessage) bool {
	var document struct{ Required []string }
	return json.Unmarshal(schema, &document) == nil && len(document.Required) > 0
}

// structOf returns the struct type that t is or points to, and whether t is a pointer. It returns nil
// for other types.
func structOf(t types.Type) (structure types.Type, pointer bool) {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t, pointer = p.Elem(), true
	}
	if _, ok := t.Underlying().(*types.Struct); !ok {
		return nil, false
	}
	return t, pointer
}

// A wrapperField is a field of the tool's input or output, for a parameter or result of the function.
type wrapperField struct {
	name     string // in JSON
	goName   string
	source   string // name of the parameter or result; may be empty
	typ      types.Type
	optional bool
	about    string // description; optional
}

// A fieldNamer names fields after parameters or results. No two names differ only in case.
type fieldNamer struct {
	list     []wrapperField
	fallback string // name for a parameter or result without a usable name
	alone    bool   // there is only one, so the fallback needs no number
}

func (p *fieldNamer) add(v *types.Var, number int, typ types.Type, optional bool) wrapperField {
	text := gen.WireName(v.Name())
	name, err := gen.ParseFieldName(text)
	if v.Name() == "_" || err != nil {
		text = p.fallback
		if !p.alone {
			text = fmt.Sprintf("%s%d", p.fallback, number)
		}
		name, _ = gen.NameOfValue(text) // cannot fail: the fallback has letters
	}
	isTaken := func(other wrapperField) bool { return strings.EqualFold(other.name, text) || other.goName == name.Go() }
	for base, number := text, 2; slices.ContainsFunc(p.list, isTaken); number++ {
		text = fmt.Sprintf("%s_%d", base, number)
		name, _ = gen.NameOfValue(text) // cannot fail: base is valid
	}
	field := wrapperField{name: text, goName: name.Go(), source: v.Name(), typ: typ, optional: optional}
	p.list = append(p.list, field)
	return field
}

// variable returns an unused variable name for the field.
func (f wrapperField) variable(others []string, imported map[string]bool) string {
	taken := func(name string) bool {
		return slices.Contains(others, name) || imported[name] || isKeywordOrBuiltin(name)
	}
	name := f.source
	if !token.IsIdentifier(name) || name == "_" {
		name = strings.ToLower(f.goName[:1]) + f.goName[1:]
	}
	for base, number := name, 2; taken(name); number++ {
		name = fmt.Sprintf("%s%d", base, number)
	}
	return name
}

func isKeywordOrBuiltin(name string) bool {
	return token.IsKeyword(name) || types.Universe.Lookup(name) != nil
}

// params maps the input of the tool to the parameters of the function.
type params struct {
	whole       types.Type     // a struct of the project that is the input itself, or nil
	fields      []wrapperField // fields of the input, if whole is nil
	arguments   []string       // of the call
	used        []string       // of ctx and in
	hasRequired bool           // the input has required properties
}

// nameIfUsed returns the name of a parameter of the tool, or _ if it is unused.
func (p params) nameIfUsed(name string) string {
	if slices.Contains(p.used, name) {
		return name
	}
	return "_"
}

// paramsOf maps the parameters of a function. A context parameter gets the context of the tool. A struct
// of the project is the input itself if it is the only other parameter.
func paramsOf(f *gen.Function, module string) (params, error) {
	var p params
	vars := f.Signature.Params()
	fields := fieldNamer{fallback: "arg"}
	contexts := 0
	for v := range vars.Variables() {
		if derive.IsContext(v.Type()) {
			contexts++
		}
	}
	for i := range vars.Len() {
		v := vars.At(i)
		if derive.IsContext(v.Type()) {
			p.arguments = append(p.arguments, "ctx")
			p.used = append(p.used, "ctx")
			continue
		}
		p.used = append(p.used, "in")
		typ, pointer, schema, err := fieldTypeFor(f, v.Type())
		if err != nil {
			return params{}, f.Errorf("%s cannot be decoded from JSON: %s", f.Parameter(i), reason(err))
		}
		address := ""
		if pointer {
			address = "&"
		}
		if vars.Len() == contexts+1 && isInput(typ, schema, module) {
			p.whole, p.hasRequired = typ, hasRequired(schema)
			p.arguments = append(p.arguments, address+"in")
			continue
		}
		variadic := f.Signature.Variadic() && i == vars.Len()-1
		field := fields.add(v, i+1, typ, variadic || isPointer(typ))
		p.hasRequired = p.hasRequired || !field.optional
		argument := address + "in." + field.goName
		if variadic {
			argument += "..."
		}
		p.arguments = append(p.arguments, argument)
	}
	p.fields = fields.list
	return p, nil
}

// fieldTypeFor returns the type of the field for a parameter, whether the parameter is a pointer to it,
// and its schema. A pointer to a struct becomes a required struct, since functions expect it not to be
// nil. Other pointers become optional fields.
func fieldTypeFor(f *gen.Function, t types.Type) (typ types.Type, pointer bool, schema json.RawMessage, err error) {
	if elem, pointer := structOf(t); pointer {
		if schema, err := f.Input(elem); err == nil && derive.IsObject(string(schema)) {
			return elem, true, schema, nil
		}
	}
	schema, err = f.Input(t)
	return t, false, schema, err
}

// isInput reports whether a type can be the input of a tool itself: a struct of the project without
// defaults. Only inputs in package tools have defaults.
func isInput(t types.Type, schema json.RawMessage, module string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if structure, pointer := structOf(t); !ok || structure == nil || pointer {
		return false
	}
	return named.Obj().Pkg() != nil && strings.HasPrefix(named.Obj().Pkg().Path()+"/", module+"/") &&
		derive.IsObject(string(schema)) && !strings.Contains(string(schema), `"default":`)
}

// reason returns an error message without its remedy, which does not apply here.
func reason(err error) string {
	why, _, _ := strings.Cut(err.Error(), "; ")
	return why
}

// results maps the results of the function to the output of the tool.
type results struct {
	whole        types.Type     // the output itself, or nil
	fields       []wrapperField // fields of the output, if whole is nil
	none         bool           // there are no results except an error
	returnsError bool           // the last result is an error
}

// resultsOf maps the results of a function. A named struct is the output itself if it is the only result
// besides an error. So is a pointer to one if the function also returns an error.
func resultsOf(f *gen.Function) (results, error) {
	var r results
	vars := f.Signature.Results()
	count := vars.Len()
	if count > 0 && derive.IsError(vars.At(count-1).Type()) {
		r.returnsError = true
		count--
	}
	fields := fieldNamer{fallback: "result", alone: count == 1}
	for i := range count {
		v := vars.At(i)
		if derive.IsError(v.Type()) {
			return results{}, f.Errorf("%s must be the last result", f.Result(i))
		}
		schema, err := f.Output(v.Type())
		if err != nil {
			return results{}, f.Errorf("%s cannot be encoded as JSON: %s", f.Result(i), reason(err))
		}
		structure, pointer := structOf(v.Type())
		if _, named := structure.(interface{ Obj() *types.TypeName }); count == 1 && named && (schema == nil || derive.IsObject(string(schema)) && (r.returnsError || !pointer)) {
			r.whole = v.Type()
			return r, nil
		}
		if schema == nil {
			return results{}, f.Errorf("%s is a complete tool result, so the function can return only it and an error", f.Result(i))
		}
		fields.add(v, i+1, v.Type(), false)
	}
	r.fields = fields.list
	if count == 0 {
		r.none = true
		r.fields = []wrapperField{{name: "done", goName: "Done", typ: types.Typ[types.Bool], about: "True on success"}}
	}
	return r, nil
}

// A typeWriter writes types as Go source and collects the packages they need.
type typeWriter struct {
	packages map[string]string // package names by import path
}

// write returns t as Go source. t must have a JSON encoding and use only accessible names.
func (s *typeWriter) write(t types.Type) *jen.Statement {
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
		return jen.Any() // only empty interfaces have a JSON encoding
	}
	return jen.Id(t.String())
}

func (s *typeWriter) name(name *types.TypeName, of *types.TypeList) *jen.Statement {
	code := jen.Id(name.Name())
	if pkg := name.Pkg(); pkg != nil {
		s.packages[pkg.Path()] = pkg.Name()
		code = jen.Qual(pkg.Path(), name.Name())
	}
	var arguments []jen.Code
	for t := range of.Types() {
		arguments = append(arguments, s.write(t))
	}
	if len(arguments) > 0 {
		code.Types(arguments...)
	}
	return code
}

// declare declares the imports in a file and returns the package names. It renames a package whose
// name is taken or predeclared.
func (s *typeWriter) declare(file gen.GoFile, taken []string) map[string]bool {
	names := map[string]bool{}
	for _, imported := range slices.Sorted(maps.Keys(s.packages)) {
		name := s.packages[imported]
		for number := 2; names[name] || slices.Contains(taken, name) || isKeywordOrBuiltin(name); number++ {
			name = fmt.Sprintf("%s%d", s.packages[imported], number)
		}
		names[name] = true
		if name == defaultName(imported) {
			file.ImportName(imported, name)
		} else {
			file.ImportAlias(imported, name)
		}
	}
	return names
}

// defaultName returns the package name that an import path suggests.
func defaultName(imported string) string {
	above, base := path.Split(imported)
	if above != "" && regexp.MustCompile(`^v[0-9]+$`).MatchString(base) {
		return path.Base(above)
	}
	return base
}
