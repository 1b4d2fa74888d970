package generators

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/inference"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// toolFrom creates a tool that wraps a function of the project. The parameters are the input, the
// results the output, the doc comment the description.
func toolFrom(p gen.Project, in ToolInput) (gen.Draft, error) {
	switch {
	case len(in.Fields)+len(in.Output)+len(in.Asks) > 0:
		return gen.Draft{}, fmt.Errorf("a tool from %s has the parameters and results of that function; omit fields, output and asks", in.From)
	case in.Body != "":
		return gen.Draft{}, fmt.Errorf("a tool from %s calls that function; omit body", in.From)
	case p.Function == nil:
		return gen.Draft{}, errors.New("cannot look up functions of the project here")
	}
	f, err := p.Function(in.From)
	if err != nil {
		return gen.Draft{}, err
	}
	n, err := newComponent(p, "tool", request{name: cmp.Or(in.Name, f.Name()), description: in.Description, Directives: in.Directives})
	if err != nil {
		return gen.Draft{}, err
	}
	n.others, n.wraps = functionFeatures(p, f), true
	if err := n.setImplementation(in.Implementation); err != nil {
		return gen.Draft{}, err
	}
	w := &wrapper{component: n, function: f, file: n.file()}
	w.output.fields = nil // without the default
	w.taken = append([]string{"context", "ctx", "in", "out", n.goName, n.input.name, n.output.name}, f.Taken...)
	if err := w.setParams(p.Module); err != nil {
		return gen.Draft{}, err
	}
	if err := w.setResults(); err != nil {
		return gen.Draft{}, err
	}
	w.write()
	for _, f := range w.input.fields {
		w.undescribed = append(w.undescribed, f.Name)
	}
	w.input, w.output = structure{}, structure{} // its test has inputs and outputs as JSON
	return w.toolDraft(w.file)
}

// functionFeatures returns the features that a function may use. A function without a context uses
// none.
func functionFeatures(p gen.Project, f *gen.Function) []string {
	takesContext := false
	for v := range f.Signature.Params().Variables() {
		takesContext = takesContext || derive.IsContext(v.Type())
	}
	if !takesContext || p.Uses == nil {
		return nil
	}
	dir := strings.TrimPrefix(f.Path, p.Module+"/")
	if path.Dir(dir) == derive.Features {
		return []string{path.Base(dir)}
	}
	return p.Uses(dir)
}

// A wrapper is a tool that calls a function of the project.
type wrapper struct {
	component
	function *gen.Function
	file     gen.GoFile
	taken    []string // names that imports cannot have

	inputType    types.Type // a struct of the project that is the input itself, or nil
	outputType   types.Type // the type that is the output itself, or nil
	arguments    []string   // of the call
	returnsError bool       // the last result is an error
}

// setParams maps the parameters of the function to the input. A context parameter gets the context
// of the tool. A struct of the project is the input itself if it is the only other parameter. A
// pointer to a struct becomes a required struct, since functions expect it not to be nil. Other
// pointers are optional.
func (w *wrapper) setParams(module string) error {
	f, vars := w.function, w.function.Signature.Params()
	count := vars.Len()
	for v := range vars.Variables() {
		if derive.IsContext(v.Type()) {
			count--
		}
	}
	for i := range vars.Len() {
		v := vars.At(i)
		if derive.IsContext(v.Type()) {
			w.arguments = append(w.arguments, "ctx")
			continue
		}
		typ, address := v.Type(), ""
		if elem, isPointer := structOf(typ); isPointer {
			if schema, err := f.Input(elem); err == nil && derive.IsObject(string(schema)) {
				typ, address = elem, "&"
			}
		}
		schema, err := f.Input(typ)
		if err != nil {
			return f.Errorf("%s cannot be decoded from JSON: %v", f.Parameter(i), err)
		}
		if count == 1 && isInput(typ, schema, module) {
			w.inputType = typ
			w.arguments = append(w.arguments, address+"in")
			continue
		}
		field, dots := w.field(w.input.fields, v.Name(), fmt.Sprintf("arg%d", i+1), typ), ""
		if f.Signature.Variadic() && i == vars.Len()-1 {
			dots = "..."
			elem := gen.FieldType{Kind: gen.KindGo, Name: strings.TrimPrefix(field.Type.Name, "[]")}
			field.Optional, field.Type = true, gen.FieldType{Kind: gen.KindList, Elem: &elem}
		} else if _, isPointer := types.Unalias(typ).(*types.Pointer); isPointer {
			field.Optional, field.Type.Name = true, strings.TrimPrefix(field.Type.Name, "*")
		}
		w.input.fields = append(w.input.fields, field)
		w.arguments = append(w.arguments, address+"in."+field.Go+dots)
	}
	return nil
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

// setResults maps the results of the function to the output. A named struct is the output itself if
// it is the only result besides an error. So is a pointer to one if the function also returns an
// error.
func (w *wrapper) setResults() error {
	f, vars := w.function, w.function.Signature.Results()
	count := vars.Len()
	if count > 0 && derive.IsError(vars.At(count-1).Type()) {
		w.returnsError = true
		count--
	}
	for i := range count {
		v := vars.At(i)
		if derive.IsError(v.Type()) {
			return f.Errorf("%s must be the last result", f.Result(i))
		}
		schema, err := f.Output(v.Type())
		if err != nil {
			return f.Errorf("%s cannot be encoded as JSON: %v", f.Result(i), err)
		}
		structure, isPointer := structOf(v.Type())
		if structure != nil && derive.IsObject(string(schema)) && len(inference.Properties(schema)) == 0 && structure.Underlying().(*types.Struct).NumFields() > 0 {
			return f.Errorf("%s has no exported fields, so the tool would answer {}; if it has methods, declare a variable with the result of %s, and create tools from its methods", f.Result(i), f.Name())
		}
		_, isNamed := structure.(interface{ Obj() *types.TypeName })
		isOutput := schema == nil || derive.IsObject(string(schema)) && (w.returnsError || !isPointer)
		fallback := fmt.Sprintf("result%d", i+1)
		switch {
		case count == 1 && isNamed && isOutput:
			w.outputType = v.Type()
			return nil
		case schema == nil:
			return f.Errorf("%s is a complete tool result, so the function can return only it and an error", f.Result(i))
		case count == 1:
			fallback = "result"
		}
		w.output.fields = append(w.output.fields, w.field(w.output.fields, v.Name(), fallback, v.Type()))
	}
	return nil
}

// structOf returns the struct type that t is or points to, and whether t is a pointer. It returns
// nil for other types.
func structOf(t types.Type) (structure types.Type, isPointer bool) {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t, isPointer = p.Elem(), true
	}
	if _, ok := t.Underlying().(*types.Struct); !ok {
		return nil, false
	}
	return t, isPointer
}

// field returns the field for a parameter or result. Its name is that of the source, or fallback if
// that is not a valid field name. A number makes it differ from others in Go, and in more than
// case.
func (w *wrapper) field(others []gen.Field, source, fallback string, typ types.Type) gen.Field {
	text, initialisms := gen.WireName(source), w.project.Initialisms
	name, err := gen.ParseFieldName(text, initialisms...)
	if source == "_" || err != nil {
		text = fallback
		name, _ = gen.NameOfValue(text, initialisms...) // cannot fail: the fallback has letters
	}
	isTaken := func(other gen.Field) bool { return strings.EqualFold(other.Name, text) || other.Go == name.Go() }
	for base, number := text, 2; slices.ContainsFunc(others, isTaken); number++ {
		text = fmt.Sprintf("%s_%d", base, number)
		name, _ = gen.NameOfValue(text, initialisms...) // cannot fail: base is valid
	}
	return gen.Field{Name: text, Go: name.Go(), Type: gen.FieldType{Kind: gen.KindGo, Name: w.file.TypeText(typ, w.taken...)}}
}

// write writes the tool: its input and output types, and a function that calls the wrapped one.
func (w *wrapper) write() {
	called := w.file.ImportAs(w.function.Path, w.function.Package, w.taken) + "." + strings.Join(w.function.Call, ".")
	body := w.body(called + "(" + strings.Join(w.arguments, ", ") + ")")
	results := "%s, error"
	if w.outputType == nil && w.returnsError && len(w.output.fields) > 0 {
		results = "out %s, err error" // which body assigns
	}
	if len(w.output.fields) == 0 {
		w.output.fields = []gen.Field{{Name: "done", Go: "Done", Type: gen.FieldType{Kind: gen.KindBool}, Description: "True on success"}}
	}
	input, output := w.typeName(w.inputType, w.input), w.typeName(w.outputType, w.output)
	w.writeComment()
	w.file.Text(fmt.Sprintf("func %s(ctx %s, in %s) ("+results+") {\n%s\n}", w.goName, w.file.Ref("context", "Context"), input, output, body))
}

// typeName returns the name of the input or output: its own type or, without one, a struct, which
// it writes.
func (w *wrapper) typeName(own types.Type, s structure) string {
	if own != nil {
		return w.file.TypeText(own, w.taken...)
	}
	s.write(w.file)
	return s.name
}

// writeComment writes the doc comment of the tool: the description if one is set, else the doc
// comment of the wrapped function under the tool's name.
func (w *wrapper) writeComment() {
	doc := strings.TrimRight(w.function.Doc, "\n")
	if w.description != "" || doc == "" {
		writeDoc(w.file, gen.DocSentence(w.goName, w.description), w.directives)
		return
	}
	if rest, ok := strings.CutPrefix(doc, w.function.Name()); ok && (rest == "" || strings.ContainsRune(" \t\n,:;.", rune(rest[0]))) {
		doc = w.goName + rest
	}
	for line := range strings.SplitSeq(doc, "\n") {
		if line != "" && line[0] != '\t' {
			line = " " + line
		}
		w.file.Comment("//" + line)
	}
	if len(w.directives) > 0 {
		w.file.Comment("//")
	}
	writeDoc(w.file, "", w.directives)
}

// body returns the statements that call the wrapped function and return its results as the output.
func (w *wrapper) body(call string) string {
	output, fields := w.output.name, w.output.fields
	switch {
	case w.outputType != nil && w.returnsError:
		return "return " + call
	case w.outputType != nil:
		return "return " + call + ", nil"
	case len(fields) == 0 && w.returnsError:
		return "err := " + call + "\nreturn " + output + "{Done: err == nil}, err"
	case len(fields) == 0:
		return call + "\nreturn " + output + "{Done: true}, nil"
	}
	var set []string
	for _, f := range fields {
		set = append(set, "out."+f.Go)
	}
	switch {
	case w.returnsError:
		return strings.Join(set, ", ") + ", err = " + call + "\nreturn out, err"
	case len(set) == 1:
		return "return " + output + "{" + fields[0].Go + ": " + call + "}, nil"
	}
	return "var out " + output + "\n" + strings.Join(set, ", ") + " = " + call + "\nreturn out, nil"
}
