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

// fileName is where the answers are kept, below the project's root.
const (
	folder   = ".petrock/cache"
	fileName = folder + "/exports.json"
)

// A ExportCache answers for one project. It is for one user at a time.
type ExportCache struct {
	root  *os.Root
	known *answers // nil before the first question
}

// answers are what the go command has said. What they are about outside of the module cache and
// the standard library may change at any time, and is not kept.
type answers struct {
	Key     string
	System  System
	Files   map[string]string // by import path, where its export data is
	missing map[string]string // by import path, why it cannot be had
	passing []string          // import paths whose files hold for one question
	edition int               // goes up when what was said before no longer holds
}

// A System is what packages are built for.
type System struct {
	Root         string // of Go itself; the standard library is in its folder src
	GOOS, GOARCH string
	Cgo          bool
	Tags         []string
	Release      int      // of Go 1
	Local        bool     // modules may be folders of this machine, which change at any time
	Flags        []string // that the go command has to be given
}

// Equal reports whether two systems take the same files.
func (s System) Equal(other System) bool { return reflect.DeepEqual(s, other) }

// Context is the system as package build has it.
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

// NewExportCache is a cache for the project in root.
func NewExportCache(root *os.Root) *ExportCache { return &ExportCache{root: root} }

// System says what the project is built for.
func (c *ExportCache) System(ctx context.Context) (System, error) {
	if err := c.refresh(ctx); err != nil {
		return System{}, err
	}
	return c.known.System, nil
}

// State stands for all that the answers of the go command depend on, but for what is in folders of
// this machine that modules may be. It starts nothing.
func (c *ExportCache) State() string { return key(c.root.Name()) }

// Find makes sure that the export data of packages is known, as far as there is any. Those of
// earlier questions stay known. Edition tells whether what was read earlier may still be used.
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
		if err := c.ask(ctx, unknown); err != nil {
			return Exports{}, err
		}
		c.keep()
	}
	return Exports{Edition: c.known.edition, files: maps.Clone(c.known.Files), missing: maps.Clone(c.known.missing)}, nil
}

// Exports is where export data is.
type Exports struct {
	Edition int // another one than before means that all has to be read again
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

// Has reports whether a package can be had.
func (f Exports) Has(path string) bool { return f.files[path] != "" }

// Why says why a package cannot be had, as a compiler would.
func (f Exports) Why(path string) string {
	if reason := f.missing[path]; reason != "" {
		return reason
	}
	return "package " + path + " is not in this project, its modules or the standard library"
}

// refresh makes the answers those of this moment: kept ones if they still hold.
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

// there reports whether the export data is still where it was: Go clears its cache now and then.
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

// keep writes the answers down, if the project has a place for that. To go without is no fault.
func (c *ExportCache) keep() {
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
