package engine

import (
	"fmt"
	"go/token"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// A reference names a function of the project: ./folder.Function or ./folder.Variable.Method.
type reference struct {
	dir  string   // of the package, from the project's root
	call []string // a function, or a variable and its method
}

// String is the reference as it is best written.
func (r reference) String() string { return asFolder(r.dir) + "." + strings.Join(r.call, ".") }

// asFolder is a folder of the project as the go command wants it.
func asFolder(dir string) string {
	if dir == "." {
		return "./"
	}
	return "./" + dir
}

// reference finds out which package a reference is to. The folder is one from the project's root. If
// none is called so, it is a package of that name or import path, if there is one alone.
func (e *Engine) reference(text string) (reference, error) {
	found := readings(text)
	if len(found) == 0 {
		return reference{}, fmt.Errorf("%q names no function of the project; write ./folder.Function or ./folder.Variable.Method, the folder as seen from the project's root", gen.Shorten(text))
	}
	for _, r := range found {
		if len(e.before.Files(r.dir)) > 0 {
			return r, nil
		}
	}
	for _, r := range found {
		dirs := e.called(r.dir)
		if strings.HasPrefix(text, ".") || len(dirs) == 0 {
			continue
		}
		if len(dirs) > 1 {
			var meant []string
			for _, dir := range dirs {
				meant = append(meant, reference{dir, r.call}.String())
			}
			return reference{}, fmt.Errorf("%q may be %s; say which", gen.Shorten(text), strings.Join(meant, " or "))
		}
		return reference{dirs[0], r.call}, nil
	}
	return reference{}, e.noFolder(text, found[len(found)-1].dir)
}

// readings are the ways in which a reference can be read, those with the longest folder first.
func readings(text string) []reference {
	const longest = 1000
	text = strings.ReplaceAll(strings.TrimSpace(text), `\`, "/")
	if len(text) > longest {
		return nil
	}
	slash := strings.LastIndexByte(text, '/')
	words := strings.Split(text[slash+1:], ".")
	var found []reference
	for behind := 1; behind <= 2 && behind < len(words); behind++ {
		at := len(words) - behind
		r := reference{path.Clean(text[:slash+1] + strings.Join(words[:at], ".")), words[at:]}
		if !slices.ContainsFunc(r.call, func(word string) bool { return !token.IsIdentifier(word) }) {
			found = append(found, r)
		}
	}
	return found
}

// called are the folders of packages of a name, or of an import path.
func (e *Engine) called(name string) []string {
	var dirs []string
	for _, dir := range e.before.Dirs() {
		if e.checker.ImportPath(dir) == name {
			return []string{dir}
		}
		if pkg := e.before.Package(dir, nil); pkg != nil && (pkg.Name == name || path.Base(dir) == name) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// noFolder says that there is no Go in the folder that a reference names, and where there is.
func (e *Engine) noFolder(text, dir string) error {
	if path.IsAbs(dir) || dir == ".." || strings.HasPrefix(dir, "../") {
		return fmt.Errorf("%q is outside of the project; a tool is made of a function of the project: ./folder.Function, the folder as seen from its root", gen.Shorten(text))
	}
	if mod := e.otherModule(path.Join(dir, "x")); mod != "" {
		return fmt.Errorf("%q is in another module, that of %s; write a function of this one that calls it, and make the tool of that", gen.Shorten(text), mod)
	}
	if above, base := path.Split(dir); strings.Contains(base, ".") {
		base, _, _ = strings.Cut(base, ".")
		if near := path.Join(above, base); len(e.before.Files(near)) > 0 {
			return fmt.Errorf("%q: behind the folder %s stands a function, or a variable and its method, and nothing else; write a function that goes further, and make the tool of that", gen.Shorten(text), near)
		}
	}
	others := e.others()
	if len(others) == 0 {
		return fmt.Errorf("%q: the project has no Go in the folder %q, and no package of yours yet; write one", gen.Shorten(text), dir)
	}
	return fmt.Errorf("%q: the project has no Go in the folder %q; it has some in %s", gen.Shorten(text), dir, few(others))
}

// others are the folders of packages that the tools may import, without those that come with a project.
func (e *Engine) others() []string {
	ours := []string{"cmd", "core", "generators", "prompts", "resources", "tools"}
	var found []string
	for _, dir := range e.before.Dirs() {
		first, _, _ := strings.Cut(dir, "/")
		pkg := e.before.Package(dir, nil)
		if slices.Contains(ours, first) || pkg == nil || len(pkg.Files) == 0 || pkg.Name == "main" || !typecheck.MayImport(e.toolsPath(), e.checker.ImportPath(dir)) {
			continue
		}
		found = append(found, asFolder(dir))
	}
	return found
}

// few lists words, but not all if they are many.
func few(words []string) string {
	const most = 8
	if len(words) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
	}
	return strings.Join(words, ", ")
}
