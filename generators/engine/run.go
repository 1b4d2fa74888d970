package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/trial"
)

// runGenerator calls Make of a generator, with the time limit of examples. Time that the generator spends
// in the engine does not count. The generator may be the project's own code: a panic becomes an error, and
// runGenerator returns after the limit even if Make does not.
func (e *Engine) runGenerator(ctx context.Context, g gen.Generator, input json.RawMessage) (gen.Draft, error) {
	type result struct {
		draft gen.Draft
		err   error
	}
	lease := &lease{}
	known := e.generatorProject(ctx, lease)
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if value := recover(); value != nil {
				r.err = nonUsageError{fmt.Errorf("run generator %s: panic: %v (%s)", g.Name, value, e.panicPlace())}
			}
			done <- r
		}()
		r.draft, r.err = g.Make(known, input)
	}()
	limit := cmp.Or(e.Limits.Time, trial.DefaultTime)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case r := <-done:
			return r.draft, r.err
		case <-ctx.Done():
			lease.end()
			return gen.Draft{}, nonUsageError{ctx.Err()}
		case <-timer.C:
			if spent := lease.takeSpent(); spent > 0 {
				timer.Reset(spent)
				continue
			}
			lease.end()
			return gen.Draft{}, nonUsageError{fmt.Errorf("run generator %s: timeout after %s; nothing was changed", g.Name, limit)}
		}
	}
}

// generatorProject returns the project as a generator sees it. Its functions fail after the lease ends.
func (e *Engine) generatorProject(ctx context.Context, l *lease) gen.Project {
	p := gen.Project{Name: e.project.Name, Module: e.checker.Module().Path, Packages: map[string]string{}}
	for _, dir := range e.before.Dirs() {
		if pkg := e.before.Package(dir, nil); pkg != nil {
			p.Packages[dir] = pkg.Name
		}
	}
	p.Function = func(ref string) (*gen.Function, error) {
		return leased(l, func() (*gen.Function, error) { return e.function(ctx, ref) })
	}
	p.Feature = func(name string) *gen.Feature {
		feature, _ := leased(l, func() (*gen.Feature, error) { return e.feature(ctx, name), nil })
		return feature
	}
	p.Migrate = func(command string, edit gen.Edit) (*gen.Migration, error) {
		return leased(l, func() (*gen.Migration, error) { return e.migrate(ctx, command, edit) })
	}
	return p
}

func (e *Engine) feature(ctx context.Context, name string) *gen.Feature {
	place := derive.FeaturePlace(path.Join(derive.Features, name))
	if name == "" || !slices.Contains(derive.Places(e.before), place) {
		return nil
	}
	feature := &gen.Feature{Name: name, Dir: place.Dir, Strings: map[string][]string{}}
	for _, file := range e.before.Files(place.Dir) {
		if !file.IsTest() && !file.IsDerived() {
			feature.Declared = append(feature.Declared, file.Names()...)
			addStringTypes(feature.Strings, file.Syntax)
		}
	}
	slices.Sort(feature.Declared)
	packages, err := e.deriver.Packages(ctx, e.before, []derive.Place{place})
	if err != nil || len(packages[0].Problems) > 0 {
		return feature // derive reports the errors
	}
	for _, c := range packages[0].Components {
		part := gen.FeatureTool{Type: c.Func, Name: c.Name, EventType: c.EventType, Fields: e.fields(c)}
		switch c.Kind {
		case derive.Command:
			feature.Commands = append(feature.Commands, part)
		case derive.Query:
			feature.Queries = append(feature.Queries, part)
		}
	}
	return feature
}

// addStringTypes adds the types of a file that are declared as string, and the values of constants, by type.
func addStringTypes(all map[string][]string, file *ast.File) {
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.TypeParams == nil && types.ExprString(spec.Type) == "string" {
					all[spec.Name.Name] = append([]string{}, all[spec.Name.Name]...)
				}
			case *ast.ValueSpec:
				if t, ok := spec.Type.(*ast.Ident); ok && group.Tok == token.CONST && len(spec.Values) == 1 {
					if value, err := strconv.Unquote(types.ExprString(spec.Values[0])); err == nil {
						all[t.Name] = append(all[t.Name], value)
					}
				}
			}
		}
	}
}

func (e *Engine) fields(c derive.Component) []gen.StructField {
	var fields []gen.StructField
	ast.Inspect(e.before.File(c.File).Syntax, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != c.Func {
			_, inside := n.(*ast.BlockStmt)
			return !inside
		}
		list, ok := spec.Type.(*ast.StructType)
		if !ok {
			return false
		}
		for _, field := range list.Fields.List {
			f := gen.StructField{Type: types.ExprString(field.Type)}
			f.Tag, _ = unquote(field.Tag)
			if len(field.Names) == 0 {
				fields = append(fields, f)
			}
			for _, name := range field.Names {
				f.Name = name.Name
				fields = append(fields, f)
			}
		}
		return false
	})
	return fields
}

// A nonUsageError marks an error that is not the caller's fault: a panic, a timeout, a
// cancellation or a system error.
type nonUsageError struct{ error }

// A lease lets one generator use the engine, which is not safe for concurrent use. Its calls fail after end.
type lease struct {
	mu    sync.Mutex
	ended bool
	spent time.Duration // time spent in the engine
}

// leased runs a function of the engine. It fails after the lease has ended.
func leased[T any](l *lease, do func() (T, error)) (result T, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return result, nonUsageError{context.Canceled}
	}
	begin := time.Now()
	result, err = do()
	l.spent += time.Since(begin)
	return result, err
}

// takeSpent waits until the engine is not in use, and returns the time spent in it since the last call.
func (l *lease) takeSpent() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	spent := l.spent
	l.spent = 0
	return spent
}

// end waits until the engine is not in use, and ends the lease.
func (l *lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// panicPlace returns the file and line of the panic that is being recovered: the innermost call in the
// project's own generators, or else the innermost call outside the runtime.
func (e *Engine) panicPlace() string {
	calls := make([]uintptr, 64)
	frames := runtime.CallersFrames(calls[:runtime.Callers(3, calls)])
	place := ""
	for {
		frame, more := frames.Next()
		file := frame.File
		if inside, err := filepath.Rel(e.project.Root, file); err == nil && filepath.IsLocal(inside) {
			file = inside
		}
		file = strings.TrimPrefix(filepath.ToSlash(file), e.checker.Module().Path+"/") // with -trimpath
		at := fmt.Sprintf("%s:%d", file, frame.Line)
		switch {
		case strings.HasPrefix(file, derive.OwnGenerators+"/"):
			return at
		case place == "" && !strings.HasPrefix(frame.Function, "runtime."):
			place = at
		}
		if !more {
			return place
		}
	}
}
