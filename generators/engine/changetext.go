package engine

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// renamedWords returns a comment with the new names of renamed declarations, and of the component in
// phrases that generators write.
func (ch *changer) renamedWords(comment string, isDoc bool) string {
	if ch.newGo == ch.oldGo {
		return comment
	}
	for _, old := range ch.oldNames {
		isWord := !regexp.MustCompile(`[a-z0-9][A-Z]|[0-9]`).MatchString(old)
		if name, ok := ch.newNameOf(old); ok && (isDoc || !isWord) {
			comment = regexp.MustCompile(`\b`+old+`\b`).ReplaceAllString(comment, name)
		}
	}
	return ch.renamedPhrases(comment)
}

func (ch *changer) newNameOf(old string) (string, bool) {
	for _, prefix := range []string{"", "Test", "New", "On", "On" + gen.Capitalize(ch.c.Feature)} {
		if rest, ok := strings.CutPrefix(old, prefix+ch.oldGo); ok {
			return prefix + ch.newGo + rest, true
		}
	}
	return "", false
}

// labels returns the names of a component in generated phrases: posts/create in a feature, else as clients
// see it.
func (ch *changer) labels() (old, name string) {
	if ch.c.Feature != "" && ch.c.Kind != derive.Worker {
		return ch.c.Feature + "/" + gen.WireName(ch.oldGo), ch.c.Feature + "/" + gen.WireName(ch.newGo)
	}
	return ch.c.Name, ch.newWire
}

// renamedPhrases replaces the component's name in texts that generators write.
func (ch *changer) renamedPhrases(text string) string {
	oldLabel, label := ch.labels()
	var pairs []string
	for _, names := range [][2]string{{oldLabel, label}, {ch.c.Name, ch.newWire}} {
		for _, phrase := range []string{"put of %s.", "arguments of %s.", "URI of %s.", "%s is not written yet", "%s returned ", "%s with %%s returned ", string(ch.c.Kind) + " %s is not listed", "called for each %s,"} {
			pairs = append(pairs, strings.Replace(phrase, "%s", names[0], 1), strings.Replace(phrase, "%s", names[1], 1))
		}
	}
	for _, old := range slices.Sorted(maps.Keys(ch.moves)) {
		pairs = append(pairs, "write it in "+old, "write it in "+ch.moves[old])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// renameTexts replaces the component's name in comments and string literals.
func (ch *changer) renameTexts() {
	if ch.newGo == ch.oldGo && ch.newWire == ch.c.Name {
		return
	}
	for _, file := range ch.view.All() {
		if file.IsDerived() || isPetrockPath(file.Path) {
			continue
		}
		isHere := func(pos token.Pos) bool { return fileAt(ch.view, pos) == file }
		ours := ch.owns(file) || slices.ContainsFunc(slices.Collect(maps.Keys(ch.renamed)), isHere)
		if ours {
			docs := ch.renamedDocs(file)
			for _, group := range file.Syntax.Comments {
				for _, comment := range group.List {
					if renamed := ch.renamedComment(comment.Text, slices.Contains(docs, group)); renamed != comment.Text && !ch.isPlanned(file, comment.Pos()) {
						ch.replace(file, comment.Pos(), comment.End(), renamed)
					}
				}
			}
		}
		ch.renameLiterals(file, ours)
	}
}

// renamedDocs returns the doc comments of renamed declarations and of methods of renamed types.
func (ch *changer) renamedDocs(file *typecheck.File) (docs []*ast.CommentGroup) {
	isRenamed := func(name *ast.Ident) bool { return ch.renamed[name.Pos()] != "" }
	for _, decl := range file.Syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			receiver, _, _ := strings.Cut(declarationName(decl), ".")
			_, isOld := ch.newNameOf(receiver)
			if isRenamed(decl.Name) || decl.Recv != nil && isOld && slices.Contains(ch.oldNames, receiver) {
				docs = append(docs, decl.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok && isRenamed(spec.Name) {
					docs = append(docs, decl.Doc, spec.Doc)
				}
			}
		}
	}
	return docs
}

// renamedComment returns a comment with new names. Outside of doc comments, a name of one word may be
// prose.
func (ch *changer) renamedComment(text string, isDoc bool) string {
	if rest, ok := strings.CutPrefix(text, "//petrock:completes "); ok {
		if strings.TrimSpace(rest) == ch.c.Name {
			return "//petrock:completes " + ch.newWire
		}
		return text
	}
	return ch.renamedWords(text, isDoc)
}

// renameLiterals replaces the tool's name in string literals. A name of one word may mean something else:
// it is only replaced where it is surely a tool's name, and otherwise noted.
func (ch *changer) renameLiterals(file *typecheck.File, ours bool) {
	info := ch.infoOf(file)
	var stack []ast.Node
	ast.Inspect(file.Syntax, func(node ast.Node) bool {
		if node == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, node)
		literal, ok := node.(*ast.BasicLit)
		if !ok || ch.isPlanned(file, node.Pos()) {
			return true
		}
		text, ok := unquote(literal)
		switch {
		case !ok || ch.newWire == ch.c.Name && text == ch.c.Name:
		case text == ch.c.Name && (strings.Contains(text, "_") || isToolName(stack, info, ch.engine.deriver.Core)):
			ch.replace(file, literal.Pos(), literal.End(), strings.Replace(literal.Value, ch.c.Name, ch.newWire, 1))
		case text == ch.c.Name && ch.c.Kind != derive.Worker && !isTag(stack):
			at := ch.view.Fset().PositionFor(literal.Pos(), false)
			ch.plan.next = append(ch.plan.next, fmt.Sprintf("%s:%d has the text %s; change it if it means the %s.", cmp.Or(ch.moves[file.Path], file.Path), at.Line, literal.Value, ch.c.Kind))
		case ours:
			if renamed := ch.renamedPhrases(literal.Value); renamed != literal.Value {
				ch.replace(file, literal.Pos(), literal.End(), renamed)
			}
		}
		return true
	})
}

func isTag(stack []ast.Node) bool {
	switch stack[len(stack)-2].(type) {
	case *ast.Field, *ast.ImportSpec:
		return true
	}
	return false
}

// infoOf returns the type information of a file, or nil.
func (r *rewrite) infoOf(file *typecheck.File) *types.Info {
	for inspected := range r.packages() {
		if slices.Contains(inspected.Files, file) {
			return inspected.Info
		}
	}
	return nil
}

// isToolName reports whether a literal, the last node of the stack, is the name of a component: an
// argument of a function of core, compared with a field of a type of core, next to an example of mcptest,
// or the name in a request.
func isToolName(stack []ast.Node, info *types.Info, core string) bool {
	if info == nil || len(stack) < 2 {
		return false
	}
	isCore := func(e ast.Expr) bool {
		return strings.HasPrefix(types.TypeString(info.TypeOf(e), nil), core+"/") || strings.HasPrefix(types.TypeString(info.TypeOf(e), nil), "*"+core+"/")
	}
	switch parent := stack[len(stack)-2].(type) {
	case *ast.CallExpr:
		selector, ok := parent.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		called := info.Uses[selector.Sel]
		return called != nil && called.Pkg() != nil && strings.HasPrefix(called.Pkg().Path(), core+"/")
	case *ast.BinaryExpr:
		for _, operand := range []ast.Expr{parent.X, parent.Y} {
			if selector, ok := operand.(*ast.SelectorExpr); ok && isCore(selector.X) {
				return true
			}
		}
	case *ast.CompositeLit:
		return slices.ContainsFunc(parent.Elts, isCore)
	case *ast.KeyValueExpr:
		name, _ := unquote(parent.Key)
		for _, node := range stack {
			if call, ok := node.(*ast.CallExpr); ok && name == "name" && len(call.Args) > 0 {
				if text, _ := unquote(call.Args[0]); text == "tools/call" || text == "prompts/get" {
					return true
				}
			}
		}
	}
	return false
}
