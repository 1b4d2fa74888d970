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

// parseURITemplate parses a template. It must have a variable.
func parseURITemplate(text string) (*uriTemplate, error) {
	t := &uriTemplate{}
	var pattern strings.Builder
	pattern.WriteString("(?s)^")
	rest := text
	for {
		literal, tail, found := strings.Cut(rest, "{")
		if strings.Contains(literal, "}") {
			return nil, fmt.Errorf("URI template %q: } without {", text)
		}
		pattern.WriteString(regexp.QuoteMeta(literal))
		if !found {
			break
		}
		expression, after, closed := strings.Cut(tail, "}")
		if !closed {
			return nil, fmt.Errorf("URI template %q: { without }", text)
		}
		group, err := t.expression(expression, after == "")
		if err != nil {
			return nil, fmt.Errorf("URI template %q: %w", text, err)
		}
		pattern.WriteString(group)
		rest = after
	}
	pattern.WriteString("$")
	var err error
	if t.path, err = regexp.Compile(pattern.String()); err != nil {
		return nil, fmt.Errorf("URI template %q: %w", text, err)
	}
	if before, _, _ := strings.Cut(text, "{?"); len(t.query) > 0 && strings.Contains(before, "?") {
		return nil, fmt.Errorf("URI template %q: a query must consist of {?a,b} alone", text)
	}
	if len(t.names)+len(t.query) == 0 {
		return nil, fmt.Errorf("URI template %q: has no variable such as {id}; add it as a resource instead", text)
	}
	return t, nil
}

// expression parses the text between braces and returns its regular expression.
func (t *uriTemplate) expression(e string, last bool) (string, error) {
	names, to, group := []string{e}, &t.names, `([^/?#]+)`
	if list, ok := strings.CutPrefix(e, "?"); ok {
		if !last {
			return "", fmt.Errorf("{%s} must be at the end", e)
		}
		names, to, group = strings.Split(list, ","), &t.query, ""
	} else if name, ok := strings.CutPrefix(e, "+"); ok {
		names, group = []string{name}, `(.+)`
	}
	for _, name := range names {
		if slices.Contains(t.variables(), name) {
			return "", fmt.Errorf("{%s}: duplicate variable %s", e, name)
		}
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" || name == "" {
			return "", fmt.Errorf("{%s} is not supported; use {name}, {+name} or, at the end, {?a,b}", e)
		}
		*to = append(*to, name)
	}
	return group, nil
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
