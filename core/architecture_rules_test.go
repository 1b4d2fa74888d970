package core_test

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

func importsPointDown(t tree) []string {
	var broken []string
	unknown := map[string]bool{}
	for _, f := range t.sources() {
		allowed, ok := allowedImports(f.dir())
		if !ok {
			if !unknown[f.dir()] {
				unknown[f.dir()] = true
				broken = append(broken, fmt.Sprintf("%s: package %s has no row in mayImport; decide what it may import and add one", f.path, f.dir()))
			}
			continue
		}
		for _, imp := range f.imports() {
			if dir, ok := t.ours(imp.path); ok && !matchesAny(allowed, dir) {
				broken = append(broken, f.at(imp.pos, "%s must not import %s; move what you need further down, or hand it in as a value or an interface", f.dir(), dir))
			}
		}
	}
	return broken
}

// packageLists are the files whose package comment lists the packages below their folder.
var packageLists = []string{"core/doc.go", "generators/generators.go"}

// listedPackage matches an entry of such a list.
var listedPackage = regexp.MustCompile(`(?m)^//   - ([a-z/]+): `)

// commentsListPackages compares the lists with the packages, and their order with the imports.
func commentsListPackages(t tree) []string {
	var broken []string
	for _, list := range packageLists {
		broken = append(broken, comparePackages(t, list)...)
	}
	return broken
}

func comparePackages(t tree, list string) []string {
	var listed, broken []string
	folder := path.Dir(list)
	packages := map[string]bool{}
	imports := map[string][]string{}
	for _, f := range t.sources() {
		if f.path == list {
			for _, match := range listedPackage.FindAllStringSubmatch(string(f.src), -1) {
				listed = append(listed, folder+"/"+match[1])
			}
		}
		if f.dir() == folder || !matches(folder+"/...", f.dir()) {
			continue
		}
		packages[f.dir()] = true
		for _, imp := range f.imports() {
			if dir, ok := t.ours(imp.path); ok {
				imports[f.dir()] = append(imports[f.dir()], dir)
			}
		}
	}
	for i, dir := range listed {
		if !packages[dir] {
			broken = append(broken, fmt.Sprintf("%s lists %s, which does not exist", list, dir))
		}
		delete(packages, dir)
		for _, imported := range imports[dir] {
			if slices.Contains(listed[i:], imported) {
				broken = append(broken, fmt.Sprintf("%s lists %s above %s, which it imports", list, dir, imported))
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		broken = append(broken, fmt.Sprintf("%s does not list %s", list, dir))
	}
	return broken
}

// pathInComment matches a folder or file of the repository in a comment.
var pathInComment = regexp.MustCompile(`(?:^|[\s(])((?:core|generators|skeleton|templates|cmd/petrock/internal)/[a-z0-9_/]+(?:\.[a-z]+)?)`)

// packageCommentsNameExistingPaths finds folders and files in package comments that do not exist.
func packageCommentsNameExistingPaths(t tree) []string {
	exists := map[string]bool{}
	for _, f := range t.files {
		for name := f.path; name != "."; name = path.Dir(name) {
			exists[name] = true
		}
	}
	var broken []string
	for _, f := range t.sources() {
		if f.syntax.Doc == nil {
			continue
		}
		for _, found := range pathInComment.FindAllStringSubmatch(f.syntax.Doc.Text(), -1) {
			if name := strings.TrimSuffix(found[1], "/"); !exists[name] && (path.Ext(name) == "" || path.Ext(name) == ".go") {
				broken = append(broken, f.at(f.syntax.Doc.Pos(), "the package comment names %s, which does not exist", name))
			}
		}
	}
	return broken
}

func testsOfCoreStayInCore(t tree) []string {
	var broken []string
	for _, f := range t.tests() {
		if !matches("core/...", f.dir()) {
			continue
		}
		for _, imp := range f.imports() {
			if dir, ok := t.ours(imp.path); ok && matchesAny(upward, dir) {
				broken = append(broken, f.at(imp.pos, "a test of core must not import %s; put the test there instead", dir))
			}
		}
	}
	return broken
}

func coreImportsStandardLibrary(t tree) []string {
	var broken []string
	for _, f := range t.sources() {
		if !matches("core/...", f.dir()) {
			continue
		}
		for _, imp := range f.imports() {
			if _, ok := t.ours(imp.path); ok || isStandard(imp.path) || slices.Contains(outsideCore[f.dir()], imp.path) {
				continue
			}
			broken = append(broken, f.at(imp.pos, "core imports only the standard library, not %s; a leaf package that cannot do without goes into outsideCore", imp.path))
		}
	}
	return broken
}

func cobraStaysInCommandLines(t tree) []string {
	var broken []string
	for _, f := range append(t.sources(), t.tests()...) {
		for _, imp := range f.imports() {
			if matches("github.com/spf13/cobra/...", imp.path) && !f.below("cmd") && !matchesAny(makeCommandLine, f.dir()) {
				broken = append(broken, f.at(imp.pos, "cobra stays in the packages that make a command line; move the command below a cmd folder, or to one of makeCommandLine"))
			}
		}
	}
	return broken
}

func refusedImports(t tree) []string {
	var broken []string
	for _, f := range t.sources() {
		for _, imp := range f.imports() {
			for _, no := range refused {
				if matches(no.pkg, f.dir()) && imp.path == no.path {
					broken = append(broken, f.at(imp.pos, "%s must not import %s: %s", f.dir(), no.path, no.reason))
				}
			}
		}
	}
	return broken
}

// wordsOfMCP finds the protocol's name, its methods, and its first method if it stands in quotes:
// "initialize" is a word that plain English needs as well.
var wordsOfMCP = regexp.MustCompile("(?i:\\bmcp|model ?context ?protocol)|MCP|Mcp" +
	"|\\b(tools|resources|prompts|notifications)/" +
	"|[\"'`]initialized?[\"'`]")

func jsonrpcDoesNotMentionMCP(t tree) []string {
	var broken []string
	for _, f := range t.sources() {
		if !matches("core/jsonrpc/...", f.dir()) && !matches("core/plumbing/rpc/...", f.dir()) {
			continue
		}
		n := 0
		for line := range strings.Lines(string(f.src)) {
			n++
			if word := wordsOfMCP.FindString(line); word != "" {
				broken = append(broken, fmt.Sprintf("%s:%d: jsonrpc knows nothing of MCP, and here stands %q; move it to core/mcp, or say it in words of JSON-RPC", f.path, n, word))
			}
		}
	}
	return broken
}

// commentsDoNotMentionBench finds comments about the folder of benchmarks, which projects lack.
func commentsDoNotMentionBench(t tree) []string {
	var broken []string
	for _, f := range append(t.sources(), t.tests()...) {
		if !matchesAny([]string{"core/...", "generators/..."}, f.dir()) {
			continue
		}
		for _, group := range f.syntax.Comments {
			for _, comment := range group.List {
				if strings.Contains(comment.Text, ".bench") {
					broken = append(broken, f.at(comment.Pos(), "a project has no folder .bench; say petrock's own benchmark"))
				}
			}
		}
	}
	return broken
}

func noInit(t tree) []string {
	var broken []string
	for _, f := range t.sources() {
		for _, decl := range f.syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				broken = append(broken, f.at(fn.Pos(), "func init runs unasked; make it a function that the caller calls"))
			}
		}
	}
	return broken
}

func modulePathStaysInImports(t tree) []string {
	var broken []string
	for _, f := range t.sources() {
		if !matchesAny(copied, f.dir()) {
			continue
		}
		inImports := map[int]bool{}
		for _, imp := range f.imports() {
			inImports[f.fset.Position(imp.pos).Line] = true
		}
		n := 0
		for line := range strings.Lines(string(f.src)) {
			n++
			if strings.Contains(line, t.module) && !inImports[n] {
				broken = append(broken, fmt.Sprintf("%s:%d: here stands %s, which is not the module of a project that gets this file; ask for the path instead", f.path, n, t.module))
			}
		}
	}
	return broken
}

func onlyTopLevel(t tree) []string {
	var broken []string
	for _, name := range t.top {
		if !strings.HasPrefix(name, ".") && !slices.Contains(topLevel, name) {
			broken = append(broken, fmt.Sprintf("%s: the root holds only %s and dotfiles; move it into one of the folders", name, strings.Join(topLevel, ", ")))
		}
	}
	return broken
}

// goVersion matches the version line of go.mod.
var goVersion = regexp.MustCompile(`^go 1\.26(\.\d+)?$`)

func goModRules(t tree) []string {
	var broken []string
	if !slices.ContainsFunc(t.goMod, goVersion.MatchString) {
		broken = append(broken, "go.mod: wants the line go 1.26")
	}
	for i, line := range t.goMod {
		if strings.HasPrefix(line, "replace ") || strings.HasPrefix(line, "replace(") {
			broken = append(broken, fmt.Sprintf("go.mod:%d: a replace directive breaks go install …@latest; require a published version", i+1))
		}
		if strings.Contains(line, "modelcontextprotocol") || strings.Contains(line, "mark3labs") {
			broken = append(broken, fmt.Sprintf("go.mod:%d: %s is an SDK; core/mcp is all the MCP there is here", i+1, line))
		}
	}
	return broken
}

// allowedImports is the row of mayImport for a package.
func allowedImports(pkg string) ([]string, bool) {
	for _, row := range mayImport {
		if matches(row.pkg, pkg) {
			return row.imports, true
		}
	}
	return nil, false
}

// matches reports whether a package path fits a pattern with "..." in it.
func matches(pattern, pkg string) bool {
	expr := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\.\.\.`, `.*`)
	if rest, ok := strings.CutSuffix(expr, `/.*`); ok {
		expr = rest + `(/.*)?`
	}
	return regexp.MustCompile("^" + expr + "$").MatchString(pkg)
}

func matchesAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, pkg) })
}

// isStandard reports whether an import path is of the standard library: those have no dot before
// the first slash. "C" is not a package but cgo.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".") && first != "C"
}
