package live

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"hash/maphash"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/core/strictjson"
)

// A builder compiles programs of a project into a private folder, one at a time.
type builder struct {
	root    string
	environ []string // of the go command; nil: that of this process
	dir     string   // of the executables; go build writes to the subfolder out
	seed    maphash.Seed
}

// A program is an executable that a builder has built.
type program struct {
	path     string
	id       uint64 // hash of its content, which differs between builders
	features string // fingerprints of its features; empty if unknown
}

// newBuilder returns a builder for the project in root, which runs the go command with an
// environment. It removes the executables of builders whose processes have ended without close.
func newBuilder(root string, environ []string) (*builder, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = cmp.Or(goEnviron(root)["XDG_CACHE_HOME"], cache)
	host, _ := os.Hostname() // process ids are those of a host, which may share the folder with others
	b, err := newBuilderIn(root, filepath.Join(cache, "petrock", "dev", "host-"+host), environ)
	if errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w; set XDG_CACHE_HOME, or HOME on macOS, to a folder that can be written", err)
	}
	return b, err
}

// newBuilderIn is newBuilder with a folder for the folders of builders.
func newBuilderIn(root, folder string, environ []string) (*builder, error) {
	b := &builder{root: root, environ: environ, seed: maphash.MakeSeed()}
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		removeStale(folder)
		b.dir, err = os.MkdirTemp(folder, strconv.Itoa(os.Getpid())+"-*")
	}
	if err != nil {
		return nil, fmt.Errorf("create the folder for executables: %w", err)
	}
	return b, nil
}

// removeStale removes the folders of builders whose processes have ended. Errors are ignored: the
// next builder tries again.
func removeStale(folder string) {
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		number, _, _ := strings.Cut(entry.Name(), "-")
		if pid, err := strconv.Atoi(number); err == nil && !isRunning(pid) {
			_ = os.RemoveAll(filepath.Join(folder, entry.Name()))
		}
	}
}

// isRunning reports whether a process exists.
func isRunning(pid int) bool {
	found, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer found.Release()
	return !errors.Is(found.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// close removes all executables. No build may be running.
func (b *builder) close() error { return os.RemoveAll(b.dir) }

// maxOutput limits the output of a go command in an error, in bytes.
const maxOutput = 4 << 10

// build compiles a program, which is a folder of the project such as cmd/hello. If it does not
// compile, the error has the output of the go command, with paths relative to the project. Programs
// with the same content are the same file.
func (b *builder) build(ctx context.Context, name string) (program, error) {
	out := filepath.Join(b.dir, "out", strings.ReplaceAll(name, "/", "-")+executableSuffix())
	_, output, err := b.runGo(ctx, "build", "-buildvcs=false", "-ldflags=-w", "-o", out, "./"+name) // -w makes linking faster
	if exit := (*exec.ExitError)(nil); ctx.Err() != nil || errors.As(err, &exit) && !exit.Exited() {
		_ = os.Remove(out) // it may be incomplete, and the next build would keep it
	}
	switch {
	case ctx.Err() != nil:
		return program{}, ctx.Err()
	case err != nil:
		if len(output) == 0 {
			output = []byte(err.Error())
		}
		text := strings.ReplaceAll(string(output), b.root+string(filepath.Separator), "")
		return program{}, fmt.Errorf("%s does not compile:\n%s", name, strictjson.Clip(strings.TrimSpace(text), maxOutput))
	}
	built, err := b.keep(name, out)
	if err != nil {
		err = fmt.Errorf("build %s: %w", name, err)
	}
	return built, err
}

// keep returns the program in an executable that go build wrote. The executable stays where it is,
// because go build does not link it again if nothing has changed.
func (b *builder) keep(name, executable string) (program, error) {
	content, err := os.ReadFile(executable)
	if err != nil {
		return program{}, err
	}
	id := maphash.Bytes(b.seed, content)
	p := program{path: filepath.Join(b.dir, fmt.Sprintf("%s-%x%s", path.Base(name), id, executableSuffix())), id: id}
	if _, err := os.Stat(p.path); err == nil {
		return p, nil
	}
	// go build replaces its file and does not write into it, so a link keeps the content. Windows
	// does not replace a running program.
	if runtime.GOOS == "windows" || os.Link(executable, p.path) != nil {
		if err := os.WriteFile(p.path, content, 0o755); err != nil {
			return program{}, errors.Join(err, os.Remove(p.path))
		}
	}
	return p, nil
}

// release removes the executable of a program that no longer runs.
func (b *builder) release(p program) { _ = os.Remove(p.path) } // close removes what is still in use

// runGo runs the go command in the project. When ctx ends, it and its children end.
func (b *builder) runGo(ctx context.Context, args ...string) (stdout, stderr []byte, err error) {
	return process.Run(ctx, process.RunOptions{Dir: b.root, Env: b.environ, Group: true}, "go", args...)
}

// executableSuffix returns the suffix of executables' names.
func executableSuffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

// fingerprints returns NAME=FINGERPRINT of each feature of the project, separated by spaces. Equal
// fingerprints mean that the same code computes the state: the feature's package, those below
// core/app, which store and read the events, and all their imports. The names of all features count
// as well, because the events of a removed feature must stop the server. Values that other packages
// assign to variables of a feature do not count, nor do //go:debug lines of the program.
func (b *builder) fingerprints(ctx context.Context) (string, error) {
	if _, err := os.Stat(filepath.Join(b.root, "features")); err != nil {
		return "", nil
	}
	mod, err := os.ReadFile(filepath.Join(b.root, "go.mod")) // it has settings of the runtime
	if err != nil {
		return "", fmt.Errorf("list packages: %w", err)
	}
	output, errOut, err := b.runGo(ctx, "list", "-buildvcs=false", "-export", "-deps", "-json=ImportPath,Dir,BuildID,Standard,Deps,Module", "./features/...", "./core/app/...")
	if err != nil {
		return "", fmt.Errorf("list packages: %w: %s", err, strictjson.Clip(string(errOut), maxOutput))
	}
	compiled := map[string]string{} // hashes of the compiled packages, by import path
	features := map[string][]string{}
	var names, common []string
	for decoder := json.NewDecoder(bytes.NewReader(output)); decoder.More(); {
		var p goPackage
		if err := decoder.Decode(&p); err != nil {
			return "", fmt.Errorf("list packages: %w in %s", err, strictjson.Clip(string(output), maxOutput))
		}
		dir, err := filepath.Rel(b.root, p.Dir) // fails if it is on another drive
		if !p.isVersioned() && (err != nil || !filepath.IsLocal(dir)) {
			return "", fmt.Errorf("list packages: %s is in %s, outside of the project, where changes are not noticed", p.ImportPath, p.Dir)
		}
		// A build id is a hash of the compiler's inputs, a slash, and a hash of its output. Neither
		// depends on function bodies in indirect imports, so the output of each package counts.
		_, id, _ := strings.Cut(p.BuildID, "/")
		if id == "" && p.ImportPath != "unsafe" {
			return "", fmt.Errorf("list packages: %s has no build id", p.ImportPath)
		}
		compiled[p.ImportPath] = id
		switch dir = filepath.ToSlash(dir); {
		case path.Dir(dir) == "features":
			names = append(names, path.Base(dir))
			features[path.Base(dir)] = append(p.Deps, p.ImportPath)
		case dir == "core/app" || strings.HasPrefix(dir, "core/app/"):
			common = append(append(common, p.Deps...), p.ImportPath)
		}
	}
	slices.Sort(names)
	var all []string
	for _, name := range names {
		sum := fnv.New128a()
		fmt.Fprintf(sum, "%q %q\n", names, mod)
		packages := slices.Concat(features[name], common)
		slices.Sort(packages)
		for _, p := range slices.Compact(packages) {
			fmt.Fprintln(sum, p, compiled[p])
		}
		all = append(all, fmt.Sprintf("%s=%x", name, sum.Sum(nil)))
	}
	return strings.Join(all, " "), nil
}

// A goPackage is a package in the output of go list.
type goPackage struct {
	ImportPath, Dir, BuildID string
	Standard                 bool
	Deps                     []string // direct and indirect imports
	Module                   *struct {
		Version string
		Replace *struct{ Version string }
	}
}

// isVersioned reports whether the files of a package never change: those of Go and of module
// versions.
func (p *goPackage) isVersioned() bool {
	m := p.Module
	return p.Standard || m != nil && (m.Replace == nil && m.Version != "" || m.Replace != nil && m.Replace.Version != "")
}

// flagValue returns the last value of a flag in arguments, or "".
func flagValue(args []string, name string) (value string) {
	for i, arg := range args {
		if given, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			value = given
		} else if arg == "--"+name && i+1 < len(args) {
			value = args[i+1]
		}
	}
	return value
}

// goEnvironFile records variables of the environment in which a person uses the project.
const goEnvironFile = ".petrock/goenv"

// goVariables decide where the go command looks for compiled packages and modules, and whether it
// can use them.
var goVariables = []string{
	"GOCACHE", "GOMODCACHE", "GOPATH", "GOENV", "GOFLAGS", "GOEXPERIMENT", "GOTOOLCHAIN", "CGO_ENABLED", "CC",
	"GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB", "GOINSECURE",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", // of the default GOCACHE and GOENV
}

// RecordGoEnviron records the environment's variables for the go command, for goEnviron. Call it
// in processes with the environment of a person's shell. MCP clients may start processes with HOME
// and PATH alone.
func RecordGoEnviron(root string) error {
	var text bytes.Buffer
	for _, name := range goVariables {
		if value := os.Getenv(name); value != "" && !strings.ContainsAny(value, "\r\n") {
			fmt.Fprintf(&text, "%s=%s\n", name, value)
		}
	}
	folder, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer folder.Close()
	if text.Len() == 0 {
		return folder.RemoveAll(goEnvironFile)
	}
	if err := folder.MkdirAll(path.Dir(goEnvironFile), 0o755); err != nil {
		return err
	}
	return folder.WriteFile(goEnvironFile, text.Bytes(), 0o600) // GOPROXY may have a password
}

// goEnviron returns the recorded variables that the environment of this process lacks.
func goEnviron(root string) map[string]string {
	lacking := map[string]string{}
	recorded, _ := os.ReadFile(filepath.Join(root, goEnvironFile)) // it is optional
	for line := range strings.Lines(string(recorded)) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		if _, isSet := os.LookupEnv(name); !isSet && slices.Contains(goVariables, name) && value != "" {
			lacking[name] = value
		}
	}
	return lacking
}
