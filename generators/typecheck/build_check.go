package typecheck

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
)

// BuildOptions say what is checked, and how.
type BuildOptions struct {
	Dir      string   // the working directory of the go command
	Roots    []string // the folders that files are named from, which stand for the project; none means Dir
	Patterns []string // of packages; none means ./...
	Flags    []string // for the go command, such as -overlay=FILE
	Env      []string // additions to the environment, NAME=value
}

// A BuildResult is what there is, and what is wrong with it.
type BuildResult struct {
	Module      string       // path of the module that the packages are in; empty if unknown
	Packages    []string     // import paths, sorted, without those made for tests
	Programs    []string     // those of the packages that are programs
	Diagnostics []Diagnostic // nothing is wrong if there are none
}

// CheckPackages lists and compiles packages, and links programs if nothing is wrong so far. The error
// is about the go command itself; what is wrong with the packages is in the result.
func CheckPackages(ctx context.Context, o BuildOptions) (*BuildResult, error) {
	o = o.complete()
	if flags, _, err := o.run(ctx, []string{"env", "GOFLAGS"}, nil); err == nil && bytes.Contains(flags, []byte("-mod=mod")) {
		o.Flags = append([]string{"-mod=readonly"}, o.Flags...) // or Go would write to go.mod
	}
	// -e reports broken packages instead of ending there, -export compiles, -test does so for tests.
	args := []string{"list", "-e", "-export", "-test", "-json=Dir,ImportPath,ForTest,Name,GoFiles,CgoFiles,Module,Error,DepsErrors"}
	out, errOut, err := o.run(ctx, append(args, o.Flags...), o.Patterns)
	if err != nil {
		return o.refused(err, errOut)
	}
	result, err := o.read(bytes.NewReader(out))
	if err == nil && len(result.Diagnostics) == 0 && len(result.Programs) > 0 {
		err = o.link(ctx, result)
	}
	return result, err
}

// complete is o with what its empty fields mean.
func (o BuildOptions) complete() BuildOptions {
	if len(o.Roots) == 0 {
		o.Roots = []string{o.Dir}
	}
	if len(o.Patterns) == 0 {
		o.Patterns = []string{"./..."}
	}
	return o
}

// refused makes a result of what go list says when it lists nothing: if it names a place, such
// as a line of go.mod, or a package, something is wrong with the project, and otherwise with Go here.
func (o BuildOptions) refused(err error, words []byte) (*BuildResult, error) {
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		return nil, err
	}
	found := failure{Err: string(words)}.diagnose("", o)
	if slices.ContainsFunc(found, func(d Diagnostic) bool { return d.File != "" || d.Package != "" }) {
		return &BuildResult{Diagnostics: found}, nil
	}
	return nil, fmt.Errorf("%w: Go does not work here as it should:\n%s", err, bytes.TrimSpace(words))
}

// link adds what is wrong with the programs of a result once they are more than packages.
func (o BuildOptions) link(ctx context.Context, result *BuildResult) error {
	args := append([]string{"build", "-o", os.DevNull}, o.Flags...)
	_, errOut, err := o.run(ctx, args, result.Programs)
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		return err
	}
	result.Diagnostics = failure{Err: string(errOut)}.diagnose("", o)
	return nil
}

func (o BuildOptions) run(ctx context.Context, args, packages []string) (stdout, stderr []byte, err error) {
	return RunCommand(ctx, CommandOptions{Dir: o.Dir, Env: append(os.Environ(), o.Env...)}, "go", append(args, packages...)...)
}

// listedPackage is what go list prints of one package.
type listedPackage struct {
	Dir        string
	ImportPath string
	ForTest    string
	Name       string
	GoFiles    []string
	CgoFiles   []string
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

func (o BuildOptions) read(out io.Reader) (*BuildResult, error) {
	result := &BuildResult{}
	for decoder := json.NewDecoder(out); ; {
		var p listedPackage
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
		tested, ofTest := strings.CutSuffix(p.ImportPath, ".test")
		switch {
		case p.Dir == "" || p.ForTest != "" || ofTest && slices.Contains(result.Packages, tested):
			// go list makes it up, for a test or for a pattern that matches nothing.
		default:
			result.Packages = append(result.Packages, p.ImportPath)
			if p.Name == "main" && len(p.GoFiles)+len(p.CgoFiles) > 0 {
				result.Programs = append(result.Programs, p.ImportPath)
			}
		}
		for _, f := range append(p.DepsErrors, p.Error) {
			if f != nil {
				result.Diagnostics = append(result.Diagnostics, f.diagnose(p.ImportPath, o)...)
			}
		}
	}
	for i, d := range result.Diagnostics {
		result.Diagnostics[i] = d.in(result)
	}
	slices.Sort(result.Packages)
	slices.Sort(result.Programs)
	slices.SortFunc(result.Diagnostics, Diagnostic.Compare)
	result.Diagnostics = slices.Compact(result.Diagnostics) // a package and those that import it say the same
	return result, nil
}
