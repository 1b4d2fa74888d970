package generators

import (
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"regexp"
	"slices"
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
	switch {
	case len(n.examples) > 0:
		return n.toolExamples(p)
	case n.isWritten():
		return n.requiredTest(p, slices.ContainsFunc(input.fields, func(f gen.Field) bool { return !f.Optional })), nil
	}
	valid, err := encodeFields(input.fields, requiredSample)
	if err != nil {
		return gen.GoFile{}, err
	}
	bad, value, ok := wrongField(input.fields)
	wrong, err := encodeFields(input.fields, samplesExcept(bad, value))
	return n.test(p, func(file gen.GoFile) string {
		file.Use("strings")
		text := fmt.Sprintf(`result := client.CallTool(%q, %s)
			// %[1]s is not written yet. Once it is, check its output here.
			if !result.IsError || !strings.Contains(result.Text(), %[3]q) {
				t.Errorf("%[1]s returned %%s", result.Text())
			}`, n.wire, file.Code(n.argument(p, n.wire, valid)), n.unwrittenMessage())
		if !ok {
			return text
		}
		return text + "\n// Arguments are validated before the function runs.\n" +
			n.invalidCall(file, file.Code(n.argument(p, n.wire, wrong)), string(wrong))
	}), err
}

func (n component) toolExamples(p gen.Project) (gen.GoFile, error) {
	return n.exampleTest(p, fmt.Sprintf("client.CheckTool(t, %q, $example)", n.wire), n.toolRow(p, n.wire))
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
	if err := checkDirectives(field, text); err != nil {
		return nil, err
	}
	imports, end, err := leadingImports(text)
	if err != nil {
		return nil, &gen.SourceError{Field: field, Text: text, Line: 1, Column: 1, Message: err.Error()}
	}
	const before, after = "package p\nfunc _() {\n", "\n}\n"
	blank := strings.Repeat("\n", strings.Count(text[:end], "\n"))
	whole := before + blank + text[end:] + after
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "body", whole, parser.SkipObjectResolution)
	var list scanner.ErrorList
	hasErrors := errors.As(err, &list)
	at := token.Position{Offset: len(whole)} // of the end of the function
	if len(file.Decls) > 0 {
		at = fset.Position(file.Decls[0].End() - 1)
	}
	if at.Offset < len(whole)-2 && (!hasErrors || list[0].Pos.Offset > at.Offset) {
		return nil, &gen.SourceError{Field: field, Text: text, Line: at.Line - strings.Count(before, "\n"), Column: at.Column, Message: "unmatched }; send only the statements between the braces of the function"}
	}
	if hasErrors {
		line, column := list[0].Pos.Line-strings.Count(before, "\n"), list[0].Pos.Column
		if lines := strings.Split(text, "\n"); line > len(lines) { // the error is after the end of text
			line, column = len(lines), len(lines[len(lines)-1])+1
		}
		return nil, &gen.SourceError{Field: field, Text: text, Line: line, Column: column, Message: "syntax error: " + list[0].Msg + wholeFunctionHint(text[end:])}
	}
	return &body{imports: imports, text: strings.TrimRight(strings.TrimLeft(text[end:], "\n"), " \t\n")}, nil
}

// checkDirectives refuses compiler directives: gofmt moves some to the top of the file, and others
// change line numbers.
func checkDirectives(field, text string) error {
	fset := token.NewFileSet()
	file := fset.AddFile("body", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	for {
		pos, tok, comment := s.Scan()
		if tok == token.EOF {
			return nil
		}
		if tok != token.COMMENT {
			continue
		}
		for _, word := range []string{"//go:", "//line ", "/*line ", "//export ", "// +build ", "//+build "} {
			if strings.HasPrefix(comment, word) {
				at := fset.PositionFor(pos, false)
				return &gen.SourceError{Field: field, Text: text, Line: at.Line, Column: at.Column, Message: fmt.Sprintf("directive %s is not allowed in a %s; remove it", strings.TrimSpace(word), field)}
			}
		}
	}
}

// wholeFunctionHint returns a remedy if text starts with a declaration instead of a statement.
func wholeFunctionHint(text string) string {
	if !regexp.MustCompile("^\\s*(func |package |type |```)").MatchString(text) {
		return ""
	}
	return "; send only the statements between the braces of the function, without signature, types or package clause"
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
