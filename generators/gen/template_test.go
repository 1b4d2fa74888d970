package gen_test

import (
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/gen"
)

type macroInput struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Tone        *string
	Count       int `json:"how_often"`
}

func TestFromTemplates(t *testing.T) {
	project := gen.Project{Module: "example.com/hello", Packages: map[string]string{"macros": "canned"}}
	in := macroInput{Name: "SendTest", Description: "Says hello.", Count: 2}
	draft, err := gen.FromTemplates(project, "macro", in,
		gen.Template{Path: "macros/*.go", Text: "// {{.Go}} {{.Name}} {{.human_is_unknown}}\n"})
	if err == nil || !strings.Contains(err.Error(), `no entry for key "human_is_unknown"`) {
		t.Errorf(`got %+v, %v; want an error containing "no entry for key \"human_is_unknown\""`, draft, err)
	}
	draft, err = gen.FromTemplates(project, "macro", in,
		gen.Template{Path: "macros/*.go", Text: "// {{.Go}} {{.Name}} {{.Human}} {{.Import}} {{.Description}} {{.Count}}{{.how_often}}{{with .Tone}}{{.}}{{end}}\n"},
		gen.Template{Path: "macros/*_test.go", Text: "package {{.Package}}_test\n\nfunc TestB(t *testing.T) {}\n\nfunc TestC(t *testing.T) {}\n"},
		gen.Template{Path: "docs/x-*.md", Text: "# {{.Package}}\n"})
	if err != nil {
		t.Fatal(err)
	}
	if draft.Kind != "macro" || draft.Name != "send_test" || draft.Trial.Test != "TestB" {
		t.Errorf(`got %+v; want Kind "macro", Name "send_test" and Trial.Test "TestB"`, draft)
	}
	for i, want := range []struct {
		path, text string
		addImports bool
	}{
		{"macros/send_test_macro.go", "package canned\n\n// SendTest send_test send test example.com/hello/macros Says hello. 22\n", true},
		{"macros/send_test_macro_test.go", "package canned_test\n\nfunc TestB(t *testing.T) {}\n\nfunc TestC(t *testing.T) {}\n", true},
		{"docs/x-send_test.md", "# docs\n", false},
	} {
		if got := draft.Files[i]; got.Path != want.path || string(got.Text) != want.text || got.AddImports != want.addImports {
			t.Errorf("got %s\n%s\nwant %s\n%s", got.Path, got.Text, want.path, want.text)
		}
	}
	for _, name := range []string{"", "a b", "../x"} {
		if _, err := gen.FromTemplates(project, "macro", macroInput{Name: name}, gen.Template{Path: "macros/*.go"}); err == nil {
			t.Errorf("name %q is accepted", name)
		}
	}
	for _, pattern := range []string{"", "*.go", "macros/a.go", "macros/*/a.go", "*/*.go", "/macros/*.go", "../*.go", "a/../*.go", "a/**.go", "a/[*].go", "a b/*.go", "a%s/*.go", "a;b/*.go", "ä/*.go", "a/*.go\n"} {
		if err := gen.CheckPattern(pattern); err == nil {
			t.Errorf("pattern %q is accepted", pattern)
		}
	}
}
