package engine

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// A rewrite edits Go files of the project at positions in their syntax, and renames declarations with all
// uses.
type rewrite struct {
	view     *typecheck.View
	pass     *typecheck.Pass
	dirs     []string              // packages whose files may use the edited declarations
	edits    map[string][]textEdit // by file
	renamed  map[token.Pos]string  // new Go names, by the position of their declaration
	oldNames []string              // old Go names of these
	tidy     map[string][]string   // by file, names of packages that it may no longer use
	unbuilt  []string              // files that may use renamed declarations, but are not built on this system

	inspected map[string][]*typecheck.InspectedPackage // by folder
}

type textEdit struct {
	start, end int
	text       string
}

// newRewrite returns a rewrite of declarations in a folder.
func (e *Engine) newRewrite(ctx context.Context, dir string) (*rewrite, error) {
	dirs := e.checker.Importers(e.before, dir)
	pass, err := e.checker.NewPass(ctx, e.before, dirs, typecheck.PassOptions{})
	return &rewrite{
		view: e.before, pass: pass, dirs: dirs,
		edits: map[string][]textEdit{}, renamed: map[token.Pos]string{}, tidy: map[string][]string{},
		inspected: map[string][]*typecheck.InspectedPackage{},
	}, err
}

// packages returns the packages whose files may use the edited declarations.
func (r *rewrite) packages() iter.Seq[*typecheck.InspectedPackage] {
	return func(yield func(*typecheck.InspectedPackage) bool) {
		for _, dir := range r.dirs {
			for _, inspected := range r.inspect(dir) {
				if !yield(inspected) {
					return
				}
			}
		}
	}
}

// inspect returns the packages in a folder, tests included, with type information.
func (r *rewrite) inspect(dir string) []*typecheck.InspectedPackage {
	if _, known := r.inspected[dir]; !known {
		r.inspected[dir] = r.pass.InspectTests(dir)
	}
	return r.inspected[dir]
}

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

// rename plans a new name for a declaration. renameUses then renames its uses.
func (r *rewrite) rename(object types.Object, name string) {
	r.renamed[object.Pos()] = name
	r.oldNames = append(r.oldNames, object.Name())
}

// renameUses renames all identifiers of renamed declarations, except those that skip reports.
func (r *rewrite) renameUses(skip func(file *typecheck.File, pos token.Pos) bool) {
	if len(r.renamed) == 0 {
		return
	}
	r.renameEmbedded()
	for _, dir := range r.dirs {
		unbuilt := slices.Clone(r.view.Files(dir))
		for _, inspected := range r.inspect(dir) {
			for _, file := range inspected.Files {
				unbuilt = slices.DeleteFunc(unbuilt, func(f *typecheck.File) bool { return f == file })
				if file.IsDerived() {
					continue
				}
				for ident := range nodesOf[*ast.Ident](file.Syntax) {
					if r.isPlanned(file, ident.Pos()) {
						continue
					}
					object := inspected.Info.ObjectOf(ident)
					if object == nil || object.Name() != ident.Name { // another name of an import
						continue
					}
					if name := r.renamed[origin(object).Pos()]; name != "" && !skip(file, ident.Pos()) {
						r.replace(file, ident.Pos(), ident.End(), name)
					}
				}
			}
		}
		r.noteUnbuilt(unbuilt)
	}
}

// renameEmbedded renames the fields of structs that embed a renamed type.
func (r *rewrite) renameEmbedded() {
	for inspected := range r.packages() {
		for ident, defined := range inspected.Info.Defs {
			field, ok := defined.(*types.Var)
			used := inspected.Info.Uses[ident]
			if ok && field.Embedded() && used != nil && r.renamed[used.Pos()] != "" {
				r.renamed[field.Pos()] = r.renamed[used.Pos()]
			}
		}
	}
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

// noteUnbuilt notes files that are not built for this system and use names of renamed declarations.
func (r *rewrite) noteUnbuilt(files []*typecheck.File) {
	for _, file := range files {
		for ident := range nodesOf[*ast.Ident](file.Syntax) {
			if slices.Contains(r.oldNames, ident.Name) {
				r.unbuilt = append(r.unbuilt, file.Path)
				break
			}
		}
	}
}

// texts returns the edited files.
func (r *rewrite) texts() map[string][]byte {
	texts := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(r.edits)) {
		edits := slices.Clone(r.edits[name])
		slices.SortStableFunc(edits, func(a, b textEdit) int { // insertions before a replacement
			return cmp.Or(a.start-b.start, min(a.end-a.start, 1)-min(b.end-b.start, 1))
		})
		text := r.view.File(name).Text
		var out []byte
		at := 0
		for _, e := range edits {
			if e.start >= at { // not in a part that is replaced
				out = append(append(out, text[at:e.start]...), e.text...)
				at = e.end
			}
		}
		texts[name] = withoutUnused(append(out, text[at:]...), r.tidy[name])
	}
	return texts
}

// jsonField returns a field of a type by its JSON path, or nil.
func jsonField(t types.Type, jsonPath string) *types.Var {
	var found *types.Var
	for name := range strings.SplitSeq(jsonPath, ".") {
		structure, ok := structIn(t)
		if !ok {
			return nil
		}
		fields := derive.JSONFields(structure, false)
		at := slices.IndexFunc(fields, func(f derive.JSONField) bool { return f.Key == name })
		if at < 0 {
			return nil
		}
		found = fields[at].Var.Origin()
		t = fields[at].Var.Type()
	}
	return found
}

// structIn returns the struct that a type is, points to or contains.
func structIn(t types.Type) (*types.Struct, bool) {
	for {
		switch under := t.Underlying().(type) {
		case *types.Struct:
			return under, true
		case interface{ Elem() types.Type }: // a pointer, slice, array or map
			t = under.Elem()
		default:
			return nil, false
		}
	}
}

// renameField plans a new name for a field of a type, in JSON and in Go, unless the source already has it.
// Names are JSON paths.
func (r *rewrite) renameField(t *types.Named, old, name string) error {
	prefix := old[:strings.LastIndex(old, ".")+1]
	if !strings.Contains(name, ".") {
		name = prefix + name
	}
	before, after := jsonField(t, old), jsonField(t, name)
	switch {
	case !strings.HasPrefix(name, prefix) || strings.Contains(strings.TrimPrefix(name, prefix), "."):
		return fmt.Errorf("rename %s=%s: cannot move a field to another struct; use %sNAME", old, name, prefix)
	case old == name:
		return fmt.Errorf("rename %s=%s: both names are the same", old, name)
	case before != nil && after != nil:
		return fmt.Errorf("rename %s=%s: %s has both fields; remove one of them", old, name, t.Obj().Name())
	case after != nil:
		return nil // the source was already edited
	case before == nil:
		return fmt.Errorf("rename %s=%s: %s has neither field", old, name, t.Obj().Name())
	}
	short := strings.TrimPrefix(name, prefix)
	parsed, err := gen.ParseFieldName(short)
	if err != nil {
		return fmt.Errorf("rename %s=%s: %w", old, name, err)
	}
	file, field, err := r.declaration(before)
	if err != nil {
		return err
	}
	r.rename(before, parsed.Go())
	r.replace(file, field.Names[0].Pos(), field.Names[0].End(), parsed.Go())
	r.retag(file, field, short)
	r.recomment(file, field, strings.TrimPrefix(old, prefix), short)
	return nil
}

// recomment replaces the comment of a field if it was generated from the old name.
func (r *rewrite) recomment(file *typecheck.File, field *ast.Field, old, name string) {
	for _, group := range []*ast.CommentGroup{field.Doc, field.Comment} {
		if group != nil && strings.TrimSpace(group.Text()) == (gen.Field{Name: old}).Comment() {
			r.replace(file, group.Pos(), group.End(), "// "+gen.Field{Name: name}.Comment())
		}
	}
}

func (r *rewrite) declaration(v *types.Var) (*typecheck.File, *ast.Field, error) {
	var field *ast.Field
	file := fileAt(r.view, v.Pos())
	if file != nil {
		field = enclosing[*ast.Field](file, v.Pos())
	}
	switch {
	case field == nil || len(field.Names) == 0:
		return nil, nil, fmt.Errorf("the field %s is not declared in a struct of the project", v.Name())
	case len(field.Names) > 1:
		return nil, nil, fmt.Errorf("%s: %s is declared together with other fields; declare it on its own line", file.Path, v.Name())
	}
	return file, field, nil
}

func (r *rewrite) retag(file *typecheck.File, field *ast.Field, name string) {
	text, ok := unquote(field.Tag)
	if !ok && field.Tag != nil {
		return // verify reports the error
	}
	_, options, _ := strings.Cut(reflect.StructTag(text).Get("json"), ",")
	start, end := field.Type.End(), field.Type.End()
	if field.Tag != nil {
		start, end = field.Tag.Pos(), field.Tag.End()
	}
	r.replace(file, start, end, " `"+replaceTag(text, "json", strings.TrimSuffix(name+","+options, ","))+"`")
}

// removeField plans to remove the declaration of a field with its comments.
func (r *rewrite) removeField(v *types.Var) error {
	file, field, err := r.declaration(v)
	if err != nil {
		return err
	}
	start, end := fieldExtent(field)
	r.replace(file, start, end, "")
	r.noteRemoved(file, field.Type)
	return nil
}

// fieldExtent returns the range of a field with its comments.
func fieldExtent(field *ast.Field) (start, end token.Pos) {
	start, end = field.Pos(), field.End()
	if field.Doc != nil {
		start = field.Doc.Pos()
	}
	if field.Comment != nil {
		end = field.Comment.End()
	}
	return start, end
}

// noteRemoved notes the packages that removed code uses, which the file may no longer use.
func (r *rewrite) noteRemoved(file *typecheck.File, removed ast.Node) {
	for selector := range nodesOf[*ast.SelectorExpr](removed) {
		if pkg, ok := selector.X.(*ast.Ident); ok {
			r.tidy[file.Path] = append(r.tidy[file.Path], pkg.Name)
		}
	}
}

// docAt returns the doc comment of a function or type and the position of its declaration.
func docAt(file *typecheck.File, pos token.Pos) (doc *ast.CommentGroup, at token.Pos) {
	if decl := enclosing[*ast.FuncDecl](file, pos); decl != nil {
		return decl.Doc, decl.Pos()
	}
	spec, group := enclosing[*ast.TypeSpec](file, pos), enclosing[*ast.GenDecl](file, pos)
	if spec.Doc == nil && len(group.Specs) == 1 {
		return group.Doc, group.Pos()
	}
	return spec.Doc, spec.Pos()
}

// nodesOf returns the nodes of a type in a syntax tree, in depth-first order.
func nodesOf[N ast.Node](root ast.Node) iter.Seq[N] {
	return func(yield func(N) bool) {
		for node := range ast.Preorder(root) {
			if found, ok := node.(N); ok && !yield(found) {
				return
			}
		}
	}
}

// enclosing returns the innermost node of a type at a position, or the zero value.
func enclosing[N ast.Node](file *typecheck.File, pos token.Pos) (none N) {
	nodes, _ := astutil.PathEnclosingInterval(file.Syntax, pos, pos)
	for _, node := range nodes {
		if found, ok := node.(N); ok {
			return found
		}
	}
	return none
}

// unquote returns the value of an expression that is a string literal.
func unquote(e ast.Node) (string, bool) {
	literal, _ := e.(*ast.BasicLit)
	if literal == nil || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}
