// Package uritemplate parses, matches and expands the URI templates of resources. The server and
// the generators share it, so that every template that a generator accepts can be served.
package uritemplate

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A Template matches and expands URIs. It supports the part of RFC 6570 that can be matched
// unambiguously:
//
//	{name}       one or more characters other than / ? #, unless they are escaped
//	{+name}      one or more characters of any kind
//	{?a,b}       at the end: optional query parameters
//
// A template may have no variables; it is then the URI itself.
type Template struct {
	Required []string // names of the variables in the path, in order
	Optional []string // names of the variables in the query, in order

	text   string
	path   string         // text without {?a,b}
	weight int            // see MoreSpecific
	uri    *regexp.Regexp // matches the path of a URI; its groups are Required
}

// syntax matches a whole template; its groups are the path and the names in the query. variable
// matches a variable of the path; its groups are the + and the name.
var (
	syntax   = regexp.MustCompile(`^((?:[^{}]|\{\+?\w+\})*)(?:\{\?(\w+(?:,\w+)*)\})?$`)
	variable = regexp.MustCompile(`\{(\+?)(\w+)\}`)
)

// Parse parses a template. No two variables may have the same name. The template becomes a regular
// expression, which Go matches in linear time.
func Parse(text string) (*Template, error) {
	parts := syntax.FindStringSubmatch(text)
	if parts == nil {
		return nil, fmt.Errorf("URI template %q: variables must have the form {name}, {+name} or, at the end, {?a,b}", text)
	}
	t := &Template{text: text, path: parts[1]}
	literals := variable.Split(t.path, -1)
	t.weight = 2 * len(strings.Join(literals, ""))
	pattern := "(?s)^" + regexp.QuoteMeta(literals[0])
	for i, found := range variable.FindAllStringSubmatch(t.path, -1) {
		group := `([^/?#]+)`
		if found[1] == "+" {
			group = `(.+)`
			t.weight--
		}
		pattern += group + regexp.QuoteMeta(literals[i+1])
		t.Required = append(t.Required, found[2])
	}
	if parts[2] != "" {
		t.Optional = strings.Split(parts[2], ",")
	}
	sorted := slices.Sorted(slices.Values(t.Variables()))
	switch {
	case len(slices.Compact(sorted)) < len(t.Variables()):
		return nil, fmt.Errorf("URI template %q: a variable is used twice", text)
	case len(t.Optional) > 0 && strings.Contains(t.path, "?"):
		return nil, fmt.Errorf("URI template %q: a query must consist of {?a,b} alone", text)
	}
	var err error
	if t.uri, err = regexp.Compile(pattern + "$"); err != nil {
		return nil, fmt.Errorf("URI template %q: %w", text, err)
	}
	return t, nil
}

// String returns the template.
func (t *Template) String() string { return t.text }

// Variables returns the names of all variables, in order.
func (t *Template) Variables() []string { return slices.Concat(t.Required, t.Optional) }

// Match reports whether uri matches, and returns the values of the variables, percent-decoded. The
// map omits missing query parameters.
func (t *Template) Match(uri string) (map[string]string, bool) {
	path, query := uri, ""
	if len(t.Optional) > 0 {
		path, query, _ = strings.Cut(uri, "?")
	}
	groups := t.uri.FindStringSubmatch(path)
	if groups == nil {
		return nil, false
	}
	values := make(map[string]string)
	for i, name := range t.Required {
		value, err := url.PathUnescape(groups[i+1])
		if err != nil {
			return nil, false
		}
		values[name] = value
	}
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return nil, false
	}
	for _, name := range t.Optional {
		if parameters.Has(name) {
			values[name] = parameters.Get(name)
		}
	}
	return values, true
}

// MoreSpecific reports whether t has more literal text than other in its path, or as much and fewer
// variables {+name}.
func (t *Template) MoreSpecific(other *Template) bool { return t.weight > other.weight }

// Expand returns the URI for the values of the variables. It fails if one of the path has none.
func (t *Template) Expand(values map[string]string) (string, error) {
	var missing, pairs []string
	expanded := variable.ReplaceAllStringFunc(t.path, func(expression string) string {
		name, isReserved := strings.CutPrefix(strings.Trim(expression, "{}"), "+")
		value, given := values[name]
		if !given {
			missing = append(missing, name)
		}
		if value = url.PathEscape(value); isReserved {
			value = strings.ReplaceAll(value, "%2F", "/")
		}
		return value
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("URI template %q: no value for %s", t.text, strings.Join(missing, ", "))
	}
	for _, name := range t.Optional {
		if value, given := values[name]; given {
			pairs = append(pairs, name+"="+url.QueryEscape(value))
		}
	}
	if len(pairs) > 0 {
		expanded += "?" + strings.Join(pairs, "&")
	}
	return expanded, nil
}
