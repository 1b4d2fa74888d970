package derive_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/generators/derive"
)

// petrock is the path of this module.
const petrock = "github.com/petrock/petrock"

// A twin is a component with two schemas: one derived from source, and one that the program of
// [TestInferenceAgrees] infers from its compiled types.
type twin struct {
	derived   derive.Component
	in, out   string // Go expressions of type reflect.Type; out is empty if there is no schema
	directive bool   // a type has a schema that only source has
}

// Schemas inferred by reflection equal those derived from source, except for descriptions and enums
// that only source has. The types come from the archives in testdata and the packages of this
// repository with derived files. All derived schemas fit their types.
func TestInferenceAgrees(t *testing.T) {
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	p := &program{dir: t.TempDir(), at: filepath.Join(root, "core/inferred"), overlay: map[string]string{}}
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archives {
		if strings.Contains(file, "wrong") || strings.Contains(file, "broken") {
			continue // nothing is derived from it, or it does not compile
		}
		p.addArchive(t, file)
	}
	for _, home := range homes() {
		p.addHome(t, filepath.Join("../..", home.dir), home)
	}
	said := p.run(t, root)
	if len(said) < 50 {
		t.Errorf("%d schemas were inferred, want at least 50", len(said))
	}
	for key, twin := range p.twins {
		for _, side := range []struct {
			name    string
			derived json.RawMessage
		}{{"input", twin.derived.Input}, {"output", twin.derived.Output}} {
			if side.derived == nil {
				continue
			}
			got, ok := said[key+" "+side.name]
			if !ok {
				t.Errorf("%s: no %s schema was inferred, want one", key, side.name)
			}
			if got.Misfit != "" {
				t.Errorf("%s: the derived %s schema does not fit its type: %s", key, side.name, got.Misfit)
			}
			if twin.directive {
				continue
			}
			if got.Error != "" {
				t.Errorf("%s: %s", key, got.Error)
				continue
			}
			if derived, inferred := decode(t, side.derived), decode(t, []byte(got.Schema)); !agree(derived, inferred) {
				t.Errorf("%s: the inferred %s schema is\n%s\nwant it to agree with the derived\n%s", key, side.name, got.Schema, side.derived)
			}
			if strings.HasPrefix(key, "inferred ") && got.Schema != string(side.derived) {
				t.Errorf("%s: the %s schemas are not the same text\nderived  %s\ninferred %s", key, side.name, side.derived, got.Schema)
			}
		}
	}
}

// An answer is the program's result for one schema.
type answer struct{ Schema, Error, Misfit string }

// A program infers the schemas of compiled types. Its source and that of archives overlay this
// module, below core, so that it can import core/internal.
type program struct {
	dir, at string
	overlay map[string]string
	imports []string
	twins   map[string]twin
}

// civilFile is a stand-in for types that reflection knows, so the program has the real ones.
const civilFile = "core/civil/civil.go"

// addArchive adds the components of an archive, as packages of this module.
func (p *program) addArchive(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(file), ".txtar")
	dir, module, core := t.TempDir(), petrock+"/core/inferred/"+name, petrock+"/core"
	for _, f := range archive.Files {
		if strings.HasPrefix(f.Name, "core/") && f.Name != civilFile {
			core = module + "/core"
		}
	}
	for _, f := range archive.Files {
		if strings.HasPrefix(f.Name, "want") {
			continue
		}
		write(t, filepath.Join(dir, f.Name), f.Data)
		if strings.HasSuffix(f.Name, ".go") && !strings.HasSuffix(f.Name, "_gen.go") && f.Name != civilFile {
			source := bytes.ReplaceAll(f.Data, []byte(`"example.com/hello/core`), []byte(`"`+core))
			source = bytes.ReplaceAll(source, []byte(`"example.com/hello/`), []byte(`"`+module+"/"))
			p.addFile(t, filepath.Join(name, f.Name), source)
		}
	}
	p.addPackages(t, name, module, deriveHome(t, dir, home{module: "example.com/hello", name: "hello"}, "example.com/hello/core"))
}

// addHome adds the components of packages of this module.
func (p *program) addHome(t *testing.T, dir string, h home) {
	p.addPackages(t, h.name, h.module, deriveHome(t, dir, h, petrock+"/core"))
}

// addFile adds a file to the overlay of the module.
func (p *program) addFile(t *testing.T, name string, data []byte) {
	real := filepath.Join(p.dir, name)
	write(t, real, data)
	p.overlay[filepath.Join(p.at, name)] = real
}

// addPackages adds the components that were derived without problems.
func (p *program) addPackages(t *testing.T, name, module string, packages []*derive.Package) {
	t.Helper()
	if p.twins == nil {
		p.twins = map[string]twin{}
	}
	for _, pkg := range packages {
		if len(pkg.Problems) > 0 || strings.HasPrefix(pkg.Dir, "internal/") { // the program cannot import those
			continue
		}
		alias := fmt.Sprintf("p%d", len(p.imports))
		used := false
		for _, c := range pkg.Components {
			made := twin{derived: c, directive: c.Name == "json_schema_2020_12_tool" || c.Name == "grow" && name == "completers"}
			switch receiver, method, isMethod := strings.Cut(c.Func, "."); {
			case c.Kind == derive.Command:
				made.in, made.out = "reflect.TypeFor["+alias+"."+c.Func+"]()", "reflect.TypeOf("+alias+"."+c.Func+".Apply).Out(0)"
			case c.Kind == derive.Query:
				made.in, made.out = "reflect.TypeFor["+alias+"."+c.Func+"]()", "reflect.TypeOf("+alias+"."+c.Func+".Answer).Out(0)"
			case isMethod:
				f := "reflect.TypeOf((*" + alias + "." + receiver + ")." + method + ")"
				made.in, made.out = f+".In(2)", f+".Out(0)"
			default:
				f := "reflect.TypeOf(" + alias + "." + c.Func + ")"
				made.in, made.out = f+".In(1)", f+".Out(0)"
			}
			if c.Input != nil || c.Output != nil {
				p.twins[name+" "+pkg.Dir+" "+c.Name] = made
				used = true
			}
		}
		if used {
			p.imports = append(p.imports, fmt.Sprintf("%s %q", alias, module+"/"+pkg.Dir))
		}
	}
}

// run compiles and runs the program.
func (p *program) run(t *testing.T, root string) map[string]answer {
	t.Helper()
	var calls strings.Builder
	for _, key := range slices.Sorted(maps.Keys(p.twins)) {
		twin := p.twins[key]
		if twin.derived.Input != nil {
			fmt.Fprintf(&calls, "\tadd(%q, %s, jsonschema.Input, %q, %t)\n", key+" input", twin.in, twin.derived.Input, twin.directive)
		}
		if twin.derived.Output != nil {
			fmt.Fprintf(&calls, "\tadd(%q, %s, jsonschema.Output, %q, %t)\n", key+" output", twin.out, twin.derived.Output, twin.directive)
		}
	}
	p.addFile(t, "main.go", fmt.Appendf(nil, `package main

import (
	"encoding/json"
	"os"
	"reflect"

	"github.com/petrock/petrock/core/internal/jsonschema"
	%s
)

type answer struct{ Schema, Error, Misfit string }

func main() {
	all := map[string]answer{}
	add := func(key string, t reflect.Type, d jsonschema.Direction, derived string, own bool) {
		var a answer
		document, err := jsonschema.Infer(t, d)
		if a.Schema = string(document); err != nil {
			a.Error = err.Error()
		}
		compiled, err := jsonschema.Compile([]byte(derived))
		if err == nil {
			err = compiled.CheckType(t, d, !own)
		}
		if err != nil {
			a.Misfit = err.Error()
		}
		all[key] = a
	}
%s
	json.NewEncoder(os.Stdout).Encode(all)
}
`, strings.Join(p.imports, "\n\t"), calls.String()))
	overlay, err := json.Marshal(map[string]any{"Replace": p.overlay})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(p.dir, "overlay.json")
	write(t, list, overlay)
	command := exec.CommandContext(t.Context(), "go", "run", "-overlay", list, "./core/inferred")
	command.Dir, command.Stderr = root, t.Output()
	command.Env = append(os.Environ(), "GOFLAGS=")
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var said map[string]answer
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatal(err)
	}
	return said
}

func decode(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// agree compares a derived schema with an inferred one. It ignores descriptions, and enums that
// only the derived schema has.
func agree(derived, inferred any) bool {
	switch d := derived.(type) {
	case []any:
		i, ok := inferred.([]any)
		return ok && slices.EqualFunc(d, i, agree)
	case map[string]any:
		i, ok := inferred.(map[string]any)
		if !ok {
			return false
		}
		d, i = withoutText(d), withoutText(i)
		if d["enum"] != nil && i["enum"] == nil {
			delete(d, "enum")
			delete(i, "minimum") // an enum replaces it
		}
		// A nullable enum is an alternative, and a nullable type is a list.
		if alternatives, ok := d["anyOf"].([]any); ok && i["anyOf"] == nil && len(alternatives) == 2 {
			if first, ok := alternatives[0].(map[string]any); ok && first["enum"] != nil {
				delete(d, "anyOf")
				d["type"] = []any{first["type"], "null"}
			}
		}
		if names, ok := d["propertyNames"].(map[string]any); ok && names["enum"] != nil && i["propertyNames"] == nil {
			delete(d, "propertyNames")
		}
		return maps.EqualFunc(d, i, agree)
	}
	return reflect.DeepEqual(derived, inferred)
}

// withoutText returns a copy without the description, unless that is a property with this name.
func withoutText(schema map[string]any) map[string]any {
	schema = maps.Clone(schema)
	if _, ok := schema["description"].(string); ok {
		delete(schema, "description")
	}
	return schema
}
