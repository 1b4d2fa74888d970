package engine_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/petrock/petrock/generators/engine"
)

func TestSum(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	project := fstest.MapFS{
		"core/mcp/server.go":   file("package mcp\n\nvar x int\n"),
		"core/mcp/client.go":   file("package mcp\n"),
		"generators/tool.go":   file("package generators\n"),
		"generators/.hidden":   file("x"),
		"tools/add.go":         file("package tools\n"),
		"generators/gone.go":   file("package generators\n"),
		"generators/docs/a.md": file("# A\n"),
	}
	sum := engine.SumOf(project, "core", "generators", "tools")
	text := string(sum.Encode())
	if lines := strings.Split(strings.TrimSpace(text), "\n"); len(lines) != 6 || !slices.IsSorted(lines) || !strings.HasPrefix(lines[0], "core/mcp/client.go h1:") {
		t.Errorf("petrock.sum is\n%s\nwant six sorted lines, the first of core/mcp/client.go", text)
	}
	project[engine.SumFile] = file(text)
	sum, err := engine.ReadSum(project)
	if err != nil {
		t.Fatal(err)
	}
	folders := engine.PetrockFolders()
	if drift := sum.Compare(project, folders...); !drift.IsEmpty() {
		t.Errorf("an unchanged project differs in %+v, want no difference", drift)
	}

	// Line endings, permissions and the user's files do not count.
	project["core/mcp/server.go"] = &fstest.MapFile{Data: []byte("package mcp\r\n\r\nvar x int\r\n"), Mode: 0o755}
	project["tools/add.go"] = file("package tools // mine\n")
	if drift := sum.Compare(project, folders...); !drift.IsEmpty() {
		t.Errorf("with other line endings the project differs in %+v, want no difference", drift)
	}
	if sum.Matches("tools/add.go", project["tools/add.go"].Data) {
		t.Error("Matches(tools/add.go) = true, want false: the file was edited")
	}
	if sum.Matches("tools/other.go", nil) {
		t.Error("Matches(tools/other.go) = true, want false: the file is not in petrock.sum")
	}

	project["core/mcp/client.go"] = file("package mcp // changed\n")
	project["generators/mine.go"] = file("package generators\n")
	delete(project, "generators/gone.go")
	drift := sum.Compare(project, folders...)
	if !slices.Equal(drift.Changed, []string{"core/mcp/client.go"}) || !slices.Equal(drift.Missing, []string{"generators/gone.go"}) || !slices.Equal(drift.Added, []string{"generators/mine.go"}) {
		t.Errorf("it differs in %+v; want core/mcp/client.go changed, generators/gone.go missing and generators/mine.go added", drift)
	}
}

func TestParseSum(t *testing.T) {
	for _, wrong := range []string{"core/a.go\n", "core/a.go h1:x y\n", "\n", "core/a.go x\n"} {
		if _, err := engine.ParseSum([]byte("core/b.go h1:x\n" + wrong)); err == nil || !strings.Contains(err.Error(), "petrock.sum:2: ") {
			t.Errorf(`%q: %v; want an error containing "petrock.sum:2: "`, wrong, err)
		}
	}
}
