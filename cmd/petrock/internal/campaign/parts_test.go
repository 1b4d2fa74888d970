package campaign_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
)

// ok runs a petrock command and returns its output. It fails the test on an error.
func (w *world) ok(args ...string) string {
	w.Helper()
	out, errOut, status := w.run(args...)
	if status != 0 {
		w.Fatalf("%s: exit code %d: %s%s", strings.Join(args, " "), status, out, errOut)
	}
	return out + errOut
}

// goMod edits go.mod with the go command.
func (w *world) goMod(args ...string) {
	w.Helper()
	w.goCommand(append([]string{"mod", "edit"}, args...)...)
}

// Adding and removing parts keeps the user's imports and changes to go.mod.
func TestPartsAndModules(t *testing.T) {
	takesLong(t)
	t.Parallel()
	own := func(w *world) {
		w.writeAt(filepath.Join(w.base, "own", "go.mod"), "module example.com/own\n\ngo 1.26.0\n")
		w.writeAt(filepath.Join(w.base, "own", "own.go"), "package own\n")
		w.goMod("-require=example.com/own@v0.0.0", "-replace=example.com/own="+filepath.Join(w.base, "own"))
	}
	const importsUUID = "package lib\n\nimport _ \"github.com/google/uuid\"\n"
	for name, test := range map[string]func(w *world){
		"a module of a part that the user imports since": func(w *world) {
			w.ok("generate", "feature", "notes")
			w.write("lib/a.go", importsUUID)
			w.ok("undo")
			w.goCommand("build", "./...")
		},
		"the same, with an additional module": func(w *world) {
			own(w)
			w.ok("generate", "feature", "notes")
			w.write("lib/a.go", importsUUID)
			w.ok("undo")
			w.goCommand("build", "./...")
		},
		"a module that nothing imports yet": func(w *world) {
			own(w)
			before := w.read("go.mod")
			w.ok("add", "app")
			w.goCommand("build", "./...")
			w.ok("remove", "app")
			if now := w.read("go.mod"); now != before {
				w.Errorf("go.mod is\n%s\nwant\n%s", now, before)
			}
		},
		"an import that leads nowhere": func(w *world) {
			own(w)
			w.ok("add", "app")
			w.write("lib/a.go", "package lib\n\nimport _ \"example.com/nowhere/x\"\n")
			w.ok("remove", "app")
		},
		"conflict markers": func(w *world) {
			w.write("go.sum", "<<<<<<< HEAD\n"+w.read("go.sum"))
			if _, errOut, status := w.run("sync"); status != 1 || !strings.Contains(errOut, "go.sum has conflict markers; resolve the merge") {
				w.Errorf("with conflict markers: exit code %d: %s", status, errOut)
			}
		},
		"a module that is renamed": rename,
		"an archive that is damaged": func(w *world) {
			archive := w.read("generators/parts/oauth.txtar")
			w.write("lib/a.go", "package lib\n\nimport _ \"hello/core/auth/token\"\n")
			w.write("generators/parts/oauth.txtar", "damaged")
			w.ok("generate", "tool", "other")
			if _, errOut, status := w.run("sync"); status != 1 || !strings.Contains(errOut, "oauth") {
				w.Errorf("sync: exit code %d: %s", status, errOut)
			}
			w.write("generators/parts/oauth.txtar", archive)
			w.ok("sync")
			w.goCommand("build", "./...")
		},
		"a part that was edited": func(w *world) {
			w.ok("add", "oauth")
			w.write("core/auth/token/mine.go", "package token\n")
			before := w.tree()
			if _, errOut, status := w.run("undo", "--force"); status != 1 || !strings.Contains(errOut, "Part oauth stays: core/auth/token/mine.go differs from petrock.sum; restore it") {
				w.Errorf("undo: exit code %d: %s", status, errOut)
			}
			w.unchanged(before, "after the refusal,")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newWorld(t))
		})
	}
}

// rename renames the module of a project, and adds and removes parts.
func rename(w *world) {
	w.goMod("-module=example.com/renamed")
	err := filepath.WalkDir(w.dir, func(file string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".go" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.Remove(file); err != nil { // other projects may share it
			return err
		}
		return os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "\"hello/", "\"example.com/renamed/")), 0o644)
	})
	if err != nil {
		w.Fatal(err)
	}
	w.ok("add", "client")
	w.ok("remove", "client")
	w.ok("generate", "feature", "notes")
	w.goCommand("build", "./...")
	w.ok("undo")
}

// The first feature adds the part app, with progress, and the dev server keeps working without a
// rebuild.
func TestPartsOverMCP(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	client := w.serve(devserver.Options{NoExec: true})
	before := w.tree()
	made := mustCall[engine.Result](w, client, "generate_feature", object{"name": "posts", "crud": true, "fields": []string{"title"}})
	if len(made.Parts) != 1 || made.Parts[0].Name != "app" || len(made.Parts[0].Modules) == 0 {
		t.Errorf("the parts are %+v, want app with its modules", made.Parts)
	}
	for _, file := range made.Files {
		if strings.HasPrefix(file.Path, "core/") {
			t.Errorf("the result lists %s, want no file of core", file.Path)
		}
	}
	mustCall[engine.Result](w, client, "generate_command", object{"description": "Does its work.", "name": "posts/publish", "fields": []string{"id"}})
	status := mustCall[devserver.ProjectStatusOutput](w, client, "project_status", object{})
	if !status.OK || !status.PetrockCode.Pristine || !status.Parts[0].Present || status.Parts[0].UsedBy == "" {
		t.Errorf("the status is %+v; want OK, petrock's code pristine, and the part present and used", status)
	}
	mustCall[engine.Result](w, client, "undo", object{})
	mustCall[engine.Result](w, client, "undo", object{"operation": made.Operation})
	w.unchanged(before, "after undo")
}
