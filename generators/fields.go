package generators

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/gen"
)

// A structure is a struct type that a generator writes, with the types of its enumerations.
type structure struct {
	name   string // of the type
	prefix string // of the types of its enumerations
	about  string // doc comment after the name
	fields []gen.Field

	directives []string
	logged     bool // stored in the event log, where null and empty must stay distinct
}

func (s structure) write(file gen.GoFile) {
	s.writeType(file)
	s.writeEnums(file)
}

func (s structure) writeType(file gen.GoFile) {
	file.Comment(fmt.Sprintf("// %s %s", s.name, s.about))
	writeDirectives(file, s.directives)
	var members []jen.Code
	for _, f := range s.fields {
		members = append(members, jen.Id(f.Go).Add(s.typeCode(f)).Op("`"+s.tags(f)+"`").Comment("// "+f.Comment()))
	}
	file.Type().Id(s.name).Struct(members...)
}

func (s structure) writeEnums(file gen.GoFile) {
	for _, f := range s.fields {
		enum, ok := f.Type.Enum()
		if !ok {
			continue
		}
		name := s.prefix + f.Go
		file.Comment(fmt.Sprintf("// %s is one of the values of %s.", name, f.Name))
		file.Type().Id(name).String()
		file.Comment(fmt.Sprintf("// The values of %s.", f.Name))
		file.Const().DefsFunc(func(g *jen.Group) {
			for _, value := range enum.Values {
				g.Id(name + value.Go).Id(name).Op("=").Lit(value.Text)
			}
		})
	}
}

func writeDirectives(file gen.GoFile, directives []string) {
	if len(directives) > 0 {
		file.Comment("//")
	}
	for _, d := range directives {
		file.Comment("//petrock:" + d)
	}
}

// checkEnumNames refuses an enum field whose Go names conflict with the function, its input and output
// types, or another enum.
func (n component) checkEnumNames(structures ...structure) error {
	taken := map[string]string{n.goName: "the function"}
	if n.feature != "" {
		taken = map[string]string{n.goName: "the " + n.kind}
	}
	for _, s := range structures {
		taken[s.name] = "the struct of the fields"
	}
	for _, s := range structures {
		for _, f := range s.fields {
			enum, ok := f.Type.Enum()
			if !ok {
				continue
			}
			names := []string{s.prefix + f.Go}
			for _, value := range enum.Values {
				names = append(names, s.prefix+f.Go+value.Go)
			}
			for _, name := range names {
				if other := taken[name]; other != "" {
					return fmt.Errorf("field %q: the Go name %s of its enum is already used by %s; rename the field", f.Name, name, other)
				}
				taken[name] = "the enum of the field " + f.Name
			}
		}
	}
	return nil
}

// shape returns the type for writing literals. path is the import path of its package.
func (s structure) shape(path string) shape {
	typ := shape{path: path, name: s.name}
	for _, f := range s.fields {
		typ.fields = append(typ.fields, gen.StructField{Name: f.Go, Type: s.fieldType(f), Tag: s.tags(f)})
		if enum, ok := f.Type.Enum(); ok {
			typ.strings = append(typ.strings, s.prefix+f.Go)
		} else if enum.Values != nil {
			typ.strings = append(typ.strings, enum.Name)
		}
	}
	return typ
}

func (s structure) typeCode(f gen.Field) *jen.Statement {
	t, err := parser.ParseExpr(s.fieldType(f))
	if err != nil {
		panic(err) // fieldType always returns a valid type
	}
	return shape{}.typeCode(t)
}

// fieldType returns the Go type of a field.
func (s structure) fieldType(f gen.Field) string { return s.code().Type(f) }

func (s structure) tags(f gen.Field) string { return s.code().Tag(f) }

func (s structure) code() gen.StructCode { return gen.StructCode{Prefix: s.prefix, Logged: s.logged} }

// encodeFields returns a JSON object of the fields for which value reports true.
func encodeFields(fields []gen.Field, value func(gen.Field) (any, bool)) (json.RawMessage, error) {
	var members []string
	for _, f := range fields {
		v, ok := value(f)
		if !ok {
			continue
		}
		text, err := strictjson.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("encode field %q: %w", f.Name, err)
		}
		members = append(members, strconv.Quote(f.Name)+":"+string(text))
	}
	return json.RawMessage("{" + strings.Join(members, ",") + "}"), nil
}

func requiredSample(f gen.Field) (any, bool) { return f.Sample(), !f.Optional }

func anySample(f gen.Field) (any, bool) { return f.Sample(), true }

// samplesExcept returns requiredSample with another value for one field.
func samplesExcept(other gen.Field, value any) func(gen.Field) (any, bool) {
	return func(f gen.Field) (any, bool) {
		if f.Name == other.Name {
			return value, true
		}
		return requiredSample(f)
	}
}

// wrongField returns the first field that has an invalid value, with that value.
func wrongField(fields []gen.Field) (gen.Field, any, bool) {
	for _, f := range fields {
		if wrong, ok := f.InvalidSample(); ok {
			return f, wrong, true
		}
	}
	return gen.Field{}, nil, false
}
