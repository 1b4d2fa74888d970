package engine

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/gen"
)

// planExamples plans examples in the component's test function. An example with the name of another
// replaces it, and the first replaces the call of a function that is not written. Others are added
// to the table of examples or, if they call another tool or there is no table, as subtests.
func (ch *changer) planExamples() error {
	var function *ast.FuncDecl
	file := ch.view.File(testPath(ch.c.File))
	if len(ch.in.Examples) > 0 && file != nil && ch.c.Kind.IsTool() {
		for decl := range nodesOf[*ast.FuncDecl](file.Syntax) {
			if decl.Name.Name == "Test"+ch.oldGo {
				function = decl
			}
		}
	}
	switch {
	case len(ch.in.Examples) == 0:
		return nil
	case function == nil:
		return fmt.Errorf("examples need the test of a tool, command or query, func Test%s in %s; edit the test", ch.oldGo, testPath(ch.c.File))
	}
	known := map[string]*ast.CompositeLit{}
	var unwritten, table *ast.CompositeLit
	for literal := range nodesOf[*ast.CompositeLit](function) {
		expected, _ := unquote(member(literal, "Error"))
		list, isList := literal.Type.(*ast.ArrayType)
		switch name, isNamed := unquote(member(literal, "Name")); {
		case isNamed:
			known[name] = literal
		case expected == "not written yet":
			unwritten = literal
		case isList && types.ExprString(list.Elt) == "mcptest.Example":
			table = literal
		}
	}
	for _, comment := range file.Syntax.Comments {
		if unwritten != nil && comment.Pos() > function.Pos() && comment.End() < unwritten.Pos() && strings.Contains(comment.Text(), "replace Error") {
			ch.removeDeclaration(file, comment, nil, nil)
		}
	}
	for _, step := range ch.in.Examples {
		e, later, err := step.Parse(0)
		old, isOwn := known[step.Name], step.Tool == "" && later == 0
		switch {
		case err != nil:
			return err
		case step.Name == "":
			return terminal.Usagef("an example for change needs a name; one with the name of another replaces it")
		case old != nil && !isOwn:
			return terminal.Usagef("example %q exists, and keeps its tool and its advance of the clock; omit tool and later, or use another name", e.Name)
		case old == nil && isOwn && unwritten != nil:
			old, unwritten = unwritten, nil
		}
		literal, tool := exampleCode(e), step.Tool
		switch {
		case old != nil:
			ch.replace(file, old.Lbrace, old.Rbrace+1, literal)
			continue
		case table != nil && isOwn:
			ch.replace(file, table.Rbrace, table.Rbrace, literal+",\n")
			continue
		case tool == "":
			tool = ch.newWire
		}
		advance := ""
		if later > 0 {
			advance = "client.Advance(" + gen.Duration(later).GoString() + ")\n"
		}
		ch.replace(file, function.Body.Rbrace, function.Body.Rbrace,
			fmt.Sprintf("t.Run(%q, func(t *testing.T) {\n%sclient.CheckTool(t, %q, mcptest.Example%s)\n})\n", e.Name, advance, tool, literal))
	}
	return nil
}

// exampleCode returns an example of a tool as a literal of mcptest.Example without its type.
func exampleCode(e gen.Example) string {
	result := "Output: mcptest.AnyOutput{}"
	switch {
	case e.Error != "":
		result = fmt.Sprintf("Error: %q", e.Error)
	case e.Output != nil:
		result = "Output: " + gen.RawString(string(e.Output))
	}
	return fmt.Sprintf("{Name: %q, Input: %s, %s}", e.Name, gen.RawString(string(e.Input)), result)
}
