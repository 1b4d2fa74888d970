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

// BuildOptions configure [Build] and [CheckPackages].
type BuildOptions struct {
	Dir      string   // the working directory of the go command
	Roots    []string // folders that file names are relative to; default Dir
	Patterns []string // package patterns; default ./...
	Flags    []string // for the go command, such as -overlay=FILE
	Env      []string // added to the environment, NAME=value
}

// A BuildResult is the packages of a project and their errors.
type BuildResult struct {
	Module      string       // module path; empty if unknown
	Packages    []string     // import paths, sorted, without test variants
	Programs    []string     // import paths of main packages
	Diagnostics []Diagnostic // compile and link errors
}

// CheckPackages lists and compiles packages, tests included, and links programs if that succeeds. The
// error is about the go command itself; compile errors are in the result.
func CheckPackages(ctx context.Context, o BuildOptions) (*BuildResult, error) {
	o = o.complete()
	if flags, _, err := o.run(ctx, []string{"env", "GOFLAGS"}, nil); err == nil && bytes.Contains(flags, []byte("-mod=mod")) {
		o.Flags = append([]string{"-mod=readonly"}, o.Flags...) // or the go command would write to go.mod
	}
	// -e continues after broken packages, -export compiles, -test includes tests.
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

// complete returns o with defaults for empty fields.
func (o BuildOptions) complete() BuildOptions {
	if len(o.Roots) == 0 {
		o.Roots = []string{o.Dir}
	}
	if len(o.Patterns) == 0 {
		o.Patterns = []string{"./..."}
	}
	return o
}

// refused makes a result of a failed go command: errors that name a file, such as go.mod, or a package
// are the project's; others are returned as an error.
func (o BuildOptions) refused(err error, words []byte) (*BuildResult, error) {
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		return nil, err
	}
	found := failure{Err: string(words)}.diagnose("", o)
	if slices.ContainsFunc(found, func(d Diagnostic) bool { return d.File != "" || d.Package != "" }) {
		return &BuildResult{Diagnostics: found}, nil
	}
	return nil, fmt.Errorf("%w: Go does not work here as it should:\n%s", err, bytes.TrimSpace(words))
}

// link links the programs of a result, and adds link errors.
func (o BuildOptions) link(ctx context.Context, result *BuildResult) error {
	args := append([]string{"build", "-o", os.DevNull}, o.Flags...)
	_, errOut, err := o.run(ctx, args, result.Programs)
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		return err
	}
	result.Diagnostics = failure{Err: string(errOut)}.diagnose("", o)
	return nil
}

func (o BuildOptions) run(ctx context.Context, args, packages []string) (stdout, stderr []byte, err error) {
	return RunCommand(ctx, CommandOptions{Dir: o.Dir, Env: append(os.Environ(), o.Env...)}, "go", append(args, packages...)...)
}

// A listedPackage is what go list prints for a package.
type listedPackage struct {
	Dir        string
	ImportPath string
	ForTest    string
	Name       string
	GoFiles    []string
	CgoFiles   []string
	Module     *struct{ Path string }
	Error      *failure
	DepsErrors []*failure // of its imports, missing packages included
}

// A failure is an error that go list prints.
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
			// A test variant, or a pattern that matches nothing.
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
	result.Diagnostics = slices.Compact(result.Diagnostics) // a package and its importers report the same
	return result, nil
}
