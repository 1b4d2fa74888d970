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
	"strconv"
	"strings"
)

func askSystem(ctx context.Context, dir string) (System, error) {
	out, errOut, err := RunCommand(ctx, CommandOptions{Dir: dir}, "go", "env", "-json", "GOROOT", "GOOS", "GOARCH", "CGO_ENABLED", "GOFLAGS", "GOVERSION", "GOWORK")
	if err != nil {
		return System{}, addOutput(err, errOut)
	}
	var env struct{ GOROOT, GOOS, GOARCH, CGO_ENABLED, GOFLAGS, GOVERSION, GOWORK string }
	if err := json.Unmarshal(out, &env); err != nil {
		return System{}, fmt.Errorf("read output of go env: %w", err)
	}
	s := System{Root: env.GOROOT, GOOS: env.GOOS, GOARCH: env.GOARCH, Cgo: env.CGO_ENABLED == "1"}
	if found := regexp.MustCompile(`go1\.(\d+)`).FindStringSubmatch(env.GOVERSION); found != nil {
		s.Release, _ = strconv.Atoi(found[1])
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return System{}, fmt.Errorf("read go.mod: %w", err)
	}
	s.Local = env.GOWORK != "" && env.GOWORK != "off" || regexp.MustCompile(`=>\s*"?(\.|/|[A-Za-z]:)`).Match(mod)
	for _, flag := range strings.Fields(env.GOFLAGS) {
		flag = "-" + strings.TrimLeft(flag, "-")
		if tags, ok := strings.CutPrefix(flag, "-tags="); ok {
			s.Tags = strings.Split(tags, ",")
		}
		if flag == "-mod=mod" {
			s.Flags = []string{"-mod=readonly"} // keeps the go command from writing go.mod
		}
	}
	return s, nil
}

// A listedExport is what go list prints for a package.
type listedExport struct {
	ImportPath string
	Export     string
	Standard   bool
	Module     *struct {
		Dir     string
		Version string
		Replace *struct{ Version string }
	}
	Error *struct{ Err string }
}

// isVersioned reports whether a package changes only with the version of Go or of its module.
func (l listedExport) isVersioned() bool {
	if l.Module != nil && l.Module.Replace != nil {
		return l.Module.Replace.Version != ""
	}
	return l.Standard || l.Module != nil && l.Module.Version != ""
}

// askExports asks the go command for the export data of packages, which it compiles if needed.
func (c *ExportCache) askExports(ctx context.Context, paths []string) error {
	args := append([]string{"list", "-e", "-export", "-json=ImportPath,Export,Standard,Module,Error"}, c.known.System.Flags...)
	if c.planned != nil {
		dir, err := os.MkdirTemp("", "petrock")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		overlay, err := WriteOverlay(dir, c.root.Name(), c.planned)
		if err != nil {
			return err
		}
		args = append(args, "-overlay="+overlay)
	}
	args = append(append(args, "--"), paths...)
	out, errOut, err := RunCommand(ctx, CommandOptions{Dir: c.root.Name()}, "go", args...)
	if err != nil {
		return addOutput(err, errOut)
	}
	listed, err := DecodeList[listedExport](out)
	if err != nil {
		return err
	}
	c.known.transient = nil
	for _, l := range listed {
		c.addAnswer(l)
	}
	return nil
}

// addAnswer adds an answer. If it differs from an earlier one, all packages that were read become invalid.
func (c *ExportCache) addAnswer(l listedExport) {
	before := c.known.Files[l.ImportPath]
	delete(c.known.missing, l.ImportPath)
	if l.Export == "" || c.owns(l) {
		delete(c.known.Files, l.ImportPath)
		c.known.missing[l.ImportPath] = "package " + l.ImportPath + " cannot be imported"
		if l.Error != nil {
			first, _, _ := strings.Cut(strings.TrimSpace(l.Error.Err), "\n")
			c.known.missing[l.ImportPath] = first
		}
	} else {
		c.known.Files[l.ImportPath] = l.Export
		if !l.Standard {
			c.known.Outside[l.ImportPath] = true
		}
		if !l.Standard && (c.known.System.Local || !l.isVersioned()) {
			c.known.transient = append(c.known.transient, l.ImportPath)
		}
	}
	if before != "" && before != l.Export {
		c.known.edition++
	}
}

// owns reports whether a package is in the project's module, whether it exists on disk or not.
func (c *ExportCache) owns(l listedExport) bool {
	if l.Module == nil {
		return false
	}
	root, err := os.Stat(c.root.Name())
	if err != nil {
		return false
	}
	dir, err := os.Stat(l.Module.Dir)
	return err == nil && os.SameFile(root, dir)
}

func addOutput(err error, stderr []byte) error {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: the go command failed:\n%s", err, bytes.TrimSpace(stderr))
	}
	return err
}

const (
	cacheDir  = ".petrock/cache"
	cacheFile = cacheDir + "/exports.json"
)

// An ExportCache finds the export data of packages that one project imports. It caches the answers of
// the go command, in memory and in the project's .petrock folder. It is not safe for concurrent use.
type ExportCache struct {
	root    *os.Root
	known   *answers          // nil before the first call
	planned map[string][]byte // go.mod and go.sum to use instead of the files on disk, if not nil
}

// PlanModules makes the cache use planned module files instead of those on disk. A nil goMod means
// the files on disk. Answers stay valid when the planned files are written.
func (c *ExportCache) PlanModules(goMod, goSum []byte) {
	c.planned = nil
	if goMod != nil {
		c.planned = map[string][]byte{"go.mod": goMod, "go.sum": goSum}
	}
}

// answers are answers of the go command. Only those about the standard library and the module cache
// are saved: other packages may change at any time.
type answers struct {
	Key       string // see goKey
	Modules   string // see modulesKey
	System    System
	Files     map[string]string // by import path, the file with its export data
	Outside   map[string]bool   // import paths outside the standard library: they depend on the modules
	missing   map[string]string // by import path, why it cannot be imported
	transient []string          // import paths whose files are valid for one call
	edition   int               // increases when earlier answers become invalid
}

// A System is the target that packages are built for.
type System struct {
	Root         string // GOROOT
	GOOS, GOARCH string
	Cgo          bool
	Tags         []string
	Release      int      // minor version of Go 1
	Local        bool     // whether modules may be local folders, which may change at any time
	Flags        []string // flags for the go command
}

// Equal reports whether two systems build the same files.
func (s System) Equal(other System) bool { return reflect.DeepEqual(s, other) }

// Context returns the system for package build.
func (s System) Context() *build.Context {
	c := build.Default
	c.GOOS, c.GOARCH, c.CgoEnabled = s.GOOS, s.GOARCH, s.Cgo
	c.BuildTags = s.Tags
	c.ReleaseTags = nil
	for release := 1; release <= s.Release; release++ {
		c.ReleaseTags = append(c.ReleaseTags, fmt.Sprintf("go1.%d", release))
	}
	return &c
}

// NewExportCache returns a cache for the project in root.
func NewExportCache(root *os.Root) *ExportCache { return &ExportCache{root: root} }

// System returns the target that the project is built for.
func (c *ExportCache) System(ctx context.Context) (System, error) {
	if err := c.refresh(ctx); err != nil {
		return System{}, err
	}
	return c.known.System, nil
}

// State identifies the inputs of the go command's answers, except the contents of local modules. It starts
// no process.
func (c *ExportCache) State() string { return goKey() + modulesKey(c.root.Name(), c.planned) }

// Find finds the export data of packages. The result includes the packages of earlier calls.
func (c *ExportCache) Find(ctx context.Context, paths []string) (Exports, error) {
	if err := c.refresh(ctx); err != nil {
		return Exports{}, err
	}
	var unknown []string
	for _, path := range paths {
		if path != "C" && path != "unsafe" && c.known.Files[path] == "" {
			unknown = append(unknown, path)
		}
	}
	unknown = append(unknown, c.known.transient...)
	slices.Sort(unknown)
	unknown = slices.Compact(unknown)
	if len(unknown) > 0 {
		if err := c.askExports(ctx, unknown); err != nil {
			return Exports{}, err
		}
		c.save()
	}
	return Exports{Edition: c.known.edition, files: maps.Clone(c.known.Files), missing: maps.Clone(c.known.missing)}, nil
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

// refresh loads saved answers, and drops those that are no longer valid. If only the modules have changed,
// answers about the standard library stay valid, and Find asks for the others again.
func (c *ExportCache) refresh(ctx context.Context) error {
	now, modules := goKey(), modulesKey(c.root.Name(), c.planned)
	edition := 1
	known := c.known
	if known != nil {
		edition = known.edition
	} else if known = c.load(); known != nil {
		known.edition = edition
	}
	isValid := known != nil && known.Key == now && known.filesExist()
	if isValid && known.Modules == modules {
		c.known = known
		return nil
	}
	system, err := askSystem(ctx, c.root.Name())
	if err != nil {
		return err
	}
	if !isValid || !known.System.Equal(system) {
		c.known = &answers{Key: now, Modules: modules, System: system, Files: map[string]string{}, Outside: map[string]bool{}, missing: map[string]string{}, edition: edition + 1}
		return nil
	}
	if len(known.missing) > 0 { // may exist now
		known.edition++
	}
	known.Modules, known.missing = modules, map[string]string{}
	known.transient = slices.Sorted(maps.Keys(known.Outside))
	c.known = known
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

func (c *ExportCache) load() *answers {
	text, err := c.root.ReadFile(cacheFile)
	if err != nil {
		return nil
	}
	saved := &answers{missing: map[string]string{}}
	if json.Unmarshal(text, saved) != nil || saved.Files == nil || saved.Outside == nil {
		return nil
	}
	return saved
}

// save writes the answers to the folder .petrock if it exists. Errors are ignored: it is a cache.
func (c *ExportCache) save() {
	saved := *c.known
	saved.Files = maps.Clone(saved.Files)
	saved.Outside = maps.Clone(saved.Outside)
	for _, path := range saved.transient {
		delete(saved.Files, path)
		delete(saved.Outside, path)
	}
	text, err := json.Marshal(saved)
	if err != nil {
		return
	}
	if err := c.root.Mkdir(cacheDir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return
	}
	temporary := fmt.Sprintf("%s.%d", cacheFile, os.Getpid())
	if c.root.WriteFile(temporary, text, 0o644) != nil || c.root.Rename(temporary, cacheFile) != nil {
		c.root.Remove(temporary)
	}
}

// goKey identifies the go command and its environment. It starts no process.
func goKey() string {
	hash := sha256.New()
	program, err := exec.LookPath("go")
	if err == nil {
		program, _ = filepath.EvalSymlinks(program)
	}
	addText(hash, "format", []byte("4"))
	addStat(hash, program)
	relevant := regexp.MustCompile(`^(GO|CGO_|HOME=|XDG_)`)
	settings := slices.DeleteFunc(os.Environ(), func(setting string) bool { return !relevant.MatchString(setting) })
	slices.Sort(settings)
	addText(hash, "environment", []byte(strings.Join(settings, "\n")))
	if config, err := os.UserConfigDir(); err == nil {
		addStat(hash, filepath.Join(config, "go", "env")) // settings of go env -w
	}
	if file := os.Getenv("GOENV"); file != "" {
		addStat(hash, file)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// modulesKey identifies the modules of a project. Planned files replace those on disk.
func modulesKey(dir string, planned map[string][]byte) string {
	hash := sha256.New()
	for _, name := range []string{"go.mod", "go.sum", filepath.Join("vendor", "modules.txt")} {
		text, isPlanned := planned[name]
		if !isPlanned {
			text, _ = os.ReadFile(filepath.Join(dir, name))
		}
		addText(hash, name, text)
	}
	for _, file := range workspaces(dir) {
		text, _ := os.ReadFile(file)
		addText(hash, file, text)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

func addText(hash io.Writer, name string, text []byte) {
	fmt.Fprintf(hash, "%s %d\n", name, len(text))
	hash.Write(text)
}

func addStat(hash io.Writer, file string) {
	info, err := os.Stat(file)
	if err != nil {
		fmt.Fprintf(hash, "no %s\n", file)
		return
	}
	fmt.Fprintf(hash, "%s %d %d\n", file, info.Size(), info.ModTime().UnixNano())
}

// workspaces returns the files that may define the workspace of a folder.
func workspaces(dir string) []string {
	if file := os.Getenv("GOWORK"); file != "" {
		return []string{file}
	}
	var files []string
	for at := dir; ; at = filepath.Dir(at) {
		files = append(files, filepath.Join(at, "go.work"))
		if at == filepath.Dir(at) {
			return files
		}
	}
}
