package derive

import (
	"fmt"
	"go/ast"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Kind is a kind of component.
type Kind string

// The kinds.
const (
	Tool      Kind = "tool"
	Resource  Kind = "resource"
	Prompt    Kind = "prompt"
	Generator Kind = "generator"
	Feature   Kind = "feature"
	Command   Kind = "command"
	Query     Kind = "query"
	Worker    Kind = "worker"
)

// IsTool reports whether clients see components of the kind as tools, unless they are internal.
func (k Kind) IsTool() bool { return k == Tool || k == Command || k == Query }

// Features is the folder below which each folder with Go in it is a feature.
const Features = "features"

// OwnGenerators is the folder of the generators that a project adds to petrock's.
const OwnGenerators = "internal/generators"

// A Place is a folder whose package holds components.
type Place struct {
	Dir   string // from the project's root
	Kind  Kind   // of its components; Feature if they are of several kinds
	Wired bool   // the program that ships offers what is there
}

// Places are the folders in which a project has components: those that every project may have, and its features.
func Places(view *typecheck.View) []Place {
	places := fixed()
	for _, dir := range view.Dirs() {
		if path.Dir(dir) == Features {
			places = append(places, FeatureIn(dir))
		}
	}
	slices.SortFunc(places, func(a, b Place) int { return strings.Compare(a.Dir, b.Dir) })
	return places
}

// FeatureIn is the place of a feature.
func FeatureIn(dir string) Place { return Place{dir, Feature, true} }

func fixed() []Place {
	return []Place{
		{OwnGenerators, Generator, false},
		{"prompts", Prompt, true},
		{"resources", Resource, true},
		{"tools", Tool, true},
	}
}

// Kinds are the kinds of components that may be in the place.
func (p Place) Kinds() []Kind {
	if p.Kind == Feature {
		return []Kind{Command, Feature, Query, Worker}
	}
	return []Kind{p.Kind}
}

// HasTools reports whether the program that ships offers tools from the place.
func (p Place) HasTools() bool { return p.Wired && (p.Kind == Tool || p.Kind == Feature) }

// PlaceOf is the folder to which a project adds components of a kind, for those that have but one.
func PlaceOf(kind Kind) (Place, bool) {
	for _, place := range fixed() {
		if place.Kind == kind && (place.Wired || kind == Generator) {
			return place, true
		}
	}
	return Place{}, false
}

// offer is the name of the derived function that has all components of the place.
func (p Place) offer() string {
	switch p.Kind {
	case Generator:
		return "All"
	case Feature:
		return "Feature"
	}
	return "Register"
}

// receiver is the name of the type whose methods are components, beside functions.
func (p Place) receiver() string {
	switch p.Kind {
	case Tool:
		return "Tools"
	case Resource:
		return "Resources"
	case Prompt:
		return "Prompts"
	}
	return ""
}

// Clashes refuses packages that have a tool of a name that one of the others has too, or one of those before them. Of
// those from which nothing can be derived nothing is known.
func Clashes(packages, others []*Package) {
	known := map[string]Component{}
	for _, pkg := range others {
		for _, c := range pkg.tools() {
			known[c.Name] = c
		}
	}
	for _, pkg := range packages {
		for _, c := range pkg.tools() {
			if other, taken := known[c.Name]; taken {
				pkg.Problems = append(pkg.Problems, typecheck.Diagnostic{File: c.File, Line: c.Line, Message: fmt.Sprintf("%s has the name %s, and so has %s in %s; give one of them another with a directive: //petrock:name", c.Func, c.Name, other.Func, other.File)})
			}
			known[c.Name] = c
		}
	}
}

// tools are what the program that ships offers of a package as tools.
func (p *Package) tools() []Component {
	var tools []Component
	for _, c := range p.Components {
		if len(p.Problems) == 0 && p.Wired && c.IsTool() {
			tools = append(tools, c)
		}
	}
	return tools
}

// EventTypes returns the event types of the commands of a feature, such as posts/create, by its
// derived file, which may be nil.
func EventTypes(derived *typecheck.File) []string { return registeredWith(derived, "CommandOf") }

// Workers are the workers of a feature, such as posts/digest, by its derived file, which may be nil.
func Workers(derived *typecheck.File) []string { return registeredWith(derived, "WorkerOf") }

// registeredWith returns the names of what a derived file makes of a feature with a function of core.
func registeredWith(derived *typecheck.File, function string) []string {
	if derived == nil || path.Dir(derived.Dir()) != Features || !derived.IsDerived() {
		return nil
	}
	var names []string
	ast.Inspect(derived.Syntax, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		called := call.Fun
		if index, ok := called.(*ast.IndexExpr); ok {
			called = index.X
		}
		selector, ok := called.(*ast.SelectorExpr)
		name, isText := call.Args[0].(*ast.BasicLit)
		if !ok || !isText || selector.Sel.Name != function {
			return true
		}
		if text, err := strconv.Unquote(name.Value); err == nil {
			names = append(names, path.Base(derived.Dir())+"/"+text)
		}
		return true
	})
	return names
}

// Variables are the names of the variables in the address of a resource, in their order.
func Variables(uri string) ([]string, error) {
	plain := regexp.MustCompile(`\{[^{}]*\}`).ReplaceAllString(uri, "x")
	parsed, err := url.Parse(plain)
	switch {
	case err != nil || strings.ContainsAny(plain, "{} \t\n\"<>\\^`|") || !isPrintable(uri):
		return nil, fmt.Errorf("%q is no address; write one such as note://{id}", uri)
	case parsed.Scheme == "":
		return nil, fmt.Errorf("the address %q has no scheme; write one such as note://{id}", uri)
	}
	var names []string
	for _, found := range regexp.MustCompile(`\{([^{}]*)\}`).FindAllStringSubmatchIndex(uri, -1) {
		expression := uri[found[2]:found[3]]
		list, query := strings.CutPrefix(expression, "?")
		if query && found[1] != len(uri) {
			return nil, fmt.Errorf("in the address %q, {%s} has to stand at the end", uri, expression)
		}
		parts := []string{strings.TrimPrefix(list, "+")}
		if query {
			parts = strings.Split(list, ",")
		}
		for _, name := range parts {
			switch {
			case !regexp.MustCompile(`^[A-Za-z0-9_]+$`).MatchString(name):
				return nil, fmt.Errorf("in the address %q, {%s} is not understood; use {name}, {+name} or, at the end, {?a,b}", uri, expression)
			case slices.Contains(names, name):
				return nil, fmt.Errorf("in the address %q, the variable %s stands twice", uri, name)
			}
			names = append(names, name)
		}
	}
	return names, nil
}

func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// Expand is the address that a template stands for, with values for its variables. Those of its
// query may be missing.
func Expand(uri string, values map[string]string) (string, error) {
	var missing []string
	address := regexp.MustCompile(`\{([^{}]*)\}`).ReplaceAllStringFunc(uri, func(expression string) string {
		expression = strings.Trim(expression, "{}")
		if list, ok := strings.CutPrefix(expression, "?"); ok {
			var pairs []string
			for name := range strings.SplitSeq(list, ",") {
				if value, given := values[name]; given {
					pairs = append(pairs, name+"="+escape(value, ""))
				}
			}
			if len(pairs) == 0 {
				return ""
			}
			return "?" + strings.Join(pairs, "&")
		}
		name, reserved := strings.CutPrefix(expression, "+")
		value, given := values[name]
		if !given {
			missing = append(missing, name)
		}
		if reserved {
			return escape(value, ":/?#[]@!$&'()*+,;=")
		}
		return escape(value, "")
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("the address %s needs %s", uri, strings.Join(missing, ", "))
	}
	return address, nil
}

// escape writes a value as it stands in an address: letters, digits and a few more characters as
// they are, and others only if they are allowed.
func escape(value, allowed string) string {
	var out strings.Builder
	for i := range len(value) {
		switch c := value[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~"+allowed, c) >= 0:
			out.WriteByte(c)
		default:
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

func (f *finder) scopes(c *Component, d directive) {
	for word := range strings.FieldsSeq(d.text) {
		switch {
		case strings.Contains(word, ","):
			f.problem(d.pos, "%q is no scope; those of //petrock:scopes have spaces between them, and no commas", word)
		case !auth.IsScope(word):
			f.problem(d.pos, "%q is no scope; printable characters of ASCII make one, but for quotes and backslashes", word)
		case slices.Contains(c.scopes, word):
			f.problem(d.pos, "the scope %q stands there twice; leave one", word)
		default:
			c.scopes = append(c.scopes, word)
		}
	}
}

// lostScopes finds directives for scopes that no component of a file has: what somebody thinks to be closed would be open. The bodies of
// functions are not looked at.
func (f *finder) lostScopes(file *typecheck.File, components []Component) {
	nearly := regexp.MustCompile(`(?i)^//\s*petrock:\s*scopes?\b`)
	var bodies []*ast.BlockStmt
	var docs []*ast.CommentGroup
	for _, group := range file.Syntax.Comments {
		for _, comment := range group.List {
			if !nearly.MatchString(comment.Text) {
				continue
			}
			if docs == nil {
				docs, bodies = f.documented(file, components)
			}
			switch inside := func(b *ast.BlockStmt) bool { return b.Pos() < comment.Pos() && comment.Pos() < b.End() }; {
			case slices.ContainsFunc(bodies, inside):
			case !strings.HasPrefix(comment.Text, directivePrefix+"scopes"):
				f.problem(comment.Pos(), "%q is no directive, and asks nobody for scopes; write //petrock:scopes, with nothing between", strings.TrimSpace(comment.Text))
			case !slices.Contains(docs, group):
				f.problem(comment.Pos(), "//petrock:scopes asks nobody for scopes here; it stands in the doc comment of a tool's function, or of the type that is a command or query")
			}
		}
	}
}

// documented are the doc comments of a file's components, and the bodies of all its functions.
func (f *finder) documented(file *typecheck.File, components []Component) (docs []*ast.CommentGroup, bodies []*ast.BlockStmt) {
	is := func(name *ast.Ident) bool {
		line := f.fset.PositionFor(name.Pos(), false).Line
		return slices.ContainsFunc(components, func(c Component) bool { return c.Line == line })
	}
	for _, decl := range file.Syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Body != nil {
				bodies = append(bodies, decl.Body)
			}
			if is(decl.Name) {
				docs = append(docs, decl.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok && is(spec.Name) {
					docs = append(docs, f.typeDocs(spec.Name.Pos())...)
				}
			}
		}
	}
	return docs, bodies
}
