package derive

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

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
