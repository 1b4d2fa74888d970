package campaign_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/petrock/petrock/cmd/petrock/internal/create"
	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/cmd/petrock/internal/testenv"
	"github.com/petrock/petrock/generators/cli"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/linked"
	"github.com/petrock/petrock/generators/trial"
)

// runPetrock is an environment variable. If it is set, the test binary runs as the project's own
// petrock.
const runPetrock = "PETROCK_TEST_CLI"

// Name and module of the project in these tests.
const (
	name   = "hello"
	module = "hello"
)

// The tests have no network, and ignore workspaces above a project.
func TestMain(m *testing.M) {
	if trial.Supervise() {
		return
	}
	if os.Getenv(runPetrock) != "" {
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdout))
	}
	debug.SetGCPercent(400) // the tests create much garbage
	for name, value := range map[string]string{"GOPROXY": "off", "GOFLAGS": testenv.GoFlags, "GOWORK": "off"} {
		os.Setenv(name, value)
	}
	status := m.Run()
	if templateDir != "" {
		os.RemoveAll(templateDir)
	}
	os.Exit(status)
}

// templateDir is the folder of the template, or "" before its first use.
var templateDir string

// template creates a new project once, which the tests copy. Its folder .petrock caches the output
// of the go command.
var template = sync.OnceValues(func() (string, error) {
	base, err := os.MkdirTemp("", "campaign")
	if err != nil {
		return "", err
	}
	templateDir = base
	if err := testenv.Warm(context.Background()); err != nil {
		return base, err
	}
	result, err := create.Run(context.Background(), scaffold.Embedded(), create.Options{
		Answers: scaffold.Answers{Name: name, Module: module}, Dir: name, Base: base, NoGit: true,
	})
	if err != nil {
		return base, err
	}
	if shared, err = readShared(result.Dir); err != nil {
		return result.Dir, err
	}
	e, err := engine.Open(result.Dir, linked.All())
	if err != nil {
		return result.Dir, err
	}
	defer e.Close()
	inputs := map[string]string{
		"tool":     `{"name":"warm","fields":["a:time","b:duration?","c:[]bytes","d:map[string]any"]}`,
		"resource": `{"name":"warm","uri":"warm://{id}"}`,
		"prompt":   `{"name":"warm"}`,
	}
	if runsSample() { // this compiles SQLite
		inputs["feature"] = `{"name":"warm","crud":true,"fields":["a:time","b:duration?","c:[]bytes","d:map[string]any"]}`
		inputs["command"] = `{"name":"warm/up","fields":["a:time","b:duration?"]}`
		inputs["worker"] = `{"name":"warm/up","every":"5m"}`
	}
	for kind, input := range inputs {
		if _, err := e.Generate(context.Background(), kind, json.RawMessage(input), engine.Options{DryRun: true}); err != nil {
			return result.Dir, err
		}
	}
	return result.Dir, nil
})

// A sharedFile is a file of petrock's own packages in the template. Copies of the project have hard
// links to it.
type sharedFile struct {
	info fs.FileInfo
	text string
}

// shared holds the shared files of the template, by path.
var shared map[string]sharedFile

func readShared(dir string) (map[string]sharedFile, error) {
	all := map[string]sharedFile{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(file string, d fs.DirEntry, err error) error {
		top, _, _ := strings.Cut(file, "/")
		if err != nil || !d.Type().IsRegular() || top != "core" && top != "generators" || strings.HasSuffix(file, "_gen.go") {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, file))
		all[file] = sharedFile{info, string(text)}
		return err
	})
	return all, err
}

// copyProject copies a project. It links to shared files where the system allows that.
func copyProject(from, to string) error {
	return fs.WalkDir(os.DirFS(from), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		source, target := filepath.Join(from, file), filepath.Join(to, file)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		if _, ok := shared[file]; ok && os.Link(source, target) == nil {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, info.Mode().Perm())
	})
}

// A world is a copy of a project, in a folder with other files.
type world struct {
	testing.TB
	base string // contains the project, and files that must not change
	dir  string // of the project
}

// newWorld returns a new copy of a project, in a folder with other files.
func newWorld(t testing.TB) *world {
	t.Helper()
	from, err := template()
	if err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	if real, err := filepath.EvalSymlinks(base); err == nil {
		base = real
	}
	w := &world{TB: t, base: base, dir: filepath.Join(base, name)}
	if err := copyProject(from, w.dir); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"outside/tools/keep.go": "package tools\n", "outside/keep.txt": "Nobody may touch this.\n"} {
		w.writeAt(filepath.Join(base, filepath.FromSlash(file)), text)
	}
	return w
}

func (w *world) writeAt(file, text string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.Fatal(err)
	}
	if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
		if err := os.Remove(file); err != nil { // other projects may share it
			w.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

// path returns the path of a file of the project.
func (w *world) path(file string) string { return filepath.Join(w.dir, filepath.FromSlash(file)) }

// write writes a file of the project, as a user would.
func (w *world) write(file, text string) {
	w.Helper()
	w.writeAt(w.path(file), text)
}

// read returns the content of a file of the project.
func (w *world) read(file string) string {
	w.Helper()
	text, err := os.ReadFile(w.path(file))
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

// replace changes a file of the project, as a user would.
func (w *world) replace(file, old, text string) {
	w.Helper()
	was := w.read(file)
	if !strings.Contains(was, old) {
		w.Fatalf("%s does not contain %q:\n%s", file, old, was)
	}
	w.write(file, strings.Replace(was, old, text, 1))
}

// engine opens the project.
func (w *world) engine() *engine.Engine {
	w.Helper()
	e, err := engine.Open(w.dir, linked.All())
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { e.Close() })
	return e
}

// An input is the input of any generator.
type input struct {
	Name        string   `json:"name"`
	URI         string   `json:"uri,omitempty"`
	Fields      []string `json:"fields,omitempty"`
	Output      []string `json:"output,omitempty"`
	Description string   `json:"description,omitempty"`

	// For features and their components.
	CRUD     bool              `json:"crud,omitempty"`
	Item     string            `json:"item,omitempty"`
	On       []string          `json:"on,omitempty"`
	Every    string            `json:"every,omitempty"`
	Check    string            `json:"check,omitempty"`
	Body     string            `json:"body,omitempty"`
	Examples []json.RawMessage `json:"examples,omitempty"`
}

func (in input) json() json.RawMessage {
	text, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return text
}

// generate generates a component. It fails the test on an error.
func (w *world) generate(e *engine.Engine, kind string, in input) *engine.Result {
	w.Helper()
	result, err := e.Generate(w.Context(), kind, in.json(), engine.Options{})
	if err != nil {
		w.Fatalf("generating the %s %s: %v", kind, in.json(), err)
	}
	return result
}

// undo undoes an operation. It fails the test on an error.
func (w *world) undo(e *engine.Engine, id string) *engine.Result {
	w.Helper()
	result, err := e.Undo(w.Context(), id, engine.Options{})
	if err != nil {
		w.Fatalf("undoing %q: %v", id, err)
	}
	return result
}

// petrock returns a command that runs the project's own petrock. The program is the test binary,
// whose code is the same.
func (w *world) petrock(args ...string) *exec.Cmd {
	w.Helper()
	self, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), runPetrock+"=1", "PETROCK_PROGRAM=petrock", "PWD="+w.dir)
	return cmd
}

// run runs the project's own petrock, and returns its output and exit code.
func (w *world) run(args ...string) (out, errOut string, status int) {
	w.Helper()
	cmd := w.petrock(args...)
	var first, second bytes.Buffer
	cmd.Stdout, cmd.Stderr = &first, &second
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		w.Fatal(err)
	}
	return first.String(), second.String(), cmd.ProcessState.ExitCode()
}

// addApp adds the part app.
func (w *world) addApp() {
	w.Helper()
	if _, errOut, status := w.run("add", "app"); status != 0 {
		w.Fatalf("add app: %s", errOut)
	}
}

// goCommand runs the go command in the project. It fails the test on an error.
func (w *world) goCommand(args ...string) {
	w.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = w.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// sound fails the test unless the project builds, passes go vet and its tests, is formatted, and
// has fresh derived files. go test -vet=all does the first three.
func (w *world) sound(e *engine.Engine) {
	w.Helper()
	w.goCommand("test", "-vet=all", "./...")
	w.formatted(".")
	w.fresh(e)
}

// soundQuickly is sound for the packages that a generation can change. It skips the project's
// petrock and its packages. With features the server contains SQLite, which takes seconds to link,
// so it is only compiled and vetted. go vet reads the whole standard library, so it runs only with
// -long.
func (w *world) soundQuickly(e *engine.Engine) {
	w.Helper()
	program := "./cmd/" + name
	var tested []string
	for _, dir := range []string{"tools", "resources", "prompts", "features"} {
		if _, err := os.Stat(w.path(dir)); err == nil {
			tested = append(tested, "./"+dir+map[bool]string{true: "/..."}[dir == "features"])
		}
	}
	if w.hasFeatures() {
		w.goCommand("vet", program)
	} else {
		tested = append(tested, program)
	}
	vet := "-vet=off"
	if *long {
		vet = "-vet=all"
	}
	w.goCommand(append([]string{"test", vet, "-ldflags=-w"}, tested...)...) // links faster without debug information
	w.formatted(append(tested, program)...)
	w.fresh(e)
}

// hasFeatures reports whether the project has features.
func (w *world) hasFeatures() bool {
	found, err := filepath.Glob(filepath.Join(w.path("features"), "*", "*_gen.go"))
	if err != nil {
		w.Fatal(err)
	}
	return len(found) > 0
}

func (w *world) formatted(dirs ...string) {
	w.Helper()
	args := []string{"-l"}
	for _, dir := range dirs {
		args = append(args, strings.TrimSuffix(dir, "/..."))
	}
	cmd := exec.Command("gofmt", args...)
	cmd.Dir = w.dir
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		w.Fatalf("gofmt -l: %v\n%s", err, out)
	}
}

func (w *world) fresh(e *engine.Engine) {
	w.Helper()
	result, err := e.Check(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	if stale := result.Stale(); stale != "" {
		w.Fatal(stale)
	}
}

// A tree has the type and content of all files below a folder, by path.
type tree map[string]string

// tree returns the tree of the project, without the folder .petrock.
func (w *world) tree() tree { return w.treeOf(w.dir, false) }

// outside returns the tree of everything outside the project.
func (w *world) outside() tree {
	return w.treeOf(w.base, true)
}

// treeOf reads a folder. With times, it includes modification times.
func (w *world) treeOf(dir string, times bool) tree {
	w.Helper()
	all := tree{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file == ".":
			return nil
		case file == ".petrock", file == name && dir == w.base:
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(filepath.Join(dir, file))
			all[file] = what + " to " + target
			return err
		case info.Mode().IsRegular():
			if s, ok := shared[file]; ok && os.SameFile(s.info, info) && s.info.ModTime().Equal(info.ModTime()) && s.info.Size() == info.Size() {
				what += "\n" + s.text
				break
			}
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil && !errors.Is(err, fs.ErrPermission) {
				return err
			}
			what += "\n" + string(text)
		}
		if times {
			what = info.ModTime().String() + " " + what
		}
		all[file] = what
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// differences returns the differences to another tree, one line for each file.
func (t tree) differences(other tree) string {
	var out strings.Builder
	for _, file := range slices.Sorted(maps.Keys(t)) {
		switch text, ok := other[file]; {
		case !ok:
			fmt.Fprintf(&out, "%s is gone\n", file)
		case text != t[file]:
			fmt.Fprintf(&out, "%s is not as it was:\n%s\nnow:\n%s\n", file, t[file], text)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(other)) {
		if _, ok := t[file]; !ok {
			fmt.Fprintf(&out, "%s is new\n", file)
		}
	}
	return out.String()
}

// unchanged fails the test if the project has changed.
func (w *world) unchanged(before tree, after string) {
	w.Helper()
	if how := before.differences(w.tree()); how != "" {
		w.Fatalf("%s the project has changed:\n%s", after, how)
	}
}

// refusal returns the error as a refusal. It fails the test for any other error.
func (w *world) refusal(err error) *engine.Refusal {
	w.Helper()
	refused := (*engine.Refusal)(nil)
	if !errors.As(err, &refused) {
		w.Fatalf("not a refusal: %v", err)
	}
	return refused
}

// removeAll removes files and folders.
func removeAll(paths ...string) error {
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// second returns the second of two values.
func second[A, B any](_ A, b B) B { return b }
