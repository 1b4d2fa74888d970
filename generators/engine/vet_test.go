package engine_test

import (
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/engine"
)

// Code that go vet rejects is refused, with its lines, unless it existed before.
func TestVet(t *testing.T) {
	b := open(t)
	b.write("money/old.go", "package money\n\nimport \"fmt\"\n\nfunc old() string { return fmt.Sprintf(\"%d\", \"x\") }\n")
	before := b.snapshot()
	const found = "the change would fail go vet:\n  money/new.go:5:43: vet: fmt.Sprintf format %s has arg 1 of wrong type int\n" +
		"      2 | \n      3 | import \"fmt\"\n      4 | \n    > 5 | func fresh() string { return fmt.Sprintf(\"%s\", 1) }\nNothing was changed."
	const edits = `[{"path":"money/new.go","text":"package money\n\nfunc fresh() string { return fmt.Sprintf(\"%s\", 1) }\n"}]`
	for _, o := range []engine.Options{{}, {NoExec: true}, {DryRun: true}} {
		_, err := b.edit(edits, o)
		b.checkError(err, found)
		if err != nil && strings.Contains(err.Error(), "old.go") {
			t.Errorf("the error names a finding that existed before: %v", err)
		}
	}
	for text, want := range map[string]string{
		`func fresh(n int) string { return string(n) }`:                                                 "vet: conversion from int to string yields a string of one rune",
		`func fresh(n int) bool { return n != 1 || n != 2 }`:                                            "vet: suspect or: n != 1 || n != 2",
		`func fresh(err error) bool { var e error; return errors.As(err, e) }`:                          "vet: second argument to errors.As must be a non-nil pointer",
		`type fresh struct { A int ` + "`json:a`" + ` }`:                                                "vet: struct field tag `json:a` not compatible with reflect.StructTag.Get",
		`func fresh() int { return 1; return 2 }`:                                                       "vet: unreachable code",
		`func fresh(l sync.Mutex) {}`:                                                                   "vet: fresh passes lock by value: sync.Mutex",
		`func fresh() { fmt.Sprint(1) }`:                                                                "vet: result of fmt.Sprint call not used",
		`func logf(f string, a ...any) { fmt.Printf(f, a...) }; var _ = func() { logf(\"%d\", \"x\") }`: "vet: hello/money.logf format %d has arg \"x\" of wrong type string",
	} {
		_, err := b.edit(`[{"path":"money/new.go","text":"package money\n\n`+text+`\n"}]`, engine.Options{})
		b.checkError(err, want)
	}
	_, err := b.edit(`[{"path":"money/new_test.go","text":"package money_test\n\nfunc Testfresh(t *testing.T) { t.Logf(\"%d\") }\n"}]`, engine.Options{})
	b.checkError(err, "vet: Testfresh has malformed name: first letter after 'Test' must not be lowercase")
	b.checkError(err, "vet: (*testing.common).Logf format %d reads arg #1, but call has 0 args")
	_, err = b.Change(t.Context(), engine.Change{Name: "add", Body: `return float64(len(fmt.Sprintf("%s", in.A))), nil`}, engine.Options{})
	b.checkError(err, "vet: fmt.Sprintf format %s has arg in.A of wrong type float64\n")
	b.checkError(err, "Correct the body and retry.")
	for file, text := range b.snapshot() {
		if before[file] != text {
			t.Errorf("%s is %q, want %q as before", file, text, before[file])
		}
	}
	// An undo that brings a finding back is refused too.
	b.write("money/fix.go", "package money\n\nfunc fix() int {\n\treturn 1\n\treturn 2\n}\n")
	if _, err := b.edit(`[{"path":"money/fix.go","replace":[{"old":"\treturn 2\n","new":""}]}]`, engine.Options{}); err != nil {
		t.Fatal(err)
	}
	_, err = b.Undo(t.Context(), "", engine.Options{})
	b.checkError(err, "(edit money/fix.go): the change would fail go vet:\n  money/fix.go:5:2: vet: unreachable code\n")
	// A package that did not compile can be repaired in spite of findings in its other files.
	b.write("money/broken.go", "package money\n\nfunc broken() { gone() }\n")
	if _, err := b.edit(`[{"path":"money/broken.go","text":"package money\n\nfunc broken() {}\n"}]`, engine.Options{}); err != nil {
		t.Errorf("repairing: %v", err)
	}
	tested, err := b.Test(t.Context(), engine.TestOptions{Packages: []string{"money"}})
	if err != nil || tested.OK || !strings.HasPrefix(tested.String(), "Some packages do not compile, or fail go vet.") {
		t.Errorf(`test returned %s (%v); want no error, OK false and a result starting with "Some packages do not compile, or fail go vet."`, tested, err)
	}
}

// A name that the package already declares is an error.
func TestConflictWithDeclaration(t *testing.T) {
	b := open(t)
	b.write("features/posts/kinds.go", "package posts\n\n// A Mark is a mark.\ntype Mark struct{}\n")
	_, err := b.generate("features/posts/mark.go", command("Mark", "return e.Time"))
	b.checkError(err, "Mark redeclared")
	_, err = b.generate("features/posts/again.go", command("Create", "return e.Time"))
	b.checkError(err, "Create redeclared")
}
