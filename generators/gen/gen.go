// Package gen is the API for generators: facts about the project ([Project], [Function],
// [Feature]), inputs ([Name], [Field]) and the result ([Draft]).
//
// A generator is a pure function from a project and an input to a draft. It does not read or write
// files; package engine plans, verifies, applies and records the draft.
//
//	// Tool creates a tool.
//	func Tool(p gen.Project, in ToolInput) (gen.Draft, error)
package gen

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/contract"
)

// A Project describes a project to a generator.
type Project struct {
	Name     string            // of the project and of its server
	Module   string            // path of the Go module
	Packages map[string]string // package names by folder

	// Initialisms are words, such as ppm, that Go names have in capitals, in addition to the common
	// ones. They come from petrock.json. Pass them to [ParseName] and [ParseFields].
	Initialisms []string

	// Function finds a function of the project: ./folder.Function or ./folder.Variable.Method. It
	// returns an error if no tool can call it. Function may be nil in tests of generators.
	Function func(ref string) (*Function, error)

	// Feature returns a feature by its name, or nil. Feature may be nil in tests of generators.
	Feature func(name string) *Feature

	// Type returns the type of the project that a field of a component in a folder names: Ticket of
	// the same package, desk.Member or ./internal/desk.Member. Type may be nil in tests of
	// generators.
	Type func(dir, name string) (*GoType, error)

	// Uses returns the features that the package in a folder imports, directly or indirectly. Uses
	// may be nil in tests of generators.
	Uses func(dir string) []string

	// Migrate edits the fields of a recorded command, such as posts/create, for a new version.
	// Migrate may be nil in tests of generators.
	Migrate func(eventType string, edit Edit) (*Migration, error)

	// OldVersion returns the newest old version of a command whose next version has no method
	// Downgrade. OldVersion may be nil in tests of generators.
	OldVersion func(eventType string) (*OldVersion, error)

	// FormatCall formats a call for the front end that runs the generator; nil means as a command
	// line. InputNames maps inputs of the generator to the names that the front end has for them,
	// if they differ.
	FormatCall func(Call) string
	InputNames map[string]string
}

// Call returns a petrock command for a message, see [NewCall].
func (p Project) Call(command string, arguments ...any) string {
	if p.FormatCall == nil {
		return NewCall(command, arguments...).String()
	}
	return p.FormatCall(NewCall(command, arguments...))
}

// Option returns the name of an input of the generator for a message: --body in a terminal, body
// over MCP.
func (p Project) Option(input string) string {
	return p.Call("", cmp.Or(p.InputNames[input], input), nil)
}

// Import returns the import path of a folder of the project.
func (p Project) Import(dir string) string { return path.Join(p.Module, dir) }

// Package returns the name of the package in a folder: the folder's name if it has no package yet.
func (p Project) Package(dir string) string {
	return cmp.Or(p.Packages[dir], path.Base(dir))
}

// HasPackage reports whether a folder of the project has a package.
func (p Project) HasPackage(dir string) bool { return p.Packages[dir] != "" }

// Features returns the names of the features, sorted.
func (p Project) Features() (names []string) {
	for dir := range p.Packages {
		if path.Dir(dir) == "features" {
			names = append(names, path.Base(dir))
		}
	}
	slices.Sort(names)
	return names
}

// A Draft is the result of a generator.
type Draft struct {
	Kind  string   // of the component
	Name  string   // of the component, as clients see it
	Files []File   // new files, which must not exist
	Next  []string // next steps for the user, one sentence each

	// Notices tell the user about side effects, such as a feature that is created for a command.
	// Warnings tell the user what may break.
	Notices, Warnings []string

	// Changes are existing files with new content: renames and migrations that the user requested.
	// NewVersionsOf are the commands that get a new version, such as posts/create.
	Changes       []File
	NewVersionsOf []string

	// Sample is a component of a new generator, which must compile in the project. It is not
	// written.
	Sample []File

	// Trial is run before anything is written.
	Trial Trial
}

// A Trial is a test to run with the planned files. The zero value runs none.
type Trial struct {
	Test     string    // name of a test in the package of the first file
	Examples []Example // examples of the subtests, in order
}

// An Example is an input of a component, and the expected output or error.
type Example struct {
	Name   string          `json:"name"`             // Name of the example
	Input  json.RawMessage `json:"input,omitempty"`  // Input of the component
	Output json.RawMessage `json:"output,omitempty"` // Expected output
	Error  string          `json:"error,omitempty"`  // Substring of the expected error
}

// A Step is an example: a call of the component or, with Tool, of another tool, and the expected
// result. Later advances the clock before the call, such as 336h. Answers are those of the user, by
// key: a form, "decline" or "cancel". All steps of a test use one event log.
type Step struct {
	Tool    string                     `json:"tool,omitempty"`
	Name    string                     `json:"name,omitempty"`
	Input   map[string]json.RawMessage `json:"input,omitempty"`
	Output  json.RawMessage            `json:"output,omitempty"`
	Error   string                     `json:"error,omitempty"`
	Later   string                     `json:"later,omitempty"`
	Answers map[string]json.RawMessage `json:"answers,omitempty"`
}

// Parse returns a step as an example, and the advance of the clock. number names an example without
// a name.
func (s Step) Parse(number int) (e Example, later time.Duration, err error) {
	e = Example{Name: cmp.Or(s.Name, "example "+strconv.Itoa(number)), Output: s.Output, Error: s.Error}
	fail := func(format string, args ...any) (Example, time.Duration, error) {
		return e, 0, fmt.Errorf("example %q: %s", e.Name, fmt.Sprintf(format, args...))
	}
	if _, err := ParseDescription(e.Name); err != nil || strings.ContainsAny(e.Name, "/#\\") {
		return fail("invalid name; use a few plain words")
	}
	if s.Output != nil && s.Error != "" {
		return fail("an output and an error; send only one of them")
	}
	if s.Later != "" {
		if later, err = time.ParseDuration(s.Later); err != nil || later <= 0 {
			return fail("later %q is not a duration; write 30m or 336h", s.Later)
		}
	}
	if s.Input == nil {
		s.Input = map[string]json.RawMessage{}
	}
	e.Input, err = strictjson.Marshal(s.Input)
	return e, later, err
}

// A File is a file of a draft.
type File struct {
	Path string // from the project's root, with slashes
	Text []byte

	// AddImports adds Imports, and finds imports for other undeclared package names. Without it,
	// Imports is ignored.
	AddImports bool
	Imports    []Import
}

// An Import is a package that a file imports.
type Import struct {
	Name string // explicit name in the file; may be empty
	Path string
}

// A Generator is a registered generator function.
type Generator struct {
	Name        string          // such as tool
	Description string          // the first sentence is the summary in lists
	InputSchema json.RawMessage // JSON Schema of the input
	Make        func(p Project, input json.RawMessage) (Draft, error)
}

// ChosenBy returns who chooses a component of a kind by its description, such as models.
func ChosenBy(kind string) string {
	return cmp.Or(map[string]string{"prompt": "users", "resource": "clients"}[kind], "models")
}

// MissingDescription reports whether an input lacks a description that its component needs, and
// returns an example: "Such as: Sends a mail." A tool from a function has its doc comment.
func (g Generator) MissingDescription(input json.RawMessage) (example string, missing bool) {
	text, _ := strictjson.Unquote(strictjson.Member(input, "description"))
	isChosen := slices.Contains([]string{"tool", "resource", "prompt", "command", "query"}, g.Name)
	if !isChosen || strings.TrimSpace(text) != "" || strictjson.Member(input, "from") != nil {
		return "", false
	}
	property := strictjson.Member(strictjson.Member(g.InputSchema, "properties"), "description")
	example, _ = strictjson.Unquote(strictjson.Member(property, "description"))
	return example, true
}

// Names returns the names of generators.
func Names(all []Generator) (names []string) {
	for _, g := range all {
		names = append(names, g.Name)
	}
	return names
}

// New returns a generator that decodes its JSON input into In. schema is the JSON Schema of In.
func New[In any](name, description, schema string, f func(Project, In) (Draft, error)) Generator {
	return Generator{Name: name, Description: description, InputSchema: json.RawMessage(schema), Make: func(p Project, input json.RawMessage) (Draft, error) {
		var in In
		if err := strictjson.Unmarshal(input, &in); err != nil {
			return Draft{}, fmt.Errorf("invalid input: %w", err)
		}
		return f(p, in)
	}}
}

// A Feature describes a feature of a project. If its package has errors, Commands and Queries are
// empty.
type Feature struct {
	Name     string
	Dir      string              // from the project's root
	Declared []string            // names that its package declares, sorted, without derived files and tests
	Strings  map[string][]string // declared types that are strings, such as enums, with the values of their constants
	Commands []FeatureTool
	Queries  []FeatureTool
}

// A GoType is a type of the project that a field has.
type GoType struct {
	Path, Package, Name string   // import path and name of its package, and its own name
	Basic               string   // its underlying type if that is basic, else ""
	Values              []string // of a string type: the values of its constants
}

// ParseFields is [ParseFields] for a component in a folder. It finds the types of the project that
// the fields name.
func (p Project) ParseFields(dir string, texts []string) ([]Field, error) {
	fields, err := ParseFields(texts, p.Initialisms...)
	for i := range fields {
		inner := &fields[i].Type
		for inner.Elem != nil {
			inner = inner.Elem
		}
		switch {
		case inner.Kind == KindDate:
			inner.Go = &GoType{Path: p.Import("core/civil"), Package: "civil", Name: "Date", Basic: "date"}
		case inner.Kind == KindDuration:
			inner.Go = &GoType{Path: p.Import("core/civil"), Package: "civil", Name: "Duration", Basic: "duration"}
		case inner.Kind == KindGo && p.Type != nil:
			if inner.Go, err = p.Type(dir, inner.Name); err != nil {
				return nil, fmt.Errorf("field %q: %w", Shorten(fields[i].String()), err)
			}
			if inner.Name = inner.Go.Name; inner.Go.Path != p.Import(dir) {
				inner.Name = inner.Go.Package + "." + inner.Go.Name
			}
			for _, text := range inner.Go.Values {
				inner.Values = append(inner.Values, EnumValue{Text: text})
			}
		}
	}
	return fields, err
}

// A FeatureTool is a command or query of a feature.
type FeatureTool struct {
	Type      string // in Go, such as Create
	Name      string // of the tool, such as posts_create
	EventType string // of a command: the type of its events, such as posts/create
	Fields    []StructField
}

// A StructField is a field of a struct as source text.
type StructField struct {
	Name string // in Go; empty if it is embedded
	Type string // such as []string
	Tag  string // without its quotes
}

// A Function is a function of the project that a tool can wrap. Tools can import its package.
type Function struct {
	Ref       string   // canonical reference: ./folder.Function or ./folder.Variable.Method
	Path      string   // import path of its package
	Package   string   // name of its package
	Call      []string // the call without the package: a function, or a variable and its method
	Signature *types.Signature
	Doc       string   // text of its doc comment, without directives; may be empty
	Taken     []string // names that package tools declares, so that imports cannot use them

	// Input returns the JSON Schema of a type as the input of a tool, Output as its output. Output
	// returns nil for a type that is a complete tool result. They return an error if the type is
	// not supported.
	Input, Output func(types.Type) (json.RawMessage, error)
}

// Name returns the name of the function or method.
func (f *Function) Name() string { return f.Call[len(f.Call)-1] }

// Parameter describes a parameter with its type, for messages.
func (f *Function) Parameter(at int) string {
	return describeVar("parameter", at, f.Signature.Params())
}

// Result describes a result with its type, for messages.
func (f *Function) Result(at int) string { return describeVar("result", at, f.Signature.Results()) }

func describeVar(role string, at int, list *types.Tuple) string {
	v := list.At(at)
	t := types.TypeString(v.Type(), (*types.Package).Name)
	if v.Name() == "" || v.Name() == "_" {
		return fmt.Sprintf("%s %d (%s)", role, at+1, t)
	}
	return fmt.Sprintf("%s %s (%s)", role, v.Name(), t)
}

// Errorf returns an error about the function. It adds the remedy to wrap the function in another.
func (f *Function) Errorf(format string, args ...any) error {
	return fmt.Errorf("%q: %s; write a function that wraps %s, and create the tool from that", f.Ref, fmt.Sprintf(format, args...), strings.Join(f.Call, "."))
}

// A Call is a petrock command that a message recommends. Messages are the same for all front ends,
// and each front end formats calls in its own way: the command line with CommandLine, and the dev
// server as the call of a tool.
type Call struct {
	Command   string     // such as destroy; empty to write only the arguments
	Arguments []Argument // positional ones first
}

// An Argument is an argument of a [Call].
type Argument struct {
	Name  string // as tools name it, such as rename_fields
	Value any    // a string, a []string or true; nil to write only the name
}

// NewCall returns a call with arguments, given as alternating names and values. It panics if a name
// is not a string, or has no value.
func NewCall(command string, arguments ...any) Call {
	c := Call{Command: command}
	for pair := range slices.Chunk(arguments, 2) {
		c.Arguments = append(c.Arguments, Argument{pair[0].(string), pair[1]})
	}
	return c
}

// positional are the arguments that are not flags on the command line.
var positional = []string{"kind", "name", "operation", "packages", "part", "plan"}

// String returns the call as a command line: petrock destroy command posts/create --retire.
func (c Call) String() string { return c.CommandLine("petrock") }

// CommandLine is String for a program that users start in another way, such as
// go run ./cmd/petrock.
func (c Call) CommandLine(program string) string {
	var words []string
	if c.Command != "" {
		words = append(words, program, c.Command)
	}
	for _, a := range c.Arguments {
		flag := "--" + strings.ReplaceAll(a.Name, "_", "-")
		switch value := a.Value.(type) {
		case string:
			if !slices.Contains(positional, a.Name) {
				words = append(words, flag)
			}
			words = append(words, value)
		case []string: // the flag is repeated: --field for fields
			for _, text := range value {
				if !slices.Contains(positional, a.Name) {
					words = append(words, strings.TrimSuffix(flag, "s"))
				}
				words = append(words, text)
			}
		case nil:
			words = append(words, strings.TrimSuffix(flag, "s"))
		default:
			words = append(words, flag)
		}
	}
	return strings.Join(words, " ")
}

// A Migration is a new version of a command, and of every other command whose stored events would
// not be readable because of the same types.
type Migration struct {
	Versions []*Version // the requested command first

	// Notes are the notes of fields before the change, by struct type and JSON name, for structs
	// that stay the input of a tool.
	Notes    map[string]map[string]FieldNote
	Warnings []string // about files that may use renamed fields, but are not built on this system

	// Changes returns the edited files: renamed and dropped fields with all references, the
	// versions in the doc comments of the commands, and the code of previous versions. Set OldNames
	// and OldFields of all versions before.
	Changes func() ([]File, error)
}

// A Version is a new version of one command.
type Version struct {
	EventType string       // type of its events, such as posts/create
	Dir       string       // folder of the feature
	Type      string       // Go type of the command, such as Create
	Named     *types.Named // the type itself, with the new fields
	Number    int          // the version that the contract records
	Writes    bool         // whether new events keep this version, with //petrock:writes
	Old, New  contract.Shape
	Defaults  map[string]string // the defaults in the tags of its fields as JSON, by JSON name

	// The code of previous versions converts to types of the source, and must now convert to this
	// version. The generator sets the replacements. OldNames has the Go source that replaces types
	// and constants, by name with the import path, and types by their names in recorded fields.
	// OldFields has the Go names that replace fields, by the positions of their declarations.
	OldNames  map[string]string
	OldFields map[token.Pos]string
}

// OldType returns the type name for the recorded version: CreateV1, or CreateV1Item for its type
// Item.
func (v *Version) OldType(name string) string {
	base := v.Type + "V" + strconv.Itoa(v.Number)
	if name == v.Type { // the command contains itself
		return base
	}
	if short := strings.TrimPrefix(name, v.Type); short != name {
		if _, taken := v.Old.Types[short]; !taken {
			return base + short
		}
	}
	return base + name
}

// A FieldNote is the part of a field that schemas have, but not events.
type FieldNote struct {
	Schema  string // tag
	Comment string
}

// An OldVersion is an old version of a command in the source, such as CreateV1.
type OldVersion struct {
	EventType string       // type of its events, such as posts/create
	Type      *types.Named // such as CreateV1
	Next      *types.Named // the type that it is upgraded to, such as Create
	File      File         // which declares it
}

// An Edit renames and drops fields of a command. Fields have JSON names, joined by dots for nested
// structs. Edits that the source already contains are skipped.
type Edit struct {
	Rename map[string]string // old name to new name
	Drop   []string

	// ReadFirst makes a new version for every change that older builds cannot read. New events keep
	// the recorded version.
	ReadFirst bool
}
