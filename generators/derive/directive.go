package derive

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

func (f *finder) applyDirectives(c *Component, found []directive) {
	texts := map[string]*string{"name": &c.Name, "title": &c.Title, "uri": &c.URI, "mime": &c.MIMEType}
	flags := map[string]*bool{"internal": &c.Internal, "retired": &c.Retired}
	seen := map[string]bool{}
	for _, d := range found {
		text, flag := texts[d.name], flags[d.name]
		switch {
		case !slices.Contains(allowedDirectives(c.Kind), d.name):
			f.problem(d.pos, "//petrock:%s is not allowed on a %s; the allowed directives are %s", d.name, c.Kind, strings.Join(allowedDirectives(c.Kind), ", "))
			continue
		case seen[d.name]:
			f.problem(d.pos, duplicateDirective, d.name)
		case flag != nil && d.text != "":
			f.problem(d.pos, "//petrock:%s takes no value; remove %q", d.name, d.text)
		case d.text == "" && d.name != "ignore" && flag == nil:
			f.problem(d.pos, "//petrock:%s needs a value", d.name)
		}
		seen[d.name] = true
		if text != nil {
			*text = d.text
		}
		if flag != nil {
			*flag = true
		}
		switch d.name {
		case "hints":
			f.addHints(c, d)
		case "scopes":
			f.addScopes(c, d)
		case "from":
			c.fromStart = d.text == "start"
			if d.text != "start" && d.text != "" {
				f.problem(d.pos, "//petrock:from %s is invalid; write //petrock:from start to follow the event log from its first event, or remove it to follow new events only", d.text)
			}
		case "makes":
			f.setMakes(c, d)
		case "version":
			c.version = f.parseVersion(d, "(default 1), and increase it when the fields of the command change")
		case "writes":
			c.writes = f.parseVersion(d, "below the version of the command, or remove the directive to write the current version")
		case "event":
			c.EventType = d.text
			if !isWireName(d.text) {
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

const duplicateDirective = "duplicate //petrock:%s; remove one"

func (f *finder) parseVersion(d directive, remedy string) int {
	version, err := strconv.Atoi(d.text)
	if err != nil || version < 1 {
		f.problem(d.pos, "%q is not a version; write an integer above 0 %s", d.text, remedy)
	}
	return version
}

func (f *finder) addHints(c *Component, d directive) {
	a := &mcp.ToolAnnotations{}
	c.annotations = a
	hints := map[string]**bool{
		"read-only": &a.ReadOnlyHint, "destructive": &a.DestructiveHint, "additive": &a.DestructiveHint,
		"idempotent": &a.IdempotentHint, "open-world": &a.OpenWorldHint, "closed-world": &a.OpenWorldHint,
	}
	for word := range strings.FieldsSeq(d.text) {
		switch hint := hints[word]; {
		case hint == nil:
			f.problem(d.pos, "%q is not a hint; the hints are read-only, destructive, additive, idempotent, open-world and closed-world", word)
		case c.Kind == Command && (hint == &a.ReadOnlyHint || hint == &a.OpenWorldHint):
			f.problem(d.pos, "%q is not a hint for a command, which only changes state; use destructive or additive, and idempotent", word)
		case *hint != nil:
			f.problem(d.pos, "%q contradicts another hint", word)
		default:
			*hint = new(word != "additive" && word != "closed-world")
		}
	}
}

func (f *finder) addScopes(c *Component, d directive) {
	for word := range strings.FieldsSeq(d.text) {
		switch {
		case strings.Contains(word, ","):
			f.problem(d.pos, "%q is not a scope; separate scopes with spaces, not commas", word)
		case !auth.IsScope(word):
			f.problem(d.pos, "%q is not a scope; use printable ASCII without quotes and backslashes", word)
		case slices.Contains(c.scopes, word):
			f.problem(d.pos, "duplicate scope %q; remove one", word)
		default:
			c.scopes = append(c.scopes, word)
		}
	}
	f.scoped[d.pos] = true
}

// checkIgnored warns of directives and struct tags that are ignored because of a typing error. It
// refuses scope directives that apply to no component, since the user would think that the
// component is protected, unless other problems are the cause. It ignores function bodies, and
// directives that cause a problem.
func (f *finder) checkIgnored(file *typecheck.File, hasProblems bool) {
	warn := func(pos token.Pos, format string, args ...any) {
		d := f.diagnostic(pos, format, args...)
		if !slices.ContainsFunc(f.found.Problems, func(p typecheck.Diagnostic) bool { return p.File == d.File && p.Line == d.Line }) {
			f.found.Warnings = append(f.found.Warnings, d)
		}
	}
	known := strings.Fields("completes every map pure schema")
	for _, kind := range append(FeaturePlace("").Kinds(), Tool, Resource, Prompt, Generator) {
		known = append(known, allowedDirectives(kind)...)
	}
	for _, group := range file.Syntax.Comments {
		for _, comment := range group.List {
			parts := nearlyDirective.FindStringSubmatch(comment.Text)
			if parts == nil || declaration[*ast.BlockStmt](f, comment.Pos()) != nil {
				continue
			}
			switch name := strings.ToLower(parts[1]); {
			case (name == "scopes" || name == "scope") && !hasProblems && !f.scoped[comment.Pos()]:
				f.problem(comment.Pos(), "%q has no effect here; write //petrock:scopes, without spaces, in the doc comment of the function of a tool, resource or prompt, or of the type of a command or query", strings.TrimSpace(comment.Text))
			case !slices.Contains(known, name):
				warn(comment.Pos(), "//petrock:%s is not a directive, so it is ignored; remove it, or see generators/docs/directives.md%s", parts[1], terminal.Suggest(parts[1], known))
			case !strings.HasPrefix(comment.Text, directivePrefix+name):
				warn(comment.Pos(), "%q is ignored; write it without spaces, in lower case: //petrock:%s", strings.TrimSpace(comment.Text), name)
			}
		}
	}
	ast.Inspect(file.Syntax, func(node ast.Node) bool {
		if field, ok := node.(*ast.Field); ok && field.Tag != nil {
			for _, key := range tagKey.FindAllStringSubmatch(field.Tag.Value, -1) {
				if lower := strings.ToLower(key[1]); key[1] != lower {
					warn(field.Tag.Pos(), "the struct tag %s: is ignored; write it in lower case: %s:", key[1], lower)
				}
			}
		}
		return true
	})
}

var (
	nearlyDirective = regexp.MustCompile(`(?i)^//\s*petrock:\s*([a-z]+)`)
	tagKey          = regexp.MustCompile("(?i)[` ](json|schema):\"")
)

// setMakes sets the files of the components that a generator creates.
func (f *finder) setMakes(c *Component, d directive) {
	c.Makes = strings.Fields(d.text)
	for _, pattern := range c.Makes {
		if err := gen.CheckPattern(pattern); err != nil {
			f.problem(d.pos, "//petrock:makes: %v", err)
		} else if place, ok := PlaceAt(path.Dir(pattern)); ok && place.Kind == Generator {
			f.problem(d.pos, "//petrock:makes %s: %s has generators; choose another folder", pattern, place.Dir)
		}
	}
}

// A directive is a line of a doc comment that starts with //petrock:.
type directive struct {
	pos        token.Pos
	name, text string
}

const directivePrefix = "//petrock:"

func directives(groups ...*ast.CommentGroup) (found []directive) {
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

// ignores reports whether the comment of a function, method or constant has //petrock:ignore.
func (f *finder) ignores(object types.Object) bool {
	if decl := declaration[*ast.FuncDecl](f, object.Pos()); decl != nil {
		return isIgnored(decl.Doc)
	}
	spec := declaration[*ast.ValueSpec](f, object.Pos())
	return spec != nil && isIgnored(spec.Doc, spec.Comment)
}
