package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/typecheck"
)

// A relocation renames a symbol, or moves it to another package, with all references.
type relocation struct {
	*rewrite
	symbol   symbol
	object   types.Object
	name     string // new name
	from, to string // folders of its package before and after
	pkg      imports.Import

	moved   []span                      // declarations that move
	imports map[string][]imports.Import // to add, by file; those of the moved source are under ""
	places  int                         // references
	files   map[string]bool             // with references
	errs    []error                     // why it is impossible
}

// A span is a declaration of a file with its comments.
type span struct {
	file           *typecheck.File
	start, at, end token.Pos
	keyword        string // to write at a position, for a declaration from a group
}

// planSymbol plans to rename or move a symbol.
func (e *Engine) planSymbol(ctx context.Context, p *plan, edit FileEdit) error {
	s := e.onDisk().with(p.texts)
	found, err := s.symbolNamed(edit.Symbol)
	if err != nil {
		return err
	}
	if reason := e.whyNotEditable(found.file.Path, found.file.Text); reason != "" {
		return fmt.Errorf("%s %s", found.file.Path, reason)
	}
	r, err := s.newRewrite(ctx, found.file.Dir())
	if err != nil {
		return err
	}
	m := &relocation{rewrite: r, symbol: found, from: found.file.Dir(), imports: map[string][]imports.Import{}, files: map[string]bool{}}
	for _, inspected := range r.packages() {
		m.object = cmp.Or(m.object, inspected.Info.Defs[found.ident])
	}
	if err := m.parseTarget(edit.Rename); err != nil {
		return err
	}
	if m.name != m.object.Name() {
		r.renamed[m.object.Pos()] = m.name
		r.renameEmbedded()
	}
	if m.to != m.from {
		m.collect(m.object)
		m.collectHelpers()
	}
	m.check()
	m.rewriteUses()
	if len(m.errs) > 0 {
		return errors.Join(m.errs[:min(len(m.errs), 5)]...)
	}
	p.notices = append(p.notices, fmt.Sprintf("%s is now %s: changed %s in %s.", found.name, edit.Rename, count(m.places, "place"), count(len(m.files), "file")))
	p.warn(m.unbuilt...)
	return m.finish(ctx, p)
}

// parseTarget parses the new name: NAME, or PACKAGE.NAME to move a declaration.
func (m *relocation) parseTarget(text string) error {
	at := strings.LastIndex(text, ".") + 1
	pkg := strings.TrimPrefix(strings.TrimSuffix(text[:at], "."), m.engine.checker.Module().Path+"/")
	in := strings.TrimSuffix(m.symbol.name, "."+m.symbol.ident.Name)
	m.name, m.to = text[at:], m.from
	switch isMove := pkg != "" && !strings.HasSuffix("/"+in, "/"+pkg) && !strings.HasSuffix(in, "."+pkg); {
	case m.object == nil:
		return fmt.Errorf("the package of %s does not compile; correct that first", m.symbol.name)
	case !token.IsIdentifier(m.name) || types.Universe.Lookup(m.name) != nil:
		return terminal.Usagef("rename %q: not a name for a declaration in Go; pass NAME, or PACKAGE.NAME to move it", text)
	case !isMove:
		return nil
	case m.symbol.isMember() || m.symbol.file.IsTest():
		return terminal.Usagef("rename %s: fields, methods and tests stay in their package; pass a name without package", text)
	}
	dirs := slices.DeleteFunc(m.view.Dirs(), func(dir string) bool { return !strings.HasSuffix("/"+dir, "/"+pkg) || isPetrockPath(dir) })
	switch m.to = pkg; {
	case len(dirs) == 1:
		m.to = dirs[0]
	case len(dirs) > 1 && !slices.Contains(dirs, pkg):
		return terminal.Usagef("rename %s: %s is ambiguous: %s; pass the whole path", text, pkg, joinFew(dirs))
	case len(dirs) == 0 && !strings.Contains(pkg, "/") && strings.HasPrefix(m.from, "internal/"):
		m.to = "internal/" + pkg
	}
	existing := cmp.Or(m.view.Package(m.to, nil), &typecheck.Package{})
	m.pkg = imports.Import{Name: cmp.Or(existing.Name, path.Base(m.to)), Path: m.engine.checker.ImportPath(m.to)}
	return nil
}

func (m *relocation) refuse(pos token.Pos, format string, args ...any) {
	m.errs = append(m.errs, fmt.Errorf("%s:%d: %s", m.view.FileAt(pos).Path, m.line(pos), fmt.Sprintf(format, args...)))
}

func (m *relocation) isMoved(pos token.Pos) bool {
	return slices.ContainsFunc(m.moved, func(s span) bool { return s.start <= pos && pos < s.end })
}

// isTop reports whether an object is declared by a package, not inside a declaration.
func isTop(object types.Object) bool {
	return object != nil && object.Pkg() != nil && object.Parent() == object.Pkg().Scope()
}

// collect adds a declaration to those that move: a type with its methods and constants, a constant
// with its group.
func (m *relocation) collect(object types.Object) {
	if m.isMoved(object.Pos()) {
		return
	}
	file := m.view.FileAt(object.Pos())
	decl := typecheck.Enclosing[ast.Decl](file, object.Pos())
	s := span{file: file, start: startOf(decl), at: decl.Pos(), end: decl.End()}
	if group, ok := decl.(*ast.GenDecl); ok && len(group.Specs) > 1 && group.Tok != token.CONST {
		spec := typecheck.Enclosing[ast.Spec](file, object.Pos())
		s = span{file: file, start: spec.Pos(), at: spec.Pos(), end: spec.End(), keyword: group.Tok.String() + " "}
		if doc, _ := docAt(file, object.Pos()); doc != nil {
			s.start = doc.Pos()
		}
	}
	for _, comment := range file.Syntax.Comments { // after it, on its last line
		if comment.Pos() >= s.end && m.line(comment.Pos()) == m.line(s.end) {
			s.end = comment.End()
		}
	}
	m.moved = append(m.moved, s)
	for _, inspected := range m.packages() {
		for _, defined := range inspected.Info.Defs {
			constant, isConstant := defined.(*types.Const)
			method, isFunc := defined.(*types.Func)
			isItsConstant := isConstant && isTop(constant) && !m.view.FileAt(constant.Pos()).IsTest() && namedPos(constant.Type()) == object.Pos()
			if isItsConstant || isFunc && method.Signature().Recv() != nil && !types.IsInterface(object.Type()) && namedPos(method.Signature().Recv().Type()) == object.Pos() {
				m.collect(defined)
			}
		}
	}
}

// collectHelpers adds the unexported declarations that only the moved source uses, and refuses
// those that other source uses too.
func (m *relocation) collectHelpers() {
	for known := 0; known < len(m.moved); {
		known, m.errs = len(m.moved), nil
		shared, used := map[token.Pos]bool{}, map[token.Pos]types.Object{}
		for _, inspected := range m.packages() {
			for ident, object := range inspected.Info.Uses {
				switch isHelper := isTop(object) && object.Pkg().Path() == m.object.Pkg().Path() && !object.Exported() && !m.isMoved(object.Pos()); {
				case isHelper && m.isMoved(ident.Pos()):
					used[object.Pos()] = object
				case isHelper:
					shared[object.Pos()] = true
				}
			}
		}
		for pos, object := range used {
			if !shared[pos] {
				m.collect(object)
			} else {
				m.refuse(pos, "%s uses %s, which is not exported and which other code uses too; export it by another rename first", m.symbol.name, object.Name())
			}
		}
	}
}

// check refuses a name that is taken, and a method that makes its type implement an interface.
func (m *relocation) check() {
	parts := strings.Split(path.Base(m.symbol.name), ".")
	if !m.symbol.isMember() {
		for _, file := range m.view.Files(m.to) {
			if slices.Contains(file.Names(), m.name) {
				m.refuse(m.object.Pos(), "%s already declares %s; choose another name", file.Path, m.name)
			}
		}
		return
	}
	pkg := m.object.Pkg()
	owner := pkg.Scope().Lookup(parts[1]).Type()
	if other, _, _ := types.LookupFieldOrMethod(owner, true, pkg, m.name); other != nil {
		m.refuse(m.object.Pos(), "%s already has %s; choose another name", parts[1], m.name)
	}
	_, isMethod := m.object.(*types.Func)
	for _, imported := range append(pkg.Imports(), types.NewPackage("", "")) {
		if dir, ours := m.pass.Dir(imported.Path()); ours && !isPetrockPath(dir) {
			continue // the compiler decides, perhaps after another rename
		}
		for _, name := range append(imported.Scope().Names(), "error") {
			t := cmp.Or(imported.Scope().Lookup(name), types.Universe.Lookup("error")).Type()
			i, ok := t.Underlying().(*types.Interface)
			if !ok || !isMethod || types.IsInterface(owner) || !types.Implements(types.NewPointer(owner), i) {
				continue
			}
			if required, _, _ := types.LookupFieldOrMethod(i, false, pkg, m.object.Name()); required != nil {
				m.refuse(m.object.Pos(), "without %s, %s does not implement %s; keep the name", m.object.Name(), parts[1], t)
				return
			}
		}
	}
}

// rewriteUses rewrites references to what is renamed or moves, those in the moved source, and
// comments.
func (m *relocation) rewriteUses() {
	built := map[*typecheck.File]bool{}
	doc, _ := docAt(m.symbol.file, m.object.Pos())
	for _, inspected := range m.packages() {
		for _, file := range inspected.Files {
			if built[file] = true; file.IsDerived() {
				continue
			}
			selectors := map[*ast.Ident]*ast.SelectorExpr{}
			for selector := range nodesOf[*ast.SelectorExpr](file.Syntax) {
				selectors[selector.Sel] = selector
			}
			for ident := range nodesOf[*ast.Ident](file.Syntax) {
				if object := cmp.Or(inspected.Info.Uses[ident], inspected.Info.Defs[ident]); object != nil && object.Pkg() != nil {
					m.rewriteUse(use{inspected.Info, file, ident, selectors[ident], origin(object)})
				}
			}
			for _, group := range file.Syntax.Comments {
				for _, comment := range group.List {
					if renamed := renamedWord(comment.Text, m.object.Name(), m.name); renamed != comment.Text && (group == doc || severalWords.MatchString(m.object.Name())) {
						m.replace(file, comment.Pos(), comment.End(), renamed)
					}
				}
			}
		}
	}
	m.noteUnbuilt(built, map[string]bool{m.object.Name(): true})
}

// A use is an identifier that uses or declares an object.
type use struct {
	info     *types.Info
	file     *typecheck.File
	ident    *ast.Ident
	selector *ast.SelectorExpr // that ends in it; may be nil
	object   types.Object
}

func (m *relocation) rewriteUse(u use) {
	inMoved, isMoved := m.isMoved(u.ident.Pos()), isTop(u.object) && m.isMoved(u.object.Pos())
	if imported, ok := u.object.(*types.PkgName); ok {
		if i := (imports.Import{Path: imported.Imported().Path()}); inMoved && i.Path != m.pkg.Path {
			if imported.Name() != imported.Imported().Name() {
				i.Name = imported.Name()
			}
			m.imports[""] = append(m.imports[""], i)
		}
		return
	}
	text := m.nameOf(u.object)
	if text != u.ident.Name {
		m.checkName(u, text)
	}
	if u.object.Pos() == m.object.Pos() {
		m.files[u.file.Path] = true
		m.places++
	}
	var node ast.Node = u.ident
	switch isQualified := u.selector != nil && u.info.Selections[u.selector] == nil; {
	case !isTop(u.object) || inMoved == isMoved && !isQualified || !inMoved && !isMoved:
	case inMoved && !isQualified: // declared in the old package
		m.imports[""] = append(m.imports[""], imports.Import{Path: u.object.Pkg().Path()})
		text = u.object.Pkg().Name() + "." + text
	case inMoved && u.object.Pkg().Path() != m.pkg.Path:
	case inMoved || u.file.Dir() == m.to && !strings.HasSuffix(u.file.Syntax.Name.Name, "_test"):
		node = u.selector
	default:
		if text = m.qualifier(u) + "." + text; isQualified {
			node = u.selector
		}
	}
	if string(u.file.Text[m.offset(node.Pos()):m.offset(node.End())]) != text {
		m.replace(u.file, node.Pos(), node.End(), text)
	}
}

// lookUp returns what a name means where an object is used.
func (u use) lookUp(name string) (found types.Object) {
	if scope := u.info.Scopes[u.file.Syntax].Innermost(u.ident.Pos()); scope != nil {
		_, found = scope.LookupParent(name, u.ident.Pos())
	}
	return found
}

// checkName refuses a new name that means something else where it is used.
func (m *relocation) checkName(u use, name string) {
	var other types.Object
	if selection := u.info.Selections[u.selector]; selection != nil {
		other, _, _ = types.LookupFieldOrMethod(selection.Recv(), true, u.object.Pkg(), name)
	} else if u.selector == nil && isTop(u.object) && m.from == m.to {
		other = u.lookUp(name)
	}
	if other != nil {
		m.refuse(u.ident.Pos(), "%s already means something else here; choose another name", name)
	}
}

// qualifier returns the name of the new package where the symbol is used, and adds its import.
func (m *relocation) qualifier(u use) string {
	name, added := m.pkg.Name, []imports.Import{{Path: m.pkg.Path}}
	for _, spec := range u.file.Syntax.Imports {
		if imported, _ := unquote(spec.Path); imported == m.pkg.Path && spec.Name != nil {
			name, added = spec.Name.Name, nil
		}
	}
	other := u.lookUp(name)
	if imported, ok := other.(*types.PkgName); other != nil && !(ok && imported.Imported().Path() == m.pkg.Path) {
		m.refuse(u.ident.Pos(), "%s already means something else here than package %s; rename it first", name, m.pkg.Path)
	}
	m.imports[u.file.Path] = append(m.imports[u.file.Path], added...)
	return name
}

// finish adds the new texts to the plan.
func (m *relocation) finish(ctx context.Context, p *plan) error {
	slices.SortFunc(m.moved, func(a, b span) int { return int(a.start - b.start) })
	source := ""
	for _, moved := range m.moved {
		file := moved.file.Path
		source += "\n\n" + m.applied(file, m.offset(moved.start), m.offset(moved.at)) + moved.keyword + m.applied(file, m.offset(moved.at), m.offset(moved.end))
	}
	for _, moved := range m.moved {
		m.replace(moved.file, moved.start, moved.end, "")
	}
	texts := m.texts()
	for _, moved := range m.moved {
		describes := moved.file.Syntax.Doc != nil && len(m.view.Files(m.from)) > 1 // the package, which stays
		if !describes && !slices.ContainsFunc(moved.file.Syntax.Decls, func(decl ast.Decl) bool {
			group, ok := decl.(*ast.GenDecl)
			return !m.isMoved(decl.Pos()) && !(ok && group.Tok == token.IMPORT)
		}) {
			texts[moved.file.Path] = nil
		}
	}
	if m.to != m.from {
		name, err := gen.ParseName(gen.WireName(m.name))
		if err != nil {
			return terminal.Usagef("rename: %w", err)
		}
		file := path.Join(m.to, name.File("type"))
		if reason := m.engine.whyNotEditable(file, nil); reason != "" {
			return fmt.Errorf("%s %s", file, reason)
		}
		head := "package " + m.pkg.Name
		if existing := m.view.File(file); existing != nil {
			head = m.applied(file, 0, len(existing.Text))
		}
		texts[file] = []byte(head + source + "\n")
		m.imports[file] = append(m.imports[file], m.imports[""]...)
	}
	for file, text := range texts {
		var err error
		if p.texts[file] = text; text != nil {
			p.texts[file], err = m.engine.resolver.Insert(ctx, m.view, file, text, m.imports[file])
		}
		if err != nil {
			return err
		}
	}
	return nil
}
