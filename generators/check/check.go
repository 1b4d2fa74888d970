// Package check asks the go command what the packages of a project are, and whether they
// compile, tests included. It writes nothing but Go's build cache.
package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Options say what is checked, and how.
type Options struct {
	Dir      string   // the working directory of the go command
	Root     string   // the folder that files are named from; empty means Dir
	Patterns []string // of packages; none means ./...
	Flags    []string // for the go command, such as -overlay=FILE
	Env      []string // additions to the environment, NAME=value
}

// A Result is what there is, and what is wrong with it.
type Result struct {
	Module      string       // path of the module that the packages are in; empty if unknown
	Packages    []string     // import paths, sorted, without those made for tests
	Diagnostics []Diagnostic // nothing is wrong if there are none
}

// Run lists and compiles packages. The error is about the go command itself; what is wrong
// with the packages is in the result.
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.Root == "" {
		o.Root = o.Dir
	}
	if len(o.Patterns) == 0 {
		o.Patterns = []string{"./..."}
	}
	// -e reports broken packages instead of ending there, -export compiles, -test does so for tests.
	args := []string{"list", "-e", "-export", "-test", "-json=Dir,ImportPath,ForTest,Module,Error,DepsErrors"}
	args = append(append(args, o.Flags...), o.Patterns...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = o.Dir
	cmd.Env = append(os.Environ(), o.Env...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("there is no go command in PATH; install Go, see https://go.dev/dl")
	case err != nil:
		return nil, fmt.Errorf("go list: %w\n%s", err, bytes.TrimSpace(errOut.Bytes()))
	}
	return read(&out, o)
}

// listed is what go list prints of one package.
type listed struct {
	Dir        string
	ImportPath string
	ForTest    string
	Module     *struct{ Path string }
	Error      *failure
	DepsErrors []*failure // of what it imports, which is where an import that leads nowhere is found
}

// failure is what go list prints of one thing that is wrong.
type failure struct {
	ImportStack []string
	Pos         string
	Err         string
}

func read(out io.Reader, o Options) (*Result, error) {
	result := &Result{}
	for decoder := json.NewDecoder(out); ; {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading what go list printed: %w", err)
		}
		if p.Module != nil && result.Module == "" {
			result.Module = p.Module.Path
		}
		if p.isPackage() {
			result.Packages = append(result.Packages, p.ImportPath)
		}
		for _, f := range append(p.DepsErrors, p.Error) {
			if f != nil {
				result.Diagnostics = append(result.Diagnostics, f.diagnose(p.ImportPath, o)...)
			}
		}
	}
	slices.Sort(result.Packages)
	slices.SortFunc(result.Diagnostics, Diagnostic.compare)
	result.Diagnostics = slices.Compact(result.Diagnostics) // a package and those that import it say the same
	return result, nil
}

// isPackage reports whether p is a package of the project, not one that go list makes up for
// a test or for a pattern that matches nothing.
func (p listed) isPackage() bool {
	testMain := strings.HasSuffix(p.ImportPath, ".test") && path.Base(p.ImportPath) != filepath.Base(p.Dir)
	return p.Dir != "" && p.ForTest == "" && !testMain
}
