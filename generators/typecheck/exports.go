package typecheck

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/process"
)

// localToolchain makes the go command ignore the Go version that go.mod or go.work requires.
const localToolchain = "GOTOOLCHAIN=local"

var (
	localReplacement = regexp.MustCompile(`=>\s*"?(\.|/|[A-Za-z]:)`) // of a module by a folder, in go.mod
	goSetting        = regexp.MustCompile(`^(GO|CGO_|HOME=|XDG_)`)   // an environment variable that go reads
)

func (c *ExportCache) askSystem(ctx context.Context) (System, error) {
	var s System
	ask := func() (stdout, stderr []byte, err error) {
		o := process.RunOptions{Dir: c.root.Name(), Env: append(os.Environ(), s.Env...)}
		return process.Run(ctx, o, "go", "env", "-json", "GOROOT", "GOOS", "GOARCH", "CGO_ENABLED", "GOFLAGS", "GOWORK")
	}
	out, errOut, err := ask()
	if c.lenient && isExit(err) {
		s.Env = []string{localToolchain}
		out, errOut, err = ask()
	}
	if err != nil {
		return System{}, addOutput(err, errOut)
	}
	var env struct{ GOROOT, GOOS, GOARCH, CGO_ENABLED, GOFLAGS, GOWORK string }
	if err := json.Unmarshal(out, &env); err != nil {
		return System{}, fmt.Errorf("read output of go env: %w", err)
	}
	s.Root, s.GOOS, s.GOARCH, s.Cgo = env.GOROOT, env.GOOS, env.GOARCH, env.CGO_ENABLED == "1"
	mod, err := c.text("go.mod")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return System{}, fmt.Errorf("read go.mod: %w", err)
	}
	hasWork := env.GOWORK != "" || c.planned["go.work"] != nil
	s.Local = hasWork && env.GOWORK != "off" || localReplacement.Match(mod)
	for _, flag := range strings.Fields(env.GOFLAGS) {
		flag = "-" + strings.TrimLeft(flag, "-")
		if tags, ok := strings.CutPrefix(flag, "-tags="); ok {
			s.Tags = strings.Split(tags, ",")
		}
		if flag == "-mod=mod" {
			s.Flags = readOnly()
		}
	}
	return s, nil
}

// readOnly returns the flag that keeps the go command from writing go.mod.
func readOnly() []string { return []string{"-mod=readonly"} }

func isExit(err error) bool {
	_, ok := errors.AsType[*exec.ExitError](err)
	return ok
}

func addOutput(err error, stderr []byte) error {
	if isExit(err) {
		return fmt.Errorf("%w: the go command failed:\n%s", err, bytes.TrimSpace(stderr))
	}
	return err
}

const (
	cacheDir  = ".petrock/cache"
	cacheFile = cacheDir + "/exports.json"
)

// An ExportCache finds the export data of packages that one project imports. It caches the answers
// of the go command, in memory and in the project's .petrock folder. It is not safe for concurrent
// use.
type ExportCache struct {
	root    *os.Root
	known   *answers          // nil before the first call
	edition int               // increases when earlier answers become invalid
	planned map[string][]byte // module files to use instead of those on disk; nil deletes a file
	lenient bool              // see Start
}

// answers are answers of the go command. Those about packages in local folders are valid for one
// call, and are not saved.
type answers struct {
	Key     string // see ExportCache.state
	System  System
	Files   map[string]string // by import path, the file with its export data
	last    map[string]string // the files of the answers before these
	missing map[string]string // by import path, why it cannot be imported
	local   []string          // import paths of packages in local folders
}

// A System is the target that packages are built for.
type System struct {
	Root         string // GOROOT
	GOOS, GOARCH string
	Cgo          bool
	Tags         []string
	Local        bool     // whether modules may be local folders, which may change at any time
	Flags        []string // flags for the go command
	Env          []string // further environment of the go command
}

// Equal reports whether two systems build the same files.
func (s System) Equal(other System) bool { return reflect.DeepEqual(s, other) }

// Context returns the system for package build.
func (s System) Context() *build.Context {
	c := build.Default
	c.GOOS, c.GOARCH, c.CgoEnabled, c.BuildTags = s.GOOS, s.GOARCH, s.Cgo, s.Tags
	return &c
}

// NewExportCache returns a cache for the project in root.
func NewExportCache(root *os.Root) *ExportCache { return &ExportCache{root: root} }

// Start begins an operation, without planned module files. If lenient, the cache works in a project
// that the go command cannot load: it then finds packages of the standard library, and those that
// it found the last time that the go command could.
func (c *ExportCache) Start(lenient bool) { c.planned, c.lenient = nil, lenient }

// PlanModules makes the cache use the module files among planned files instead of those on disk. A
// nil text deletes a file. Answers stay valid when the planned files are written.
func (c *ExportCache) PlanModules(files map[string][]byte) {
	c.planned = map[string][]byte{}
	for _, name := range []string{"go.mod", "go.sum", "go.work", "go.work.sum"} {
		if text, ok := files[name]; ok {
			c.planned[name] = text
		}
	}
}

// text returns the planned text of a module file of the project, or else its text on disk.
func (c *ExportCache) text(name string) ([]byte, error) {
	if text, ok := c.planned[name]; ok {
		return text, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.root.Name(), name)
	}
	return os.ReadFile(name)
}

// System returns the target that the project is built for.
func (c *ExportCache) System(ctx context.Context) (System, error) {
	if err := c.refresh(ctx); err != nil {
		return System{}, err
	}
	return c.known.System, nil
}

// state identifies the inputs of the go command's answers, except the contents of local modules:
// the go command, its environment, and the modules of the project. It starts no process.
func (c *ExportCache) state() string {
	hash := sha256.New()
	fmt.Fprintln(hash, "format 6")
	program, err := exec.LookPath("go")
	if err == nil {
		program, _ = filepath.EvalSymlinks(program)
	}
	config, _ := os.UserConfigDir()
	for _, file := range []string{program, cmp.Or(os.Getenv("GOENV"), filepath.Join(config, "go", "env"))} {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintln(hash, file, info.Size(), info.ModTime().UnixNano())
		}
	}
	settings := slices.DeleteFunc(os.Environ(), func(setting string) bool { return !goSetting.MatchString(setting) })
	slices.Sort(settings)
	fmt.Fprintf(hash, "%q\n", settings)
	files := []string{"go.mod", "go.sum", "go.work", "vendor/modules.txt", os.Getenv("GOWORK")}
	for at := filepath.Dir(c.root.Name()); at != filepath.Dir(at); at = filepath.Dir(at) {
		files = append(files, filepath.Join(at, "go.work"))
	}
	for _, name := range files {
		text, _ := c.text(name) // nil if it does not exist
		fmt.Fprintf(hash, "%s %q\n", name, text)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// Find finds the export data of packages. The result includes the packages of earlier calls.
func (c *ExportCache) Find(ctx context.Context, paths []string) (Exports, error) {
	if err := c.refresh(ctx); err != nil {
		return Exports{}, err
	}
	unknown := slices.Clone(c.known.local)
	for _, path := range paths {
		if path != "C" && path != "unsafe" && c.known.Files[path] == "" {
			unknown = append(unknown, path)
		}
	}
	slices.Sort(unknown)
	if unknown = slices.Compact(unknown); len(unknown) > 0 {
		if err := c.askExports(ctx, unknown); err != nil {
			return Exports{}, err
		}
		c.save()
	}
	return Exports{Edition: c.edition, files: maps.Clone(c.known.Files), missing: maps.Clone(c.known.missing)}, nil
}

// Exports locates export data.
type Exports struct {
	Edition int // if it changes, all export data must be read again
	files   map[string]string
	missing map[string]string
}

// Open opens the export data of a package.
func (f Exports) Open(path string) (io.ReadCloser, error) {
	if file := f.files[path]; file != "" {
		return os.Open(file)
	}
	return nil, errors.New(f.Reason(path))
}

// Has reports whether a package can be imported.
func (f Exports) Has(path string) bool { return f.files[path] != "" }

// Reason explains why a package cannot be imported.
func (f Exports) Reason(path string) string {
	return cmp.Or(f.missing[path], "package "+path+" is not in this project, its modules or the standard library")
}

// refresh loads saved answers, and drops answers that are no longer valid.
func (c *ExportCache) refresh(ctx context.Context) error {
	key := c.state()
	if c.known == nil {
		c.known = c.load()
	}
	if c.known != nil && c.known.Key == key && c.known.filesExist() {
		return nil
	}
	system, err := c.askSystem(ctx)
	if err != nil {
		return err
	}
	known := &answers{Key: key, System: system, Files: map[string]string{}, missing: map[string]string{}}
	if c.known != nil {
		known.last = c.known.Files
	}
	c.known = known
	c.edition++
	return nil
}

// filesExist reports whether the export data still exists: Go trims its build cache.
func (a *answers) filesExist() bool {
	for _, file := range a.Files {
		if _, err := os.Stat(file); err != nil {
			return false
		}
	}
	return true
}

// A listedExport is what go list prints for a package.
type listedExport struct {
	ImportPath string
	Export     string
	Standard   bool
	Module     *struct{ Dir string }
	Error      *struct{ Err string }
}

// askExports asks the go command for the export data of packages, which it compiles if needed. If
// an answer differs from an earlier one, all packages that were read become invalid.
func (c *ExportCache) askExports(ctx context.Context, paths []string) error {
	listed, err := c.list(ctx, c.planned, c.known.System.Flags, c.known.System.Env, paths)
	isStale := c.lenient && isExit(err)
	if isStale {
		bare := map[string][]byte{"go.mod": []byte("module petrock\n"), "go.sum": nil, "go.work": nil}
		listed, err = c.list(ctx, bare, readOnly(), []string{localToolchain, "GOWORK=off"}, paths)
		c.known.Key = "" // ask again next time
	}
	if err != nil {
		return err
	}
	c.known.local = nil
	for _, l := range listed {
		before := c.known.Files[l.ImportPath]
		delete(c.known.Files, l.ImportPath)
		switch {
		case isStale && l.Export == "" && c.known.last[l.ImportPath] != "":
			c.known.Files[l.ImportPath] = c.known.last[l.ImportPath]
		case l.Export != "" && !c.owns(l):
			c.known.Files[l.ImportPath] = l.Export
			if c.known.System.Local && !l.Standard {
				c.known.local = append(c.known.local, l.ImportPath)
			}
		case l.Error != nil:
			c.known.missing[l.ImportPath], _, _ = strings.Cut(strings.TrimSpace(l.Error.Err), "\n")
		default:
			c.known.missing[l.ImportPath] = "package " + l.ImportPath + " cannot be imported"
		}
		if before != "" && before != c.known.Files[l.ImportPath] {
			c.edition++
		}
	}
	return nil
}

// list runs go list with module files instead of those on disk.
func (c *ExportCache) list(ctx context.Context, files map[string][]byte, flags, env, paths []string) ([]listedExport, error) {
	args := append([]string{"list", "-buildvcs=false", "-e", "-export", "-json=ImportPath,Export,Standard,Module,Error"}, flags...)
	if len(files) > 0 {
		dir, err := os.MkdirTemp("", "petrock")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		overlay, err := WriteOverlay(dir, c.root.Name(), files)
		if err != nil {
			return nil, err
		}
		args = append(args, "-overlay="+overlay)
	}
	args = append(append(args, "--"), paths...)
	out, errOut, err := process.Run(ctx, process.RunOptions{Dir: c.root.Name(), Env: append(os.Environ(), env...)}, "go", args...)
	if err != nil {
		return nil, addOutput(err, errOut)
	}
	return DecodeList[listedExport](out)
}

// owns reports whether a package is in the project's module, whether it exists on disk or not.
func (c *ExportCache) owns(l listedExport) bool {
	if l.Module == nil {
		return false
	}
	root, err := os.Stat(c.root.Name())
	dir, dirErr := os.Stat(l.Module.Dir)
	return err == nil && dirErr == nil && os.SameFile(root, dir)
}

func (c *ExportCache) load() *answers {
	saved := &answers{missing: map[string]string{}}
	text, err := c.root.ReadFile(cacheFile)
	if err != nil || json.Unmarshal(text, saved) != nil || saved.Files == nil {
		return nil
	}
	// Another flag may name a program to run, and another user may have written the folder.
	if flags := saved.System.Flags; len(flags) > 0 && !slices.Equal(flags, readOnly()) || len(saved.System.Env) > 0 {
		return nil
	}
	return saved
}

// save writes the answers to the folder .petrock if it exists. Errors are ignored: it is a cache.
func (c *ExportCache) save() {
	saved := *c.known
	saved.Files = maps.Clone(saved.Files)
	for _, path := range saved.local {
		delete(saved.Files, path)
	}
	text, err := json.Marshal(saved)
	if err != nil {
		return
	}
	if err := c.root.Mkdir(cacheDir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return
	}
	c.root.WriteFile(cacheFile, text, 0o644) // load ignores a file that was not written to its end
}
