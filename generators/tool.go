package generators

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// ToolInput is what the generator of tools takes.
type ToolInput struct {
	Name        string   `json:"name,omitempty"`        // Name of the tool, such as send_mail; with from, that of the function if left out
	Fields      []string `json:"fields,omitempty"`      // Fields of its input: title:string, limit:int:1..100, status:enum(open,done), due:time?, tags:[]string, each maybe with a description in double quotes behind a space
	Output      []string `json:"output,omitempty"`      // Fields of its output, likewise; a text called result if left out
	Description string   `json:"description,omitempty"` // What the tool does, for the model that has to choose, such as: Sends a mail.
	From        string   `json:"from,omitempty"`        // A function of the project to make the tool of, instead of fields and output: ./store.Find, or ./store.DB.Find for a method of a variable
	Written
}

// Tool makes a tool: a function that a model can call, with types for its input and output, and its test.
// With a body and examples it is finished; without, the function is yours to write.
func Tool(p gen.Project, in ToolInput) (gen.Draft, error) {
	if in.From != "" {
		return toolFrom(p, in)
	}
	if in.Name == "" {
		return gen.Draft{}, errors.New("a tool needs a \"name\", such as send_mail, or \"from\", a function of the project such as ./store.Find")
	}
	n, err := names(p, "tool", "tools", in.Name, in.Description)
	if err != nil {
		return gen.Draft{}, err
	}
	if err := n.take(in.Written, false); err != nil {
		return gen.Draft{}, err
	}
	taken, given, err := n.structures(in.Fields, in.Output)
	if err != nil {
		return gen.Draft{}, err
	}

	file := n.file(p)
	taken.write(file)
	given.write(file)
	n.function(file, "ctx "+file.Ref("context", "Context")+", in "+taken.name, given.name, given.name+"{}")

	test, err := n.toolTest(p, taken, given)
	return n.draft(p, file, test, err)
}

func (n named) toolTest(p gen.Project, taken, given structure) (gen.GoFile, error) {
	n.input, n.output = taken.shape(p.Import(n.dir)), given.shape(p.Import(n.dir))
	switch {
	case len(n.examples) > 0:
		return n.toolExamples(p)
	case n.isWritten():
		at := slices.IndexFunc(taken.fields, func(f gen.Field) bool { return !f.Optional })
		if at < 0 {
			return n.refusedTest(p, ""), nil
		}
		return n.refusedTest(p, taken.fields[at].Name), nil
	}
	right, err := encodeFields(taken.fields, requiredSample)
	if err != nil {
		return gen.GoFile{}, err
	}
	bad, value, ok := wrongField(taken.fields)
	wrong, err := encodeFields(taken.fields, samplesWith(bad, value))
	return n.test(p, func(file gen.GoFile) string {
		file.Use("strings")
		text := fmt.Sprintf(`result := client.CallTool(%q, %s)
			// It is not written yet. When it is, say here what %[1]s returns.
			if !result.IsError || !strings.Contains(result.Text(), %[3]q) {
				t.Errorf("%[4]s says %%s", result.Text())
			}`, n.wire, file.Code(n.argument(p, n.wire, right)), n.where(), n.wire)
		if !ok {
			return text
		}
		return text + fmt.Sprintf("\n// What %s must not be is refused before the function runs.\n", bad.Name) +
			n.refuses(file, file.Code(n.argument(p, n.wire, wrong)), "with a wrong "+bad.Name)
	}), err
}

func (n named) toolExamples(p gen.Project) (gen.GoFile, error) {
	if slices.ContainsFunc(n.tools, func(tool string) bool { return tool != n.wire }) {
		all, err := n.steps(p)
		return n.test(p, func(file gen.GoFile) string { return calls(file, p.Import("core/mcptest"), all, "") }), err
	}
	return n.exampleTest(p, checkTool(n.wire), func(e gen.Example) (input, output *jen.Statement, err error) {
		return n.toolRow(p, n.wire, e)
	})
}

// A body is the statements of a function that somebody has sent.
type body struct {
	imports []gen.Import // that stood before them
	text    string
}

// parseBody reads statements, before which there may be import declarations. It refuses
// what would reach beyond the function that it is for.
func parseBody(text string) (*body, error) { return parseStatements("body", text) }

// parseStatements is parseBody for what an input calls otherwise.
func parseStatements(what, text string) (*body, error) {
	const most = 100_000
	switch {
	case !utf8.ValidString(text):
		return nil, fmt.Errorf("the %s is no valid UTF-8", what)
	case len(text) > most:
		return nil, fmt.Errorf("the %s has %d bytes; send at most %d, and put the rest into a package of its own", what, len(text), most)
	case strings.TrimSpace(text) == "":
		return nil, fmt.Errorf("the %s is empty; send the statements of the function, or leave it out", what)
	}
	if err := directives(what, text); err != nil {
		return nil, err
	}
	imports, end, err := leadingImports(text)
	if err != nil {
		return nil, &gen.SourceError{What: what, Text: text, Line: 1, Column: 1, Message: err.Error()}
	}
	const before, after = "package p\nfunc _() {\n", "\n}\n"
	blank := strings.Repeat("\n", strings.Count(text[:end], "\n"))
	whole := before + blank + text[end:] + after
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "body", whole, parser.SkipObjectResolution)
	var list scanner.ErrorList
	if errors.As(err, &list) {
		line, column := list[0].Pos.Line-strings.Count(before, "\n"), list[0].Pos.Column
		if lines := strings.Split(text, "\n"); line > len(lines) { // it goes on where it should not
			line, column = len(lines), len(lines[len(lines)-1])+1
		}
		return nil, &gen.SourceError{What: what, Text: text, Line: line, Column: column, Message: "syntax error: " + list[0].Msg + wholeFunction(text[end:])}
	}
	f, ok := file.Decls[0].(*ast.FuncDecl)
	if len(file.Decls) != 1 || !ok || fset.Position(f.Body.Rbrace).Offset != len(whole)-2 {
		return nil, &gen.SourceError{What: what, Text: text, Line: 1, Column: 1, Message: "it does not stay inside one function: a } closes what it did not open; send the statements between the braces of the function alone"}
	}
	return &body{imports: imports, text: strings.TrimRight(strings.TrimLeft(text[end:], "\n"), " \t\n")}, nil
}

// directives refuses comments that are for the compiler: gofmt moves some to the head of the file, and others say
// that lines are elsewhere.
func directives(what, text string) error {
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
				return &gen.SourceError{What: what, Text: text, Line: at.Line, Column: at.Column, Message: fmt.Sprintf("a %s cannot hold the directive %s; leave it out", what, strings.TrimSpace(word))}
			}
		}
	}
}

// wholeFunction says what a body is, to those who sent more.
func wholeFunction(text string) string {
	text = strings.TrimSpace(text)
	for _, word := range []string{"func ", "package ", "type ", "```"} {
		if strings.HasPrefix(text, word) {
			return "; send the statements between the braces of the function alone, without its signature, types of its own or a package clause"
		}
	}
	return ""
}

// leadingImports reads import declarations at the beginning of a text, and says where they end.
func leadingImports(text string) (imports []gen.Import, end int, err error) {
	const before = "package p;"
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "body", before+text, parser.ImportsOnly)
	if err != nil || len(file.Imports) == 0 {
		return nil, 0, nil // statements, of which the parser complains if they are wrong
	}
	for _, spec := range file.Imports {
		i := gen.Import{}
		if spec.Name != nil {
			i.Name = spec.Name.Name
		}
		i.Path, err = strconv.Unquote(spec.Path.Value)
		if err != nil || i.Path == "C" || i.Name == "." || i.Name == "_" {
			return nil, 0, fmt.Errorf("a body cannot import %s; import packages by their names alone", strings.TrimSpace(i.Name+" "+spec.Path.Value))
		}
		imports = append(imports, i)
	}
	last := file.Decls[len(file.Decls)-1]
	return imports, fset.Position(last.End()).Offset - len(before), nil
}
