package schema

import (
	"slices"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// Keywords are a schema under construction: its keywords in the order in which they are written.
type Keywords []Keyword

// A Keyword is one member of a schema.
type Keyword struct {
	Name string
	JSON string // its value
}

// OfType returns the schema of one JSON type, such as "string".
func OfType(name string) Keywords { return Keywords{{"type", quote(name)}} }

// With returns k with one more keyword.
func (k Keywords) With(name, json string) Keywords { return append(k, Keyword{name, json}) }

// Replace returns k with another value for a keyword, or with one more keyword.
func (k Keywords) Replace(name, json string) Keywords {
	i := slices.IndexFunc(k, func(one Keyword) bool { return one.Name == name })
	if i < 0 {
		return k.With(name, json)
	}
	k = slices.Clone(k)
	k[i].JSON = json
	return k
}

// Get returns the value of a keyword, or "" if k does not have it.
func (k Keywords) Get(name string) string {
	for _, one := range k {
		if one.Name == name {
			return one.JSON
		}
	}
	return ""
}

// OrNull returns the schema that also allows null.
func (k Keywords) OrNull() Keywords {
	switch kind := k.Get("type"); {
	case len(k) == 0 || strings.HasPrefix(kind, "["):
		return k
	case kind == "" || k.Get("enum") != "":
		return Keywords{{"anyOf", "[" + k.String() + `,{"type":"null"}]`}}
	default:
		return k.Replace("type", "["+kind+`,"null"]`)
	}
}

// String returns the schema as JSON.
func (k Keywords) String() string {
	var out strings.Builder
	out.WriteByte('{')
	for i, one := range k {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(quote(one.Name) + ":" + one.JSON)
	}
	out.WriteByte('}')
	return out.String()
}

func quote(text string) string { return string(strictjson.AppendString(nil, text)) }
