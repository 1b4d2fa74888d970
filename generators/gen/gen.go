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
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

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

// A SourceError is a syntax error in Go code that is part of an input.
type SourceError struct {
	Field        string // of the input, such as body
	Text         string // of the field
	Line, Column int
	Message      string
}

// Error returns the position and the message.
func (e *SourceError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.Field, e.Line, e.Column, e.Message)
}

// ParseBody parses statements with optional leading import declarations. It refuses text that would
// not stay inside of one function. field is the field of the input, for errors.
func ParseBody(field, text string) (imports []Import, statements string, err error) {
	const maxBytes = 100_000
	switch {
	case !utf8.ValidString(text):
		return nil, "", fmt.Errorf("the %s is not valid UTF-8", field)
	case len(text) > maxBytes:
		return nil, "", fmt.Errorf("the %s has %d bytes; send at most %d, and move the rest to another package", field, len(text), maxBytes)
	case strings.TrimSpace(text) == "":
		return nil, "", fmt.Errorf("the %s is empty; send the statements of the function, or omit it", field)
	}
	fail := func(line, column int, message string) ([]Import, string, error) {
		return nil, "", &SourceError{Field: field, Text: text, Line: line, Column: column, Message: message + "; send only the statements between the braces of the function"}
	}
	imports, end, err := leadingImports(text)
	if err != nil {
		return fail(1, 1, err.Error())
	}
	const before, after = "package p\nfunc _() {\n", "\n}\n"
	offset := strings.Count(before, "\n")
	whole := before + strings.Repeat("\n", strings.Count(text[:end], "\n")) + text[end:] + after
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "body", whole, parser.SkipObjectResolution|parser.ParseComments)
	for _, group := range file.Comments {
		for _, comment := range group.List { // gofmt moves some directives to the top of the file, others change line numbers
			if compilerDirective.MatchString(comment.Text) {
				at := fset.PositionFor(comment.Pos(), false)
				return fail(at.Line-offset, at.Column, "compiler directives are not allowed")
			}
		}
	}
	var list scanner.ErrorList
	hasErrors := errors.As(err, &list)
	if len(file.Decls) > 0 {
		at := fset.Position(file.Decls[0].End() - 1)
		if at.Offset < len(whole)-2 && (!hasErrors || list[0].Pos.Offset > at.Offset) {
			return fail(at.Line-offset, at.Column, "unmatched }")
		}
	}
	if hasErrors {
		line, column := max(1, list[0].Pos.Line-offset), list[0].Pos.Column
		if lines := strings.Split(text, "\n"); line > len(lines) { // the error is after the end of text
			line, column = len(lines), len(lines[len(lines)-1])+1
		}
		return fail(line, column, "syntax error: "+list[0].Msg)
	}
	return imports, strings.TrimRight(strings.TrimLeft(text[end:], "\n"), " \t\n"), nil
}

var compilerDirective = regexp.MustCompile(`^(//go:|/[/*]line |//export |// ?\+build )`)

// leadingImports parses the import declarations at the start of text and returns where they end.
func leadingImports(text string) (imports []Import, end int, err error) {
	const before = "package p;"
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "body", before+text, parser.ImportsOnly)
	if err != nil || len(file.Imports) == 0 {
		return nil, 0, nil // the caller parses the statements
	}
	for _, spec := range file.Imports {
		i := Import{}
		if spec.Name != nil {
			i.Name = spec.Name.Name
		}
		i.Path, err = strconv.Unquote(spec.Path.Value)
		if err != nil || i.Path == "C" || i.Name == "." || i.Name == "_" {
			return nil, 0, fmt.Errorf("cannot import %s: dot, blank and C imports are not allowed", strings.TrimSpace(i.Name+" "+spec.Path.Value))
		}
		imports = append(imports, i)
	}
	last := file.Decls[len(file.Decls)-1]
	return imports, fset.Position(last.End()).Offset - len(before), nil
}

// A Generator is a registered generator function.
type Generator struct {
	Name        string          // such as tool
	Description string          // the first sentence is the summary in lists
	InputSchema json.RawMessage // JSON Schema of the input
	Make        func(p Project, input json.RawMessage) (Draft, error)
}

// NeedsDescription reports whether the generator's components are chosen by their descriptions, see
// [ChosenBy].
func (g Generator) NeedsDescription() bool {
	return slices.Contains([]string{"tool", "resource", "prompt", "command", "query"}, g.Name)
}

// ChosenBy returns who chooses a component of a kind by its description, such as models.
func ChosenBy(kind string) string {
	switch kind {
	case "prompt":
		return "users"
	case "resource":
		return "clients"
	}
	return "models"
}

// MissingDescription reports whether an input lacks a description that its component needs, and
// returns an example: "Such as: Sends a mail." A tool from a function has the function's doc comment.
func (g Generator) MissingDescription(input json.RawMessage) (example string, missing bool) {
	text, _ := strictjson.Unquote(strictjson.Member(input, "description"))
	if !g.NeedsDescription() || strings.TrimSpace(text) != "" || strictjson.Member(input, "from") != nil {
		return "", false
	}
	property := strictjson.Member(strictjson.Member(g.InputSchema, "properties"), "description")
	example, _ = strictjson.Unquote(strictjson.Member(property, "description"))
	return example, true
}

// Names returns the names of generators.
func Names(all []Generator) []string {
	var names []string
	for _, g := range all {
		names = append(names, g.Name)
	}
	return names
}

// New returns a generator that decodes its JSON input into In. schema is the JSON Schema of In.
func New[In any](name, description, schema string, f func(Project, In) (Draft, error)) Generator {
	return Generator{name, description, json.RawMessage(schema), func(p Project, input json.RawMessage) (Draft, error) {
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

// ParseDescription trims a description and checks that it fits into a doc comment of one line.
func ParseDescription(text string) (string, error) {
	text = strings.TrimSpace(text)
	const maxLength = 1000
	switch {
	case !utf8.ValidString(text):
		return "", errors.New("the description is not valid UTF-8")
	case utf8.RuneCountInString(text) > maxLength:
		return "", fmt.Errorf("the description has %d characters; send at most %d, and write more in the file", utf8.RuneCountInString(text), maxLength)
	}
	for _, r := range text {
		if !isText(r) {
			return "", fmt.Errorf("the description contains the character %U; write one line of plain text", r)
		}
	}
	return text, nil
}

// isText reports whether a description may contain a character. Line breaks would end the Go
// comment. Other control, invisible and bidirectional characters could hide text. Joiners are
// allowed: some scripts and emoji need them.
func isText(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return r == nonJoiner || r == joiner || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
