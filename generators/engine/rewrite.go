package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/typecheck"
)

// A rewrite edits Go files of the project at positions in their syntax, and renames declarations
// with all uses.
type rewrite struct {
	snapshot
	pass      *typecheck.Pass
	dirs      []string              // packages whose files may use the edited declarations
	edits     map[string][]textEdit // by file
	renamed   map[token.Pos]string  // new Go names, by the position of their declaration
	jsonNames map[token.Pos]string  // new JSON names of fields, by the position of their declaration
	unbuilt   []string              // warnings about files that may use renamed declarations

	packages func() []*typecheck.InspectedPackage // in dirs, tests included
}

type textEdit struct {
	start, end int
	text       string
}

// newRewrite returns a rewrite of declarations in folders.
func (s snapshot) newRewrite(ctx context.Context, edited ...string) (*rewrite, error) {
	dirs := s.engine.checker.Importers(s.view, edited...)
	pass, err := s.engine.checker.NewPass(ctx, s.view, dirs, typecheck.PassOptions{})
	r := &rewrite{snapshot: s, pass: pass, dirs: dirs, edits: map[string][]textEdit{}, renamed: map[token.Pos]string{}, jsonNames: map[token.Pos]string{}}
	r.packages = sync.OnceValue(func() (all []*typecheck.InspectedPackage) {
		for _, dir := range r.dirs {
			all = append(all, r.pass.InspectTests(dir)...)
		}
		return all
	})
	return r, err
}

// extend adds the packages that may use the fields of structs, or of structs that these contain,
// which may be of other packages.
func (r *rewrite) extend(ctx context.Context, checker *typecheck.Checker, list ...*types.Named) (err error) {
	structs := map[*types.Named]bool{}
	r.addStructs(structs, list...)
	for t := range structs {
		r.dirs = append(r.dirs, checker.Importers(r.view, r.view.FileAt(t.Obj().Pos()).Dir())...)
	}
	slices.Sort(r.dirs)
	r.dirs = slices.Compact(r.dirs)
	r.pass, err = checker.NewPass(ctx, r.view, r.dirs, typecheck.PassOptions{})
	return err
}

// addStructs adds structs of the project, and those that their fields have, point to or contain.
func (r *rewrite) addStructs(found map[*types.Named]bool, list ...*types.Named) {
	for _, t := range list {
		if t == nil || found[t] {
			continue
		}
		found[t] = true
		for field := range t.Underlying().(*types.Struct).Fields() {
			r.addStructs(found, r.structOf(derive.Innermost(field.Type())))
		}
	}
}

// structOf returns a struct type of the project that a type is or points to, or nil.
func (r *rewrite) structOf(t types.Type) *types.Named {
	named := r.namedOf(t)
	if named != nil {
		if _, ok := named.Underlying().(*types.Struct); ok {
			return named
		}
	}
	return nil
}

// namedOf returns a named type of the project that a type is or points to, or nil.
func (r *rewrite) namedOf(t types.Type) *types.Named {
	if t == nil {
		return nil
	}
	named, ok := types.Unalias(valueType(t)).(*types.Named)
	if !ok || r.view.FileAt(named.Obj().Pos()) == nil {
		return nil
	}
	return named
}

func (r *rewrite) offset(pos token.Pos) int { return r.view.Fset().File(pos).Offset(pos) }

func (r *rewrite) replace(file *typecheck.File, start, end token.Pos, text string) {
	edit := textEdit{r.offset(start), r.offset(end), text}
	if !slices.Contains(r.edits[file.Path], edit) { // a field may have two paths
		r.edits[file.Path] = append(r.edits[file.Path], edit)
	}
}

func (r *rewrite) isPlanned(file *typecheck.File, pos token.Pos) bool {
	at := r.offset(pos)
	return slices.ContainsFunc(r.edits[file.Path], func(e textEdit) bool { return e.start <= at && at < e.end })
}

// renameUses renames all identifiers of renamed declarations.
func (r *rewrite) renameUses() {
	if len(r.renamed) == 0 {
		return
	}
	r.renameEmbedded()
	built, old := map[*typecheck.File]bool{}, map[string]bool{}
	for _, inspected := range r.packages() {
		for _, file := range inspected.Files {
			built[file] = true
			if file.IsDerived() {
				continue
			}
			for ident := range nodesOf[*ast.Ident](file.Syntax) {
				object := inspected.Info.ObjectOf(ident)
				if object == nil || object.Name() != ident.Name || r.isPlanned(file, ident.Pos()) { // another name of an import
					continue
				}
				if name := r.renamed[origin(object).Pos()]; name != "" {
					r.replace(file, ident.Pos(), ident.End(), name)
					old[ident.Name] = true
				}
			}
		}
	}
	r.noteUnbuilt(built, old)
}

// noteUnbuilt notes files that are not built on this system and contain old names of renamed
// declarations.
func (r *rewrite) noteUnbuilt(built map[*typecheck.File]bool, old map[string]bool) {
	for _, dir := range r.dirs {
		for _, file := range r.view.Files(dir) {
			for ident := range nodesOf[*ast.Ident](file.Syntax) {
				if old[ident.Name] && !built[file] {
					r.unbuilt = append(r.unbuilt, fmt.Sprintf("%s is not built on this system and may use the old name %s; rename it there by hand", file.Path, ident.Name))
					break
				}
			}
		}
	}
}

// nameOf returns the name of a declaration after the rewrite.
func (r *rewrite) nameOf(object types.Object) string {
	return cmp.Or(r.renamed[origin(object).Pos()], object.Name())
}

// isInOlder reports whether a position is in a method of an older version of a command, or in a
// function that maps events to a command, which a new version makes map to the older one.
func (r *rewrite) isInOlder(file *typecheck.File, pos token.Pos) bool {
	function := typecheck.Enclosing[*ast.FuncDecl](file, pos)
	pkg, _ := r.pass.Package(file.Dir())
	return function != nil && pkg != nil && convertsTo(pkg, function) != ""
}

// convertsTo returns the command whose stored events a function converts: a method of an older
// version, a function or method that returns one, such as Downgrade, or a function that maps events
// to a command. It is empty for other functions.
func convertsTo(pkg *types.Package, function *ast.FuncDecl) string {
	result := &ast.Ident{}
	if function.Type.Results != nil {
		if ident, ok := function.Type.Results.List[0].Type.(*ast.Ident); ok {
			result = ident
		}
	}
	command := cmp.Or(olderOf(pkg, receiverName(function)), olderOf(pkg, result.Name))
	if command == "" && derive.IsMapper(function) {
		return result.Name
	}
	return command
}

// olderOf returns the command that a type belongs to as an older version: Create for CreateV1 and
// CreateV1Item. It is empty for other types.
func olderOf(pkg *types.Package, name string) string {
	for at := range name {
		if !isVersionOf(name[:at], name) {
			continue
		}
		if object, ok := pkg.Scope().Lookup(name[:at]).(*types.TypeName); ok {
			if apply, _, _ := types.LookupFieldOrMethod(object.Type(), true, pkg, "Apply"); apply != nil {
				return name[:at]
			}
		}
	}
	return ""
}

// isVersionOf reports whether a name is that of an older version of a command: CreateV1 or
// CreateV1Item.
func isVersionOf(command, name string) bool {
	rest, ok := strings.CutPrefix(name, command+"V")
	return ok && command != "" && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// renameEmbedded renames the fields of structs that embed a renamed type.
func (r *rewrite) renameEmbedded() {
	for _, inspected := range r.packages() {
		for ident, defined := range inspected.Info.Defs {
			field, ok := defined.(*types.Var)
			used := inspected.Info.Uses[ident]
			if ok && field.Embedded() && used != nil && r.renamed[used.Pos()] != "" {
				r.renamed[field.Pos()] = r.renamed[used.Pos()]
			}
		}
	}
}

// editDoc plans the doc comment of a declaration. edit gets its lines of text and its directives,
// and returns the new ones.
func (r *rewrite) editDoc(pos token.Pos, edit func(text, directives []string) ([]string, []string)) {
	file := r.view.FileAt(pos)
	doc, at := docAt(file, pos)
	start, end, after := at, at, "\n"
	var text, directives []string
	if doc != nil {
		start, end, after = doc.Pos(), doc.End(), ""
		for _, comment := range doc.List {
			if _, ok := ast.ParseDirective(comment.Pos(), comment.Text); ok {
				directives = append(directives, comment.Text)
			} else {
				text = append(text, comment.Text)
			}
		}
	}
	for len(text) > 0 && text[len(text)-1] == "//" {
		text = text[:len(text)-1]
	}
	text, directives = edit(text, directives)
	if len(text) > 0 && len(directives) > 0 {
		text = append(text, "//")
	}
	r.replace(file, start, end, strings.Join(slices.Concat(text, directives), "\n")+after)
}

// setDirective replaces or adds a directive of petrock, or removes it if isSet is false.
func setDirective(directives []string, name, value string, isSet bool) []string {
	isOld := func(d string) bool { return strings.HasPrefix(d+" ", "//petrock:"+name+" ") }
	at := slices.IndexFunc(directives, isOld)
	directives = slices.DeleteFunc(directives, isOld)
	if !isSet {
		return directives
	}
	if at < 0 {
		at = len(directives)
	}
	return slices.Insert(directives, at, strings.TrimSpace("//petrock:"+name+" "+value))
}

// origin returns the generic declaration of an instantiated field or method.
func origin(object types.Object) types.Object {
	switch object := object.(type) {
	case *types.Var:
		return object.Origin()
	case *types.Func:
		return object.Origin()
	}
	return object
}

// texts returns the edited files.
func (r *rewrite) texts() map[string][]byte {
	texts := map[string][]byte{}
	for name := range r.edits {
		texts[name] = []byte(r.applied(name, 0, len(r.view.File(name).Text)))
	}
	return texts
}

// applied returns a part of a file with the edits of it.
func (r *rewrite) applied(name string, start, end int) string {
	edits := r.edits[name]
	slices.SortStableFunc(edits, func(a, b textEdit) int { // insertions before a replacement
		return cmp.Or(a.start-b.start, min(a.end-a.start, 1)-min(b.end-b.start, 1))
	})
	text := r.view.File(name).Text
	var out []byte
	at := start
	for _, e := range edits {
		if e.start >= at && e.end <= end { // not in a part that is replaced
			out = append(append(out, text[at:e.start]...), e.text...)
			at = e.end
		}
	}
	return string(append(out, text[at:end]...))
}

// renameField plans a new name for a field of a type, in JSON and in Go, unless the source already
// has it. Names are JSON paths.
func (r *rewrite) renameField(t *types.Named, old, name string) error {
	prefix := old[:strings.LastIndex(old, ".")+1]
	if !strings.Contains(name, ".") {
		name = prefix + name
	}
	before, after := derive.FieldAt(t, old), derive.FieldAt(t, name)
	switch {
	case !strings.HasPrefix(name, prefix) || strings.Contains(strings.TrimPrefix(name, prefix), "."):
		return fmt.Errorf("rename %s=%s: cannot move a field to another struct; use %sNAME", old, name, prefix)
	case before != nil && after != nil:
		return fmt.Errorf("rename %s=%s: %s has both fields; remove one of them", old, name, t.Obj().Name())
	case after != nil:
		return nil // the source was already edited
	case before == nil:
		return fmt.Errorf("rename %s=%s: %s has neither field", old, name, t.Obj().Name())
	}
	short := strings.TrimPrefix(name, prefix)
	parsed, err := gen.ParseFieldName(short, r.engine.project.Initialisms...)
	if err != nil {
		return fmt.Errorf("rename %s=%s: %w", old, name, err)
	}
	file, field, err := r.declaration(before)
	if err != nil {
		return err
	}
	tag, _ := unquote(field.Tag)
	r.editField(file, field, before, gen.Field{Name: short, Go: parsed.Go()}, "", renamedTag(tag, short))
	return nil
}

// editField plans the name, type, tag and comment of a field. An empty type stays. Without a
// description, the comment stays.
func (r *rewrite) editField(file *typecheck.File, field *ast.Field, v *types.Var, f gen.Field, typ, tag string) {
	if f.Go != v.Name() {
		r.renamed[v.Pos()] = f.Go
	}
	if typ != "" {
		r.replace(file, field.Type.Pos(), field.Type.End(), typ)
	}
	start, end := field.Type.End(), field.Type.End()
	if field.Tag != nil {
		start, end = field.Tag.Pos(), field.Tag.End()
	}
	r.replace(file, start, end, " `"+tag+"`")

	oldTag, _ := unquote(field.Tag)
	old, _, _ := strings.Cut(reflect.StructTag(oldTag).Get("json"), ",")
	if old != f.Name {
		r.jsonNames[v.Pos()] = f.Name
	}
	comment := derive.FieldText(field)
	if comment == f.Description || f.Description == "" {
		return
	}
	if field.Doc != nil {
		r.replace(file, field.Doc.Pos(), field.Doc.End(), "")
	}
	if start = end; field.Comment != nil {
		start, end = field.Comment.Pos(), field.Comment.End()
	}
	r.replace(file, start, end, f.Comment())
}

func (r *rewrite) declaration(v *types.Var) (*typecheck.File, *ast.Field, error) {
	var field *ast.Field
	file := r.view.FileAt(v.Pos())
	if file != nil {
		field = typecheck.Enclosing[*ast.Field](file, v.Pos())
	}
	switch {
	case field == nil || len(field.Names) == 0:
		return nil, nil, fmt.Errorf("the field %s is not declared in a struct of the project", v.Name())
	case len(field.Names) > 1:
		return nil, nil, fmt.Errorf("%s: %s is declared together with other fields; declare it on its own line", file.Path, v.Name())
	}
	return file, field, nil
}

// replaceTag sets one key of a struct tag. An empty value removes the key.
func replaceTag(tag, key, value string) string {
	pair := ""
	if value != "" {
		pair = key + ":" + strconv.Quote(value)
	}
	old, isSet := reflect.StructTag(tag).Lookup(key)
	if found := key + ":" + strconv.Quote(old); isSet && strings.Contains(tag, found) {
		if pair == "" {
			tag = strings.Replace(tag, " "+found, found, 1)
		}
		return strings.TrimSpace(strings.Replace(tag, found, pair, 1))
	}
	if key == "json" {
		return strings.TrimSpace(pair + " " + tag)
	}
	return strings.TrimSpace(tag + " " + pair)
}

// renamedTag returns a struct tag with another JSON name.
func renamedTag(tag, name string) string {
	_, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return replaceTag(tag, "json", strings.TrimSuffix(name+","+options, ","))
}

// removeField plans to remove the declaration of a field with its comments.
func (r *rewrite) removeField(v *types.Var) error {
	file, field, err := r.declaration(v)
	if err != nil {
		return err
	}
	r.removeDeclaration(file, field, field.Doc, field.Comment)
	return nil
}

// removeDeclaration plans to remove a field or a constant, its comments and the line break before
// it. The comments may be nil.
func (r *rewrite) removeDeclaration(file *typecheck.File, node ast.Node, doc, comment *ast.CommentGroup) {
	start, end := node.Pos(), endOf(node, comment)
	if doc != nil {
		start = doc.Pos()
	}
	before := file.Text[:r.offset(start)]
	kept := bytes.TrimSuffix(bytes.TrimRight(before, " \t"), []byte("\n"))
	r.replace(file, start-token.Pos(len(before)-len(kept)), end, "")
}

// endOf returns the end of a declaration with the comment after it, which may be nil.
func endOf(node ast.Node, comment *ast.CommentGroup) token.Pos {
	if comment != nil {
		return comment.End()
	}
	return node.End()
}

// addImports adds imports to a file: those that it names, and those that its text lacks. It also
// returns the names for which it found no package.
func (s snapshot) addImports(ctx context.Context, file gen.File) ([]byte, []imports.Missing, error) {
	text, err := s.engine.resolver.Insert(ctx, s.view, file.Path, file.Text, file.Imports)
	if err != nil {
		return nil, nil, err
	}
	return s.engine.resolver.Add(ctx, s.view, file.Path, text)
}

// completeGo adds missing imports to planned Go files, removes unused ones, and formats the files.
// It returns the names for which it found no package.
func (s snapshot) completeGo(ctx context.Context, texts map[string][]byte) (missing []imports.Missing, err error) {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		planned := s.with(texts)
		if planned.view.File(name) == nil {
			continue // deleted, not Go, or in testdata
		}
		text, err := s.engine.resolver.RemoveUnused(ctx, planned.view, name, texts[name])
		if err != nil {
			return nil, err
		}
		text, unknown, err := planned.addImports(ctx, gen.File{Path: name, Text: text})
		if err != nil {
			return nil, err
		}
		texts[name], missing = formatted(name, text), append(missing, unknown...)
	}
	return missing, nil
}

// formatted returns the text of a file, formatted if it is Go that parses.
func formatted(file string, text []byte) []byte {
	if path.Ext(file) == ".go" {
		if formatted, err := format.Source(text); err == nil {
			return formatted
		}
	}
	return text
}
