package generators

import (
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/petrock/petrock/generators/gen"
)

// ToolInput is the input of Tool.
type ToolInput struct {
	Name        string   `json:"name,omitempty"`        // Such as send_mail; optional with from
	Fields      []string `json:"fields,omitempty"`      // Input fields: title:string, limit:int:1..100, status:enum(open,done), due:time?, tags:[]string. A description in double quotes can follow after a space
	Output      []string `json:"output,omitempty"`      // Output fields, in the same syntax. Default: result:string
	Description string   `json:"description,omitempty"` // Such as: Sends a mail. Models choose tools by it
	From        string   `json:"from,omitempty"`        // Instead of fields, output and body: a function to call, ./store.Find or ./store.Variable.Method
	Implementation
}

// Tool creates a tool: a function with input and output types, and a test. With a body and examples
// it is complete.
func Tool(p gen.Project, in ToolInput) (gen.Draft, error) {
	if in.From != "" {
		return toolFrom(p, in)
	}
	if in.Name == "" {
		return gen.Draft{}, errors.New("a tool needs a name, such as send_mail, or from (--from), a function of the project such as ./store.Find")
	}
	n, err := newComponent(p, "tool", "tools", in.Name, in.Description, in.Implementation)
	if err != nil {
		return gen.Draft{}, err
	}
	input, output, err := n.inputOutput(p, in.Fields, in.Output)
	if err != nil {
		return gen.Draft{}, err
	}

	file := n.file(p)
	input.write(file)
	output.write(file)
	n.writeFunction(file, "ctx "+file.Ref("context", "Context")+", in "+input.name, output.name, output.name+"{}")

	test, err := n.toolTest(p, input, output)
	return n.draft(p, file, test, err)
}

func (n component) toolTest(p gen.Project, input, output structure) (gen.GoFile, error) {
	n.input, n.output = input.shape(p.Import(n.dir)), output.shape(p.Import(n.dir))
	if len(n.steps) == 0 {
		return n.listedTest(p, "Tools"), nil
	}
	return n.toolExamples(p)
}

func (n component) toolExamples(p gen.Project) (gen.GoFile, error) {
	return n.exampleTest(p, fmt.Sprintf("client.CheckTool(t, %q, $example)", n.wire), n.toolRow(p))
}

// A body holds the statements of a function that the caller sent.
type body struct {
	imports []gen.Import // import declarations before the statements
	text    string
}

// parseBody parses statements with optional leading import declarations. It refuses text that would not
// stay inside of one function. field is the field of the input, for errors.
func parseBody(field, text string) (*body, error) {
	const maxBytes = 100_000
	switch {
	case !utf8.ValidString(text):
		return nil, fmt.Errorf("the %s is not valid UTF-8", field)
	case len(text) > maxBytes:
		return nil, fmt.Errorf("the %s has %d bytes; send at most %d, and move the rest to another package", field, len(text), maxBytes)
	case strings.TrimSpace(text) == "":
		return nil, fmt.Errorf("the %s is empty; send the statements of the function, or omit it", field)
	}
	fail := func(line, column int, message string) (*body, error) {
		return nil, &gen.SourceError{Field: field, Text: text, Line: line, Column: column, Message: message + "; send only the statements between the braces of the function"}
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
			if regexp.MustCompile(`^(//go:|/[/*]line |//export |// ?\+build )`).MatchString(comment.Text) {
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
	return &body{imports: imports, text: strings.TrimRight(strings.TrimLeft(text[end:], "\n"), " \t\n")}, nil
}

// leadingImports parses the import declarations at the start of text and returns where they end.
func leadingImports(text string) (imports []gen.Import, end int, err error) {
	const before = "package p;"
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "body", before+text, parser.ImportsOnly)
	if err != nil || len(file.Imports) == 0 {
		return nil, 0, nil // the caller parses the statements
	}
	for _, spec := range file.Imports {
		i := gen.Import{}
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
