package generators

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// toolFrom makes a tool of a function of the project: its parameters are the input, its results the
// output, its doc comment the description.
func toolFrom(p gen.Project, in ToolInput) (gen.Draft, error) {
	switch {
	case len(in.Fields)+len(in.Output) > 0:
		return gen.Draft{}, fmt.Errorf("a tool that is made of %s takes and gives back what that does; leave fields and output out", in.From)
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
		if test, err = n.toolExamples(p); err != nil {
			return gen.Draft{}, err
		}
	}
	draft, err := n.draft(file, test)
	if err != nil {
		return gen.Draft{}, err
	}
	draft.Next = w.next(draft.Files[1].Path)
	return draft, nil
}

// A wrapper is a tool that calls a function of the project.
type wrapper struct {
	named
	function *gen.Function
	takes    taken
	gives    given
}

// write writes the tool.
//
//	// FindInput is what find takes.
//	type FindInput struct {
//		Query string   `json:"query"`          // Query
//		Tags  []string `json:"tags,omitempty"` // Tags
//	}
//
//	// FindOutput is what find gives back.
//	type FindOutput struct {
//		Rows  []store.Row `json:"rows"`  // Rows
//		Total int         `json:"total"` // Total
//	}
//
//	// Find finds rows.
//	func Find(ctx context.Context, in FindInput) (FindOutput, error) {
//		rows, total, err := store.Find(ctx, in.Query, in.Tags...)
//		if err != nil {
//			return FindOutput{}, err
//		}
//		return FindOutput{Rows: rows, Total: total}, nil
//	}
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
		w.structure(file, &spelled, "Output", "is what "+w.wire+" gives back.", w.gives.parts)
	}
	local := spelled.declare(file, append([]string{"context", "ctx", "in", "err", w.goName, w.goName + "Input", w.goName + "Output"}, w.function.Taken...))

	w.comment(file)
	file.Func().Id(w.goName).Params(
		jen.Id(w.takes.named("ctx")).Qual("context", "Context"),
		jen.Id(w.takes.named("in")).Add(input),
	).Params(output, jen.Error()).BlockFunc(func(g *jen.Group) { w.body(g, local) })
}

// structure writes the type that holds all parameters or all results.
func (w *wrapper) structure(file gen.GoFile, spelled *speller, what, about string, parts []part) {
	file.Comment(fmt.Sprintf("// %s%s %s", w.goName, what, about))
	if len(parts) == 0 {
		file.Type().Id(w.goName + what).Struct()
		return
	}
	file.Type().Id(w.goName + what).StructFunc(func(g *jen.Group) {
		for _, p := range parts {
			f := gen.Field{Name: p.name, Go: p.goName, Optional: p.optional, Description: p.about}
			g.Id(f.Go).Add(spelled.write(p.held)).Op("`" + structure{}.tags(f) + "`").Comment("// " + describe(f))
		}
	})
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
	if len(w.directives) > 0 {
		file.Comment("//")
	}
	for _, d := range w.directives {
		file.Comment("//petrock:" + d)
	}
}

// body writes what the function does.
func (w *wrapper) body(g *jen.Group, imported map[string]bool) {
	call := jen.Qual(w.function.Path, w.function.Call[0])
	for _, word := range w.function.Call[1:] {
		call.Dot(word)
	}
	call.Call(w.takes.arguments...)
	output, zero := jen.Id(w.goName+"Output"), jen.Id(w.goName+"Output").Values()
	var names []string
	var set, locals []jen.Code
	for _, p := range w.gives.parts {
		name := p.local(append(names, "context", "ctx", "in", "err", w.goName+"Output"), imported)
		names = append(names, name)
		locals = append(locals, jen.Id(name))
		set = append(set, gen.KeyValue(p.goName, jen.Id(name)))
	}
	failed := jen.Err().Op("!=").Nil()
	switch {
	case w.gives.whole != nil && w.gives.fails:
		g.Return(call)
	case w.gives.whole != nil:
		g.Return(call, jen.Nil())
	case w.gives.nothing && w.gives.fails:
		g.If(jen.Err().Op(":=").Add(call), failed).Block(jen.Return(zero, jen.Err()))
		g.Return(output.Values(gen.KeyValue("Done", jen.True())), jen.Nil())
	case w.gives.nothing:
		g.Add(call)
		g.Return(output.Values(gen.KeyValue("Done", jen.True())), jen.Nil())
	case w.gives.fails:
		g.List(append(locals, jen.Err())...).Op(":=").Add(call)
		g.If(failed).Block(jen.Return(zero, jen.Err()))
		g.Return(output.Values(set...), jen.Nil())
	case len(set) == 1:
		g.Return(output.Values(gen.KeyValue(w.gives.parts[0].goName, call)), jen.Nil())
	default:
		g.List(locals...).Op(":=").Add(call)
		g.Return(output.Values(set...), jen.Nil())
	}
}

// next is what to do with the tool, whose test is in a file.
func (w *wrapper) next(test string) []string {
	var next []string
	if w.description == "" && w.function.Doc == "" {
		next = append(next, fmt.Sprintf("Say in the comment of %s what it is for, and derive again (sync, or build): models choose by it.", w.goName))
	}
	if w.takes.whole == nil && len(w.takes.parts) > 0 {
		next = append(next, fmt.Sprintf("Say in the comments of %sInput, in %s, what its fields mean, and derive again (sync, or build): models fill them in by that.", w.goName, w.path()))
	}
	if len(w.examples) == 0 {
		next = append(next, fmt.Sprintf("Say in its test, %s, what %s gives back for an input of yours.", test, w.wire))
	}
	return append(next, fmt.Sprintf("go test ./%s", w.dir))
}

// requiredBy is the first property that a schema requires; empty if it requires none.
func requiredBy(schema json.RawMessage) string {
	var document struct{ Required []string }
	if json.Unmarshal(schema, &document) != nil || len(document.Required) == 0 {
		return ""
	}
	return document.Required[0]
}

// isObject reports whether a schema is that of an object with properties.
func isObject(schema json.RawMessage) bool {
	return strings.HasPrefix(string(schema), `{"type":"object"`)
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
