package imports

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/petrock/petrock/generators/typecheck"
)

// modules are the packages of the modules that go.mod requires.
type modules struct {
	state  string // see [typecheck.ExportCache.State]
	byName map[string][]*listed
	byPath map[string]*listed
	unread []string // why some modules could not be read
}

// A listed package is one that go list prints.
type listed struct {
	Dir, ImportPath, Name string
	GoFiles, CgoFiles     []string
	Module                *struct{ Path string }
	Error                 *struct{ Err string }

	direct  bool            // go.mod requires its module directly
	scanned map[string]bool // exported names; nil before they are read
}

// has reports whether the package exports a name.
func (l *listed) has(name string) bool {
	if l.scanned == nil {
		l.scanned = scan(l.Dir, slices.Concat(l.GoFiles, l.CgoFiles))
	}
	return l.scanned[name]
}

// candidate returns the package as a candidate.
func (l *listed) candidate(w want) candidate {
	return candidate{path: l.ImportPath, name: l.Name, fault: w.lacks(l.has)}
}

// ofModules returns packages of required modules with the wanted name: those that go.mod requires
// directly first, then those that the project imports elsewhere.
func (s *Seeker) ofModules(ctx context.Context, p *place, w want) ([]candidate, error) {
	modules, err := s.required(ctx, p)
	if err != nil {
		return nil, err
	}
	var found []candidate
	for _, pkg := range modules.byName[w.name] {
		c := pkg.candidate(w)
		if !pkg.direct {
			c.rank += 2
		}
		if !p.uses(c.path) {
			c.rank++
		}
		found = append(found, c)
	}
	return found, nil
}

// required lists the packages of required modules, unless the cached list is still valid.
func (s *Seeker) required(ctx context.Context, p *place) (*modules, error) {
	if s.modules != nil && p.listed {
		return s.modules, nil
	}
	state := s.cache.State()
	if s.modules == nil || s.modules.state != state {
		m, err := s.list(ctx)
		if err != nil {
			return nil, err
		}
		m.state, s.modules = state, m
	}
	p.listed = true
	return s.modules, nil
}

// list asks the go command for the packages of required modules, without downloading any and without
// changing go.mod.
func (s *Seeker) list(ctx context.Context) (*modules, error) {
	m := &modules{byName: map[string][]*listed{}, byPath: map[string]*listed{}}
	text, err := s.root.ReadFile("go.mod")
	if err != nil {
		return nil, fmt.Errorf("reading go.mod: %w", err)
	}
	parsed, err := modfile.ParseLax("go.mod", text, nil)
	if err != nil {
		return nil, fmt.Errorf("reading %w", err)
	}
	if len(parsed.Require) == 0 {
		return m, nil
	}
	direct := map[string]bool{}
	args := append([]string{"list", "-e", "-find", "-json=Dir,ImportPath,Name,GoFiles,CgoFiles,Module,Error"}, s.system.Flags...)
	args = append(args, "--")
	for _, require := range parsed.Require {
		direct[require.Mod.Path] = !require.Indirect
		args = append(args, require.Mod.Path+"/...")
	}
	out, errOut, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{Dir: s.root.Name(), Env: append(os.Environ(), "GOPROXY=off")}, "go", args...)
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("%w: Go cannot list the packages of required modules:\n%s", err, bytes.TrimSpace(errOut))
	}
	if err != nil {
		return nil, err
	}
	return m, m.read(out, direct)
}

// read reads the output of go list. Direct are the directly required modules.
func (m *modules) read(out []byte, direct map[string]bool) error {
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		l := &listed{}
		err := decoder.Decode(l)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading what go list printed: %w", err)
		}
		if l.Error != nil && strings.HasSuffix(l.ImportPath, "/...") {
			first, _, _ := strings.Cut(strings.TrimPrefix(l.Error.Err, "pattern "+l.ImportPath+": "), "\n")
			if first = strings.TrimSuffix(first, "; to add it:"); !slices.Contains(m.unread, first) {
				m.unread = append(m.unread, first)
			}
		}
		if l.Module == nil || l.Dir == "" || len(l.GoFiles)+len(l.CgoFiles) == 0 || l.Name == "main" || m.byPath[l.ImportPath] != nil {
			continue
		}
		var required bool
		if l.direct, required = direct[l.Module.Path]; !required {
			continue // another module with the same prefix
		}
		if _, internal := typecheck.ParentOfInternal(l.ImportPath); !internal {
			m.byPath[l.ImportPath] = l
			m.byName[l.Name] = append(m.byName[l.Name], l)
		}
	}
}
