package derive

import (
	"cmp"
	"encoding/json"
	"errors"
	"go/ast"
	"go/doc/comment"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// isNoun matches the verb that [gen.DocSentence] adds to a description that starts with an article.
var isNoun = regexp.MustCompile(`^is ((a|an|the|all|every|each|one) )`)

// describe returns a doc comment as a description, without the leading name and "is".
func describe(doc *ast.CommentGroup, name string) string {
	text := commentText(doc)
	if rest, ok := strings.CutPrefix(text, name+" "); ok {
		text = gen.Capitalize(isNoun.ReplaceAllString(rest, "$1"))
	}
	return text
}

// commentText returns the text of a comment. It joins the lines of each paragraph.
func commentText(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	printer := comment.Printer{TextWidth: -1} // without line breaks
	return strings.TrimSpace(string(printer.Text(new(comment.Parser).Parse(doc.Text()))))
}

// FieldText returns the description of a field: its doc comment, else its line comment.
func FieldText(field *ast.Field) string {
	if field == nil {
		return ""
	}
	return cmp.Or(commentText(field.Doc), commentText(field.Comment))
}

// A directive is a line of a doc comment that starts with //petrock:.
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
		for _, line := range group.List {
			if rest, ok := strings.CutPrefix(line.Text, directivePrefix); ok {
				name, text, _ := strings.Cut(rest, " ")
				found = append(found, directive{line.Pos(), strings.TrimSpace(name), strings.TrimSpace(text)})
			}
		}
	}
	return found
}

// findDirective returns the first directive with a name.
func findDirective(name string, groups ...*ast.CommentGroup) (d directive, ok bool) {
	found := directives(groups...)
	at := slices.IndexFunc(found, func(d directive) bool { return d.name == name })
	if at < 0 {
		return directive{}, false
	}
	return found[at], true
}

func isIgnored(groups ...*ast.CommentGroup) bool {
	_, ok := findDirective("ignore", groups...)
	return ok
}

func allowedDirectives(kind Kind) []string {
	return strings.Fields(map[Kind]string{
		Tool:      "alias hints ignore name scopes title",
		Resource:  "ignore mime name scopes title uri",
		Prompt:    "ignore name scopes title",
		Query:     "alias ignore internal name scopes title",
		Command:   "alias event hints ignore internal name retired scopes title version writes",
		Worker:    "from ignore name",
		Generator: "ignore makes name",
	}[kind])
}

func (f *finder) applyDirectives(c *Component, found []directive) {
	seen := map[string]bool{}
	for _, d := range found {
		switch {
		case !slices.Contains(allowedDirectives(c.Kind), d.name):
			f.problem(d.pos, "//petrock:%s is not allowed on a %s; the allowed directives are %s", d.name, c.Kind, strings.Join(allowedDirectives(c.Kind), ", "))
			continue
		case seen[d.name]:
			f.problem(d.pos, duplicateDirective, d.name)
		case (d.name == "internal" || d.name == "retired") && d.text != "":
			f.problem(d.pos, "//petrock:%s takes no value; remove %q", d.name, d.text)
		case d.text == "" && d.name != "ignore" && d.name != "internal" && d.name != "retired":
			f.problem(d.pos, "//petrock:%s needs a value", d.name)
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
			f.addHints(c, d)
		case "scopes":
			f.addScopes(c, d)
		case "from":
			c.fromStart = d.text == "start"
			if d.text != "start" && d.text != "" {
				f.problem(d.pos, "//petrock:from %s is invalid; write //petrock:from start to follow the event log from its first event, or remove it to follow new events only", d.text)
			}
		case "internal":
			c.Internal = true
		case "retired":
			c.Retired = true
		case "makes":
			f.setMakes(c, d)
		case "version":
			c.version = f.parseVersion(d, "(default 1), and increase it when the fields of the command change")
		case "writes":
			c.writes = f.parseVersion(d, "below the version of the command, or remove the directive to write the current version")
		case "event":
			c.EventType = d.text
			if name, err := gen.ParseName(d.text); err != nil || name.Wire() != d.text {
				f.problem(d.pos, "//petrock:event %s is invalid; write the name of the command in the event log, such as create", d.text)
			}
		case "alias":
			for word := range strings.FieldsSeq(d.text) {
				if err := gen.CheckWireName(word, f.Name); err != nil {
					f.problem(d.pos, "%v", err)
				}
				c.Aliases = append(c.Aliases, word)
			}
		}
	}
	for _, d := range found {
		switch {
		case c.Retired && slices.Contains([]string{"alias", "hints", "internal", "scopes", "writes"}, d.name):
			f.problem(d.pos, "//petrock:%s has no effect on a command with //petrock:retired, which is not a tool and cannot be executed; remove it", d.name)
		case c.Internal && d.name == "scopes":
			f.problem(d.pos, "//petrock:scopes has no effect on a %s with //petrock:internal; remove one of the two directives", c.Kind)
		}
	}
}

func (f *finder) parseVersion(d directive, remedy string) int {
	version, err := strconv.Atoi(d.text)
	if err != nil || version < 1 {
		f.problem(d.pos, "%q is not a version; write an integer above 0 %s", d.text, remedy)
	}
	return version
}

const duplicateDirective = "duplicate //petrock:%s; remove one"

func (f *finder) addHints(c *Component, d directive) {
	c.annotations = &mcp.ToolAnnotations{}
	for word := range strings.FieldsSeq(d.text) {
		var hint **bool
		switch word {
		case "read-only":
			hint = &c.annotations.ReadOnlyHint
		case "destructive", "additive":
			hint = &c.annotations.DestructiveHint
		case "idempotent":
			hint = &c.annotations.IdempotentHint
		case "open-world", "closed-world":
			hint = &c.annotations.OpenWorldHint
		}
		switch {
		case hint == nil:
			f.problem(d.pos, "%q is not a hint; the hints are read-only, destructive, additive, idempotent, open-world and closed-world", word)
			continue
		case c.Kind == Command && (hint == &c.annotations.ReadOnlyHint || hint == &c.annotations.OpenWorldHint):
			f.problem(d.pos, "%q is not a hint for a command, which only changes state; use destructive or additive, and idempotent", word)
		case *hint != nil:
			f.problem(d.pos, "%q contradicts another hint", word)
		}
		*hint = new(word != "additive" && word != "closed-world")
	}
}

func (f *finder) findComponents(files []*typecheck.File) {
	for _, file := range files {
		if file.Syntax.Name.Name != f.pkg.Name() {
			continue // a program in the same folder, which a build constraint excludes
		}
		problems := len(f.found.Problems)
		for _, decl := range file.Syntax.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if f.place.Kind == Feature {
					f.visitMapper(file, decl)
				} else {
					f.visitFunc(file, decl)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok && f.place.Kind == Feature {
						f.visitType(file, spec)
					}
				}
			}
		}
		if len(f.found.Problems) == problems {
			f.checkScopeDirectives(file)
		}
	}
	if f.place.Kind == Feature {
		f.checkFeature()
	}
}

// Schema returns the JSON Schema of a type as the input or output of a component in a place. It
// returns nil for a type that is a complete tool result. The error has a position, but no remedy.
func (p Project) Schema(view *typecheck.View, place Place, t types.Type, output bool) (json.RawMessage, error) {
	f := p.newFinder(view, place)
	f.pkg = types.NewPackage(p.Checker.ImportPath(place.Dir), path.Base(place.Dir))
	if output && f.isOneOf(t, "mcp.ToolResult", "*mcp.ToolResult") {
		return nil, nil
	}
	s := &schemaBuilder{finder: f, output: output}
	text, ok := s.build(t)
	if !ok {
		wrong := f.found.Problems[0]
		wrong.Package = "" // the error may be in another package
		if s.wrong != nil {
			wrong.Message = s.wrong.Reason()
		}
		return nil, errors.New(wrong.String())
	}
	return json.RawMessage(text), nil
}

// A completer is a function that completes the arguments of a prompt or the variables of a URI.
type completer struct {
	function string // or Type.Method
	of       string // name of the prompt or resource
	pos      token.Pos
}

// visitCompleter checks a function with the directive completes and reports whether it has one. The
// function need not be exported.
//
//	//petrock:completes greet
//	func completeGreet(
//		ctx context.Context, argument, prefix string, known map[string]string,
//	) ([]string, error)
func (f *finder) visitCompleter(decl *ast.FuncDecl, receiver string) bool {
	d, ok := findDirective("completes", decl.Doc)
	if !ok || f.place.Kind != Prompt && f.place.Kind != Resource || isIgnored(decl.Doc) {
		return false
	}
	name := decl.Name.Name
	switch function := f.function(decl); {
	case len(directives(decl.Doc)) > 1:
		f.problem(d.pos, "%s has //petrock:completes, which allows no other directive; remove the others", name)
	case d.text == "":
		f.problem(d.pos, "//petrock:completes needs the name of a %s", f.place.Kind)
	case decl.Recv != nil && receiver != f.place.receiver():
		f.problem(decl.Name.Pos(), "%s is a method of %s; make it a function, or a method of %s", name, receiver, f.place.receiver())
	case function == nil || !f.hasSignature(function, f.pkg, completerSignature()):
		f.problem(decl.Name.Pos(), "%s does not have the signature of a completer, func %[1]s%s; change it, or remove //petrock:completes", name, completerSignature())
	default:
		c := completer{function: name, of: d.text, pos: d.pos}
		if receiver != "" {
			c.function = receiver + "." + name
		}
		f.found.completers = append(f.found.completers, c)
	}
	return true
}

func completerSignature() signature {
	return signature{"context.Context string string map[string]string", "[]string error"}
}

func (f *finder) linkCompleters() {
	for _, completer := range f.found.completers {
		at := slices.IndexFunc(f.found.Components, func(c Component) bool { return c.Name == completer.of })
		if at < 0 {
			f.problem(completer.pos, "%s completes %q, but the package has no such %s", completer.function, completer.of, f.place.Kind)
			continue
		}
		c := &f.found.Components[at]
		_, method := c.method()
		switch {
		case len(c.arguments) == 0:
			f.problem(completer.pos, "%s completes %s, which has no arguments", completer.function, c.Name)
		case c.completer != "":
			f.problem(completer.pos, "%s completes %s, which %s already completes; remove one", completer.function, c.Name, c.completer)
		case strings.Contains(completer.function, ".") && !method:
			f.problem(completer.pos, "%s is a method, but completes %s, which is a function; make both methods or both functions", completer.function, c.Name)
		default:
			c.completer = completer.function
		}
	}
}
