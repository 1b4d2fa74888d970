package jsonschema

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/internal/decimal"
	"github.com/petrock/petrock/core/plumbing/jsonfield"
	"github.com/petrock/petrock/core/strictjson"
)

// A Tag is the parsed struct tag "schema" of a field. Settings are separated by commas. Quote a
// value with a comma in single quotes; double a single quote inside.
//
//	Limit int      `json:"limit" schema:"min=1,max=100,default=20"`
//	Title string   `json:"title" schema:"min=1,pattern='^[A-Z]',description='Bold, above the text.'"`
//	Level string   `json:"level" schema:"enum=low|normal|high"`
//	Tags  []string `json:"tags" schema:"max=10,unique"`
type Tag struct {
	Min, Max    string   // bounds of a number, or of the length of a string, list or map
	Pattern     string   // of a string
	Format      string   // of a string
	Unique      bool     // elements of a list must be unique
	Enum        []string // allowed values of a string or number
	Title       string   // name that people see
	Description string
	Default     *string // value of an argument that the caller omits
	Header      string  // HTTP header that repeats the argument, without the prefix Mcp-Param-
}

// ParseTag parses the tag "schema" of a field. Without one it returns the zero Tag.
func ParseTag(tag reflect.StructTag) (t Tag, err error) {
	rest := tag.Get("schema")
	for rest != "" {
		end := strings.IndexAny(rest+",", "=,")
		name, value := strings.TrimSpace(rest[:end]), ""
		after, hasValue := strings.CutPrefix(rest[end:], "=")
		rest = strings.TrimPrefix(after, ",")
		if hasValue {
			if value, rest, err = cutValue(after); err != nil {
				return t, fmt.Errorf("%s: %w", name, err)
			}
		}
		if err := t.set(name, value); err != nil {
			return t, err
		}
	}
	return t, nil
}

// cutValue returns the value at the start of text, and the text after its comma.
func cutValue(text string) (value, rest string, err error) {
	if !strings.HasPrefix(text, "'") {
		value, rest, _ = strings.Cut(text, ",")
		return value, rest, nil
	}
	for {
		part, after, closed := strings.Cut(text[1:], "'")
		value += part
		switch {
		case !closed:
			return "", "", errors.New("a ' is not closed")
		case strings.HasPrefix(after, "'"):
			value, text = value+"'", after
		case after != "" && after[0] != ',':
			return "", "", fmt.Errorf("a comma is missing before %q", after)
		default:
			return value, strings.TrimPrefix(after, ","), nil
		}
	}
}

// set sets the setting with a name.
func (t *Tag) set(name, value string) error {
	texts := map[string]*string{
		"min": &t.Min, "max": &t.Max, "pattern": &t.Pattern, "format": &t.Format, "title": &t.Title, "description": &t.Description, "header": &t.Header,
	}
	switch text := texts[name]; {
	case text != nil:
		*text = value
	case name == "unique":
		t.Unique = true
	case name == "enum":
		t.Enum = strings.Split(value, "|")
	case name == "default":
		t.Default = &value
	default:
		return fmt.Errorf("unknown setting %q; the settings are min, max, pattern, format, unique, enum, title, description, default and header", name)
	}
	_, isNumber := parseNumber(value)
	switch {
	case (name == "min" || name == "max") && !isNumber:
		return fmt.Errorf("%s=%s: %q is not a number", name, value, value)
	case name == "header" && value == "":
		return errors.New("header has no name; write header=Region")
	case name == "pattern":
		if _, err := regexp.Compile(value); err != nil {
			return fmt.Errorf("pattern: %w", err)
		}
	}
	return nil
}

// parseNumber parses a JSON number without surrounding space.
func parseNumber(text string) (decimal.Number, bool) {
	raw := []byte(text)
	if strictjson.Check(raw) != nil || kindOf(raw) != numberKind || strings.TrimSpace(text) != text {
		return decimal.Number{}, false
	}
	return decimal.Parse(nil, raw), true
}

// addLimits adds the bounds, pattern, format and enum of the tag to the schema of its field. quoted
// reports whether the json tag has the option string.
func (t Tag) addLimits(k draft, quoted bool) (draft, error) {
	kind := strings.Trim(k.get("type"), `"`)
	limited := t.Min+t.Max+t.Pattern+t.Format != "" || t.Unique || t.Enum != nil
	if quoted && limited {
		return nil, errors.New(`limits do not apply to a field with the json option "string"; remove the limits or the option`)
	}
	isNumber := kind == "integer" || kind == "number"
	suffix := map[string]string{"integer": "imum", "number": "imum", "string": "Length", "array": "Items", "object": "Properties"}[kind]
	if suffix == "" && t.Min+t.Max != "" {
		return nil, errors.New("min and max apply to numbers, strings, lists and maps only")
	}
	switch {
	case t.Unique && kind != "array":
		return nil, errors.New("unique applies to lists only")
	case t.Enum != nil && kind != "string" && !isNumber:
		return nil, errors.New("enum applies to strings and numbers only")
	}
	for _, bound := range []struct{ name, text string }{{"min" + suffix, t.Min}, {"max" + suffix, t.Max}} {
		if bound.text == "" {
			continue
		}
		number, _ := parseNumber(bound.text)
		if kind != "number" && !number.IsWhole() || !isNumber && number.Sign < 0 {
			return nil, fmt.Errorf("%s cannot be %s", bound.name, bound.text)
		}
		k = k.replace(bound.name, bound.text)
	}
	low, hasMin := parseNumber(t.Min)
	high, hasMax := parseNumber(t.Max)
	if hasMin && hasMax && low.Compare(high) > 0 {
		return nil, fmt.Errorf("min %s is greater than max %s", t.Min, t.Max)
	}
	for _, rule := range []keyword{{"pattern", t.Pattern}, {"format", t.Format}} {
		if ok := true; rule.value != "" {
			if k, ok = k.onStrings(keyword{rule.name, quote(rule.value)}); !ok {
				return nil, errors.New(rule.name + " applies to strings, and lists and maps of strings, only")
			}
		}
	}
	if t.Unique {
		k = k.with("uniqueItems", "true")
	}
	if t.Enum == nil {
		return k, nil
	}
	values, err := t.enum(kind)
	return k.replace("enum", values), err
}

func (t Tag) enum(kind string) (string, error) {
	values := make([]string, len(t.Enum))
	for i, text := range t.Enum {
		values[i] = text
		number, isNumber := parseNumber(text)
		switch {
		case kind == "string":
			values[i] = quote(text)
		case !isNumber || kind == "integer" && !number.IsWhole():
			return "", fmt.Errorf("enum: %q is not of type %s", text, kind)
		}
	}
	return "[" + strings.Join(values, ",") + "]", nil
}

// A draft is a schema that is being built: its keywords, in order.
type draft []keyword

// A keyword is a keyword of a schema, with its value.
type keyword struct {
	name  string
	value string // JSON
}

// ofType returns the schema of one JSON type, such as "string".
func ofType(name string) draft { return draft{{"type", quote(name)}} }

// with returns k with one more keyword.
func (k draft) with(name, value string) draft { return append(k, keyword{name, value}) }

// replace returns k with a new value for a keyword, which it adds if k does not have it.
func (k draft) replace(name, value string) draft {
	i := k.index(name)
	if i < 0 {
		return k.with(name, value)
	}
	k = slices.Clone(k)
	k[i].value = value
	return k
}

// onStrings returns k with a keyword for strings: of k itself or, in the schema of a list or map,
// of its elements. It reports whether k has strings.
func (k draft) onStrings(rule keyword) (draft, bool) {
	kind := k.get("type")
	elements := map[string]string{`"array"`: "items", `"object"`: "additionalProperties"}[kind]
	switch {
	case kind == `"string"` || kind == `["string","null"]`:
		return k.replace(rule.name, rule.value), true
	case elements == "":
		return k, false
	}
	inner, ok := parseDraft([]byte(k.get(elements))).onStrings(rule)
	return k.replace(elements, inner.String()), ok
}

// parseDraft returns the keywords of a schema, and none if it is not a valid object.
func parseDraft(document []byte) (k draft) {
	_ = strictjson.Members(document, func(key, value []byte) error {
		compact, err := json.Marshal(json.RawMessage(value))
		k = k.with(string(key), string(compact))
		return err
	})
	return k
}

// get returns the value of a keyword, or "" if k does not have it.
func (k draft) get(name string) string {
	if i := k.index(name); i >= 0 {
		return k[i].value
	}
	return ""
}

func (k draft) index(name string) int {
	return slices.IndexFunc(k, func(one keyword) bool { return one.name == name })
}

// orNull returns a schema that also allows null.
func (k draft) orNull() draft {
	switch kind := k.get("type"); {
	case len(k) == 0 || strings.Contains(kind, `"null"`):
		return k
	case kind == "" || k.get("enum") != "":
		return draft{{"anyOf", "[" + k.String() + `,{"type":"null"}]`}}
	default:
		return k.replace("type", "["+strings.Trim(kind, "[]")+`,"null"]`)
	}
}

func (k draft) raw() json.RawMessage {
	out := []byte{'{'}
	for _, one := range k {
		out = strictjson.AppendMember(out, one.name, []byte(one.value))
	}
	return append(out, '}')
}

func (k draft) String() string { return string(k.raw()) }

func quote(text string) string { return string(strictjson.AppendString(nil, text)) }

func defaultJSON(t reflect.Type, text string) string {
	if t.Kind() == reflect.String || isText(t) {
		return quote(text)
	}
	return text
}

// isText reports whether a type decodes itself from a string, as time.Time does.
func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func setDefault(v reflect.Value, text string) error {
	if kind := v.Kind(); kind != reflect.String && (kind < reflect.Bool || kind > reflect.Float64) && !isText(v.Type()) {
		return errors.New("default applies to strings, numbers, booleans, times, dates and durations only, and not to pointers to them")
	}
	if err := strictjson.Unmarshal([]byte(defaultJSON(v.Type(), text)), v.Addr().Interface()); err != nil {
		if isText(v.Type()) {
			return fmt.Errorf("default %s: %w", text, err)
		}
		return fmt.Errorf("default %s: not of type %v", text, v.Type())
	}
	return nil
}

// SetDefaults sets the fields of v, a settable struct, to the defaults in their schema tags. It
// also sets those of nested structs, but not behind pointers. It does nothing if v is not a struct.
func SetDefaults(v reflect.Value) error {
	if v.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range jsonfield.Decoded(v.Type()) {
		if f.Indirect || f.Quoted {
			continue
		}
		field := v.FieldByIndex(f.Index)
		if err := SetDefaults(field); err != nil {
			return err
		}
		tag, err := ParseTag(f.Tag)
		if err == nil && tag.Default != nil {
			err = setDefault(field, *tag.Default)
		}
		if err != nil {
			return fmt.Errorf("schema tag of %v.%s: %w", v.Type(), f.Name, err)
		}
	}
	return nil
}
