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

// plans is the folder in which plans are kept, and mostPlans how many of them.
const (
	plans     = ".petrock/plans"
	mostPlans = 100
)

// saved is a plan as it is kept: what it was made from, and what it would write.
type saved struct {
	Kind  string            `json:"kind"`
	Input string            `json:"input"` // as it came; JSON
	Made  map[string]string `json:"made"`  // what was there: hashes by path
	Files []savedFile       `json:"files"` // what it would write
	Trial *Trial            `json:"trial"` // what came of its examples

	wanted *saved // the plan that is being applied, nil if none is
	id     string // of a plan that was read
}

// A savedFile is a file of a plan.
type savedFile struct {
	Path   string `json:"path"`
	Before string `json:"before"` // its hash; empty if it is not there
	After  string `json:"after"`
}

// made is what the project is made of, as far as plans are made from it: its Go files, what they are built
// with, and what petrock knows of it.
func (e *Engine) made() map[string]string {
	made := map[string]string{}
	for _, dir := range e.before.Dirs() {
		for _, file := range e.before.Files(dir) {
			made[file.Path] = journal.Hash(file.Text)
		}
	}
	for _, name := range []string{"go.mod", "go.sum", "petrock.json", contract.File} {
		if text, err := e.root.ReadFile(name); err == nil {
			made[name] = journal.Hash(text)
		}
	}
	return made
}

// hash is the id of the plan: the hash of what the plan was made from and what it would write.
func (s *saved) hash() string {
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

// changed refuses a plan that is to be applied if what it was made from has changed.
func (s *saved) changed() error {
	if s.wanted == nil {
		return nil
	}
	var names []string
	for name := range maps.Keys(s.Made) {
		if s.Made[name] != s.wanted.Made[name] {
			names = append(names, name)
		}
	}
	for name := range s.wanted.Made {
		if _, there := s.Made[name]; !there {
			names = append(names, name+" (gone)")
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return &Refusal{
		Reason:    fmt.Sprintf("the project is not what the plan %s was made from:", s.wanted.id),
		Conflicts: names,
		WayOut:    "Nothing was changed. Make the plan again, and look at it again.",
	}
}

// still refuses what would write something else than the plan that is being applied. It notes what is
// to be written.
func (s *saved) still(files []journal.Change) error {
	if s == nil {
		return nil
	}
	for _, f := range files {
		s.Files = append(s.Files, savedFile{f.Path, journal.Hash(f.Before), journal.Hash(f.After)})
	}
	if s.wanted != nil && s.hash() != s.wanted.id {
		return &Refusal{
			Reason: fmt.Sprintf("what would be written now is not what is in the plan %s: the generator %s has changed", s.wanted.id, s.Kind),
			WayOut: "Nothing was changed. Make the plan again, and look at it again.",
		}
	}
	return nil
}

// tried is what came of the examples when the plan was made, nil if they have to be run.
func (s *saved) tried() *Trial {
	if s == nil || s.wanted == nil || s.wanted.Trial == nil || !s.wanted.Trial.Ran {
		return nil
	}
	return s.wanted.Trial
}

// save keeps a plan, and returns its id.
func (e *Engine) save(s *saved, tried *Trial) (string, error) {
	s.Trial = tried
	text, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	if err := e.root.Mkdir(plans, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("keeping the plan: %w", err)
	}
	e.prune()
	id := s.hash()
	if err := e.root.WriteFile(path.Join(plans, id+".json"), text, 0o644); err != nil {
		return "", fmt.Errorf("keeping the plan: %w", err)
	}
	return id, nil
}

// prune removes the oldest plans, if there are many.
func (e *Engine) prune() {
	entries, err := fs.ReadDir(e.root.FS(), plans)
	if err != nil || len(entries) < mostPlans {
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
	for _, entry := range entries[:len(entries)-mostPlans+1] {
		e.root.Remove(path.Join(plans, entry.Name())) // one too many does no harm
	}
}

// forget removes a plan that has been applied.
func (e *Engine) forget(s *saved) {
	if s != nil && s.wanted != nil {
		e.root.Remove(path.Join(plans, s.wanted.id+".json")) // it cannot be applied again anyway
	}
}

// Apply puts a plan into the project: what a dry run of [Engine.Generate] has shown, and nothing else. It is
// refused if the project is no longer what the plan was made from. Examples that passed then are
// not run again.
func (e *Engine) Apply(ctx context.Context, id string, o Options) (*Result, error) {
	kept, err := e.saved(id)
	if err != nil {
		return nil, err
	}
	g, err := e.generator(kept.Kind)
	if err != nil {
		return nil, err
	}
	return e.generate(ctx, g, json.RawMessage(kept.Input), o, kept)
}

// saved reads a plan.
func (e *Engine) saved(id string) (*saved, error) {
	if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(id) {
		return nil, terminal.Usagef("%q is no id of a plan; that of a dry run has 16 digits and letters", id)
	}
	text, err := e.root.ReadFile(path.Join(plans, id+".json"))
	if isMissing(err) {
		return nil, terminal.Usagef("there is no plan %s: it has been applied, or was never made in this clone of the project; make it again", id)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the plan: %w", err)
	}
	kept := &saved{id: id}
	if err := json.Unmarshal(text, kept); err != nil || kept.hash() != id {
		return nil, terminal.Usagef("the plan %s is damaged; make it again", id)
	}
	return kept, nil
}

// PlanKind is the kind of component that a plan makes.
func (e *Engine) PlanKind(id string) (string, error) {
	kept, err := e.saved(id)
	if err != nil {
		return "", err
	}
	return kept.Kind, nil
}
