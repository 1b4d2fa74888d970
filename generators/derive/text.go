package derive

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// describe makes a description of a function's doc comment: its paragraphs, each on a line of its
// own, without the name that Go's doc comments begin with, and its "is".
func describe(doc *ast.CommentGroup, name string) string {
	text := flow(doc)
	if rest, ok := strings.CutPrefix(text, name+" "); ok {
		for _, article := range []string{"a ", "an ", "the "} {
			if strings.HasPrefix(rest, "is "+article) {
				rest = strings.TrimPrefix(rest, "is ")
			}
		}
		text = gen.Capitalize(rest)
	}
	return text
}

// flow is the text of a comment with the lines of each paragraph joined. Indented lines, which
// are code or lists, stay lines.
func flow(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	var out strings.Builder
	between := ""
	for line := range strings.Lines(doc.Text()) {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		indented := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " ")
		switch {
		case line == "":
			if out.Len() > 0 {
				between = "\n\n"
			}
			continue
		case indented && between == " ":
			between = "\n"
		}
		out.WriteString(between + line)
		between = " "
		if indented {
			between = "\n"
		}
	}
	return out.String()
}

// fieldText is the description of a field: the comment above it, or else the one behind it.
func fieldText(field *ast.Field) string {
	if field == nil {
		return ""
	}
	if text := flow(field.Doc); text != "" {
		return text
	}
	return flow(field.Comment)
}

// A directive is a line of a doc comment that is for petrock.
type directive struct {
	pos        token.Pos
	name, text string
}

const directivePrefix = "//petrock:"

func directives(groups ...*ast.CommentGroup) []directive {
	var found []directive
	for _, group := range groups {
		if group == nil {
			continue
		}
		for _, comment := range group.List {
			if rest, ok := strings.CutPrefix(comment.Text, directivePrefix); ok {
				name, text, _ := strings.Cut(rest, " ")
				found = append(found, directive{comment.Pos(), strings.TrimSpace(name), strings.TrimSpace(text)})
			}
		}
	}
	return found
}

func ignored(groups ...*ast.CommentGroup) bool {
	return slices.ContainsFunc(directives(groups...), func(d directive) bool { return d.name == "ignore" })
}

// A hint is a word of //petrock:hints, and what it means.
type hint struct {
	word  string
	field string // of mcp.ToolAnnotations
	value bool
}

func hints() []hint {
	return []hint{
		{"read-only", "ReadOnlyHint", true},
		{"destructive", "DestructiveHint", true},
		{"additive", "DestructiveHint", false},
		{"idempotent", "IdempotentHint", true},
		{"open-world", "OpenWorldHint", true},
		{"closed-world", "OpenWorldHint", false},
	}
}

func allowed(kind Kind) []string {
	switch kind {
	case Tool:
		return []string{"hints", "ignore", "name", "scopes", "title"}
	case Resource:
		return []string{"ignore", "mime", "name", "title", "uri"}
	case Prompt:
		return []string{"ignore", "name", "title"}
	case Query:
		return []string{"ignore", "internal", "name", "scopes", "title"}
	case Command:
		return []string{"hints", "ignore", "internal", "name", "scopes", "title", "version"}
	case Worker:
		return []string{"from", "ignore", "name"}
	}
	return []string{"ignore", "name"}
}

func (f *finder) direct(c *Component, found []directive) {
	seen := map[string]bool{}
	for _, d := range found {
		switch {
		case !slices.Contains(allowed(c.Kind), d.name):
			f.problem(d.pos, "//petrock:%s means nothing on a %s; it may have %s", d.name, c.Kind, strings.Join(allowed(c.Kind), ", "))
			continue
		case seen[d.name]:
			f.problem(d.pos, "//petrock:%s stands there twice; leave one", d.name)
		case d.name == "internal" && d.text != "":
			f.problem(d.pos, "//petrock:internal stands alone, and is followed by %q; leave that out", d.text)
		case d.text == "" && d.name != "ignore" && d.name != "internal":
			f.problem(d.pos, "//petrock:%s wants something after it", d.name)
		}
		seen[d.name] = true
		switch d.name {
		case "name":
			c.Name = d.text
		case "title":
			c.Title = d.text
		case "uri":
			c.URI = d.text
		case "mime":
			c.MIMEType = d.text
		case "hints":
			f.hint(c, d)
		case "scopes":
			f.scopes(c, d)
		case "from":
			c.fromStart = d.text == "start"
			if d.text != "start" && d.text != "" {
				f.problem(d.pos, "%q is nothing that a worker begins with; write //petrock:from start, so that it follows the log from its first event, or leave it out, and it follows what comes after it was first started", d.text)
			}
		case "internal":
			c.Internal = true
		case "version":
			f.version(c, d)
		}
	}
	if c.Internal && len(c.scopes) > 0 {
		f.problem(found[slices.IndexFunc(found, func(d directive) bool { return d.name == "scopes" })].pos, "clients do not see a %s with //petrock:internal, so nobody is asked for scopes; leave one of the two directives out", c.Kind)
	}
}

func (f *finder) hint(c *Component, d directive) {
	var words []string
	for _, h := range hints() {
		words = append(words, h.word)
	}
	for word := range strings.FieldsSeq(d.text) {
		at := slices.Index(words, word)
		if at < 0 {
			f.problem(d.pos, "%q is no hint; the hints are %s", word, strings.Join(words, ", "))
			continue
		}
		h := hints()[at]
		if c.Kind == Command && (h.field == "ReadOnlyHint" || h.field == "OpenWorldHint") {
			f.problem(d.pos, "%q is no hint for a command, which changes the state and nothing else; it may have destructive or additive, and idempotent", word)
			continue
		}
		if slices.ContainsFunc(c.hints, func(other hint) bool { return other.field == h.field }) {
			f.problem(d.pos, "%q contradicts or repeats a hint before it", word)
			continue
		}
		c.hints = append(c.hints, h)
	}
	slices.SortFunc(c.hints, func(a, b hint) int { return slices.Index(words, a.word) - slices.Index(words, b.word) })
}

func (f *finder) components(files []*typecheck.File) {
	for _, file := range files {
		if file.Syntax.Name.Name != f.pkg.Name() {
			continue // a program in the same folder, which a build constraint excludes
		}
		components, problems := len(f.found.Components), len(f.found.Problems)
		for _, decl := range file.Syntax.Decls {
			f.declares(file, decl)
		}
		if len(f.found.Problems) == problems {
			f.lostScopes(file, f.found.Components[components:])
		}
	}
	if f.place.Kind == Feature {
		f.feature()
	}
}

func (f *finder) declares(file *typecheck.File, decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if f.place.Kind != Feature {
			f.function(file, decl)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok && f.place.Kind == Feature {
				f.part(file, spec)
			}
		}
	}
}

// Schema is the JSON Schema that a type of a view would have in a place, as what a component takes
// or, for an output, returns. It is nil for a result that decides for itself. The error
// says why there is none, where that is, and the way out.
func (p Project) Schema(view *typecheck.View, place Place, t types.Type, output bool) (json.RawMessage, error) {
	f := p.finder(view, place)
	f.pkg = types.NewPackage(p.Checker.ImportPath(place.Dir), path.Base(place.Dir))
	if output && f.isOneOf(t, "ToolResult", "*ToolResult") {
		return nil, nil
	}
	s := &schemer{finder: f, output: output}
	text, ok := s.root(t)
	if !ok {
		wrong := f.found.Problems[0]
		wrong.Package = "" // it is not that which is wrong
		return nil, errors.New(wrong.String())
	}
	return json.RawMessage(text), nil
}

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

// completerShape is what a function that completes takes and returns.
const completerShape = "(ctx context.Context, argument, prefix string, known map[string]string) ([]string, error)"

func isCompleter(s *types.Signature) bool {
	text := types.Typ[types.String]
	is := func(want types.Type) func(types.Type) bool {
		return func(t types.Type) bool { return types.Identical(t, want) }
	}
	type list = []func(types.Type) bool
	return s.TypeParams() == nil && takesAndGives(s, list{IsContext, is(text), is(text), is(types.NewMap(text, text))}, list{is(types.NewSlice(text)), IsError})
}

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
