package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"time"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/journal"
)

// A savedPlan is the plan of a dry run.
type savedPlan struct {
	Kind  string           `json:"kind"`
	Input string           `json:"input"` // JSON input of the generator
	Files []journal.Record `json:"files"` // the files that it would write

	id string // set when the plan is read
}

const (
	plansDir   = ".petrock/plans"
	maxPlanAge = 7 * 24 * time.Hour
)

func planFile(id string) string { return path.Join(plansDir, id+".json") }

func planID(text []byte) string { return journal.Hash(text)[:16] }

var planIDPattern = regexp.MustCompile(`^[0-9a-f]{16}$`)

// savePlan saves the plan of a dry run of a generator, and adds its id to the result. Other dry runs
// are not saved.
func (e *Engine) savePlan(c *verified) error {
	if c.generator == "" {
		return nil
	}
	text, err := json.Marshal(savedPlan{Kind: c.generator, Input: c.input, Files: c.records()})
	if err != nil {
		return err
	}
	e.prunePlans()
	id := planID(text)
	if err = e.root.MkdirAll(plansDir, 0o755); err == nil {
		err = e.root.WriteFile(planFile(id), text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	c.result.Plan = id
	c.result.Next = slices.Insert(c.result.Next, 0, fmt.Sprintf("Write it with %s.", e.Call("apply", "plan", id)))
	return nil
}

// prunePlans removes old plans.
func (e *Engine) prunePlans() {
	entries, _ := fs.ReadDir(e.root.FS(), plansDir) // fails without plans
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > maxPlanAge {
			e.root.Remove(path.Join(plansDir, entry.Name())) // best effort
		}
	}
}

func (e *Engine) readSaved(id string) (*savedPlan, error) {
	if !planIDPattern.MatchString(id) {
		return nil, terminal.Usagef("%q is not a plan id; a dry run prints the id, 16 hexadecimal digits", id)
	}
	text, err := e.root.ReadFile(planFile(id))
	if isMissing(err) {
		return nil, terminal.Usagef("plan %s does not exist: it was applied, is older than a week, or was made in another clone; run the dry run again", id)
	}
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	saved := &savedPlan{id: id}
	if err := json.Unmarshal(text, saved); err != nil || planID(text) != id {
		return nil, terminal.Usagef("plan %s was edited or is damaged; run the dry run again", id)
	}
	return saved, nil
}

// verifySaved refuses to apply a saved plan if the files have changed since, or would now get
// different texts.
func (e *Engine) verifySaved(_ context.Context, c *verified) error {
	if c.applying == nil || slices.Equal(c.records(), c.applying.Files) {
		return nil
	}
	return &Refusal{
		Reason: fmt.Sprintf("plan %s is out of date: the project has changed since, and the plan would now write different files", c.applying.id),
		Remedy: "Nothing was changed. Run the dry run again and review the new plan.",
	}
}

// records returns the files that a change would write, as saved plans have them.
func (c *verified) records() (all []journal.Record) {
	for _, f := range c.files {
		all = append(all, journal.Record{Path: f.Path, Before: journal.Hash(f.Before), After: journal.Hash(f.After)})
	}
	return all
}
