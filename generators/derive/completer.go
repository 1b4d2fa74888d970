package derive

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/typecheck"
)

// A completer is a function that completes the arguments of a prompt, or the variables of a resource's address.
type completer struct {
	function string // or Type.Method
	of       string // the name of the prompt or resource
	at       typecheck.Diagnostic
}

// completes looks at a function that a directive says completes something, and reports whether one does. The directive
// makes it one, so it need not be exported.
//
//	//petrock:completes greet
//	func completeGreet(ctx context.Context, argument, prefix string, known map[string]string) ([]string, error)
func (f *finder) completes(decl *ast.FuncDecl, receiver string) bool {
	found := directives(decl.Doc)
	at := slices.IndexFunc(found, func(d directive) bool { return d.name == "completes" })
	if at < 0 || f.place.Kind != Prompt && f.place.Kind != Resource || ignored(decl.Doc) {
		return false
	}
	name := decl.Name.Name
	switch signature := f.signature(decl); {
	case len(found) > 1:
		f.problem(found[1-min(at, 1)].pos, "%s completes something, and so has no directive but //petrock:completes; leave this one out", name)
	case found[at].text == "":
		f.problem(found[at].pos, "//petrock:completes wants the name of a %s after it", f.place.Kind)
	case decl.Recv != nil && receiver != f.place.receiver():
		f.problem(decl.Name.Pos(), "%s is a method of %s; make it a function, or a method of %s", name, receiver, f.place.receiver())
	case signature == nil:
		f.problem(decl.Name.Pos(), "%s is declared more than once", name)
	case !isCompleter(signature):
		f.problem(decl.Name.Pos(), "%s completes nothing: that is func %[1]s%s; change it, or leave out //petrock:completes", name, completerShape)
	default:
		c := completer{function: name, of: found[at].text, at: f.diagnostic(found[at].pos, "")}
		if receiver != "" {
			c.function = receiver + "." + name
		}
		f.found.completers = append(f.found.completers, c)
	}
	return true
}

// completerShape is what a function that completes takes and gives back.
const completerShape = "(ctx context.Context, argument, prefix string, known map[string]string) ([]string, error)"

// isCompleter reports whether a function has that shape.
func isCompleter(s *types.Signature) bool {
	text := types.NewTuple(types.NewVar(token.NoPos, nil, "", types.Typ[types.String]))
	known := types.NewMap(types.Typ[types.String], types.Typ[types.String])
	params, results := s.Params(), s.Results()
	return s.TypeParams() == nil && !s.Variadic() && params.Len() == 4 && results.Len() == 2 &&
		isContext(params.At(0).Type()) &&
		types.Identical(params.At(1).Type(), text.At(0).Type()) && types.Identical(params.At(2).Type(), text.At(0).Type()) &&
		types.Identical(params.At(3).Type(), known) &&
		types.Identical(results.At(0).Type(), types.NewSlice(text.At(0).Type())) && isError(results.At(1).Type())
}

// complete gives the components their completers.
func (f *finder) complete() {
	for _, done := range f.found.completers {
		refuse := func(format string, args ...any) {
			d := f.diagnostic(token.NoPos, format, args...)
			d.File, d.Line, d.Column = done.at.File, done.at.Line, done.at.Column
			f.refuse(d)
		}
		var names []string
		at := -1
		for i, c := range f.found.Components {
			names = append(names, c.Name)
			if c.Name == done.of {
				at = i
			}
		}
		if at < 0 {
			refuse("%s completes %q, and there is no such %s; there are %s", done.function, done.of, f.place.Kind, listOr(slices.Sorted(slices.Values(names))))
			continue
		}
		c := &f.found.Components[at]
		_, method := c.method()
		switch {
		case len(c.arguments) == 0:
			refuse("%s completes %s, which has nothing to complete: it takes nothing", done.function, c.Name)
		case c.completer != "":
			refuse("%s completes %s, and so does %s; leave one", done.function, c.Name, c.completer)
		case strings.Contains(done.function, ".") && !method:
			refuse("%s is a method, and completes %s, which is a function; make both the one or the other", done.function, c.Name)
		default:
			c.completer = done.function
		}
	}
}

// complete is the call that says who completes a component.
func (e emitter) complete(c Component) *jen.Statement {
	function := jen.Id(c.completer)
	if _, name, method := strings.Cut(c.completer, "."); method {
		function = jen.Id("t").Dot(name)
	}
	if c.Kind == Resource {
		return jen.Id("s").Dot("CompleteResource").Call(jen.Lit(c.URI), function)
	}
	return jen.Id("s").Dot("CompletePrompt").Call(jen.Lit(c.Name), function)
}
