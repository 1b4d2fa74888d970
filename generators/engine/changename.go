package engine

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// planRename plans the new name of the component: its function or type, declarations named after
// it, its tests and its files.
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
	} else if ch.c.Kind == derive.Type && ok {
		pkg := path.Dir(ch.c.Name)
		if text, ok = strings.CutPrefix(text, pkg+"/"); !ok {
			return fmt.Errorf("rename %s: cannot move it to another package; generate it there, and edit the code that uses it", ch.in.Rename)
		}
	}
	name, err := gen.ParseName(text, ch.engine.project.Initialisms...)
	if err != nil {
		return err
	}
	ch.newGo = name.Go()
	switch ch.c.Kind {
	case derive.Command, derive.Query:
		ch.newWire = ch.c.Feature + "_" + name.Wire()
	case derive.Tool, derive.Prompt, derive.Resource, derive.Generator:
		ch.newWire = name.Wire()
	case derive.Type:
		ch.newWire = path.Dir(ch.c.Name) + "/" + ch.newGo
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

// renameDeclarations renames the component, and the declarations and tests whose names start with
// its name.
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
	for _, inspected := range ch.packages() {
		for ident, object := range inspected.Info.Defs {
			file := ch.view.FileAt(ident.Pos())
			isDeclaration := object != nil && object.Parent() != nil && object.Parent() == object.Pkg().Scope()
			if !isDeclaration || file.IsDerived() || !ch.owns(file) {
				continue
			}
			prefix := ""
			switch {
			case file.IsTest():
				prefix = "Test"
			case ch.c.Kind == derive.Worker && ident.Name == "New"+ch.oldGo:
				prefix = "New"
			}
			isOther := func(other string) bool { return startsWithWord(ident.Name, prefix+other) }
			if !startsWithWord(ident.Name, prefix+ch.oldGo) || slices.ContainsFunc(others, isOther) {
				continue
			}
			name := prefix + ch.newGo + strings.TrimPrefix(ident.Name, prefix+ch.oldGo)
			if file := taken[name]; file != "" {
				return fmt.Errorf("rename %s to %s: %s already declares it; choose another name, or rename or destroy that first", object.Name(), name, file)
			}
			ch.rename(object, name)
		}
	}
	return nil
}

// rename plans a new name for a declaration, its uses and its mentions in comments.
func (ch *changer) rename(object types.Object, name string) {
	ch.renamed[object.Pos()] = name
	ch.newNames[object.Name()] = name
}

// isComponent reports whether a declaration of the package is another component, or a function of a
// fixed place.
func (ch *changer) isComponent(name string) bool {
	_, isFunc := ch.pkg.Scope().Lookup(name).(*types.Func)
	return isFunc && ch.c.Feature == "" || slices.ContainsFunc(ch.others, func(c derive.Component) bool { return c.Func == name })
}

// owns reports whether declarations in a file that start with the component's name belong to it: in
// its file and test, and in those of its older versions.
func (ch *changer) owns(file *typecheck.File) bool {
	source := ch.view.File(strings.TrimSuffix(strings.TrimSuffix(file.Path, ".go"), "_test") + ".go")
	return source != nil && source.Dir() == path.Dir(ch.c.File) &&
		(source.Path == ch.c.File || ch.c.Kind == derive.Command && slices.ContainsFunc(source.Names(), func(name string) bool { return isVersionOf(ch.oldGo, name) }))
}

// renameTriggers renames the methods of workers that are named after a command: OnCreate, or
// OnPostsCreate in another feature.
func (ch *changer) renameTriggers() {
	for _, inspected := range ch.packages() {
		for _, object := range inspected.Info.Defs {
			method, ok := object.(*types.Func)
			if !ok || method.Signature().Recv() == nil || method.Signature().Params().Len() != 3 {
				continue
			}
			named, ok := types.Unalias(method.Signature().Params().At(1).Type()).(*types.Named)
			prefix, isNamed := strings.CutSuffix(method.Name(), ch.oldGo)
			if ok && isNamed && named.Obj().Pos() == ch.object.Pos() && strings.HasPrefix(prefix, "On") {
				ch.rename(method, prefix+ch.newGo)
			}
		}
	}
}

// moveFiles plans new paths for the files that are named after the component, and for those of its
// older versions.
func (ch *changer) moveFiles(name gen.Name) {
	isHere := func(other derive.Component) bool { return other.File == ch.c.File }
	was, err := gen.ParseName(gen.WireName(ch.oldGo))
	if err != nil || slices.ContainsFunc(ch.others, isHere) {
		return
	}
	dir, kind := path.Dir(ch.c.File), string(ch.c.Kind)
	stem, newStem := strings.TrimSuffix(was.File(kind), ".go"), strings.TrimSuffix(name.File(kind), ".go")
	for _, file := range ch.view.Files(dir) {
		rest, ok := strings.CutPrefix(path.Base(file.Path), stem)
		if ok && strings.ContainsRune("._", rune(rest[0])) && ch.owns(file) {
			ch.moves[file.Path] = path.Join(dir, newStem+rest)
		}
	}
}

// planDoc plans the doc comment of the component: its description and its directives.
func (ch *changer) planDoc() error {
	if ch.in.Description == "" && ch.in.Rename == "" && ch.in.Directives == (gen.Directives{}) {
		return nil
	}
	var err error
	ch.editDoc(ch.object.Pos(), func(text, directives []string) ([]string, []string) {
		switch {
		case ch.in.Description == "":
			for i := range text {
				text[i] = ch.renamedWords(text[i])
			}
		case ch.c.Kind == derive.Feature:
			text = []string{"// " + gen.DocSentence("State", ch.in.Description)}
		default:
			text = []string{"// " + gen.DocSentence(ch.newGo, ch.in.Description)}
		}
		if ch.in.Rename != "" && ch.c.Kind != derive.Type {
			directives = ch.renamedDirectives(directives)
		}
		err = ch.in.Directives.Each(func(name, value string, isSet bool) {
			directives = setDirective(directives, name, value, isSet)
		})
		return text, directives
	})
	return err
}

// renamedDirectives returns directives after a rename: the name that clients see, aliases, and the
// names under which events and positions are stored.
func (ch *changer) renamedDirectives(directives []string) []string {
	set := func(name, value, standard string) {
		if value == standard {
			value = ""
		}
		directives = setDirective(directives, name, value, value != "")
	}
	prefix, wire := ch.c.Feature+"/", gen.WireName(ch.newGo)
	switch ch.c.Kind {
	case derive.Worker:
		set("name", strings.TrimPrefix(ch.c.Name, prefix), wire)
	case derive.Command, derive.Query:
		if ch.c.Kind == derive.Command {
			set("event", strings.TrimPrefix(ch.c.EventType, prefix), wire)
		}
		set("name", ch.newWire, ch.c.Feature+"_"+wire)
	default:
		set("name", ch.newWire, wire)
	}
	if ch.c.IsTool() {
		aliases := slices.Clone(ch.c.Aliases)
		if ch.in.Alias {
			aliases = append(aliases, ch.c.Name)
		}
		aliases = slices.DeleteFunc(aliases, func(alias string) bool { return alias == ch.newWire })
		set("alias", strings.Join(aliases, " "), "")
	}
	return directives
}

// severalWords matches an identifier that cannot be a word of prose.
var severalWords = regexp.MustCompile(`[a-z0-9][A-Z]|[0-9]`)

// renamedWords returns a comment with the new names of renamed declarations, and of the component
// in phrases that generators write. A name of one word at the start of a sentence may be prose,
// except in the first.
func (ch *changer) renamedWords(comment string) string {
	for old, name := range ch.newNames {
		comment = renamedWord(comment, old, name)
	}
	return ch.renamedPhrases(comment)
}

// renamedWord returns a comment with the new name of a declaration.
func renamedWord(comment, old, name string) string {
	pattern := `(^//\s*|[a-z,(]\s)` + old + `\b`
	if severalWords.MatchString(old) {
		pattern = `(\b)` + old + `\b`
	}
	return regexp.MustCompile(pattern).ReplaceAllString(comment, "${1}"+name)
}

// renamedPhrases replaces the component's name in texts that generators write. There it is
// posts/create in a feature, else the name that clients see.
func (ch *changer) renamedPhrases(text string) string {
	names := [][2]string{{ch.c.Name, ch.newWire}}
	if ch.c.Feature != "" && ch.c.Kind != derive.Worker {
		prefix := ch.c.Feature + "/"
		names = append(names, [2]string{prefix + gen.WireName(ch.oldGo), prefix + gen.WireName(ch.newGo)})
	}
	var pairs []string
	for _, name := range names {
		for _, phrase := range []string{
			"put of %s.", "arguments of %s.", "URI of %s.", "%s is not written yet", "Call %s with client",
			string(ch.c.Kind) + " %s is not listed", "called for each %s,",
		} {
			pairs = append(pairs, strings.Replace(phrase, "%s", name[0], 1), strings.Replace(phrase, "%s", name[1], 1))
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
		isHere := func(pos token.Pos) bool { return ch.view.FileAt(pos) == file }
		ours := ch.owns(file) || slices.ContainsFunc(slices.Collect(maps.Keys(ch.renamed)), isHere)
		for _, group := range file.Syntax.Comments {
			for _, comment := range group.List {
				ch.renameComment(file, comment, ours)
			}
		}
		for literal := range nodesOf[*ast.BasicLit](file.Syntax) {
			ch.renameLiteral(file, literal, ours)
		}
	}
}

// renameComment replaces the component's name in a comment.
func (ch *changer) renameComment(file *typecheck.File, comment *ast.Comment, ours bool) {
	renamed := comment.Text
	if completed, ok := strings.CutPrefix(comment.Text, "//petrock:completes "); ok {
		if strings.TrimSpace(completed) == ch.c.Name {
			renamed = "//petrock:completes " + ch.newWire
		}
	} else if ours {
		renamed = ch.renamedWords(comment.Text)
	}
	if renamed != comment.Text && !ch.isPlanned(file, comment.Pos()) {
		ch.replace(file, comment.Pos(), comment.End(), renamed)
	}
}

// renameLiteral replaces the component's name in a string literal. A name of one word may mean
// something else: it is only replaced in the component's test, and noted elsewhere.
func (ch *changer) renameLiteral(file *typecheck.File, literal *ast.BasicLit, ours bool) {
	text, ok := unquote(literal)
	if !ok || ch.isPlanned(file, literal.Pos()) {
		return
	}
	switch renamed := ch.renamedPhrases(literal.Value); {
	case text != ch.c.Name && ours && renamed != literal.Value:
		ch.replace(file, literal.Pos(), literal.End(), renamed)
	case text != ch.c.Name || ch.newWire == ch.c.Name:
	case strings.Contains(text, "_") || file.IsTest() && ch.owns(file):
		ch.replace(file, literal.Pos(), literal.End(), strings.Replace(literal.Value, ch.c.Name, ch.newWire, 1))
	case ch.c.Kind != derive.Worker:
		at := ch.view.Fset().PositionFor(literal.Pos(), false)
		ch.plan.next = append(ch.plan.next, fmt.Sprintf("%s:%d has the text %s; change it if it means the %s.", cmp.Or(ch.moves[file.Path], file.Path), at.Line, literal.Value, ch.c.Kind))
	}
}
