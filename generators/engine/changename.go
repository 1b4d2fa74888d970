package engine

import (
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
	if strings.Contains(ch.c.Func, ".") { // a method
		ch.rename(ch.object, ch.newGo) // the compiler finds conflicts
	}
	taken := map[string]string{} // files by name that the package or its tests declare
	var others []string          // components whose names start with the name of this one
	for _, file := range ch.view.Files(dir) {
		for _, name := range file.Names() {
			if !file.IsDerived() {
				taken[name] = file.Path
			}
			if name != ch.oldGo && startsWithWord(name, ch.oldGo) && ch.isComponent(name) {
				others = append(others, name)
			}
		}
	}
	for _, inspected := range ch.inspect(dir) {
		defined := slices.SortedFunc(maps.Keys(inspected.Info.Defs), func(a, b *ast.Ident) int { return int(a.Pos() - b.Pos()) })
		for _, ident := range defined {
			file, object := fileAt(ch.view, ident.Pos()), inspected.Info.Defs[ident]
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
			name := prefix + ch.newGo + rest
			if file := taken[name]; file != "" {
				return fmt.Errorf("rename %s to %s: %s already declares it; choose another name, or rename or destroy that first", object.Name(), name, file)
			}
			ch.rename(object, name)
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

// isComponent reports whether a declaration of the package is another component, or a function of a
// fixed place.
func (ch *changer) isComponent(name string) bool {
	_, isFunc := ch.pkg.Scope().Lookup(name).(*types.Func)
	return isFunc && ch.c.Feature == "" || slices.ContainsFunc(ch.others, func(c derive.Component) bool { return c.Func == name })
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
	for inspected := range ch.packages() {
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
	file := fileAt(ch.view, ch.object.Pos())
	doc, at := docAt(file, ch.object.Pos())
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
