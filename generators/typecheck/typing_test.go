package typecheck_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/generators/typecheck"
)

// A bench is a project whose changes can be verified.
type bench struct {
	*testing.T
	dir     string
	store   *typecheck.Store
	checker *typecheck.Checker
}

// project writes an archive as module example.com/p.
func project(t *testing.T, archive string) *bench {
	t.Helper()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOPROXY", "off")
	b := &bench{T: t, dir: t.TempDir()}
	files := append(txtar.Parse([]byte(archive)).Files, txtar.File{Name: "go.mod", Data: []byte("module example.com/p\n\ngo 1.26\n")})
	for _, f := range files {
		b.write(f.Name, string(f.Data))
	}
	root, err := os.OpenRoot(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	cache := typecheck.NewExportCache(root)
	system, err := cache.System(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.store = typecheck.NewStore(root, system.Context())
	b.checker = typecheck.NewChecker(typecheck.Module{Path: "example.com/p", Go: "1.26.0"}, cache, b.store.Fset())
	return b
}

func (b *bench) write(name, text string) {
	b.Helper()
	file := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) view() *typecheck.View {
	b.Helper()
	v, err := b.store.View()
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// verify verifies a plan, which is an archive. A file named x/-y.go deletes x/y.go.
func (b *bench) verify(plan string) typecheck.Verdict {
	b.Helper()
	planned := map[string][]byte{}
	for _, f := range txtar.Parse([]byte(plan)).Files {
		if name, gone := strings.CutPrefix(f.Name, "-"); gone {
			planned[name] = nil
		} else {
			planned[f.Name] = f.Data
		}
	}
	before := b.view()
	verdict, err := b.checker.Verify(b.Context(), before, before.With(planned))
	if err != nil {
		b.Fatal(err)
	}
	return verdict
}

// checkErrors fails unless each error contains the corresponding part.
func checkErrors(t *testing.T, what string, found []typecheck.Diagnostic, parts ...string) {
	t.Helper()
	ok := len(found) == len(parts)
	for _, part := range parts {
		ok = ok && slices.ContainsFunc(found, func(d typecheck.Diagnostic) bool { return strings.Contains(d.String(), part) })
	}
	if !ok {
		t.Errorf("%s: got %v, want one error for each of %q", what, found, parts)
	}
}

// In each case a project that compiles is changed by a plan.
func TestVerify(t *testing.T) {
	for _, c := range []struct {
		name, project, plan string
		want                []string
	}{
		{
			name:    "a good file",
			project: "-- a/a.go --\npackage a\n\nfunc F() int { return 1 }\n",
			plan:    "-- a/b.go --\npackage a\n\nimport \"strings\"\n\nfunc G() string { return strings.Repeat(\"x\", F()) }\n",
		},
		{
			name:    "a bad body in a new file",
			project: "-- a/a.go --\npackage a\n",
			plan:    "-- a/b.go --\npackage a\n\nfunc G() int { return \"x\" }\n",
			want:    []string{"a/b.go:3:"},
		},
		{
			name:    "a syntax error",
			project: "-- a/a.go --\npackage a\n",
			plan:    "-- a/b.go --\npackage a\n\nfunc G( {\n",
			want:    []string{"a/b.go:3:9: syntax error"},
		},
		{
			name:    "redeclared",
			project: "-- a/a.go --\npackage a\n\nfunc F() {}\n",
			plan:    "-- a/b.go --\npackage a\n\nfunc F() {}\n",
			want:    []string{"F redeclared"},
		},
		{
			name:    "an unused import",
			project: "-- a/a.go --\npackage a\n",
			plan:    "-- a/b.go --\npackage a\n\nimport \"fmt\"\n",
			want:    []string{`"fmt" imported and not used`},
		},
		{
			name:    "a name that hides one of Go's",
			project: "-- a/a.go --\npackage a\n\nfunc F(s string) int { return len(s) }\n",
			plan:    "-- a/b.go --\npackage a\n\nfunc len(int) int { return 0 }\n",
			want:    []string{"a/a.go:3:"},
		},
		{
			name:    "a method for a type of another file",
			project: "-- a/a.go --\npackage a\n\ntype In struct{ M int }\n\ntype T struct{ In }\n\nfunc F(t T) int { return t.M }\n",
			plan:    "-- a/b.go --\npackage a\n\nfunc (T) M() {}\n",
			want:    []string{"a/a.go:7:"},
		},
		{
			name:    "a method for a type of another file, by another name",
			project: "-- a/a.go --\npackage a\n\ntype In struct{ M int }\n\ntype T struct{ In }\n\nfunc F(t T) int { return t.M }\n",
			plan:    "-- a/b.go --\npackage a\n\ntype Same = T\n\nfunc (Same) M() {}\n",
			want:    []string{"a/a.go:7:"},
		},
		{
			name:    "a name that another file imports",
			project: "-- a/a.go --\npackage a\n\nimport \"fmt\"\n\nfunc F() { fmt.Println() }\n",
			plan:    "-- a/b.go --\npackage a\n\nfunc fmt() {}\n",
			want:    []string{"fmt already declared"},
		},
		{
			name:    "a clash by a dot import",
			project: "-- a/a.go --\npackage a\n\nfunc F() {}\n-- b/b.go --\npackage b\n\nimport . \"example.com/p/a\"\n\nfunc G() { F() }\n",
			plan:    "-- a/b.go --\npackage a\n\nfunc G() {}\n",
			want:    []string{"b/b.go:"},
		},
		{
			name:    "an importer breaks",
			project: "-- a/a.go --\npackage a\n\nfunc F() {}\n-- b/b.go --\npackage b\n\nimport \"example.com/p/a\"\n\nfunc G() { a.F() }\n-- c/c_test.go --\npackage c\n\nimport \"example.com/p/a\"\n\nvar f func() = a.F\n",
			plan:    "-- a/a.go --\npackage a\n\nfunc F(int) {}\n",
			want:    []string{"b/b.go:5:", "c/c_test.go:5:"},
		},
		{
			name:    "a removed declaration is missed",
			project: "-- a/a.go --\npackage a\n-- a/b.go --\npackage a\n\nfunc F() {}\n-- a/c.go --\npackage a\n\nfunc G() { F() }\n",
			plan:    "-- -a/b.go --\n",
			want:    []string{"a/c.go:3:12: undefined: F"},
		},
		{
			name:    "a package that is removed is missed",
			project: "-- a/a.go --\npackage a\n-- b/b.go --\npackage b\n\nimport _ \"example.com/p/a\"\n",
			plan:    "-- -a/a.go --\n",
			want:    []string{"the project has no Go files in folder a"},
		},
		{
			name:    "an import cycle",
			project: "-- a/a.go --\npackage a\n-- b/b.go --\npackage b\n\nimport _ \"example.com/p/a\"\n",
			plan:    "-- a/b.go --\npackage a\n\nimport _ \"example.com/p/b\"\n",
			want:    []string{"a/b.go:3:10: could not import example.com/p/b", "b/b.go:3:10: could not import example.com/p/a"},
		},
		{
			name:    "a package that imports itself",
			project: "-- a/a.go --\npackage a\n",
			plan:    "-- a/b.go --\npackage a\n\nimport _ \"example.com/p/a\"\n",
			want:    []string{"import cycle not allowed: example.com/p/a → example.com/p/a"},
		},
		{
			name:    "a test that imports what imports its package",
			project: "-- a/a.go --\npackage a\n-- b/b.go --\npackage b\n\nimport _ \"example.com/p/a\"\n",
			plan:    "-- a/a_test.go --\npackage a\n\nimport _ \"example.com/p/b\"\n",
			want:    []string{"import cycle not allowed"},
		},
		{
			name:    "missing imports",
			project: "-- a/a.go --\npackage a\n",
			plan:    "-- a/b.go --\npackage a\n\nimport (\n\t_ \"example.com/none\"\n\t_ \"example.com/p/none\"\n\t_ \"nonsense\"\n)\n",
			want:    []string{"a/b.go:4:4", "a/b.go:5:4", "a/b.go:6:4"},
		},
		{
			name:    "a program is not a package",
			project: "-- cmd/x/main.go --\npackage main\n\nfunc main() {}\n",
			plan:    "-- a/a.go --\npackage a\n\nimport _ \"example.com/p/cmd/x\"\n",
			want:    []string{"is a program, not an importable package"},
		},
		{
			name:    "but its own test may import it",
			project: "-- cmd/x/main.go --\npackage main\n\nvar V int\n\nfunc main() {}\n",
			plan:    "-- cmd/x/x_test.go --\npackage main_test\n\nimport x \"example.com/p/cmd/x\"\n\nvar _ int = x.V\n",
		},
		{
			name:    "internal packages",
			project: "-- a/internal/x/x.go --\npackage x\n-- a/b/b.go --\npackage b\n\nimport _ \"example.com/p/a/internal/x\"\n",
			plan:    "-- a/a.go --\npackage a\n\nimport _ \"example.com/p/a/internal/x\"\n-- ab/ab.go --\npackage ab\n\nimport _ \"example.com/p/a/internal/x\"\n-- s/s.go --\npackage s\n\nimport _ \"internal/abi\"\n",
			want:    []string{"ab/ab.go:3:10: use of internal package", "s/s.go:3:10: use of internal package"},
		},
		{
			name:    "files that a build does not take",
			project: "-- a/a.go --\npackage a\n\nfunc F() {}\n",
			plan:    "-- a/a_plan9.go --\npackage a\n\nfunc F() {}\n-- a/b.go --\n//go:build ignore\n\npackage main\n\nfunc F() { nonsense }\n",
		},
		{
			name:    "a package whose only file a build does not take",
			project: "-- a/a_plan9.go --\npackage a\n",
			plan:    "-- b/b.go --\npackage b\n\nimport _ \"example.com/p/a\"\n",
			want:    []string{"build constraints exclude all Go files in a"},
		},
		{
			name:    "two packages in a folder",
			project: "-- a/a.go --\npackage a\n",
			plan:    "-- a/b.go --\npackage b\n",
			want:    []string{"package b; expected package a"},
		},
		{
			name:    "a test that exports something for the test outside",
			project: "-- a/a.go --\npackage a\n\nvar hidden int\n",
			plan:    "-- a/export_test.go --\npackage a\n\nvar Hidden = hidden\n-- a/a_test.go --\npackage a_test\n\nimport \"example.com/p/a\"\n\nvar _ int = a.Hidden\n",
		},
		{
			name: "a package between that is built for it",
			project: `
-- a/a.go --
package a

type T struct{}
-- b/b.go --
package b

import "example.com/p/a"

func Make() a.T { return a.T{} }
`,
			plan: `
-- a/export_test.go --
package a

func (T) Hidden() {}
-- a/a_test.go --
package a_test

import (
	"example.com/p/a"
	"example.com/p/b"
)

func f() {
	var t a.T = b.Make()
	t.Hidden()
	b.Make().Hidden()
	b.Make().Missing()
}
`,
			want: []string{"a/a_test.go:12:11"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := project(t, c.project)
			verdict := b.verify(c.plan)
			checkErrors(t, "new", verdict.New, c.want...)
			checkErrors(t, "old", verdict.Old)
			again := b.verify(c.plan) // from the cache
			checkErrors(t, "once more", again.New, c.want...)
		})
	}
}

// Errors that existed before are not new, as often as they occurred.
func TestOnlyNewErrorsCount(t *testing.T) {
	b := project(t, `
-- a/a.go --
package a

func F() int { return "x" }

func G() { undefined() }
-- b/b.go --
package b

import "example.com/p/a"

var S string = a.F()
`)
	verdict := b.verify("-- a/a.go --\npackage a\n\n// Moved.\nfunc F() int { return \"x\" }\n\nfunc G() { undefined() }\n\nfunc H() { undefined() }\n")
	checkErrors(t, "new", verdict.New, "a/a.go:8:12: undefined: undefined")
	checkErrors(t, "old", verdict.Old, `a/a.go:4:`, "a/a.go:6:12: undefined", "b/b.go:5:16")

	verdict = b.verify("-- a/a.go --\npackage a\n\nfunc F() string { return \"x\" }\n\nfunc G() { undefined() }\n")
	checkErrors(t, "new after a repair", verdict.New)
	checkErrors(t, "old after a repair", verdict.Old, "a/a.go:5:12: undefined")

	verdict = b.verify("-- a/c.go --\npackage a\n\nfunc C() int { return F() }\n")
	checkErrors(t, "new in a broken package", verdict.New)
	verdict = b.verify("-- a/c.go --\npackage a\n\nfunc C() string { return F() }\n")
	checkErrors(t, "new in a broken package", verdict.New, "a/c.go:3:26")
}

// Cached results are not used after files on disk have changed.
func TestNothingStale(t *testing.T) {
	b := project(t, "-- a/a.go --\npackage a\n\nfunc F() int { return 1 }\n-- b/b.go --\npackage b\n\nimport \"example.com/p/a\"\n\nfunc G() int { return a.F() }\n")
	plan := "-- c/c.go --\npackage c\n\nimport \"example.com/p/b\"\n\nvar V int = b.G()\n"
	checkErrors(t, "at first", b.verify(plan).New)
	b.write("b/b.go", "package b\n\nimport \"example.com/p/a\"\n\nfunc G() any { return a.F() }\n")
	checkErrors(t, "after an edit", b.verify(plan).New, "c/c.go:5:")
	b.write("b/b.go", "package b\n\nimport \"example.com/p/a\"\n\nfunc G() int { return a.F() }\n")
	checkErrors(t, "after the change was reverted", b.verify(plan).New)
	b.write("a/z.go", "package a\n\nvar G = 1\n")
	checkErrors(t, "after another file", b.verify("-- a/y.go --\npackage a\n\nvar G = 2\n").New, "redeclared")
	if err := os.Remove(filepath.Join(b.dir, "a", "z.go")); err != nil {
		t.Fatal(err)
	}
	checkErrors(t, "after it is gone", b.verify("-- a/y.go --\npackage a\n\nvar G = 2\n").New)
}

// Adding a declaration to a derived file causes no errors in other packages; removing one does.
func TestDerivedFiles(t *testing.T) {
	const mark = "// Code generated by petrock from x. DO NOT EDIT.\n\n"
	b := project(t, "-- a/a_gen.go --\n"+mark+"package a\n\nfunc Register() {}\n-- b/b.go --\npackage b\n\nimport \"example.com/p/a\"\n\nfunc G() { a.Register() }\n")
	checkErrors(t, "more", b.verify("-- a/a_gen.go --\n"+mark+"package a\n\nfunc Register() { more() }\n\nfunc more() {}\n").New)
	checkErrors(t, "bad", b.verify("-- a/a_gen.go --\n"+mark+"package a\n\nfunc Register() { more() }\n").New, "a/a_gen.go:5:19: undefined: more")
	checkErrors(t, "less", b.verify("-- a/a_gen.go --\n"+mark+"package a\n").New, "b/b.go:5:14: undefined: a.Register")
	checkErrors(t, "other", b.verify("-- a/a_gen.go --\n"+mark+"package a\n\nfunc Register(int) {}\n").New, "b/b.go:5:")
}

// Importers see a package without its tests and without skipped files.
func TestPass(t *testing.T) {
	b := project(t, "-- a/a.go --\npackage a\n\nvar A int\n-- a/a_test.go --\npackage a\n\nvar T int\n-- a/skip.go --\npackage a\n\nvar S int\n\nfunc F() { nonsense() }\n")
	pass, err := b.checker.NewPass(t.Context(), b.view(), []string{"a"}, typecheck.PassOptions{Skip: func(f *typecheck.File) bool { return f.Path == "a/skip.go" }})
	if err != nil {
		t.Fatal(err)
	}
	pkg, wrong := pass.Package("a")
	if names := pkg.Scope().Names(); !slices.Equal(names, []string{"A"}) || len(wrong) > 0 {
		t.Errorf("a declares %v with the errors %v; want A and no errors", names, wrong)
	}
	if pkg, _ := pass.Package("none"); pkg != nil {
		t.Errorf("a package that does not exist: got %+v, want nil", pkg)
	}
}
