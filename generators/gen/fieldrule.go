package gen

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/petrock/petrock/core/civil"
	"github.com/petrock/petrock/core/plumbing/inference"
	"github.com/petrock/petrock/core/schema"
)

// split returns the start of a field, NAME:TYPE:LIMITS, and sets what follows: the pattern, the
// default and the description.
func (f *Field) split(text string) (head string, err error) {
	at := 0
	for ; at < len(text) && text[at] != '"' && text[at] != '='; at++ {
		if text[at] == '/' && strings.HasSuffix(strings.TrimRight(text[:at], " "), ":") {
			break
		}
		if text[at] == '(' { // the values of an enum
			at += max(0, strings.IndexByte(text[at:], ')'))
		}
	}
	head, rest := strings.TrimRight(text[:at], " "), text[at:]
	if strings.HasPrefix(rest, "/") {
		if rest, err = f.cutPattern(rest[1:]); err != nil {
			return "", err
		}
		head = strings.TrimRight(strings.TrimSuffix(head, ":"), " ")
		if after, isOptional := strings.CutPrefix(strings.TrimLeft(rest, " "), "?"); isOptional {
			f.Optional, rest = true, after
		}
	}
	if after, hasDefault := strings.CutPrefix(strings.TrimLeft(rest, " "), "="); hasDefault {
		if rest, err = f.cutDefault(strings.TrimLeft(after, " ")); err != nil {
			return "", err
		}
	}
	quoted := strings.TrimLeft(rest, " ")
	bare, isColon := strings.CutSuffix(head, ":")
	start := len(text) - len(quoted)
	switch {
	case quoted == "":
		return head, nil
	case quoted[0] != '"':
		return "", fmt.Errorf(`unexpected text %q; the order is NAME:TYPE:LIMITS:/PATTERN/=DEFAULT "DESCRIPTION"`, Shorten(quoted))
	case start > 0 && text[start-1] != ' ' && !isColon:
		return "", errors.New(`a space is missing before the description: title:string "Title of the post"`)
	}
	f.Description, err = parseQuoted(quoted)
	return bare, err
}

var (
	closedPattern = regexp.MustCompile(`^((?:\\.|[^\\/])+)/`) // with \/ for a slash, which Go accepts too
	plainDefault  = regexp.MustCompile(`^[A-Za-z0-9._:+-]+$`) // needs no quotes
)

// cutPattern sets the pattern, which ends with a slash, and returns the text after it.
func (f *Field) cutPattern(text string) (rest string, err error) {
	found := closedPattern.FindStringSubmatch(text)
	if found == nil {
		return "", errors.New(`the pattern is empty or not closed; end it with /, and write \/ for a slash in it`)
	}
	if _, err = regexp.Compile(found[1]); err != nil {
		return "", fmt.Errorf("invalid pattern /%s/; write a regular expression of Go, without lookaround and backreferences", Shorten(found[1]))
	}
	f.Pattern = found[1]
	return text[len(found[0]):], checkRule("pattern", f.Pattern)
}

// cutDefault sets the default and returns the text after it. It may be in double quotes.
func (f *Field) cutDefault(text string) (rest string, err error) {
	value, description, _ := strings.Cut(text, ` "`)
	value, rest = strings.TrimRight(value, " "), strings.TrimPrefix(text, value)
	if strings.HasPrefix(text, `"`) {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return "", errors.New(`the default is not closed, or has an unknown escape; end it with ", and write \" and \\ in it`)
		}
		value, _ = strconv.Unquote(quoted) // it is quoted
		rest = text[len(quoted):]
	} else if value == "" || strings.Contains(value, `"`) {
		return "", fmt.Errorf(`invalid default %q; write it after =, in double quotes if it is empty or has spaces`, Shorten(value+description))
	}
	f.Default = &value
	return rest, checkRule("default", value)
}

// checkRule returns an error unless a struct tag can have a pattern or default.
func checkRule(name, text string) error {
	const maxLength = 200
	if len(text) > maxLength || strings.ContainsFunc(text, func(r rune) bool { return r == '`' || !unicode.IsPrint(r) }) {
		return fmt.Errorf("invalid %s %q; use at most %d printable characters without backquotes", name, Shorten(text), maxLength)
	}
	return nil
}

// valueTypes are the Go types of the kinds whose values can be validated, and be defaults.
var valueTypes = map[FieldKind]reflect.Type{
	KindString: reflect.TypeFor[string](), KindEnum: reflect.TypeFor[string](), KindURI: reflect.TypeFor[string](),
	KindEmail: reflect.TypeFor[string](), KindUUID: reflect.TypeFor[string](), KindBool: reflect.TypeFor[bool](),
	KindInt: reflect.TypeFor[int64](), KindInt64: reflect.TypeFor[int64](), KindFloat: reflect.TypeFor[float64](),
	KindTime: reflect.TypeFor[time.Time](), KindDate: reflect.TypeFor[civil.Date](), KindDuration: reflect.TypeFor[civil.Duration](),
}

// checkRules checks the pattern and the default of a parsed field.
func (f Field) checkRules() error {
	inner, _ := f.Type.Enum()
	isValue := valueTypes[f.Type.Kind] != nil
	switch {
	case f.Pattern != "" && inner.Kind != KindString:
		return fmt.Errorf("a pattern is not allowed for %s, only for strings, and lists and maps of strings; remove it", f.Type)
	case f.Default != nil && f.Optional:
		return errors.New("a field with a default is optional without ?; remove the ?")
	case f.Default != nil && !isValue && f.Type.Kind != KindGo:
		return fmt.Errorf("a default is not allowed for %s; set it in the function", f.Type)
	case !isValue || f.Pattern == "" && f.Default == nil:
		return nil
	}
	if _, err := f.schema(); err != nil {
		return err
	}
	if f.Pattern != "" && !f.Allows(f.Sample()) {
		return fmt.Errorf("petrock finds no example for the pattern /%s/; write one as the default", Shorten(f.Pattern))
	}
	return nil
}

// schema returns the schema of an object with the field, whose type is in valueTypes. The error is
// that of the default.
func (f Field) schema() (*schema.Schema, error) {
	f.Name, f.Go, f.Optional = "value", "Value", false
	var settings []string
	if f.Type.Kind == KindEnum {
		settings = append(settings, "enum="+strings.Join(f.Type.texts(), "|"))
	}
	tag := reflect.StructTag(StructCode{}.Tag(f, settings...))
	document, err := schema.Infer(reflect.StructOf([]reflect.StructField{{Name: f.Go, Type: valueTypes[f.Type.Kind], Tag: tag}}), schema.Input)
	if wrong, ok := errors.AsType[*inference.TypeError](err); ok {
		return nil, errors.Unwrap(wrong.Err) // without the struct
	}
	if err != nil {
		return nil, err
	}
	return schema.Compile(document)
}

// Allows reports whether the field can have a value, which must be encodable as JSON. It is false
// for lists, maps, bytes, any and Go types.
func (f Field) Allows(value any) bool {
	if valueTypes[f.Type.Kind] == nil {
		return false
	}
	rules, err := f.schema()
	object, wrong := json.Marshal(map[string]any{"value": value})
	return errors.Join(err, wrong) == nil && rules.Validate(object) == nil
}

// matching returns a text that a regular expression matches, unless it has assertions. Outer parts
// that may be repeated are repeated count times.
func matching(re *syntax.Regexp, count int) (text string) {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpCharClass:
		for _, r := range "aA0-_ " + string(re.Rune[:min(1, len(re.Rune))]) {
			if ok, _ := regexp.MatchString("^"+re.String(), string(r)); ok {
				return string(r)
			}
		}
	case syntax.OpAlternate:
		return matching(re.Sub[0], count)
	case syntax.OpStar:
		return strings.Repeat(matching(re.Sub[0], 0), count)
	case syntax.OpPlus:
		return strings.Repeat(matching(re.Sub[0], 0), max(1, count))
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			text += matching(sub, count)
		}
	}
	return text
}

// typeWords are the names that types have elsewhere.
var typeWords = map[string]string{
	"integer": "int", "int32": "int", "uint": "int", "long": "int64", "double": "float", "float32": "float", "decimal": "float",
	"boolean": "bool", "str": "string", "text": "string", "datetime": "time", "date-time": "time", "timestamp": "time", "time.time": "time",
	"time.duration": "duration", "url": "uri", "mail": "email", "guid": "uuid", "json": "any", "object": "any", "byte": "bytes",
	"array": "[]string", "list": "[]string", "map": "map[string]string", "enum": "enum(a,b)",
}
