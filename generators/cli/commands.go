package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/engine"
)

// Commands are the commands that work on a project: generate, apply, undo, history, destroy, sync and list.
func Commands(env Env) []*cobra.Command {
	return markProject(
		newGenerate(env, env.generators()),
		newApply(env),
		newUndo(env),
		newHistory(env),
		newDestroy(env),
		newSync(env),
		newList(env),
	)
}

// examples are command lines, one a line.
func examples(env Env, lines ...string) string {
	return "  " + env.Program + " " + strings.Join(lines, "\n  "+env.Program+" ")
}

// common are the options that commands on a project share.
type common struct {
	dir    string
	asJSON bool
	dryRun bool
}

func (c *common) flags(cmd *cobra.Command, writes bool) {
	cmd.Flags().StringVar(&c.dir, "dir", "", "a folder of the project (default the working directory)")
	cmd.MarkFlagDirname("dir")
	cmd.Flags().BoolVar(&c.asJSON, "json", false, "print one JSON object")
	if writes {
		cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "print what would change as a unified diff, and change nothing")
	}
}

// open opens the project that the command is about.
func (c *common) open(env Env) (*engine.Engine, error) {
	return engine.Open(Inside(env.Dir, c.dir), env.generators())
}

// Inside is the folder that somebody in dir means by a path; no path means dir.
func Inside(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// work opens the project, does something with it, and prints what came of it.
func work[T any](ctx context.Context, env Env, c *common, do func(context.Context, *engine.Engine) (T, error), text func(Env, T) error) error {
	e, err := c.open(env)
	if err != nil {
		return err
	}
	defer e.Close()
	progress := terminal.NewProgress(env.Err, c.asJSON)
	e.Step = progress.Begin
	result, err := do(ctx, e)
	progress.End()
	if err != nil {
		return err
	}
	if c.asJSON {
		return PrintJSON(env, result)
	}
	return text(env, result)
}
