package mcp

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A uriTemplate matches URIs against a template. It supports the part of RFC 6570 that can be
// matched unambiguously:
//
//	{name}       one or more characters other than / ? #, unless they are escaped
//	{+name}      one or more characters of any kind
//	{?a,b}       at the end: optional query parameters
type uriTemplate struct {
	path  *regexp.Regexp
	names []string // of the variables in the path
	query []string // of the variables in the query
}

// templateSyntax matches a whole template; its groups are the path and the names in the query.
// templateVariable matches a variable of the path; its groups are the + and the name.
var (
	templateSyntax   = regexp.MustCompile(`^((?:[^{}]|\{\+?\w+\})*)(?:\{\?(\w+(?:,\w+)*)\})?$`)
	templateVariable = regexp.MustCompile(`\{(\+?)(\w+)\}`)
)

// parseURITemplate parses a template. It must have a variable, and no two with the same name. The
// template becomes a regular expression, which Go matches in linear time.
func parseURITemplate(text string) (*uriTemplate, error) {
	parts := templateSyntax.FindStringSubmatch(text)
	if parts == nil {
		return nil, fmt.Errorf("URI template %q: variables must have the form {name}, {+name} or, at the end, {?a,b}", text)
	}
	t, path := &uriTemplate{}, parts[1]
	literals := templateVariable.Split(path, -1)
	pattern := "(?s)^" + regexp.QuoteMeta(literals[0])
	for i, variable := range templateVariable.FindAllStringSubmatch(path, -1) {
		group := `([^/?#]+)`
		if variable[1] == "+" {
			group = `(.+)`
		}
		pattern += group + regexp.QuoteMeta(literals[i+1])
		t.names = append(t.names, variable[2])
	}
	if parts[2] != "" {
		t.query = strings.Split(parts[2], ",")
	}
	sorted := slices.Sorted(slices.Values(t.variables()))
	switch {
	case len(sorted) == 0:
		return nil, fmt.Errorf("URI template %q: has no variable such as {id}; add it as a resource instead", text)
	case len(slices.Compact(sorted)) < len(t.variables()):
		return nil, fmt.Errorf("URI template %q: a variable is used twice", text)
	case len(t.query) > 0 && strings.Contains(path, "?"):
		return nil, fmt.Errorf("URI template %q: a query must consist of {?a,b} alone", text)
	}
	var err error
	if t.path, err = regexp.Compile(pattern + "$"); err != nil {
		return nil, fmt.Errorf("URI template %q: %w", text, err)
	}
	return t, nil
}

// variables returns the names of all variables, in order.
func (t *uriTemplate) variables() []string { return slices.Concat(t.names, t.query) }

// match reports whether uri matches, and returns the values of the variables, percent-decoded. The
// map omits missing query parameters.
func (t *uriTemplate) match(uri string) (map[string]string, bool) {
	path, query := uri, ""
	if len(t.query) > 0 {
		path, query, _ = strings.Cut(uri, "?")
	}
	groups := t.path.FindStringSubmatch(path)
	if groups == nil {
		return nil, false
	}
	values := make(map[string]string)
	for i, name := range t.names {
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
	for _, name := range t.query {
		if parameters.Has(name) {
			values[name] = parameters.Get(name)
		}
	}
	return values, true
}
