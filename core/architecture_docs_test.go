// Links in documentation lead somewhere: those of doc comments to declarations, and those of
// documents to files.

package core_test

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// As in go doc, a link to a package leads nowhere if the package with the link does not import it.
// The declarations of other modules are not checked.
func TestDocLinks(t *testing.T) {
	docs := map[string]*doc.Package{} // by import path
	for _, p := range repository(t) {
		docs[module+"/"+p.folder] = newDoc(t, p.fset, p.files)
	}
	for _, p := range repository(t) {
		if !isBelow(p.folder, "core") && !isBelow(p.folder, "generators") {
			continue
		}
		for _, file := range p.files {
			for _, group := range file.Comments {
				for _, link := range brokenLinks(docs, docs[module+"/"+p.folder], group.Text()) {
					t.Errorf("%v: the link [%s] leads nowhere: name a declaration of this package, or of one that it imports",
						p.fset.Position(group.Pos()), link)
				}
			}
		}
	}
}

// newDoc returns the declarations of a package, including those that are not exported.
func newDoc(t *testing.T, fset *token.FileSet, files []*ast.File) *doc.Package {
	t.Helper()
	p, err := doc.NewFromFiles(fset, files, "", doc.AllDecls|doc.PreserveAST)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// brokenLinks returns the links in a comment of a package that lead nowhere.
func brokenLinks(docs map[string]*doc.Package, p *doc.Package, text string) (broken []string) {
	own := p.Parser()
	parser := p.Parser()
	parser.LookupSym = func(recv, name string) bool {
		ok := own.LookupSym(recv, name)
		if !ok && name != "" { // the parser takes [] for a link
			broken = append(broken, strings.TrimPrefix(recv+"."+name, "."))
		}
		return ok
	}
	parser.LookupPackage = func(name string) (string, bool) {
		if imported, ok := own.LookupPackage(name); ok {
			return imported, true
		}
		if imported, ok := comment.DefaultLookupPackage(name); ok {
			return imported, true
		}
		// The parser takes a name in lower case for a package.
		typeName, method, isMethod := strings.Cut(name, ".")
		isOwn := own.LookupSym("", name) || isMethod && own.LookupSym(typeName, method)
		if !isOwn && !slices.ContainsFunc(strings.Split(name, "."), func(s string) bool { return !token.IsIdentifier(s) }) {
			broken = append(broken, name)
		}
		return "", false
	}
	check := func(link *comment.DocLink) string {
		if other := docs[link.ImportPath]; other != nil && link.Name != "" && !other.Parser().LookupSym(link.Recv, link.Name) {
			broken = append(broken, fmt.Sprintf("%s.%s", other.Name, strings.TrimPrefix(link.Recv+"."+link.Name, ".")))
		}
		return ""
	}
	(&comment.Printer{DocLinkURL: check}).HTML(parser.Parse(text))
	return broken
}

func TestBrokenLinks(t *testing.T) {
	fset := token.NewFileSet()
	newPackage := func(source string) *doc.Package {
		file, err := parser.ParseFile(fset, "p.go", source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		return newDoc(t, fset, []*ast.File{file})
	}
	docs := map[string]*doc.Package{"example.com/auth": newPackage("package auth; type Key string")}
	p := newPackage("package p; import \"example.com/auth\"; type Tool struct { Name auth.Key }; func (t *Tool) Call() {}; func run() {}")
	for _, test := range []struct{ text, want string }{
		{"[Tool], [*Tool.Call], [Tool.Name], [auth.Key], [auth], [os.ErrExist], [run] and list[Gone]", ""},
		{"An example:\n\n\tlist [Gone]", ""},
		{"[Gone] and [gone]", "Gone gone"},
		{"[Tool.Gone] and []", "Tool.Gone"},
		{"see [auth.None]", "auth.None"},
		{"see [jsonrpc.Error]", "jsonrpc"},
	} {
		if got := strings.Join(brokenLinks(docs, p, test.text), " "); got != test.want {
			t.Errorf("brokenLinks(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

func TestDocumentLinks(t *testing.T) {
	for _, name := range []string{"README.md", ".github/CONTRIBUTING.md", ".github/SECURITY.md", ".github/decisions/README.md", ".peers/README.md", ".bench/README.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "](")[1:] {
			target, _, _ := strings.Cut(part, ")")
			if strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), target)); err != nil {
				t.Errorf("%s links to %s: %v", name, target, err)
			}
		}
	}
}

// CONTRIBUTING.md lists the packages of core that import third-party packages.
func TestThirdPartyList(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".github/CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(text), "only these import third-party packages:")
	list, _, _ = strings.Cut(list, ".\n")
	var got, want []string
	for _, match := range regexp.MustCompile("`([a-z/]+)`").FindAllStringSubmatch(list, -1) {
		got = append(got, "core/"+match[1])
	}
	for _, p := range repository(t) {
		isThirdParty := func(imported string) bool {
			first, _, _ := strings.Cut(imported, "/")
			return strings.Contains(first, ".") && !strings.HasPrefix(imported, module+"/")
		}
		if isBelow(p.folder, "core") && slices.ContainsFunc(p.Imports, isThirdParty) {
			want = append(want, p.folder)
		}
	}
	slices.Sort(got)
	if !ok || !slices.Equal(got, want) {
		t.Errorf("CONTRIBUTING.md: got %q, want %q", got, want)
	}
}
