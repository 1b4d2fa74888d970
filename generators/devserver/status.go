package devserver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/typecheck"
)

// ProjectStatusInput is the input of project_status.
type ProjectStatusInput struct {
	Dir string `json:"dir,omitempty"` // Folder of the project
}

// ProjectStatusOutput is the output of project_status.
type ProjectStatusOutput struct {
	OK          bool                   `json:"ok"`          // Whether it compiles and petrock.sum and contract.json are readable
	Name        string                 `json:"name"`        // Name of the project and of its server
	Module      string                 `json:"module"`      // Path of the Go module
	Root        string                 `json:"root"`        // Folder of the project
	Petrock     string                 `json:"petrock"`     // Version of petrock that created the project
	Packages    []string               `json:"packages"`    // Import paths of the packages outside of core and generators
	Components  []string               `json:"components"`  // Kinds and names of the components
	Parts       []engine.PartStatus    `json:"parts"`       // Optional code of petrock: present, or archived in generators/parts
	Stale       []string               `json:"stale"`       // Derived files that are out of date, and errors that prevent deriving; run build to update them
	Impure      []string               `json:"impure"`      // Commands that use the clock, randomness or I/O in Apply, which makes replay non-deterministic
	Builds      bool                   `json:"builds"`      // Whether all packages and tests compile
	Diagnostics []typecheck.Diagnostic `json:"diagnostics"` // Compiler errors
	Vendored    Vendored               `json:"vendored"`    // Whether core and generators match petrock.sum
}

// Vendored describes how the folders with petrock's code differ from petrock.sum.
type Vendored struct {
	Pristine bool   `json:"pristine"`        // Whether they match
	Error    string `json:"error,omitempty"` // Why they could not be compared
	Version  string `json:"version"`         // Version of petrock in generators; empty if unknown
	engine.Drift
}

func vendored(e *engine.Engine) Vendored {
	drift, err := e.CompareSum()
	v := Vendored{Pristine: err == nil && drift.IsEmpty(), Drift: drift, Version: e.CodeVersion()}
	if err != nil {
		v.Error, v.Drift = err.Error(), engine.Drift{Changed: []string{}, Missing: []string{}, Added: []string{}}
	}
	return v
}

// text returns a summary line, and a line for each file that differs.
func (v Vendored) text(version string) string {
	folders := strings.Join(engine.PetrockFolders(), " and ")
	other := ""
	if v.Version != "" && v.Version != version {
		other = fmt.Sprintf("%s names petrock %s, but generators is petrock %s.\n", project.FileName, version, v.Version)
	}
	switch {
	case v.Pristine:
		return fmt.Sprintf("%s match %s (petrock %s).\n%s", folders, engine.SumFile, cmp.Or(v.Version, version), other)
	case v.Error != "":
		return fmt.Sprintf("%s cannot be verified: %s\n%s", folders, v.Error, other)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s differ from %s: %d changed, %d missing, %d added.\n", folders, engine.SumFile, len(v.Changed), len(v.Missing), len(v.Added))
	for _, list := range []struct {
		state string
		files []string
	}{{"changed", v.Changed}, {"missing", v.Missing}, {"added", v.Added}} {
		for _, file := range list.files {
			fmt.Fprintf(&text, "  %-7s  %s\n", list.state, file)
		}
	}
	text.WriteString(other)
	return text.String()
}

// ProjectStatus reports the packages and components of the project, and whether all of it compiles,
// tests included. Call it first.
//
//petrock:hints read-only closed-world
func (t *Tools) ProjectStatus(ctx context.Context, in ProjectStatusInput) (*mcp.ToolResult, error) {
	status, err := t.Status(ctx, in.Dir)
	return Answer(ctx, status, err)
}

// Status returns the status of a project.
//
//petrock:ignore
func (t *Tools) Status(ctx context.Context, dir string) (ProjectStatusOutput, error) {
	o, done, err := t.acquire(ctx, dir)
	if err != nil {
		return ProjectStatusOutput{}, err
	}
	defer done()
	found, err := project.Find(o.engine.Root())
	if err != nil {
		return ProjectStatusOutput{}, err
	}
	status := ProjectStatusOutput{
		Name:        found.Name,
		Module:      found.Module,
		Root:        found.Root,
		Petrock:     found.Petrock,
		Packages:    []string{}, // never null
		Components:  []string{},
		Parts:       []engine.PartStatus{},
		Stale:       []string{},
		Impure:      []string{},
		Diagnostics: []typecheck.Diagnostic{},
		Vendored:    vendored(o.engine),
	}
	if listing, err := o.engine.List(ctx); err == nil {
		status.Parts = listing.Parts
		for _, c := range listing.Components {
			status.Components = append(status.Components, string(c.Kind)+" "+c.Name)
		}
	}
	fresh, unreadable := o.engine.Check(ctx)
	if err := unreadable; err != nil {
		status.Stale = append(status.Stale, err.Error())
	} else {
		status.Stale = append(status.Stale, strings.FieldsFunc(fresh.Stale(), isLineEnd)...)
		status.Impure = append(status.Impure, strings.FieldsFunc(fresh.Impurities(), isLineEnd)...)
	}
	o.engine.Step("compiling")
	result, err := typecheck.CheckPackages(ctx, typecheck.BuildOptions{Dir: found.Root})
	if err != nil {
		return status, err
	}
	status.Module = cmp.Or(result.Module, found.Module)
	for _, pkg := range result.Packages {
		inside := strings.TrimPrefix(pkg, status.Module+"/") + "/"
		if !strings.HasPrefix(inside, "core/") && !strings.HasPrefix(inside, "generators/") {
			status.Packages = append(status.Packages, pkg)
		}
	}
	status.Diagnostics = append(status.Diagnostics, result.Diagnostics...)
	status.Builds = len(result.Diagnostics) == 0
	status.OK = status.Builds && unreadable == nil && status.Vendored.Error == ""
	return status, nil
}

func isLineEnd(r rune) bool { return r == '\n' }

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
	text.WriteString(s.Vendored.text(s.Petrock))
	for _, line := range append(slices.Clone(s.Stale), s.Impure...) {
		fmt.Fprintf(&text, "%s\n", line)
	}
	if s.Builds {
		text.WriteString("All packages and tests compile.\n")
		return text.String()
	}
	text.WriteString("The project does not compile:\n")
	for _, d := range s.Diagnostics {
		fmt.Fprintf(&text, "%s\n", d)
	}
	return text.String()
}
