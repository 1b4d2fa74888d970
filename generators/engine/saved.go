package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/journal"
)

// plansDir is the folder of saved plans, and maxPlans how many are kept.
const (
	plansDir = ".petrock/plans"
	maxPlans = 100
)

// A savedPlan is the plan of a dry run: what it was made from, and what it would write.
type savedPlan struct {
	Kind  string            `json:"kind"`
	Input string            `json:"input"` // of the generator; JSON
	Made  map[string]string `json:"made"`  // the project that it was made from: hashes by path
	Files []savedFile       `json:"files"` // what it would write
	Trial *Trial            `json:"trial"` // the result of its examples

	id string // of a plan that was read
}

// A savedFile is a file of a saved plan.
type savedFile struct {
	Path   string `json:"path"`
	Before string `json:"before"` // its hash; empty if it does not exist
	After  string `json:"after"`
}

// projectHashes returns the hashes of all files that a plan may depend on, by path: Go files, the
// module's files, petrock.json and the contract.
func (e *Engine) projectHashes() map[string]string {
	hashes := map[string]string{}
	for _, dir := range e.before.Dirs() {
		for _, file := range e.before.Files(dir) {
			hashes[file.Path] = journal.Hash(file.Text)
		}
	}
	for _, name := range []string{"go.mod", "go.sum", "petrock.json", contract.File} {
		if text, err := e.root.ReadFile(name); err == nil {
			hashes[name] = journal.Hash(text)
		}
	}
	return hashes
}

// hash is the id of the plan.
func (s *savedPlan) hash() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q\n", s.Kind, s.Input)
	for _, name := range slices.Sorted(maps.Keys(s.Made)) {
		fmt.Fprintf(sum, "%q %s\n", name, s.Made[name])
	}
	for _, f := range s.Files {
		fmt.Fprintf(sum, "%q %q %q\n", f.Path, f.Before, f.After)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// verifyUnchanged refuses to apply a saved plan if the project is not what the plan was made from.
func (p *plan) verifyUnchanged() error {
	if p.applying == nil {
		return nil
	}
	var names []string
	for name, hash := range p.saved.Made {
		if hash != p.applying.Made[name] {
			names = append(names, name)
		}
	}
	for name := range p.applying.Made {
		if _, exists := p.saved.Made[name]; !exists {
			names = append(names, name+" (gone)")
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return &Refusal{
		Reason:    fmt.Sprintf("the project is not what the plan %s was made from:", p.applying.id),
		Conflicts: names,
		WayOut:    "Nothing was changed. Make the plan again, and look at it again.",
	}
}

// verifySaved refuses to apply a saved plan if the generator now writes something else.
func (p *plan) verifySaved() error {
	if p.saved == nil {
		return nil
	}
	for _, f := range p.files {
		p.saved.Files = append(p.saved.Files, savedFile{f.Path, journal.Hash(f.Before), journal.Hash(f.After)})
	}
	if p.applying != nil && p.saved.hash() != p.applying.id {
		return &Refusal{
			Reason: fmt.Sprintf("what would be written now is not what is in the plan %s: the generator %s has changed", p.applying.id, p.saved.Kind),
			WayOut: "Nothing was changed. Make the plan again, and look at it again.",
		}
	}
	return nil
}

// savePlan saves the plan of a dry run of a generator. Other dry runs are not saved.
func (e *Engine) savePlan(p *plan) error {
	if p.saved == nil {
		return nil
	}
	p.saved.Trial = p.tried
	text, err := json.Marshal(p.saved)
	if err != nil {
		return err
	}
	if err := e.root.Mkdir(plansDir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("saving the plan: %w", err)
	}
	e.prunePlans()
	p.savedID = p.saved.hash()
	if err := e.root.WriteFile(path.Join(plansDir, p.savedID+".json"), text, 0o644); err != nil {
		return fmt.Errorf("saving the plan: %w", err)
	}
	return nil
}

// prunePlans removes the oldest saved plans if there are too many.
func (e *Engine) prunePlans() {
	entries, err := fs.ReadDir(e.root.FS(), plansDir)
	if err != nil || len(entries) < maxPlans {
		return
	}
	age := func(entry fs.DirEntry) int64 {
		info, err := entry.Info()
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return int(min(max(age(a)-age(b), -1), 1)) })
	for _, entry := range entries[:len(entries)-maxPlans+1] {
		e.root.Remove(path.Join(plansDir, entry.Name())) // one too many does no harm
	}
}

// deleteSaved deletes a saved plan that has been applied.
func (e *Engine) deleteSaved(s *savedPlan) {
	if s != nil {
		e.root.Remove(path.Join(plansDir, s.id+".json")) // it cannot be applied again anyway
	}
}

// Apply applies the saved plan of a dry run of [Engine.Generate]. It is refused if the project is not
// what the plan was made from. Examples that passed then are not run again.
func (e *Engine) Apply(ctx context.Context, id string, o Options) (*Result, error) {
	saved, err := e.readSaved(id)
	if err != nil {
		return nil, err
	}
	g, err := e.generator(saved.Kind)
	if err != nil {
		return nil, err
	}
	return e.generate(ctx, g, json.RawMessage(saved.Input), o, saved)
}

// readSaved reads a saved plan.
func (e *Engine) readSaved(id string) (*savedPlan, error) {
	if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(id) {
		return nil, terminal.Usagef("%q is no id of a plan; that of a dry run has 16 digits and letters", id)
	}
	text, err := e.root.ReadFile(path.Join(plansDir, id+".json"))
	if isMissing(err) {
		return nil, terminal.Usagef("there is no plan %s: it has been applied, or was never made in this clone of the project; make it again", id)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the plan: %w", err)
	}
	saved := &savedPlan{id: id}
	if err := json.Unmarshal(text, saved); err != nil || saved.hash() != id {
		return nil, terminal.Usagef("the plan %s is damaged; make it again", id)
	}
	return saved, nil
}

// PlanKind is the kind of component that a plan makes.
func (e *Engine) PlanKind(id string) (string, error) {
	saved, err := e.readSaved(id)
	if err != nil {
		return "", err
	}
	return saved.Kind, nil
}
