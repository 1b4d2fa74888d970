package derive

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// header adds to the schema of a field the name of the HTTP header in which clients send it too, beside the
// arguments. What the protocol does not allow is a problem: clients would leave the whole tool out.
func (s *schemer) header(made schema, m member, l limits) schema {
	name := m.field.Name()
	kind := strings.Trim(made.get("type"), `"`)
	switch other, taken := s.headers[strings.ToLower(l.header)]; {
	case !s.plain:
		return s.fail("%s has a header, which only fields of the input and of structs in it have, and not those of what lists, maps or types that contain themselves hold", name)
	case strings.HasPrefix(kind, "[") || kind == "" && strings.Contains(made.get("anyOf"), `"null"`):
		return s.fail("%s has a header, and may be null; add omitempty to its tag json, or make it no pointer", name)
	case kind != "string" && kind != "integer" && kind != "boolean":
		return s.fail("%s has a header, which is for a string, an integer or a boolean, and not for %s", name, s.finder.name(m.field.Type()))
	case taken:
		return s.fail("%s has the header %s, and so has %s; small and capital letters are the same there", name, l.header, other)
	}
	for _, bound := range []string{made.get("minimum"), made.get("maximum")} {
		if number, ok := new(big.Rat).SetString(bound); ok && number.Abs(number).Cmp(big.NewRat(1<<53-1, 1)) > 0 {
			return s.fail("%s has a header, in which an integer is between -%d and %[2]d; limit it to that", name, int64(1<<53-1))
		}
	}
	s.headers[strings.ToLower(l.header)] = name
	return made.with("x-mcp-header", quote(l.header))
}

// checkHeader says what is wrong with the name of a header.
func checkHeader(name string) error {
	if name == "" {
		return errors.New("header wants a name: header=Region")
	}
	for _, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("!#$%&'*+-.^_`|~", r):
		default:
			return fmt.Errorf("header=%s: %q cannot be part of a header's name; use letters, digits and -", name, r)
		}
	}
	return nil
}
