package derive_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/typecheck"
)

// A checker that has cached packages derives the same as a new one.
func TestCachedPackages(t *testing.T) {
	t.Setenv("GOWORK", "off")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), []byte("module example.com/hello\n\ngo 1.26.0\n"))
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	cache := typecheck.NewExportCache(root)
	system, err := cache.System(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store := typecheck.NewStore(root, system.Context())
	checker := typecheck.NewChecker(typecheck.Module{Path: "example.com/hello", Go: "1.26.0"}, cache, store.Fset())
	warm := derive.Project{Name: "hello", Core: "example.com/hello/core", Checker: checker}

	tool := func(name, fields string) string {
		return fmt.Sprintf("package tools\n\nimport \"context\"\n\n// %s is one.\nfunc %[1]s(ctx context.Context, in %[1]sInput) (string, error) { return \"\", nil }\n\n// %[1]sInput is its input.\ntype %[1]sInput struct {\n%s\n}\n", name, fields)
	}
	feature := "package posts\n\nimport (\n\t\"context\"\n\n\t\"example.com/hello/core/app\"\n)\n\n"
	for _, step := range []struct{ file, text string }{
		{"model/model.go", "package model\n\ntype Size struct{ Width int }\n"},
		{"tools/m.go", tool("M", "A Color")},
		{"tools/color.go", "package tools\n\ntype Color string\n\nconst Red Color = \"red\"\n"},
		{"tools/z.go", tool("Z", "B int")},
		{"tools/a.go", tool("A", "C string")},
		{"tools/more.go", "package tools\n\nconst Green Color = \"green\"\n"},
		{"tools/yet.go", "package tools\n\nconst Blue = Color(\"blue\")\n"},
		{"tools/k.go", tool("K", "D Color\n\tE *KInput `json:\"e,omitempty\"`")},
		{"tools/sized.go", "package tools\n\nimport \"example.com/hello/model\"\n\ntype Sized = model.Size\n"},
		{"tools/s.go", tool("S", "F Sized")},
		{"model/model.go", "package model\n\ntype Size struct{ Width, Height int }\n"},
		{"tools/new.go", "package tools\n\ntype Tools struct{}\n\nfunc New() (*Tools, error) { return nil, nil }\n"},
		{"tools/method.go", "package tools\n\nimport \"context\"\n\n// B is a method.\nfunc (t *Tools) B(ctx context.Context, in ZInput) (string, error) { return \"\", nil }\n"},
		{"tools/text.go", "package tools\n\nfunc (c *Color) UnmarshalText([]byte) error { return nil }\n"},
		{"tools/text.go", ""},
		{"tools/near.go", "package tools\n\nfunc Near() {}\n"},
		{"tools/b.go", tool("Bb", "G bool")},
		{"tools/near.go", ""},
		{"tools/color.go", ""},
		{"tools/color.go", "package tools\n\ntype Color int\n"},
		{"tools/z.go", tool("Z", "B int // Changed")},
		{"core/app/app.go", "package app\n\ntype Event struct{}\n"},
		{"core/app/eventlog/eventlog.go", "package eventlog\n\ntype Payload struct{}\n\ntype Record struct{}\n"},
		{"features/posts/state.go", "package posts\n\ntype State struct{}\n\nfunc NewState() *State { return nil }\n"},
		{"features/posts/create.go", feature + "// Create is one.\ntype Create struct{ A Kind }\n\nfunc (Create) Check(context.Context, *State) error { return nil }\n\nfunc (Create) Apply(*State, app.Event) int { return 0 }\n"},
		{"features/posts/kind.go", "package posts\n\ntype Kind string\n"},
		{"features/posts/digest.go", feature + "// Digest is one.\ntype Digest struct{}\n\nfunc (*Digest) OnCreate(context.Context, Create, app.Event) error { return nil }\n"},
		{"features/posts/make.go", "package posts\n\nfunc NewDigest() (*Digest, error) { return nil, nil }\n"},
		{"features/posts/kinds.go", "package posts\n\nconst Good Kind = \"good\"\n"},
		{"features/posts/old.go", "package posts\n\nimport \"example.com/hello/core/app/eventlog\"\n\nfunc Map(old eventlog.Record) (eventlog.Payload, error) { return eventlog.Payload{}, nil }\n"},
		{"features/posts/near.go", feature + "type Near struct{}\n\nfunc (Near) Apply(*State, app.Event) int { return 0 }\n"},
		{"features/posts/near.go", ""},
		{"features/posts/make.go", "package posts\n\nimport \"context\"\n\nfunc NewDigest(context.Context) (*Digest, error) { return nil, nil }\n"},
		{"features/posts/create.go", ""},
	} {
		path := filepath.Join(dir, step.file)
		if step.text == "" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		} else {
			write(t, path, []byte(step.text))
		}
		view, err := store.View()
		if err != nil {
			t.Fatal(err)
		}
		cold := warm
		cold.Checker = typecheck.NewChecker(checker.Module(), cache, store.Fset())
		var said [2]string
		for i, project := range []derive.Project{warm, cold} {
			packages, err := project.Packages(t.Context(), view, derive.Places(view))
			if err != nil {
				t.Fatal(err)
			}
			for _, pkg := range packages {
				said[i] += fmt.Sprintf("%s\n%v\n%v", pkg.Text, pkg.Problems, pkg.Warnings)
			}
		}
		if said[0] != said[1] {
			t.Fatalf("after %s the results with and without a cache differ:\n%s\n%s", step.file, said[0], said[1])
		}
	}
}
