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
	OK          bool                   `json:"ok"`          // Whether the project compiles, and petrock.sum and contract.json can be read
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
	PetrockCode PetrockCode            `json:"vendored"`    // Whether core and generators match petrock.sum
}

// PetrockCode describes how the folders with petrock's code differ from petrock.sum.
type PetrockCode struct {
	Pristine bool   `json:"pristine"`        // Whether they match
	Error    string `json:"error,omitempty"` // Why they could not be compared
	Version  string `json:"version"`         // Version of petrock in generators; empty if unknown
	engine.Drift
}

func comparePetrockCode(e *engine.Engine) PetrockCode {
	drift, err := e.CompareSum()
	c := PetrockCode{Pristine: err == nil && drift.IsEmpty(), Drift: drift, Version: e.CodeVersion()}
	if err != nil {
		c.Error, c.Drift = err.Error(), engine.Drift{Changed: []string{}, Missing: []string{}, Added: []string{}}
	}
	return c
}

// text returns a summary line, and a line for each file that differs.
func (c PetrockCode) text(version string) string {
	folders := strings.Join(engine.PetrockFolders(), " and ")
	other := ""
	if c.Version != "" && c.Version != version {
		other = fmt.Sprintf("%s says petrock %s, but the code in generators is petrock %s.\n", project.FileName, version, c.Version)
	}
	switch {
	case c.Pristine:
		return fmt.Sprintf("%s match %s (petrock %s).\n%s", folders, engine.SumFile, cmp.Or(c.Version, version), other)
	case c.Error != "":
		return fmt.Sprintf("%s cannot be verified: %s\n%s", folders, c.Error, other)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s differ from %s: %d changed, %d missing, %d added.\n", folders, engine.SumFile, len(c.Changed), len(c.Missing), len(c.Added))
	for _, list := range []struct {
		state string
		files []string
	}{{"changed", c.Changed}, {"missing", c.Missing}, {"added", c.Added}} {
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
		PetrockCode: comparePetrockCode(o.engine),
	}
	if listing, err := o.engine.List(ctx); err == nil {
		status.Parts = listing.Parts
		for _, c := range listing.Components {
			status.Components = append(status.Components, string(c.Kind)+" "+c.Name)
		}
	}
	check, checkErr := o.engine.Check(ctx)
	if checkErr != nil {
		status.Stale = append(status.Stale, checkErr.Error())
	} else {
		status.Stale = append(status.Stale, strings.FieldsFunc(check.Stale(), isLineEnd)...)
		status.Impure = append(status.Impure, strings.FieldsFunc(check.Impurities(), isLineEnd)...)
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
	status.OK = status.Builds && checkErr == nil && status.PetrockCode.Error == ""
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
	text.WriteString(s.PetrockCode.text(s.Petrock))
	var stale []string
	for _, line := range append(slices.Clone(s.Stale), s.Impure...) {
		if file, ok := strings.CutSuffix(line, engine.StaleSuffix); ok {
			stale = append(stale, file)
		} else {
			fmt.Fprintf(&text, "%s\n", line)
		}
	}
	if s.Builds {
		text.WriteString("All packages and tests compile.\n")
	} else {
		text.WriteString("The project does not compile:\n")
		for _, d := range s.Diagnostics {
			fmt.Fprintf(&text, "%s\n", d)
		}
	}
	if len(stale) > 0 {
		fmt.Fprintf(&text, "stale: %s; run petrock sync (over MCP: build)\n", strings.Join(stale, ", "))
	}
	return text.String()
}
