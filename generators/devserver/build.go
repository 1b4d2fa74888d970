package devserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/typecheck"
)

// BuildInput is what build takes.
type BuildInput struct {
	Accept []string `json:"accept,omitempty"` // Commands whose changed fields are recorded although stored events do not fit them
	Dir    string   `json:"dir,omitempty"`    // Folder of the project
}

// A Built is what came of a build.
type Built struct {
	OK          bool                   `json:"ok"`          // The server builds, and all derived files are fresh
	Program     string                 `json:"program"`     // The server, if it builds: run it with the argument mcp
	Derived     []engine.FileChange    `json:"derived"`     // Derived files that were stale, and are fresh now
	Refused     []typecheck.Diagnostic `json:"refused"`     // Why nothing could be derived from some packages, whose derived files stay as they are
	Diagnostics []typecheck.Diagnostic `json:"diagnostics"` // What the compiler says, if it does not build
	Warnings    []typecheck.Diagnostic `json:"warnings"`    // What had better be otherwise; first of all, what would make another state of a log when it is read again
	ToolsList   *engine.Size           `json:"toolsList"`   // What the list of tools costs a model
}

// Build derives what follows from the Go files (schemas, registration) and compiles the server. Run it after
// editing by hand.
//
//petrock:hints additive idempotent closed-world
func (t *Tools) Build(ctx context.Context, in BuildInput) (*mcp.ToolResult, error) {
	return on(ctx, t, in.Dir, func(p *opened) (*Built, error) {
		built, err := p.build(ctx, in.Accept)
		if err != nil {
			return nil, err
		}
		t.refresh(ctx, p)
		if !built.OK {
			return nil, built.refusal()
		}
		return built, nil
	})
}

// refusal says why it does not build.
func (b *Built) refusal() *engine.Refusal {
	return &engine.Refusal{
		Reason:      "the server does not build, or not all of it can be derived:",
		Diagnostics: append(slices.Clone(b.Refused), b.Diagnostics...),
		WayOut:      "Mend that, and build again.",
	}
}

// String is the build as a person reads it.
func (b *Built) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "Built %s\n", b.Program)
	for _, f := range b.Derived {
		fmt.Fprintf(&out, "  %s  %s (derived)\n", f.Action, f.Path)
	}
	if b.ToolsList != nil {
		fmt.Fprintln(&out, b.ToolsList)
	}
	for _, d := range b.Warnings {
		fmt.Fprintf(&out, "warning: %s\n", d)
	}
	return out.String()
}

// build makes the project's server. What is wrong with the project's Go is in the result.
func (o *opened) build(ctx context.Context, accept []string) (*Built, error) {
	synced, err := o.engine.Sync(ctx, engine.Options{Accept: accept})
	if refusal, ok := errors.AsType[*engine.Refusal](err); ok {
		synced, err = &engine.Result{Refused: append(refusal.Diagnostics, conflicts(refusal)...)}, nil
	}
	if err != nil {
		return nil, err
	}
	built := &Built{Derived: synced.Files, Refused: synced.Refused, ToolsList: synced.ToolsList, Diagnostics: []typecheck.Diagnostic{}}
	built.Warnings = append(append([]typecheck.Diagnostic{}, synced.Impure...), synced.Warnings...)
	if built.Derived == nil {
		built.Derived = []engine.FileChange{}
	}
	o.engine.Step("compiling")
	root, name := o.engine.Root(), o.engine.Name()
	program := filepath.Join(root, ".petrock", "bin", name)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := inProject(root, ".petrock/bin"); err != nil {
		return nil, err
	}
	_, said, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{Dir: root}, "go", "build", "-o", program, "./"+path.Join("cmd", name))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		found, checkErr := typecheck.CheckPackages(ctx, typecheck.BuildOptions{Dir: root})
		if checkErr != nil {
			return nil, checkErr
		}
		if built.Diagnostics = found.Diagnostics; len(built.Diagnostics) == 0 {
			return nil, fmt.Errorf("%w\n%s", err, bytes.TrimSpace(said))
		}
		return built, nil
	}
	built.Program, built.OK = program, len(built.Refused) == 0
	return built, nil
}

// inProject makes a folder of a project, if it is not there, and refuses one that is a link to somewhere else.
func inProject(root, folder string) error {
	opened, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer opened.Close()
	if err := opened.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("the folder %s, where programs are built to: %w; remove it", folder, err)
	}
	made, err := opened.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("the folder %s, where programs are built to: %w; remove it", folder, err)
	}
	return made.Close()
}

// conflicts are what is in the way of derived files, as diagnostics.
func conflicts(r *engine.Refusal) []typecheck.Diagnostic {
	found := []typecheck.Diagnostic{}
	for _, conflict := range r.Conflicts {
		found = append(found, typecheck.Diagnostic{Message: conflict})
	}
	return found
}
