package generators_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/gen"
)

// withPosts returns a project with a feature.
func withPosts() gen.Project {
	return gen.Project{Name: "hello", Module: "example.com/hello", Packages: map[string]string{"features/posts": "posts"}}
}

// Invalid feature names are refused with a remedy.
func TestFeatureNames(t *testing.T) {
	for name, says := range map[string]string{
		"":                                   "use lower-case",
		"blog-posts":                         "use lower-case letters and digits",
		"blog_posts":                         "use lower-case letters and digits",
		"BlogPosts":                          "use lower-case letters and digits",
		"Posts":                              "use lower-case letters and digits",
		"1posts":                             "use lower-case letters and digits",
		"../posts":                           "use lower-case letters and digits",
		"posts/x":                            "use lower-case letters and digits",
		"día":                                "use lower-case letters and digits",
		"-":                                  "use lower-case letters and digits",
		"func":                               "reserved by Go",
		"type":                               "reserved by Go",
		"go":                                 "reserved by Go",
		"import":                             "reserved by Go",
		"string":                             "reserved by Go",
		"error":                              "reserved by Go",
		"len":                                "reserved by Go",
		"nil":                                "reserved by Go",
		"a":                                  "reserved by Go",
		"internal":                           "reserved by Go",
		"vendor":                             "reserved by Go",
		"testdata":                           "reserved by Go",
		"con":                                "reserved by Go",
		"com1":                               "reserved by Go",
		"app":                                "reserved by Go",
		"appmcp":                             "reserved by Go",
		"mcp":                                "reserved by Go",
		"errors":                             "reserved by Go",
		"json":                               "reserved by Go",
		"time":                               "reserved by Go",
		"context":                            "reserved by Go",
		"features":                           "reserved by Go",
		"main":                               "reserved by Go",
		"init":                               "reserved by Go",
		"serve":                              "reserved by Go",
		"tools":                              "reserved by Go",
		"core":                               "reserved by Go",
		"register":                           "reserved by Go",
		"testing":                            "reserved by Go",
		"itisaverylongnameforafeatureofmine": "choose a shorter one",
	} {
		for _, crud := range []bool{false, true} {
			in := generators.FeatureInput{Name: name, CRUD: crud}
			if crud {
				in.Fields = []string{"title"}
			}
			if _, err := generators.Feature(withPosts(), in); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("the feature %q, crud %v, returned %v; want %q in it", name, crud, err, says)
			}
		}
		if _, err := generators.Command(withPosts(), generators.CommandInput{Name: name + "/publish"}); err == nil {
			t.Errorf("a command of the feature %q is accepted", name)
		}
	}
}

// Invalid names and fields of components of a feature are refused with a remedy.
func TestFeatureRefusals(t *testing.T) {
	command := func(name string, fields ...string) error {
		_, err := generators.Command(withPosts(), generators.CommandInput{Name: name, Fields: fields})
		return err
	}
	query := func(name string, fields ...string) error {
		_, err := generators.Query(withPosts(), generators.QueryInput{Name: name, Fields: fields})
		return err
	}
	worker := func(name string, fields ...string) error {
		_, err := generators.Worker(withPosts(), generators.WorkerInput{Name: name, Fields: fields, On: []string{"posts/create"}, Every: "1m"})
		return err
	}
	crud := func(item string, fields ...string) error {
		_, err := generators.Feature(withPosts(), generators.FeatureInput{Name: "notes", CRUD: true, Item: item, Fields: fields})
		return err
	}
	for _, test := range []struct {
		err  error
		says string
	}{
		{command("publish"), "such as posts/publish"},
		{command("posts/"), "such as posts/publish"},
		{command("/publish"), "such as posts/publish"},
		{command("posts/a/b"), "such as posts/publish"},
		{command("posts/../x"), "such as posts/publish"},
		{command("posts/.."), "invalid name"},
		{command("posts/state"), "is reserved in"},
		{command("posts/new-state"), "is reserved in"},
		{command("posts/feature"), "is reserved in"},
		{query("posts/map"), "is reserved in"},
		{query("posts/event"), "is reserved in"},
		{worker("posts/register"), "is reserved in"},
		{command("posts/a_b_c"), "longer words"},
		{command("users/replay"), "TestReplay"},
		{command("posts/" + strings.Repeat("long", 20)), "choose a shorter one"},
		{command("posts/x", "a:string; evil"), "is not a type"},
		{command("posts/x", "a:string\n}\nfunc init() { panic(1) }\ntype Z struct {"), "is not a type"},
		{query("posts/x", "A:string", "a:int"), "differs only in case"},
		{query("posts/x", "_"), "invalid field name"},
		{command("posts/x", "a:../../x"), "is not a type"},
		{crud("", "id"), "already has this field"},
		{crud("", "ID:int"), "already has this field"},
		{crud("", "createdAt:time"), "already has this field"},
		{crud("", "updated_at:time"), "already has this field"},
		{crud("", "seq:int"), "already has this field"},
		{crud(""), "crud needs the fields"},
		{crud("state", "title"), "is reserved in"},
		{crud("list-output", "title"), "is reserved in"},
		{crud("a b", "title"), "invalid name"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.says) {
			t.Errorf("got %v; want %q in it", test.err, test.says)
		}
	}
}

// A component has a file that every build includes, and a type and a tool with all words of its
// name.
func TestNamesInFeatures(t *testing.T) {
	for _, test := range []struct{ name, file, typ, tool string }{
		{"publish-now", "publish_now", "PublishNow", "publish_now"},
		{"publishNow", "publish_now", "PublishNow", "publish_now"},
		{"create-draft", "create_draft", "CreateDraft", "create_draft"},
		{"get-by-slug", "get_by_slug", "GetBySlug", "get_by_slug"},
		{"getPost", "get_post", "GetPost", "get_post"},
		{"GET", "get", "Get", "get"},
		{"send-test", "send_test_KIND", "SendTest", "send_test"},
		{"export-windows", "export_windows_KIND", "ExportWindows", "export_windows"},
		{"run-gen", "run_gen_KIND", "RunGen", "run_gen"},
		{"search", "search", "Search", "search"},
		{"find", "find", "Find", "find"},
		{"count", "count", "Count", "count"},
		{"request_summary", "request_summary", "RequestSummary", "request_summary"},
		{"set_summary", "set_summary", "SetSummary", "set_summary"},
		{"backup", "backup", "Backup", "backup"},
		{"func", "func", "Func", "func"},
		{"string", "string", "String", "string"},
		{"set-url", "set_url", "SetURL", "set_url"},
	} {
		for _, kind := range []string{"command", "query", "worker"} {
			input := fmt.Sprintf(`{"name":"posts/%s","fields":["publishAt:time","postID"]}`, test.name)
			if kind == "worker" {
				input = fmt.Sprintf(`{"name":"posts/%s","on":["posts/create"]}`, test.name)
			}
			draft, err := runGenerator(t, kind, []byte(input), withPosts().Packages)
			if err != nil {
				t.Errorf("%s %s returned %v", kind, test.name, err)
				continue
			}
			tool := "posts_" + test.tool
			if kind == "worker" {
				tool = "posts/" + test.tool
			}
			file := "features/posts/" + strings.ReplaceAll(test.file, "KIND", kind)
			if draft.Name != tool || len(draft.Files) != 2 || draft.Files[0].Path != file+".go" || draft.Files[1].Path != file+"_test.go" {
				t.Errorf("%[1]s %[2]s is %[3]s in %[4]s and %[7]d more; want %[5]s in %[6]s.go and %[6]s_test.go", kind, test.name, draft.Name, draft.Files[0].Path, tool, file, len(draft.Files)-1)
			}
			if !bytes.Contains(draft.Files[0].Text, []byte("\ntype "+test.typ+" struct")) {
				t.Errorf("%s %s: got %s, want it to contain %s", kind, test.name, draft.Files[0].Text, []byte("\ntype "+test.typ+" struct"))
			}
		}
	}
}

// The same input gives the same bytes for every module name. The files are in the feature's folder,
// are valid Go of its package, and import only existing packages.
func TestFeaturesAreTheSameEachTime(t *testing.T) {
	for _, module := range []string{"example.com/posts/created", "posts", "example.com/features/posts"} {
		for kind, input := range map[string]string{
			"feature": `{"name":"posts","crud":true,"fields":["create:int","posts","post:enum(create,posts)?"]}`,
			"command": `{"name":"posts/create","fields":["posts"]}`,
			"query":   `{"name":"posts/posts","fields":["create"]}`,
		} {
			var before gen.Draft
			for i := range 12 {
				draft := generate(t, module, kind, input)
				for at, file := range draft.Files {
					if i > 0 && !bytes.Equal(file.Text, before.Files[at].Text) {
						t.Fatalf("%s of %s has another text than in the first module:\n%s\nwant\n%s", kind, module, file.Text, before.Files[at].Text)
					}
					if i == 0 {
						checkFile(t, module, file)
					}
				}
				before = draft
			}
		}
	}
}

// generate runs a generator for a module without features.
func generate(t *testing.T, module, kind, input string) gen.Draft {
	t.Helper()
	for _, g := range generators.All() {
		if g.Name == kind {
			draft, err := g.Make(gen.Project{Name: "hello", Module: module}, []byte(input))
			if err != nil {
				t.Fatal(err)
			}
			return draft
		}
	}
	t.Fatalf("there is no generator %s", kind)
	return gen.Draft{}
}

// checkFile checks that a file is valid Go of the feature posts, and imports only the standard
// library, core and the feature.
func checkFile(t *testing.T, module string, file gen.File) {
	t.Helper()
	syntax, err := parser.ParseFile(token.NewFileSet(), file.Path, file.Text, parser.SkipObjectResolution)
	if err != nil || path.Dir(file.Path) != "features/posts" || strings.TrimSuffix(syntax.Name.Name, "_test") != "posts" {
		t.Errorf("%s of %s is in the package %v, %v\n%s; want features/posts and the package posts", file.Path, module, syntax.Name, err, file.Text)
		return
	}
	for _, spec := range syntax.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		rest, ours := strings.CutPrefix(imported, module+"/")
		if spec.Name != nil || ours && !strings.HasPrefix(rest, "core/") && rest != "features/posts" || !ours && strings.Contains(imported, ".") {
			t.Errorf("%s of %s imports %s (named %v); want no name, and only the standard library, core and features/posts", file.Path, module, imported, spec.Name)
		}
	}
}

// Features cannot have the names of declarations in the server's package main, which imports them.
func TestNoFeatureIsNamedAsTheProgramsOwn(t *testing.T) {
	files, err := filepath.Glob("../skeleton/base/cmd/server/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			for _, declared := range declaredBy(decl) {
				if declared != strings.ToLower(declared) || declared == "_" {
					continue
				}
				if _, err := generators.Feature(withPosts(), generators.FeatureInput{Name: declared}); err == nil {
					t.Errorf("%s declares %s, which is accepted as the name of a feature", filepath.Base(name), declared)
				}
			}
		}
	}
}

// declaredBy returns the names that a declaration adds to its package.
func declaredBy(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}
