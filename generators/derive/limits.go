package derive

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	compiled "github.com/petrock/petrock/core/schema"
)

// limits are what the tag schema says of a field.
type limits struct {
	min, max, pattern, format string
	header                    string // that clients send it in too
	unique                    bool
	hasDefault                bool
	value                     string // the default, as it was written
}

// asJSON is the default of a field of this type.
func (l limits) asJSON(t types.Type) string {
	if basic, ok := t.Underlying().(*types.Basic); ok && basic.Info()&types.IsString != 0 {
		return quote(l.value)
	}
	return l.value
}

// parseLimits reads the tag: words and settings between commas, values with commas in single quotes.
func parseLimits(tag reflect.StructTag) (limits, error) {
	var l limits
	text, ok := tag.Lookup("schema")
	if !ok {
		return l, nil
	}
	for text != "" {
		name, rest, _ := strings.Cut(text, "=")
		if word, after, found := strings.Cut(text, ","); found && len(word) < len(name) || !strings.Contains(text, "=") {
			name, rest, text = word, "", after
		} else if quoted, ok := strings.CutPrefix(rest, "'"); ok {
			value, after, closed := strings.Cut(quoted, "'")
			if !closed {
				return l, errors.New("a ' is not closed")
			}
			if after != "" && !strings.HasPrefix(after, ",") {
				return l, errors.New("after a closing ' a comma or the end is wanted")
			}
			rest, text = value, strings.TrimPrefix(after, ",")
		} else {
			rest, text, _ = strings.Cut(rest, ",")
		}
		if err := l.set(strings.TrimSpace(name), rest); err != nil {
			return l, err
		}
	}
	return l, nil
}

func (l *limits) set(name, value string) error {
	switch name {
	case "min", "max":
		if _, ok := new(big.Rat).SetString(value); !ok || !json.Valid([]byte(value)) {
			return fmt.Errorf("%s=%s: %q is no number", name, value, value)
		}
		if name == "min" {
			l.min = value
		} else {
			l.max = value
		}
	case "pattern":
		if _, err := regexp.Compile(value); err != nil {
			return fmt.Errorf("pattern: %w", err)
		}
		l.pattern = value
	case "format":
		l.format = value
	case "unique":
		l.unique = true
	case "default":
		l.hasDefault, l.value = true, value
	case "header":
		l.header = value
		return checkHeader(value)
	default:
		return fmt.Errorf("%q is not known; there are min, max, pattern, format, unique, default and header", name)
	}
	return nil
}

// limit adds limits to the schema of a field. What the kind of the field cannot have is a problem.
func (s *schemer) limit(made schema, m member, l limits) schema {
	min, max := "minimum", "maximum"
	kind := strings.Trim(made.get("type"), `"`)
	name := m.field.Name()
	if m.text && (l.min+l.max+l.pattern+l.format != "" || l.unique) {
		return s.fail("%s has limits, and stands in a string because of its tag json; leave one of them out", name)
	}
	counts := true // min and max are numbers of something
	switch kind {
	case "string":
		min, max = "minLength", "maxLength"
	case "array":
		min, max = "minItems", "maxItems"
	case "object":
		min, max = "minProperties", "maxProperties"
	case "integer", "number":
		counts = false
	default:
		if l.min+l.max != "" {
			return s.fail("%s has a min or a max, which %s cannot have", name, s.finder.name(m.field.Type()))
		}
	}
	for _, word := range []struct{ set, name, kinds string }{
		{l.pattern, "pattern", "string"}, {l.format, "format", "string"}, {unique(l.unique), "unique", "array"},
	} {
		if word.set != "" && kind != word.kinds {
			return s.fail("%s has %s, which is for an %s", name, word.name, word.kinds)
		}
	}
	for _, bound := range []struct{ value, keyword string }{{l.min, min}, {l.max, max}} {
		if bound.value == "" {
			continue
		}
		number, _ := new(big.Rat).SetString(bound.value)
		if (counts || kind == "integer") && !number.IsInt() || counts && number.Sign() < 0 {
			return s.fail("%s: %s is no number that %s can be", name, bound.value, bound.keyword)
		}
		made = made.replace(bound.keyword, bound.value)
	}
	if low, ok := new(big.Rat).SetString(l.min); ok && l.max != "" {
		if high, _ := new(big.Rat).SetString(l.max); low.Cmp(high) > 0 {
			return s.fail("%s: min is more than max", name)
		}
	}
	if l.pattern != "" {
		made = made.with("pattern", quote(l.pattern))
	}
	if l.format != "" {
		made = made.replace("format", quote(l.format))
	}
	if l.unique {
		made = made.with("uniqueItems", "true")
	}
	if l.hasDefault {
		return s.fallBack(made, m, l)
	}
	return made
}

func unique(is bool) string {
	if is {
		return "unique"
	}
	return ""
}

// replace sets a keyword, in its place if it is there.
func (s schema) replace(name, json string) schema {
	for i := range s {
		if s[i].name == name {
			made := append(schema{}, s...)
			made[i].json = json
			return made
		}
	}
	return s.with(name, json)
}

// fallBack notes the default of a field. It must be one that the field allows, and that can be set
// before the input is read.
func (s *schemer) fallBack(made schema, m member, l limits) schema {
	name := m.field.Name()
	basic, ok := m.field.Type().Underlying().(*types.Basic)
	switch {
	case !ok || m.text:
		return s.fail("%s has a default, which only strings, numbers and booleans can have, and no pointers to them; leave it out", name)
	case !s.output && !s.direct:
		return s.fail("%s has a default, which only fields of the input itself can have; fill it in in the function", name)
	case !fits(l.value, basic):
		return s.fail("%s: the default %s is no %s", name, l.value, s.finder.name(m.field.Type()))
	}
	document, err := compiled.Compile(made.String())
	if err != nil {
		return s.fail("%s: %v", name, err)
	}
	if err := document.Validate([]byte(l.asJSON(m.field.Type()))); err != nil {
		return s.fail("%s: the default %s is none that it can have: %v", name, l.value, err)
	}
	literal := l.value
	if basic.Info()&types.IsString != 0 {
		literal = strconv.Quote(l.value)
	}
	if !s.output {
		s.preset = append(s.preset, preset{strings.Join(s.path, "."), literal})
	}
	return made
}

// fits reports whether a default is a value of a basic type, as Go and JSON write it alike.
func fits(value string, t *types.Basic) bool {
	var err error
	bits := int(types.SizesFor("gc", "amd64").Sizeof(t)) * 8
	switch info := t.Info(); {
	case info&types.IsString != 0:
		return true
	case info&types.IsBoolean != 0:
		return value == "true" || value == "false"
	case info&types.IsUnsigned != 0:
		_, err = strconv.ParseUint(value, 10, bits)
	case info&types.IsInteger != 0:
		_, err = strconv.ParseInt(value, 10, bits)
	default:
		_, err = strconv.ParseFloat(value, bits)
	}
	return err == nil && json.Valid([]byte(value))
}
