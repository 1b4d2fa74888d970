package generators

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/parser"
	"strconv"
	"strings"
	"time"

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

// A Step is a tool call in the test of a feature's component. Without Tool it calls the component itself.
// Later advances the clock before the call, such as 336h. All steps of a test use one event log.
type Step struct {
	Tool   string                     `json:"tool,omitempty"`
	Name   string                     `json:"name,omitempty"`
	Input  map[string]json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage            `json:"output,omitempty"`
	Error  string                     `json:"error,omitempty"`
	Later  string                     `json:"later,omitempty"`
}

// A call is a tool call that must succeed.
type call struct {
	tool  string
	input json.RawMessage
}

// setSteps sets body and examples of a component of a feature. Leading calls of other tools without an
// expected result set up the test.
func (n *component) setSteps(body string, steps []Step) error {
	implementation, given := Implementation{Body: body}, true
	for i, s := range steps {
		tool := s.Tool
		if tool == "" {
			tool = n.wire
		}
		if _, err := gen.ParseName(tool); err != nil {
			return fmt.Errorf("example %d: invalid tool name %q; use the name that clients use, such as posts_create", i+1, tool)
		}
		later, err := parseLater(i, s.Later)
		if err != nil {
			return err
		}
		given = given && later == 0 && tool != n.wire && s.Output == nil && s.Error == "" && s.Name == ""
		if !given {
			n.tools, n.later = append(n.tools, tool), append(n.later, later)
			name := cmp.Or(s.Name, "example "+strconv.Itoa(i+1)) // the number in the list, which includes the set-up
			implementation.Examples = append(implementation.Examples, Example{Name: name, Input: s.Input, Output: s.Output, Error: s.Error})
			continue
		}
		example, err := Example{Input: s.Input}.check(i)
		if err != nil {
			return err
		}
		n.given = append(n.given, call{tool, example.Input})
	}
	if body == "" && len(steps) > 0 && len(implementation.Examples) == 0 {
		return errExamplesWithoutBody
	}
	return n.setImplementation(implementation, false)
}

func parseLater(i int, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	later, err := time.ParseDuration(text)
	if err != nil || later <= 0 {
		return 0, fmt.Errorf("example %d: later %q is not a duration; write 30m or 336h", i+1, text)
	}
	return later, nil
}

func (n component) steps(p gen.Project) ([]step, error) {
	var all []step
	for i, e := range n.examples {
		input, output, err := n.toolRow(p, n.tools[i], e)
		if err != nil {
			return nil, err
		}
		all = append(all, step{tool: n.tools[i], name: e.Name, input: input, output: output, error: e.Error, later: n.later[i]})
	}
	return all, nil
}

func (n component) toolRow(p gen.Project, tool string, e gen.Example) (input, output *jen.Statement, err error) {
	if e.Output != nil {
		text, err := compact(e.Output)
		if err != nil {
			return nil, nil, err
		}
		output = rawLit(text)
		if value, ok := n.output.literal(e.Output); ok && tool == n.wire {
			output = value
		}
	}
	return n.argument(p, tool, e.Input), output, nil
}

func (n component) trial() gen.Trial {
	if len(n.examples)+len(n.given) == 0 {
		return gen.Trial{}
	}
	return gen.Trial{Test: "Test" + n.goName, Examples: n.examples}
}
