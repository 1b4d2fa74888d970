package typecheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
)

// fileName is the file with the answers, below the project's root.
const (
	folder   = ".petrock/cache"
	fileName = folder + "/exports.json"
)

// An ExportCache finds the export data of packages that one project imports. It caches the answers of
// the go command, in memory and in the project's .petrock folder. It is not safe for concurrent use.
type ExportCache struct {
	root  *os.Root
	known *answers // nil before the first call
}

// answers are answers of the go command. Only those about the standard library and the module cache
// are saved: other packages may change at any time.
type answers struct {
	Key     string
	System  System
	Files   map[string]string // by import path, the file with its export data
	missing map[string]string // by import path, why it cannot be imported
	passing []string          // import paths whose files are valid for one call
	edition int               // increases when earlier answers become invalid
}

// A System is the target that packages are built for.
type System struct {
	Root         string // GOROOT
	GOOS, GOARCH string
	Cgo          bool
	Tags         []string
	Release      int      // minor version of Go 1
	Local        bool     // modules may be local folders, which may change at any time
	Flags        []string // for the go command
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

// State identifies all that the answers of the go command depend on, except the contents of local
// modules. It starts no process.
func (c *ExportCache) State() string { return key(c.root.Name()) }

// Find finds the export data of packages, in addition to those of earlier calls.
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
	unknown = append(unknown, c.known.passing...)
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
	Edition int // a change means that everything has to be read again
	files   map[string]string
	missing map[string]string
}

// Open opens the export data of a package.
func (f Exports) Open(path string) (io.ReadCloser, error) {
	if file := f.files[path]; file != "" {
		return os.Open(file)
	}
	return nil, errors.New(f.Why(path))
}

// Has reports whether a package can be imported.
func (f Exports) Has(path string) bool { return f.files[path] != "" }

// Why explains why a package cannot be imported, as a compiler would.
func (f Exports) Why(path string) string {
	if reason := f.missing[path]; reason != "" {
		return reason
	}
	return "package " + path + " is not in this project, its modules or the standard library"
}

// refresh loads saved answers, and drops those that are no longer valid.
func (c *ExportCache) refresh(ctx context.Context) error {
	now := key(c.root.Name())
	edition := 1
	if c.known != nil {
		if c.known.Key == now && c.known.there() {
			return nil
		}
		edition = c.known.edition + 1
	} else if kept := c.load(); kept != nil && kept.Key == now && kept.there() {
		kept.edition = edition
		c.known = kept
		return nil
	}
	system, err := askSystem(ctx, c.root.Name())
	if err != nil {
		return err
	}
	c.known = &answers{Key: now, System: system, Files: map[string]string{}, missing: map[string]string{}, edition: edition}
	return nil
}

// there reports whether the export data still exists: Go trims its build cache.
func (a *answers) there() bool {
	for _, file := range a.Files {
		if _, err := os.Stat(file); err != nil {
			return false
		}
	}
	return true
}

func (c *ExportCache) load() *answers {
	text, err := c.root.ReadFile(fileName)
	if err != nil {
		return nil
	}
	kept := &answers{missing: map[string]string{}}
	if json.Unmarshal(text, kept) != nil || kept.Files == nil {
		return nil
	}
	return kept
}

// save writes the answers to .petrock if that exists. Errors are ignored: it is a cache.
func (c *ExportCache) save() {
	lasting := *c.known
	lasting.Files = maps.Clone(lasting.Files)
	for _, path := range lasting.passing {
		delete(lasting.Files, path)
	}
	text, err := json.Marshal(lasting)
	if err != nil {
		return
	}
	if err := c.root.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return
	}
	temporary := fmt.Sprintf("%s.%d", fileName, os.Getpid())
	if c.root.WriteFile(temporary, text, 0o644) != nil || c.root.Rename(temporary, fileName) != nil {
		c.root.Remove(temporary)
	}
}
