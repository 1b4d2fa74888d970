package engine

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// planRename plans the new name of the component: its function or type, declarations named after it, its
// tests and its files.
func (ch *changer) planRename() error {
	if ch.in.Rename == "" {
		return nil
	}
	text := ch.in.Rename
	if feature, rest, ok := strings.Cut(text, "/"); ok && ch.c.Feature != "" {
		if feature != ch.c.Feature {
			return fmt.Errorf("rename %s: cannot move it to another feature; generate it there", text)
		}
		text = rest
	}
	name, err := gen.ParseName(text)
	if err != nil {
		return err
	}
	ch.newGo = name.Go()
	switch ch.c.Kind {
	case derive.Command, derive.Query:
		ch.newWire = ch.c.Feature + "_" + name.Wire()
	case derive.Tool, derive.Prompt, derive.Resource, derive.Generator:
		ch.newWire = name.Wire()
	}
	if ch.c.Kind.IsTool() || ch.c.Kind == derive.Prompt {
		if err := gen.CheckWireName(ch.newWire, ch.engine.project.Name); err != nil {
			return err
		}
	}
	switch {
	case ch.newGo == ch.oldGo && ch.newWire == ch.c.Name:
		return fmt.Errorf("rename %s: it already has this name", text)
	case ch.newGo == ch.oldGo:
		return nil // only the directive changes
	}
	if err := ch.renameDeclarations(); err != nil {
		return err
	}
	ch.renameTriggers()
	ch.moveFiles(name)
	return nil
}

// renameDeclarations renames the component, and the declarations and tests whose names start with its name.
func (ch *changer) renameDeclarations() error {
	dir := path.Dir(ch.c.File)
	taken := map[string]string{} // files by name that the package or its tests declare
	for _, file := range ch.view.Files(dir) {
		if !file.IsDerived() {
			for _, name := range file.Names() {
				taken[name] = file.Path
			}
		}
	}
	rename := func(object types.Object, name string) error {
		if file := taken[name]; file != "" {
			return fmt.Errorf("rename %s to %s: %s already declares it; choose another name, or rename or destroy that first", object.Name(), name, file)
		}
		ch.rename(object, name)
		return nil
	}
	if _, isMethod := ch.object.(*types.Func); isMethod && strings.Contains(ch.c.Func, ".") {
		ch.rename(ch.object, ch.newGo) // the compiler finds conflicts
	}
	var others []string // components whose names start with the name of this one
	for _, file := range ch.view.Files(dir) {
		for _, name := range file.Names() {
			if name != ch.oldGo && startsWithWord(name, ch.oldGo) && ch.isComponent(name) {
				others = append(others, name)
			}
		}
	}
	for _, inspected := range ch.inspect(dir) {
		for ident, object := range inspected.Info.Defs {
			file := ch.fileAt(ident.Pos())
			if object == nil || object.Parent() == nil || object.Parent() != object.Pkg().Scope() || file.IsDerived() || !ch.owns(file) {
				continue
			}
			prefix := map[bool]string{true: "Test"}[file.IsTest()]
			if ch.c.Kind == derive.Worker && ident.Name == "New"+ch.oldGo {
				prefix = "New"
			}
			rest, ok := strings.CutPrefix(ident.Name, prefix+ch.oldGo)
			if !ok || !startsWithWord(ident.Name, prefix+ch.oldGo) || slices.ContainsFunc(others, func(other string) bool { return startsWithWord(ident.Name, prefix+other) }) {
				continue
			}
			if ch.renamed[object.Pos()] != "" { // seen in the package and in its tests
				continue
			}
			if err := rename(object, prefix+ch.newGo+rest); err != nil {
				return err
			}
		}
	}
	return nil
}

// startsWithWord reports whether an identifier starts with the words of another.
func startsWithWord(name, start string) bool {
	rest, ok := strings.CutPrefix(name, start)
	next, _ := utf8.DecodeRuneInString(rest)
	return ok && (rest == "" || !unicode.IsLower(next))
}

// isComponent reports whether a declaration of the package is another component: a function of a fixed
// place, or a type with the methods of a command, query or worker.
func (ch *changer) isComponent(name string) bool {
	object := ch.pkg.Scope().Lookup(name)
	if ch.c.Feature == "" {
		_, isFunc := object.(*types.Func)
		return isFunc
	}
	named, ok := types.Unalias(typeOf(object)).(*types.Named)
	if !ok {
		return false
	}
	for method := range named.Methods() {
		if slices.Contains([]string{"Apply", "Answer", "Every"}, method.Name()) || strings.HasPrefix(method.Name(), "On") {
			return true
		}
	}
	return false
}

func typeOf(object types.Object) types.Type {
	if name, ok := object.(*types.TypeName); ok {
		return name.Type()
	}
	return types.Typ[types.Invalid]
}

// owns reports whether declarations in a file that start with the component's name belong to it: in its
// file and test, and in those of its older versions.
func (ch *changer) owns(file *typecheck.File) bool {
	if file.Path == ch.c.File || file.Path == testPath(ch.c.File) {
		return true
	}
	isOlder := func(file *typecheck.File) bool {
		return file != nil && slices.ContainsFunc(file.Names(), func(name string) bool {
			return regexp.MustCompile(`^` + ch.oldGo + `V[0-9]+$`).MatchString(name)
		})
	}
	return ch.c.Kind == derive.Command && (isOlder(file) || file.IsTest() && isOlder(ch.view.File(strings.TrimSuffix(file.Path, "_test.go")+".go")))
}

// renameTriggers renames the methods of workers that are named after a command: OnCreate, or OnPostsCreate
// in another feature.
func (ch *changer) renameTriggers() {
	if ch.c.Kind != derive.Command {
		return
	}
	feature := gen.Capitalize(ch.c.Feature)
	if name, err := gen.ParseName(ch.c.Feature); err == nil {
		feature = name.Go()
	}
	for _, dir := range ch.dirs {
		for _, inspected := range ch.inspect(dir) {
			for _, object := range inspected.Info.Defs {
				method, ok := object.(*types.Func)
				if !ok || method.Signature().Recv() == nil || method.Signature().Params().Len() != 3 {
					continue
				}
				named, ok := types.Unalias(method.Signature().Params().At(1).Type()).(*types.Named)
				if !ok || named.Obj().Pos() != ch.object.Pos() {
					continue
				}
				if prefix := strings.TrimSuffix(method.Name(), ch.oldGo); prefix == "On" || prefix == "On"+feature {
					ch.rename(method, prefix+ch.newGo)
				}
			}
		}
	}
}

// moveFiles plans new paths for the files that are named after the component, and for those of its older
// versions.
func (ch *changer) moveFiles(name gen.Name) {
	dir, kind := path.Dir(ch.c.File), string(ch.c.Kind)
	sharesFile := slices.ContainsFunc(ch.others, func(other derive.Component) bool { return other.File == ch.c.File })
	move := func(old, target string) {
		for _, pair := range [][2]string{{old, target}, {testPath(old), testPath(target)}} {
			if ch.view.File(pair[0]) != nil {
				ch.moves[pair[0]] = pair[1]
			}
		}
	}
	if was, err := gen.ParseName(gen.WireName(ch.oldGo)); err == nil && !sharesFile && path.Base(ch.c.File) == was.File(kind) {
		move(ch.c.File, path.Join(dir, name.File(kind)))
	}
	for n := 1; n < ch.c.Version() && ch.c.Kind == derive.Command; n++ {
		version := fmt.Sprintf("V%d", n)
		was, err := gen.ParseName(gen.WireName(ch.oldGo + version))
		now, err2 := gen.ParseName(gen.WireName(ch.newGo + version))
		if err == nil && err2 == nil {
			move(path.Join(dir, was.File(kind)), path.Join(dir, now.File(kind)))
		}
	}
}

// planDoc plans the doc comment of the component: its description and its directives.
func (ch *changer) planDoc() {
	if ch.in.Description == "" && ch.in.Rename == "" {
		return
	}
	file := ch.fileAt(ch.object.Pos())
	doc, at := typeDoc(file, ch.object.Pos())
	if decl := enclosing[*ast.FuncDecl](file, ch.object.Pos()); decl != nil {
		doc, at = decl.Doc, decl.Pos()
	}
	var text, directives []string
	if doc != nil {
		for _, comment := range doc.List {
			switch {
			case strings.HasPrefix(comment.Text, "//") && len(comment.Text) > 2 && comment.Text[2] != ' ' && comment.Text[2] != '\t':
				directives = append(directives, comment.Text)
			default:
				text = append(text, ch.renamedWords(comment.Text, true))
			}
		}
	}
	for len(text) > 0 && text[len(text)-1] == "//" {
		text = text[:len(text)-1]
	}
	if ch.in.Description != "" {
		text = []string{"// " + ch.newGo + " " + gen.DocSentence(ch.in.Description)}
		if ch.c.Kind == derive.Feature {
			text = []string{"// State is " + strings.TrimPrefix(gen.DocSentence(ch.in.Description), "is ")}
		}
	}
	if ch.in.Rename != "" {
		directives = ch.renamedDirectives(directives)
	}
	if len(directives) > 0 {
		text = append(text, append([]string{"//"}, directives...)...)
	}
	whole := strings.Join(text, "\n")
	if doc == nil {
		ch.replace(file, at, at, whole+"\n")
		return
	}
	ch.replace(file, doc.Pos(), doc.End(), whole)
}

// renamedDirectives returns directives after a rename: the name that clients see, aliases, and the names
// under which events and positions are stored.
func (ch *changer) renamedDirectives(directives []string) []string {
	set := func(name, value string) {
		directives = slices.DeleteFunc(directives, func(d string) bool { return strings.HasPrefix(d+" ", "//petrock:"+name+" ") })
		if value != "" {
			directives = append(directives, "//petrock:"+name+" "+value)
		}
	}
	unless := func(value, standard string) string {
		if value == standard {
			return ""
		}
		return value
	}
	switch ch.c.Kind {
	case derive.Worker:
		set("name", unless(strings.TrimPrefix(ch.c.Name, ch.c.Feature+"/"), gen.WireName(ch.newGo)))
	case derive.Command:
		set("event", unless(strings.TrimPrefix(ch.c.EventType, ch.c.Feature+"/"), gen.WireName(ch.newGo)))
		set("name", unless(ch.newWire, ch.c.Feature+"_"+gen.WireName(ch.newGo)))
	case derive.Query:
		set("name", unless(ch.newWire, ch.c.Feature+"_"+gen.WireName(ch.newGo)))
	default:
		set("name", unless(ch.newWire, gen.WireName(ch.newGo)))
	}
	if ch.c.IsTool() {
		aliases := slices.Clone(ch.c.Aliases)
		if ch.in.Alias {
			aliases = append(aliases, ch.c.Name)
		}
		set("alias", strings.Join(slices.DeleteFunc(aliases, func(alias string) bool { return alias == ch.newWire }), " "))
	}
	return directives
}

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
		first, _, _ := strings.Cut(file.Path, "/")
		if file.IsDerived() || first == "core" || first == "generators" {
			continue
		}
		ours := ch.owns(file) || ch.renamesIn(file)
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

// renamesIn reports whether a declaration in a file is renamed.
func (ch *changer) renamesIn(file *typecheck.File) bool {
	for pos := range ch.renamed {
		if ch.fileAt(pos) == file {
			return true
		}
	}
	return false
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
	if !slices.Contains(r.dirs, file.Dir()) {
		return nil
	}
	for _, inspected := range r.inspect(file.Dir()) {
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
		key, _ := parent.Key.(*ast.BasicLit)
		name, _ := unquote(key)
		for _, node := range stack {
			if call, ok := node.(*ast.CallExpr); ok && name == "name" && len(call.Args) > 0 {
				method, _ := call.Args[0].(*ast.BasicLit)
				if text, _ := unquote(method); text == "tools/call" || text == "prompts/get" {
					return true
				}
			}
		}
	}
	return false
}
