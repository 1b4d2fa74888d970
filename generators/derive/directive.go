package derive

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// A directive is a line of a doc comment that is for petrock.
type directive struct {
	pos        token.Pos
	name, text string
}

const directivePrefix = "//petrock:"

// directives are those of doc comments.
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

// ignored reports whether a comment says that something is not a component.
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

// allowed are the directives that a component of a kind may have.
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

// direct takes the directives of a component in.
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
				f.problem(d.pos, "%q is nothing that a worker begins with; write //petrock:from start, so that it follows the log from its first entry, or leave it out, and it follows what comes after it was first started", d.text)
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
