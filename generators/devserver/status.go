package devserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// ProjectStatusInput is the input of project_status.
type ProjectStatusInput struct{ Common }

// ProjectStatusOutput is the output of project_status.
type ProjectStatusOutput struct {
	OK          bool                   `json:"ok"`                    // Whether the project compiles, and petrock.sum and contract.json can be read
	Name        string                 `json:"name"`                  // Name of the project and of its server
	Module      string                 `json:"module"`                // Path of the Go module
	Root        string                 `json:"root"`                  // Folder of the project
	Petrock     string                 `json:"petrock"`               // Version of petrock that created the project
	Packages    []string               `json:"packages,omitempty"`    // Import paths of the packages outside of core and generators
	Components  []string               `json:"components,omitempty"`  // Kinds and names of the components
	Parts       []engine.PartStatus    `json:"parts,omitempty"`       // Petrock's optional code: present, or archived in generators/parts
	Stale       []string               `json:"stale,omitempty"`       // Derived files that are out of date
	Refused     []string               `json:"refused,omitempty"`     // Errors that prevent deriving
	Impure      []string               `json:"impure,omitempty"`      // Commands that use the clock, randomness or I/O in Apply
	Warnings    []string               `json:"warnings,omitempty"`    // What is ignored, or missing for clients
	Builds      bool                   `json:"builds"`                // Whether all packages and tests compile
	Diagnostics []typecheck.Diagnostic `json:"diagnostics,omitempty"` // Compiler errors
	PetrockCode *PetrockCode           `json:"vendored,omitempty"`    // Whether core and generators match petrock.sum
	engine.Omission

	sync string // the call that updates derived files
}

// maxListed is how many components the short form of a status lists.
const maxListed = 12

// Short returns the short form of the status: problems, packages, and the names of components, or
// their numbers if there are many.
//
//petrock:ignore
func (s ProjectStatusOutput) Short(limit int) any {
	if len(s.Components) > maxListed {
		counts := map[string]int{}
		for _, c := range s.Components {
			kind, _, _ := strings.Cut(c, " ")
			counts[kind]++
		}
		s.Components = nil
		for _, kind := range slices.Sorted(maps.Keys(counts)) {
			s.Components = append(s.Components, fmt.Sprintf("%s: %d", kind, counts[kind]))
		}
	}
	s.Parts = slices.DeleteFunc(slices.Clone(s.Parts), func(p engine.PartStatus) bool { return !p.Present })
	if code := s.PetrockCode; code != nil {
		if s.PetrockCode = nil; code.Problem != "" {
			s.PetrockCode = &PetrockCode{Pristine: code.Pristine, Problem: code.Problem}
		}
	}
	return engine.Shorten(&s, limit)
}

// PetrockCode describes how the folders with petrock's code differ from petrock.sum.
type PetrockCode struct {
	Pristine bool   `json:"pristine"`          // Whether they match
	Problem  string `json:"problem,omitempty"` // How they differ, or why they could not be compared, with the remedy
	Error    string `json:"error,omitempty"`   // Why they could not be compared
	Version  string `json:"version,omitempty"` // Version of petrock in generators; empty if unknown
	engine.Drift
}

func comparePetrockCode(e *engine.Engine) *PetrockCode {
	drift, err := e.CompareSum()
	c := &PetrockCode{Pristine: err == nil && drift.IsEmpty(), Drift: drift, Version: e.CodeVersion()}
	folders := strings.Join(engine.PetrockFolders(), " and ")
	switch {
	case err != nil:
		c.Error, c.Drift = err.Error(), engine.Drift{}
		c.Problem = fmt.Sprintf("%s cannot be verified: %s", folders, c.Error)
	case !c.Pristine:
		c.Problem = fmt.Sprintf("%s differ from %s: %d changed, %d missing, %d added. This is petrock's code; if you did not mean to change it, restore it from version control.", folders, engine.SumFile, len(c.Changed), len(c.Missing), len(c.Added))
	}
	if version := e.PetrockVersion(); c.Version != "" && c.Version != version {
		c.Problem = strings.TrimSpace(fmt.Sprintf("%s\n%s names petrock %s, but the code in generators is petrock %s. Correct the version in %[2]s.", c.Problem, project.FileName, version, c.Version))
	}
	return c
}

// text returns a summary line, and a line for each file that differs.
func (c *PetrockCode) text(version string) string {
	var text strings.Builder
	if c.Pristine {
		fmt.Fprintf(&text, "%s match %s (petrock %s).\n", strings.Join(engine.PetrockFolders(), " and "), engine.SumFile, cmp.Or(c.Version, version))
	}
	if c.Problem != "" {
		fmt.Fprintln(&text, c.Problem)
	}
	for _, list := range []struct {
		state string
		files []string
	}{{"changed", c.Changed}, {"missing", c.Missing}, {"added", c.Added}} {
		for _, file := range list.files {
			fmt.Fprintf(&text, "  %-7s  %s\n", list.state, file)
		}
	}
	return text.String()
}

// ProjectStatus describes the project, its components, and whether it compiles. Call it first, even
// without a project.
//
//petrock:hints read-only closed-world
func (t *Tools) ProjectStatus(ctx context.Context, in ProjectStatusInput) (*mcp.ToolResult, error) {
	o, done, err := t.acquire(ctx, in.Dir)
	if errors.Is(err, project.ErrNone) && in.Dir == "" {
		return mcp.TextResult("There is no project: " + err.Error()), nil
	}
	if err != nil {
		return Answer(ctx, nil, err)
	}
	defer done()
	status, err := Status(ctx, o.engine, false)
	return Answer(WithDetail(ctx, in.Detail), status, err)
}

// Status returns the status of a project. With compile, it compiles the project with the go
// command; otherwise it only type-checks the project's own packages, which is faster.
//
//petrock:ignore
func Status(ctx context.Context, e *engine.Engine, compile bool) (ProjectStatusOutput, error) {
	found, err := project.Find(e.Root())
	if err != nil {
		return ProjectStatusOutput{}, err
	}
	status := ProjectStatusOutput{Name: found.Name, Module: found.Module, Root: found.Root, Petrock: found.Petrock, PetrockCode: comparePetrockCode(e), sync: e.Call("sync")}
	if listing, err := e.List(ctx); err == nil {
		status.Parts = listing.Parts
		for _, c := range listing.Components {
			status.Components = append(status.Components, string(c.Kind)+" "+c.Name)
		}
	}
	check, checkErr := e.Check(ctx)
	if checkErr != nil {
		check, status.Refused = &engine.Result{}, []string{checkErr.Error()}
	}
	if !compile {
		status.Packages, status.Diagnostics, err = e.CheckTypes(ctx)
	}
	if compile || err != nil { // the go command finds the cause, such as a wrong go.mod
		err = status.compile(ctx, e)
	}
	for _, f := range check.Files {
		status.Stale = append(status.Stale, f.Path)
	}
	for _, d := range without(check.Refused, status.Diagnostics) {
		status.Refused = append(status.Refused, d.String())
	}
	for _, d := range check.Warnings {
		status.Warnings = append(status.Warnings, d.String())
	}
	for _, d := range check.Impure {
		status.Impure = append(status.Impure, d.String())
	}
	status.Builds = len(status.Diagnostics) == 0
	status.OK = status.Builds && checkErr == nil && status.PetrockCode.Error == ""
	return status, err
}

// compile compiles all packages and tests with the go command.
func (s *ProjectStatusOutput) compile(ctx context.Context, e *engine.Engine) error {
	e.Step("compiling")
	result, err := typecheck.CheckPackages(ctx, typecheck.BuildOptions{Dir: s.Root})
	if err != nil {
		return err
	}
	s.Module = cmp.Or(result.Module, s.Module)
	for _, pkg := range result.Packages {
		inside, _, _ := strings.Cut(strings.TrimPrefix(pkg, s.Module+"/"), "/")
		if !slices.Contains(engine.PetrockFolders(), inside) {
			s.Packages = append(s.Packages, pkg)
		}
	}
	s.Diagnostics = result.Diagnostics
	return nil
}

// String returns the status as text.
func (s ProjectStatusOutput) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s (module %s, petrock %s) in %s\n", s.Name, s.Module, s.Petrock, s.Root)
	for _, pkg := range s.Packages {
		fmt.Fprintf(&text, "  %s\n", pkg)
	}
	if len(s.Components) > 0 {
		fmt.Fprintf(&text, "Components: %s.\n", strings.Join(s.Components, ", "))
	}
	for _, part := range s.Parts {
		if part.Present {
			fmt.Fprintf(&text, "Part %s: %s.\n", part.Name, part.Description)
		}
	}
	if s.PetrockCode != nil {
		text.WriteString(s.PetrockCode.text(s.Petrock))
	}
	for _, line := range slices.Concat(s.Refused, s.Impure, s.Warnings) {
		fmt.Fprintln(&text, line)
	}
	if s.Builds {
		text.WriteString("All packages and tests compile.\n")
	} else {
		text.WriteString("The project does not compile:\n")
		for _, d := range s.Diagnostics {
			fmt.Fprintf(&text, "%s\n", d)
			if d.Lines != "" {
				fmt.Fprintf(&text, "  %s\n", strings.ReplaceAll(d.Lines, "\n", "\n  "))
			}
		}
	}
	if len(s.Stale) > 0 {
		fmt.Fprintf(&text, "stale: %s; run %s\n", strings.Join(s.Stale, ", "), cmp.Or(s.sync, gen.NewCall("sync").String()))
	}
	if s.LeftOut != "" {
		fmt.Fprintln(&text, s.LeftOut)
	}
	return text.String()
}
