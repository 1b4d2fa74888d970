package engine_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/engine"
)

// one returns the JSON of an edit that sets the text of a file.
func one(path, text string) string {
	edits, err := json.Marshal([]engine.FileEdit{{Path: path, Text: &text}})
	if err != nil {
		panic(err)
	}
	return string(edits)
}

// goAccepts runs go commands on the project, and returns the output of the first that fails.
func (b *bench) goAccepts(commands ...string) (output string, ok bool) {
	b.Helper()
	for _, command := range commands {
		cmd := exec.Command("go", command, "./...")
		cmd.Dir = b.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return string(out), false
		}
	}
	return "", true
}

// openPlain opens the project of open in git, and with the go command's defaults.
func openPlain(t *testing.T) *bench {
	t.Helper()
	b := open(t)
	t.Setenv("GOWORK", "")
	t.Setenv("GOFLAGS", "")
	b.write("embedded/embedded.go", "package embedded\n\nimport _ \"embed\"\n\n//go:embed texts/a.txt\nvar A string\n")
	b.write("embedded/texts/a.txt", "a\n")
	if out, err := exec.Command("git", "-C", b.dir, "init", "--quiet").CombinedOutput(); err != nil {
		t.Skipf("git init: %v\n%s", err, out)
	}
	return b
}

// An edit that the go command refuses is refused, even if types in memory do not show it.
func TestEditIsCompiled(t *testing.T) {
	b := openPlain(t)
	out, _ := exec.Command("go", "env", "CC").Output()
	if _, err := exec.LookPath(strings.TrimSpace(string(out))); err != nil {
		t.Skip("cgo needs a C compiler")
	}
	b.write("asm/asm.go", "package asm\n\n// One returns 1.\nfunc One() int\n")
	b.write("asm/asm_amd64.s", "TEXT ·One(SB), 4, $0-8\n\tMOVQ $1, ret+0(FP)\n\tRET\n")
	b.write("asm/asm_arm64.s", "TEXT ·One(SB), 4, $0-8\n\tMOVD $1, R0\n\tMOVD R0, ret+0(FP)\n\tRET\n")
	b.write("cgo/cgo.go", "package cgo\n\n// static int one(void) { return 1; }\nimport \"C\"\n\n// One returns 1.\nfunc One() int { return int(C.one()) }\n")
	b.write("cmd/asm/main.go", "package main\n\nfunc main() {}\n")
	if out, ok := b.goAccepts("list", "build"); !ok {
		t.Fatalf("the project does not compile:\n%s", out)
	}
	before := b.snapshot()
	for name, c := range map[string]struct{ edits, want string }{
		"missing embedded file":   {one("tools/e.go", "package tools\n\nimport _ \"embed\"\n\n//go:embed nosuch.txt\nvar text string\n"), "tools/e.go:5:12: pattern nosuch.txt: no matching files found"},
		"deleted embedded file":   {`[{"path":"embedded/texts/a.txt","delete":true}]`, "pattern texts/a.txt: no matching files found"},
		"embed of a function":     {one("tools/e.go", "package tools\n\nimport _ \"embed\"\n\n//go:embed add.go\nfunc text() {}\n"), "misplaced go:embed directive"},
		"cgo flag":                {one("cgo/flag.go", "package cgo\n\n// #cgo CFLAGS: -fplugin=x.so\nimport \"C\"\n"), "invalid flag in #cgo CFLAGS: -fplugin=x.so"},
		"C function":              {one("cgo/two.go", "package cgo\n\nimport \"C\"\n\nfunc two() int { return int(C.two()) }\n"), "could not determine what C.two refers to"},
		"type of a C function":    {one("cgo/two.go", "package cgo\n\nvar two string = one()\n\nfunc one() string { return One() }\n"), "cannot use One()"},
		"assembly":                {one("asm/b.s", "garbage\n"), "unrecognized instruction"},
		"assembly without a body": {`[{"path":"asm/asm_amd64.s","delete":true},{"path":"asm/asm_arm64.s","delete":true}]`, "missing function body"},
		"assembly that fails vet": {one("asm/two_amd64.s", "TEXT ·Two(SB), 4, $0-8\n\tRET\n"), "vet: [amd64] Two"},
		"C without cgo":           {one("tools/a.c", "int one;\n"), "C source files not allowed when not using cgo or SWIG: a.c"},
		"C":                       {one("cgo/a.c", "garbage\n"), "a.c:1:1: error"},
		"object file":             {one("asm/a.syso", "garbage\n"), "the go command reads these files only from disk"},
		"go.work":                 {one("go.work", "hello\n"), "go.work:1: unknown directive: hello"},
		"go.work without project": {one("go.work", "go 1.26.0\n"), "directory prefix . does not contain modules listed in go.work"},
		"function without a body": {one("tools/b.go", "package tools\n\nfunc b()\n"), "tools/b.go:3:6: missing function body"},
		"program without main":    {one("cmd/asm/main.go", "package main\n\nfunc run() {}\n"), "function main is undeclared in the main package"},
		"build constraint":        {one("tools/b.go", "//go:build (\n\npackage tools\n"), "tools/b.go:1:1: vet: missing close paren"},
		"directive":               {one("cmd/asm/b.go", "//go:debug nosuch=1\n\npackage main\n"), "nosuch"},
		"line directive":          {one("tools/b.go", "package tools\n\n//line x.go:0\nvar b = 1\n"), "invalid line number: 0"},
		"two packages":            {one("tools/b_test.go", "package other_test\n"), "found packages"},
		"name of a folder":        {one("tools/a@b/b.go", "package b\n"), "outside main module"},
		"signature of a test":     {one("tools/b_test.go", "package tools\n\nfunc TestB(b *testing.B) {}\n"), "wrong signature for TestB"},
		"signature of fuzzing":    {one("tools/b_test.go", "package tools\n\nfunc FuzzB(t *testing.T) {}\n"), "wrong signature for FuzzB"},
		"other version control":   {one(".hg/hgrc", "[hooks]\n"), "operations do not write to"},
	} {
		_, err := b.edit(c.edits, engine.Options{NoExec: true})
		if err == nil {
			out, ok := b.goAccepts("list", "build")
			t.Errorf("%s: accepted, and the go command accepts it: %t\n%s", name, ok, out)
			if _, err := b.Undo(t.Context(), "", engine.Options{}); err != nil {
				t.Fatalf("%s: undo: %v", name, err)
			}
			continue
		}
		if text := err.Error(); !strings.Contains(text, c.want) || !strings.Contains(text, "Nothing was changed.") {
			t.Errorf(`%s: got %v, want %q and "Nothing was changed." in it`, name, err, c.want)
		}
	}
	if after := b.snapshot(); !maps.Equal(before, after) {
		t.Errorf("refused edits changed the project: %d files, want %d", len(after), len(before))
	}
	for name, edits := range map[string]string{
		"embedded file":        one("embedded/texts/a.txt", "b\n"),
		"cgo":                  one("cgo/two.go", "package cgo\n\n// static int two(void) { return 2; }\nimport \"C\"\n\n// Two returns 2.\nfunc Two() int { return int(C.two()) }\n"),
		"cgo in a new folder":  one("cgo/deep/er.go", "package deep\n\n// static int two(void) { return 2; }\nimport \"C\"\n\n// Two returns 2.\nfunc Two() int { return int(C.two()) }\n"),
		"cgo in tools":         one("tools/cg.go", "package tools\n\n// static int two(void) { return 2; }\nimport \"C\"\n\nfunc two() string { return fmt.Sprintf(\"%d\", int(C.two())) }\n"),
		"cgo in a feature":     one("features/posts/cg.go", "package posts\n\n// static int two(void) { return 2; }\nimport \"C\"\n\nfunc two() map[int]C.int { return map[int]C.int{int(C.two()): C.two()} }\n\nfunc four() (n int) {\n\tfor _, c := range two() {\n\t\tn += int(c)\n\t}\n\treturn n\n}\n"),
		"another system":       one("tools/b_plan9.go", "package tools\n\nvar b string = 1\n"),
		"go.work":              one("go.work", "go 1.26.0\n\nuse .\n"),
		"an unrelated package": one("money/half.go", "package money\n\nfunc half(cents int) int { return cents / 2 }\n"),
	} {
		if _, err := b.edit(edits, engine.Options{NoExec: true}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.generate("features/posts/mark.go", command("Mark", "return e.Time")); err != nil {
		t.Errorf("generate: %v", err)
	}
	if _, err := b.Change(t.Context(), engine.Change{Name: "add", Rename: "sum", Body: "return float64(four() + len(two())), nil"}, engine.Options{NoExec: true}); err == nil {
		t.Error("a body that uses another package's functions compiles")
	}
	if _, err := b.Change(t.Context(), engine.Change{Name: "add", Rename: "sum"}, engine.Options{NoExec: true}); err != nil {
		t.Errorf("change: %v", err)
	}
	if tested, err := b.Test(t.Context(), engine.TestOptions{}); err != nil || !tested.OK {
		t.Errorf("test: %s (%v); want no error and OK true", tested, err)
	}
	if out, ok := b.goAccepts("list", "build", "vet"); !ok {
		t.Errorf("the project does not compile:\n%s", out)
	}
}

// The go command compiles nothing where types suffice.
func TestPlainEditsAreNotCompiled(t *testing.T) {
	b := openPlain(t)
	b.Step = func(step string) {
		if strings.Contains(step, "go command") {
			t.Error(step)
		}
	}
	for _, edits := range []string{
		one("tools/loud.go", "package tools\n\n//go:generate true\n\nfunc loud(s string) string { return s + \"!\" }\n"),
		one("tools/loud_test.go", "package tools\n\nfunc TestLoud(t *testing.T) {\n\tif loud(\"a\") != \"a!\" {\n\t\tt.Error(loud(\"a\"))\n\t}\n}\n"),
		one("embedded/texts/a.txt", "b\n"),
		one("notes.txt", "x"),
	} {
		if _, err := b.edit(edits, engine.Options{NoExec: true}); err != nil {
			t.Errorf("%s: %v", edits, err)
		}
	}
	if _, err := b.generate("features/posts/mark.go", command("Mark", "return e.Time")); err != nil {
		t.Error(err)
	}
}

// Undo and edit repair a project that the go command cannot load.
func TestRepair(t *testing.T) {
	const goMod = "module hello\n\ngo 1.26.0\n"
	for name, c := range map[string]struct {
		file, broken string
		repair       string // edits
	}{
		"go.work":     {"go.work", "hello\n", `[{"path":"go.work","delete":true}]`},
		"go.mod":      {"go.mod", "garbage\n", one("go.mod", goMod)},
		"Go version":  {"go.mod", "module hello\n\ngo 1.999.0\n", one("go.mod", goMod)},
		"modules.txt": {"vendor/modules.txt", "# example.com/x v1.0.0\n", one("vendor/modules.txt", "# example.com/dep v1.0.0\n## explicit; go 1.26\nexample.com/dep\n")},
		"object file": {"tools/a.syso", "garbage\n", `[{"path":"tools/a.syso","delete":true}]`},
	} {
		t.Run(name, func(t *testing.T) {
			b := openPlain(t)
			t.Setenv("GOTOOLCHAIN", "auto")
			t.Setenv("GOPROXY", "off")
			if c.file == "vendor/modules.txt" {
				b.write("go.mod", goMod+"\nrequire example.com/dep v1.0.0\n")
				b.write("vendor/modules.txt", "# example.com/dep v1.0.0\n## explicit; go 1.26\nexample.com/dep\n")
				b.write("vendor/example.com/dep/dep.go", "package dep\n\nconst A = 1\n")
				b.write("money/dep.go", "package money\n\nimport \"example.com/dep\"\n\nvar _ = dep.A\n")
			}
			if _, err := b.generate("features/posts/mark.go", command("Mark", "return e.Time")); err != nil {
				t.Fatal(err)
			}
			b.write("cmd/hello/main.go", "package main\n\nimport _ \"hello/tools\"\n\nfunc main() {}\n")
			b.write(c.file, c.broken)
			if _, err := b.Undo(t.Context(), "", engine.Options{}); err != nil {
				t.Errorf("undo: %v", err)
			}
			if _, err := os.Stat(filepath.Join(b.dir, "features/posts/mark.go")); err == nil {
				t.Error("undo left features/posts/mark.go")
			}
			edited, err := b.edit(c.repair, engine.Options{})
			if err != nil {
				t.Fatalf("edit: %v", err)
			}
			if out, ok := b.goAccepts("list", "build"); !ok || !edited.OK {
				t.Errorf("after the repair: %s\n%s\nwant OK true, and code that go accepts", edited, out)
			}
			before := b.snapshot()
			_, err = b.Undo(t.Context(), "", engine.Options{}) // would break it again
			if err == nil {
				t.Error("undo of the repair: got no error, want one: the change would not compile")
			}
			if names := differing(before, b.snapshot()); len(names) > 0 {
				t.Errorf("the refused undo of the repair has changed %q, want nothing changed", names)
			}
		})
	}
}
