package imports

import (
	"context"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/petrock/petrock/generators/typecheck"
)

// standard is the standard library.
type standard struct {
	src     string // its folder
	context *build.Context
	paths   map[string]bool
	byName  map[string][]string        // paths
	scanned map[string]map[string]bool // by path, what the package exports
}

// listStandard lists the folders of the standard library that may be importable packages. Whether a
// system has them is known when they are read.
func listStandard(system typecheck.System) (*standard, error) {
	l := &standard{
		src: filepath.Join(system.Root, "src"), context: system.Context(),
		paths: map[string]bool{}, byName: map[string][]string{}, scanned: map[string]map[string]bool{},
	}
	err := fs.WalkDir(os.DirFS(l.src), ".", func(dir string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir() || dir == ".":
			return nil
		case dir == "cmd" || dir == "builtin" || hidden(path.Base(dir)):
			return fs.SkipDir
		}
		l.paths[dir] = true
		l.byName[nameByPath(dir)] = append(l.byName[nameByPath(dir)], dir)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the standard library: %w; go env GOROOT says where Go is, install it anew if that is wrong", err)
	}
	return l, nil
}

// hidden reports whether a folder cannot be imported by its name.
func hidden(base string) bool {
	return base == "internal" || base == "vendor" || base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

// has reports whether a path is in the standard library.
func (l *standard) has(imported string) bool { return l.paths[imported] }

// exports returns the names that a package exports.
func (l *standard) exports(imported string) map[string]bool {
	known, ok := l.scanned[imported]
	if !ok {
		dir := filepath.Join(l.src, filepath.FromSlash(imported))
		known = scan(dir, l.files(dir))
		l.scanned[imported] = known
	}
	return known
}

// files returns the Go files of a folder that a build includes, without tests.
func (l *standard) files(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var files []string
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if taken, err := l.context.MatchFile(dir, name); taken && err == nil {
			files = append(files, name)
		}
	}
	return files
}

// ofStandard returns packages of the standard library with the wanted name.
func (s *Seeker) ofStandard(_ context.Context, _ *place, w want) ([]candidate, error) {
	var found []candidate
	for _, imported := range s.standard.byName[w.name] {
		if exported := s.standard.exports(imported); len(exported) > 0 {
			found = append(found, s.standardCandidate(imported, w))
		}
	}
	return found, nil
}

// standardCandidate returns a package of the standard library as a candidate.
func (s *Seeker) standardCandidate(imported string, w want) candidate {
	exported := s.standard.exports(imported)
	return candidate{path: imported, name: nameByPath(imported), fault: w.lacks(func(name string) bool { return exported[name] })}
}
