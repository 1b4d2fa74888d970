package engine

import (
	"bytes"
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
	"strings"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// A plan is one change of the project. Planning fills in the texts: the user's files come from a
// generator or from the journal, derived ones from derive. Verifying fills in the files.
type plan struct {
	action     string            // of the operation
	operation  journal.Operation // its record; has an id once it is applied
	kind, name string            // the component that is generated or destroyed
	next       []string          // what to do after it, one sentence each
	notices    []string          // what the user may not expect

	texts      map[string][]byte      // by path; nil for a file to delete
	modes      map[string]fs.FileMode // permissions of restored files
	derived    map[string]bool        // which of them are derived
	conflicts  []string               // what prevents the plan
	packages   []*derive.Package      // what was derived from
	otherTools []*derive.Package      // other packages with tools, if some of packages have tools
	trial      gen.Trial              // the examples to run
	dir        string                 // of the package with the trial's test
	bodyFile   string                 // the file with the body that the caller sent; empty if none
	missing    []string               // why imports were not found
	checkPure  bool                   // refuse non-deterministic application of commands
	warnings   []typecheck.Diagnostic
	saved      *savedPlan // of a dry run, or of a saved plan that is applied; otherwise nil
	applying   *savedPlan // the saved plan that is applied; otherwise nil

	after    *typecheck.View        // the project with the plan applied
	existing []typecheck.Diagnostic // errors that the project had before
	files    []journal.Change       // what changes on disk, sorted
	tried    *Trial                 // the result of the examples; nil if there are none
	parts    []PartChange           // parts that come or go
	tidied   bool                   // go mod tidy computed go.mod
	savedID  string                 // of the plan that a dry run has saved

	lost         string          // why the contract says nothing about stored events
	broken       []brokenCommand // commands whose stored events would no longer be read
	brokenBefore []string        // those that were broken before the plan
	breaks       []string        // what would break clients
	accepts      []string        // commands whose recorded fields are given up
	settles      string          // the command whose versions it settles; those of others are left as they are
	lenient      bool            // it only takes away: what is broken is left as it is
	whole        bool            // it is made of all of the project
	undone       *undone         // what is undone of the contract
}

func newPlan(action string) *plan {
	return &plan{
		action: action, operation: journal.Operation{Action: action},
		texts: map[string][]byte{}, modes: map[string]fs.FileMode{}, derived: map[string]bool{},
	}
}

func (p *plan) plans(file string) bool {
	_, planned := p.texts[file]
	return planned
}

// isOfPart reports whether a file changes only because a part comes or goes. Results do not list these
// files, except go.mod.
func (p *plan) isOfPart(file string) bool {
	for _, change := range p.parts {
		part, _ := parts.Find(change.Name)
		if part.Holds(file) || file == part.Archive() || file == SumFile || file == "go.sum" {
			return true
		}
	}
	return false
}

func (p *plan) dirs() []string {
	dirs := map[string]bool{}
	for file := range p.texts {
		dirs[path.Dir(file)] = true
	}
	return slices.Sorted(maps.Keys(dirs))
}

// derive adds derived files to a plan: those of the given places, the wiring and the contract. If exact,
// errors in a place refuse the plan.
func (e *Engine) derive(ctx context.Context, p *plan, places []derive.Place, exact bool) error {
	if err := e.addNeeded(ctx, p); err != nil {
		return err
	}
	e.step("deriving")
	hidden := e.hidden()
	if len(hidden) > 0 && exact {
		return e.refused(p, hidden[0])
	}
	var err error
	if p.packages, err = e.deriver.Packages(ctx, e.before.With(p.texts), places); err != nil {
		return err
	}
	if err := e.findOtherTools(ctx, p, places); err != nil {
		return err
	}
	for _, pkg := range p.packages {
		if len(pkg.Problems) > 0 {
			if exact {
				refusal := e.refused(p, pkg)
				before, err := e.deriver.Packages(ctx, e.before, []derive.Place{pkg.Place})
				if err == nil && len(before[0].Problems) == 0 {
					refusal.Reason = fmt.Sprintf("nothing could be derived from %s any more:", pkg.Dir)
					refusal.WayOut = "Nothing was changed."
					refusal.before = false
				}
				return refusal
			}
			continue
		}
		if pkg.Text == nil && e.before.File(pkg.File) == nil {
			continue
		}
		e.planDerived(p, pkg.File, pkg.Text)
	}
	run, err := e.deriver.GeneratorProgram(e.before.With(p.texts))
	if err != nil {
		return err
	}
	if run.Text != nil || e.before.File(run.Path) != nil {
		e.planDerived(p, run.Path, run.Text)
	}
	if p.packages = append(p.packages, hidden...); len(hidden) > 0 {
		return nil // the wiring and the contract stay as they are
	}
	wired, err := e.deriver.Wire(e.before.With(p.texts))
	if err != nil {
		return err
	}
	for _, file := range wired {
		e.planDerived(p, file.Path, file.Text)
	}
	return e.updateContract(ctx, p)
}

// findOtherTools finds the packages with tools that the plan does not derive from, if it derives from
// some: tool names are unique, and all tools count in tools/list.
func (e *Engine) findOtherTools(ctx context.Context, p *plan, places []derive.Place) error {
	if !slices.ContainsFunc(places, derive.Place.HasTools) {
		return nil
	}
	view := e.before.With(p.texts)
	var others []derive.Place
	for _, place := range derive.Places(view) {
		if place.HasTools() && !slices.Contains(places, place) && len(view.Files(place.Dir)) > 0 {
			others = append(others, place)
		}
	}
	if len(others) > 0 {
		var err error
		if p.otherTools, err = e.deriver.Packages(ctx, view, others); err != nil {
			return err
		}
	}
	derive.CheckToolNames(p.packages, p.otherTools)
	return nil
}

// planDerived plans a derived file. An existing file of that name has to be a derived one.
func (e *Engine) planDerived(p *plan, file string, text []byte) {
	was := e.before.File(file)
	there, err := e.root.ReadFile(file) // a build may not take it
	if was != nil || err == nil {
		if was != nil {
			there = was.Text
		}
		if !typecheck.IsDerived(file, there) {
			if text != nil {
				p.conflicts = append(p.conflicts, fmt.Sprintf("%s has the name of a derived file, and no line %q; rename it, or remove it if it was derived", file, typecheck.DerivedMark+" …"))
			}
			return
		}
		if bytes.Equal(there, text) && text != nil {
			delete(p.texts, file)
			return
		}
	}
	p.texts[file] = text
	p.derived[file] = true
}

func (e *Engine) refused(p *plan, pkg *derive.Package) *Refusal {
	return &Refusal{
		Reason:      fmt.Sprintf("nothing can be derived from %s as it is:", pkg.Dir),
		Diagnostics: withLines(pkg.Problems, p.texts),
		WayOut:      "Mend that first. What does not touch this package still works.",
		before:      true,
	}
}

// verify refuses a plan that conflicts with the project, does not compile, makes replay
// non-deterministic, or whose examples fail. Only new errors count.
func (e *Engine) verify(ctx context.Context, p *plan, o Options) error {
	if len(p.conflicts) > 0 {
		slices.Sort(p.conflicts)
		return &Refusal{Reason: "the plan conflicts with the project:", Conflicts: slices.Compact(p.conflicts), WayOut: "Nothing was changed. Choose another name, or destroy what exists first."}
	}
	if err := p.refuseBroken(); err != nil {
		return err
	}
	p.after = e.before.With(p.texts)
	e.step("verifying")
	verdict, err := e.checker.Verify(ctx, e.before, p.after)
	if err != nil {
		return err
	}
	p.existing = verdict.Old
	if len(verdict.New) > 0 {
		return &Refusal{
			Reason:      "it would not compile:",
			Diagnostics: withLines(verdict.New, p.texts),
			Declares:    p.declares(verdict.New),
			WayOut:      "Nothing was changed" + whyMissing(p.missing),
		}
	}
	if p.tidied {
		if err := e.verifyModules(ctx, p); err != nil {
			return err
		}
	}
	if p.checkPure {
		if err := e.verifyPure(ctx, p); err != nil {
			return err
		}
	}
	if p.files, err = e.changes(p); err != nil {
		return err
	}
	if err := p.verifySaved(); err != nil {
		return err
	}
	p.tried, err = e.try(ctx, p, o)
	return err
}

func whyMissing(why []string) string {
	if len(why) == 0 {
		return "."
	}
	return ": " + strings.Join(why, "; ") + "."
}

// changes returns the files that the plan changes on disk, sorted.
func (e *Engine) changes(p *plan) ([]journal.Change, error) {
	var files []journal.Change
	for _, file := range slices.Sorted(maps.Keys(p.texts)) {
		f := journal.Change{Path: file, After: p.texts[file], Mode: p.modes[file], Derived: p.derived[file]}
		if was := e.before.File(file); was != nil {
			f.Before = was.Text
		} else if text, err := e.root.ReadFile(file); err == nil {
			f.Before = text
		} else if !isMissing(err) {
			return nil, err
		}
		if f.Action() != journal.None {
			files = append(files, f)
		}
	}
	return files, nil
}

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

// planID returns the id of a saved plan: the beginning of a hash of its file.
func planID(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
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
	if p.applying != nil && !slices.Equal(p.saved.Files, p.applying.Files) {
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
	p.savedID = planID(text)
	if err := e.root.WriteFile(path.Join(plansDir, p.savedID+".json"), text, 0o644); err != nil {
		return fmt.Errorf("saving the plan: %w", err)
	}
	return nil
}

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

func (e *Engine) readSaved(id string) (*savedPlan, error) {
	if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(id) {
		return nil, terminal.Usagef("%q is not the id of a plan; a dry run prints one, of 16 hexadecimal digits", id)
	}
	text, err := e.root.ReadFile(path.Join(plansDir, id+".json"))
	if isMissing(err) {
		return nil, terminal.Usagef("there is no plan %s: it has been applied, or was never made in this clone of the project; make it again", id)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the plan: %w", err)
	}
	saved := &savedPlan{id: id}
	if err := json.Unmarshal(text, saved); err != nil || planID(text) != id {
		return nil, terminal.Usagef("the plan %s was edited, or is damaged; make it again", id)
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
