package engine

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"time"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// planExamples plans examples in the component's test function. An example with the name of another
// replaces it. Others are added to the table that the function ends with or, if they do not fit, as
// subtests at its end.
func (ch *changer) planExamples() error {
	if len(ch.in.Examples) == 0 {
		return nil
	}
	name := testPath(ch.c.File)
	file := ch.view.File(name)
	function := findFunc(file, "Test"+ch.oldGo)
	switch {
	case !ch.c.Kind.IsTool() && ch.c.Kind != derive.Resource && ch.c.Kind != derive.Prompt:
		return fmt.Errorf("examples need a tool, command, query, resource or prompt; edit the test of a %s in %s", ch.c.Kind, name)
	case function == nil || !usesName(function, "client"):
		return fmt.Errorf("%s has no func Test%s with a variable client, to which examples can be added; edit the test", name, ch.oldGo)
	}
	known := map[string]*ast.CompositeLit{}
	for literal := range nodesOf[*ast.CompositeLit](function) {
		if text, ok := unquote(member(literal, "Name")); ok {
			known[text] = literal
		}
	}
	ch.removeUnwritten(file, function)
	table := tableOf(function)
	for i, given := range ch.in.Examples {
		e, later, err := given.Parse(len(known) + i + 1)
		if err != nil {
			return err
		}
		literal, err := ch.exampleLiteral(given, e)
		if err != nil {
			return err
		}
		row, fits := table.row(given.Tool, ch.ownTool(), later, literal)
		switch old := known[e.Name]; {
		case old != nil && (given.Tool != "" || later > 0):
			return fmt.Errorf("example %q exists, and keeps its tool and its advance of the clock; omit tool and later, or use another name", e.Name)
		case old != nil:
			ch.replace(file, old.Lbrace, old.Rbrace+1, literal)
		case fits:
			ch.replace(file, table.literal.Rbrace, table.literal.Rbrace, row+",\n")
		default:
			ch.replace(file, function.Body.Rbrace, function.Body.Rbrace, ch.subtest(given.Tool, later, e.Name, literal))
		}
	}
	return nil
}

// ownTool returns the tool that the component is, or "" for a resource or prompt.
func (ch *changer) ownTool() string {
	if ch.c.Kind.IsTool() {
		return ch.newWire
	}
	return ""
}

// exampleLiteral returns an example as a literal of mcptest.Example without its type.
func (ch *changer) exampleLiteral(given gen.Step, e gen.Example) (string, error) {
	input, output := string(e.Input), string(e.Output)
	isOwnText := !ch.c.Kind.IsTool() && given.Tool == ""
	if text, ok := strictjson.Unquote(e.Output); isOwnText && e.Output != nil {
		if !ok {
			return "", fmt.Errorf("example %q: the output must be a string, not %s", e.Name, e.Output)
		}
		output = text
	}
	if isOwnText && ch.c.Kind == derive.Resource {
		template, err := derive.ParseURI(ch.c.URI)
		values := map[string]string{}
		if err == nil {
			err = strictjson.Unmarshal(e.Input, &values)
		}
		if err == nil {
			input, err = template.Expand(values)
		}
		if err != nil {
			return "", fmt.Errorf("example %q: %w", e.Name, err)
		}
	}
	text := fmt.Sprintf("{Name: %q, Input: %s", e.Name, gen.RawString(input))
	switch {
	case e.Error != "":
		text += ", Error: " + strconv.Quote(e.Error)
	case e.Output != nil:
		text += ", Output: " + gen.RawString(output)
	default:
		text += ", Output: mcptest.AnyOutput{}"
	}
	return text + "}", nil
}

// subtest returns statements that check an example after the others.
func (ch *changer) subtest(tool string, later time.Duration, name, literal string) string {
	check := fmt.Sprintf("client.CheckTool(t, %q, mcptest.Example%s)", tool, literal)
	switch {
	case tool != "":
	case ch.c.Kind == derive.Resource:
		check = "client.CheckResource(t, mcptest.Example" + literal + ")"
	case ch.c.Kind == derive.Prompt:
		check = fmt.Sprintf("client.CheckPrompt(t, %q, mcptest.Example%s)", ch.newWire, literal)
	default:
		check = fmt.Sprintf("client.CheckTool(t, %q, mcptest.Example%s)", ch.newWire, literal)
	}
	if later > 0 {
		check = "client.Advance(" + durationCode(later) + ")\n" + check
	}
	return fmt.Sprintf("t.Run(%q, func(t *testing.T) {\n%s\n})\n", name, check)
}

// removeUnwritten plans to remove the call that expects the error of a function without a body.
func (ch *changer) removeUnwritten(file *typecheck.File, function *ast.FuncDecl) {
	for _, statement := range function.Body.List {
		for literal := range nodesOf[*ast.CompositeLit](statement) {
			if text, _ := unquote(member(literal, "Error")); text != "not written yet" || member(literal, "Name") != nil {
				continue
			}
			start := statement.Pos()
			for _, group := range file.Syntax.Comments {
				if function.Body.Pos() < group.Pos() && ch.line(group.End())+1 == ch.line(start) {
					start = group.Pos()
				}
			}
			ch.replace(file, start, statement.End(), "")
		}
	}
}

func durationCode(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return gen.Duration(d).GoString()
}

func (ch *changer) line(pos token.Pos) int { return ch.view.Fset().PositionFor(pos, false).Line }

func findFunc(file *typecheck.File, name string) *ast.FuncDecl {
	if file == nil {
		return nil
	}
	for _, decl := range file.Syntax.Decls {
		if function, ok := decl.(*ast.FuncDecl); ok && function.Recv == nil && function.Name.Name == name && function.Body != nil {
			return function
		}
	}
	return nil
}

func usesName(node ast.Node, name string) bool {
	for ident := range nodesOf[*ast.Ident](node) {
		if ident.Name == name {
			return true
		}
	}
	return false
}

// An exampleTable is a table of examples that a generator wrote: of one component or, with the
// column tool and perhaps later, of several tools. Its literal is nil if there is none.
type exampleTable struct {
	literal *ast.CompositeLit
	columns []string
}

// tableOf returns the table of the loop that a function ends with.
func tableOf(function *ast.FuncDecl) (t exampleTable) {
	if len(function.Body.List) == 0 {
		return t
	}
	loop, _ := function.Body.List[len(function.Body.List)-1].(*ast.RangeStmt)
	if loop == nil {
		return t
	}
	literal, _ := loop.X.(*ast.CompositeLit)
	if literal == nil {
		return t
	}
	list, _ := literal.Type.(*ast.ArrayType)
	if list == nil {
		return t
	}
	switch elem := list.Elt.(type) {
	case *ast.SelectorExpr:
		if elem.Sel.Name == "Example" {
			return exampleTable{literal, nil}
		}
	case *ast.StructType:
		for _, field := range elem.Fields.List {
			for _, name := range field.Names {
				t.columns = append(t.columns, name.Name)
			}
		}
		if slices.Equal(t.columns, []string{"tool"}) || slices.Equal(t.columns, []string{"tool", "later"}) {
			t.literal = literal
		}
	}
	return t
}

// row returns an example as a row of the table, and whether it fits.
func (t exampleTable) row(tool, own string, later time.Duration, literal string) (row string, fits bool) {
	if len(t.columns) == 0 {
		return literal, t.literal != nil && tool == "" && later == 0
	}
	if tool == "" {
		tool = own
	}
	row = "{" + strconv.Quote(tool) + ", "
	if len(t.columns) == 2 {
		row += durationCode(later) + ", "
	}
	return row + "mcptest.Example" + literal + "}", t.literal != nil && (later == 0 || len(t.columns) == 2)
}
