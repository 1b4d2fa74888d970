package scaffold_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/generators/parts"
)

var (
	long   = flag.Bool("long", false, "run tests that take long or need a network too")
	update = flag.Bool("update", false, "regenerate generators/parts/modules.txtar; with -long")
)

// go mod tidy changes nothing in a project, whichever parts it has. It reads modules that no build
// needs, so this test may need a network.
func TestTidy(t *testing.T) {
	if !*long {
		t.Skip("needs -long")
	}
	if *update {
		updateModules(t)
	}
	names := parts.Names()
	for set := range 1 << len(names) {
		var has []string
		for i, name := range names {
			if set>>i&1 == 1 {
				has = append(has, name)
			}
		}
		if lacksNeeded(has) {
			continue
		}
		dir := writeWithParts(t, has)
		goMod, goSum, _, err := parts.ChangeModules([]byte("module hello\n\ngo 1.26.0\n"), nil, nil, has, nil)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, dir, "go.mod", goMod)
		writeFile(t, dir, "go.sum", goSum)
		if out := runGo(t, dir, "mod", "tidy", "-diff"); len(out) > 0 {
			t.Errorf("with the parts %q, go mod tidy changes %q, want nothing changed", has, out)
		}
	}
}

// lacksNeeded reports whether a part needs another one that is not in the list.
func lacksNeeded(has []string) bool {
	return slices.ContainsFunc(has, func(name string) bool {
		part, _ := parts.Find(name)
		return slices.ContainsFunc(part.Needs, func(need string) bool { return !slices.Contains(has, need) })
	})
}

// writeWithParts writes a project that has some parts, without go.mod and go.sum.
func writeWithParts(t *testing.T, has []string) string {
	t.Helper()
	dir := t.TempDir()
	files := makeFiles(t, scaffold.Embedded(), scaffold.Answers{Name: "hello", Module: "hello"})
	for name, text := range files {
		writeFile(t, dir, name, []byte(text))
	}
	for _, name := range has {
		part, _ := parts.Find(name)
		code, err := part.Unpack("hello", []byte(files[part.Archive()]))
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range code {
			writeFile(t, dir, name, text)
		}
	}
	return dir
}

func writeFile(t *testing.T, dir, name string, text []byte) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// runGo runs the go command, and returns its output.
func runGo(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil && out.Len() == 0 {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, errOut.String())
	}
	return out.String()
}

// updateModules writes modules.txtar: the requirements that go mod tidy keeps in a project without
// parts, and those that each part adds.
func updateModules(t *testing.T) {
	t.Helper()
	var own [2][]byte
	for i, name := range []string{"go.mod", "go.sum"} {
		var err error
		if own[i], err = os.ReadFile(filepath.Join(repository, name)); err != nil {
			t.Fatal(err)
		}
	}
	archive := &txtar.Archive{Comment: []byte("The requirements of a project: without parts, and what each part adds. Do not edit it: petrock's\ntests derive it with go mod tidy.\n\n")}
	lines := map[string]map[string]bool{} // of go.mod and go.sum, by part; "" is a project without parts
	for _, name := range append([]string{""}, parts.Names()...) {
		var has []string
		known := maps.Clone(lines[""])
		if part, ok := parts.Find(name); ok {
			has = append(slices.Clone(part.Needs), name)
			for _, need := range part.Needs { // they are before it in the list
				maps.Copy(known, lines[need])
			}
		}
		dir := writeWithParts(t, has)
		writeFile(t, dir, "go.mod", bytes.Replace(own[0], []byte("module "+ownModule(t).Module.Mod.Path), []byte("module hello"), 1))
		writeFile(t, dir, "go.sum", own[1])
		runGo(t, dir, "mod", "tidy")
		lines[name] = map[string]bool{}
		for _, file := range []string{"go.mod", "go.sum"} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if file == "go.mod" {
				text = requirements(t, text, known, lines[name])
			} else {
				text = sums(text, known, lines[name])
			}
			archive.Files = append(archive.Files, txtar.File{Name: strings.TrimPrefix(name+"/"+file, "/"), Data: text})
		}
	}
	if err := os.WriteFile(filepath.Join(repository, "generators", "parts", "modules.txtar"), txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Fatal("modules.txtar was regenerated; rerun the test without -update")
}

// requirements returns the requirements of a go.mod that are not known, and adds them to lines.
func requirements(t *testing.T, goMod []byte, known, lines map[string]bool) []byte {
	t.Helper()
	parsed, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		t.Fatal(err)
	}
	var direct, indirect bytes.Buffer
	for _, r := range parsed.Require {
		line := r.Mod.Path + " " + r.Mod.Version
		lines[line] = true
		switch {
		case known[line]:
		case r.Indirect:
			fmt.Fprintf(&indirect, "\t%s // indirect\n", line)
		default:
			fmt.Fprintf(&direct, "\t%s\n", line)
		}
	}
	var out bytes.Buffer
	for _, block := range []string{direct.String(), indirect.String()} {
		if block != "" {
			fmt.Fprintf(&out, "require (\n%s)\n", block)
		}
	}
	return out.Bytes()
}

// sums returns the lines of a go.sum that are not known, and adds them to lines.
func sums(goSum []byte, known, lines map[string]bool) []byte {
	var out bytes.Buffer
	for line := range strings.Lines(string(goSum)) {
		lines[line] = true
		if !known[line] {
			out.WriteString(line)
		}
	}
	return out.Bytes()
}
