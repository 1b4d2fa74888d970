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

	"github.com/petrock/petrock/core/terminal"
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
	plansDir = ".petrock/plans"
	maxPlans = 100 // number of saved plans
)

func planFile(id string) string { return path.Join(plansDir, id+".json") }

func planID(text []byte) string { return journal.Hash(text)[:16] }

var planIDPattern = regexp.MustCompile(`^[0-9a-f]{16}$`)

func (e *Engine) readSaved(id string) (*savedPlan, error) {
	if !planIDPattern.MatchString(id) {
		return nil, terminal.Usagef("%q is not a plan id; a dry run prints the id, 16 hexadecimal digits", id)
	}
	text, err := e.root.ReadFile(planFile(id))
	if isMissing(err) {
		return nil, terminal.Usagef("plan %s does not exist: it was applied, is older than the last %d plans, or was made in another clone; run the dry run again", id, maxPlans)
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

// records returns the files that a change would write, as saved plans have them.
func (c *verified) records() (all []journal.Record) {
	for _, f := range c.files {
		all = append(all, journal.Record{Path: f.Path, Before: journal.Hash(f.Before), After: journal.Hash(f.After)})
	}
	return all
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

// savePlan saves the plan of a dry run of a generator, and returns its id. Other dry runs are not
// saved.
func (e *Engine) savePlan(c *verified) (id string, err error) {
	if c.generator == "" {
		return "", nil
	}
	text, err := json.Marshal(savedPlan{Kind: c.generator, Input: c.input, Files: c.records()})
	if err != nil {
		return "", err
	}
	if err := e.root.MkdirAll(plansDir, 0o755); err != nil {
		return "", fmt.Errorf("save plan: %w", err)
	}
	e.prunePlans()
	id = planID(text)
	if err := e.root.WriteFile(planFile(id), text, 0o644); err != nil {
		return "", fmt.Errorf("save plan: %w", err)
	}
	return id, nil
}

// prunePlans removes the oldest saved plans, to make room for one.
func (e *Engine) prunePlans() {
	entries, err := fs.ReadDir(e.root.FS(), plansDir)
	if err != nil || len(entries) < maxPlans {
		return
	}
	modified := func(entry fs.DirEntry) time.Time {
		info, err := entry.Info()
		if err != nil {
			return time.Time{}
		}
		return info.ModTime()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return modified(a).Compare(modified(b)) })
	for _, entry := range entries[:len(entries)-maxPlans+1] {
		e.root.Remove(path.Join(plansDir, entry.Name())) // best effort
	}
}
