package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// A plan is one change to the project. Planning sets the texts: user files come from a generator or from
// the journal, derived files from derive. Verifying sets the files.
type plan struct {
	action     string            // action of the operation
	operation  journal.Operation // its record; has an id once it is applied
	kind, name string            // the component that is generated or destroyed
	next       []string          // next steps, one sentence each
	notices    []string          // side effects, one sentence each

	texts      map[string][]byte      // new texts by path; nil deletes a file
	modes      map[string]fs.FileMode // permissions of restored files
	recomputed map[string]bool        // files that undo computes again instead of restoring
	conflicts  []string               // conflicts with the project
	packages   []*derive.Package      // packages that were derived from
	others     []*derive.Package      // the other packages that the server includes
	trial      gen.Trial              // the examples to run
	dir        string                 // folder of the component and of the trial's test; empty for other plans
	oldNames   map[string]string      // old names of declarations that a change renames, by their new names
	generator  string                 // the generator that returned the files; empty if none
	bodyFile   string                 // the file with the body that the caller sent; empty if none
	missing    []imports.Missing      // imports that were not found
	checkPure  bool                   // whether to refuse code that makes replay non-deterministic
	warnings   []typecheck.Diagnostic
	saved      *savedPlan // set in a dry run, or when a saved plan is applied
	applying   *savedPlan // the saved plan that is applied

	after    *typecheck.View        // the project with the plan applied
	existing []typecheck.Diagnostic // errors that the project had before
	files    []journal.Change       // changes on disk, sorted
	tried    *Trial                 // the result of the examples; nil without examples
	tests    *TestResult            // the result of the tests; nil if they were not run
	parts    []PartChange           // parts that are added or removed
	tidied   bool                   // whether go mod tidy computed go.mod
	savedID  string                 // id of the plan that a dry run has saved

	contractLost  string                      // error if the contract is missing
	broken        []brokenCommand             // commands whose stored events would no longer be readable
	brokenBefore  []string                    // those of them that a new version, an undo or a destroy ignores, because they were broken before
	breaks        []string                    // changes that break clients
	accepts       []string                    // commands whose recorded fields are replaced
	skips         []string                    // removed commands whose events are ignored from now on
	keepsCommands bool                        // the contract keeps its commands
	contractOnly  bool                        // the contract decides, without git and data
	newVersionsOf []string                    // the commands that get a new version
	stored        *StoredEvents               // the stored events; nil if the plan changes no commands
	decode        []storedType                // stored events to decode with the planned types
	was           map[string]contract.Command // commands of the source on disk; nil if commands were not compared
}

func newPlan(action string) *plan {
	return &plan{
		action: action, operation: journal.Operation{Action: action},
		texts: map[string][]byte{}, modes: map[string]fs.FileMode{}, recomputed: map[string]bool{},
	}
}

func (p *plan) isRevert() bool { return p.action == actionUndo || p.action == actionRedo }

// textOf returns the planned text of a file, or else its text on disk; nil if it does not exist.
func (e *Engine) textOf(p *plan, file string) ([]byte, error) {
	if text, planned := p.texts[file]; planned {
		return text, nil
	}
	text, err := e.root.ReadFile(file)
	if isMissing(err) {
		return nil, nil
	}
	return text, err
}

func (p *plan) plans(file string) bool {
	_, planned := p.texts[file]
	return planned
}

// belongsToPart reports whether a file changes only because a part is added or removed. Results do not list
// these files, except go.mod.
func (p *plan) belongsToPart(file string) bool {
	for _, change := range p.parts {
		part, _ := parts.Find(change.Name)
		if part.Holds(file) || file == part.Archive() || file == SumFile || file == "go.sum" {
			return true
		}
	}
	return false
}

func (p *plan) warn(messages ...string) {
	for _, message := range messages {
		p.warnings = append(p.warnings, typecheck.Diagnostic{Message: message})
	}
}

func (p *plan) dirs() []string {
	dirs := map[string]bool{}
	for file := range p.texts {
		dirs[path.Dir(file)] = true
	}
	return slices.Sorted(maps.Keys(dirs))
}

// derive adds derived files to a plan: those of the given places, the wiring and the contract. If strict,
// it refuses a plan with errors in a place. It also adds the parts that planned files use.
func (e *Engine) derive(ctx context.Context, p *plan, places []derive.Place, strict bool) error {
	if err := e.addNeeded(ctx, p); err != nil {
		return err
	}
	e.step("deriving")
	unread := e.unreadPackages()
	if len(unread) > 0 && strict {
		return deriveRefusal(unread[0], e.before)
	}
	view := e.before.With(p.texts)
	others := slices.DeleteFunc(derive.Places(view), func(place derive.Place) bool {
		return !place.Wired || slices.Contains(places, place) || len(view.Files(place.Dir)) == 0
	})
	all, err := e.deriver.Packages(ctx, view, slices.Concat(places, others))
	if err != nil {
		return err
	}
	p.packages, p.others = all[:len(places):len(places)], all[len(places):]
	derive.CheckNames(p.packages, p.others)
	for _, pkg := range p.packages {
		switch {
		case len(pkg.Problems) > 0 && strict:
			if err := e.refuseNewProblems(ctx, p, pkg); err != nil {
				return err
			}
			return deriveRefusal(pkg, view)
		case len(pkg.Problems) == 0 && (pkg.Text != nil || e.before.File(pkg.File) != nil):
			e.planDerived(p, pkg.File, pkg.Text)
		}
	}
	run, err := e.deriver.GeneratorProgram(e.before.With(p.texts))
	if err != nil {
		return err
	}
	if run.Text != nil || e.before.File(run.Path) != nil {
		e.planDerived(p, run.Path, run.Text)
	}
	p.packages = append(p.packages, unread...)
	if len(unread) > 0 {
		return nil // do not change the wiring and the contract
	}
	promised, err := e.updateContract(ctx, p)
	if err != nil {
		return err
	}
	wired, err := e.deriver.Wire(e.before.With(p.texts), promised.Skipped())
	if err != nil {
		return err
	}
	for _, file := range wired {
		e.planDerived(p, file.Path, file.Text)
	}
	return nil
}

// planDerived plans a derived file. An existing file with that name must be a derived one.
func (e *Engine) planDerived(p *plan, file string, text []byte) {
	existing, err := e.root.ReadFile(file)
	switch {
	case err == nil && !typecheck.IsDerived(file, existing):
		if text != nil {
			p.conflicts = append(p.conflicts, fmt.Sprintf("%s ends in _gen.go but has no line %q, so it is not a derived file; rename it, or remove it if petrock derived it", file, typecheck.DerivedMark+" …"))
		}
	case err == nil && text != nil && bytes.Equal(existing, text):
		delete(p.texts, file)
	default:
		p.texts[file], p.recomputed[file] = text, true
	}
}

// refuseNewProblems refuses a plan that adds problems to a package.
func (e *Engine) refuseNewProblems(ctx context.Context, p *plan, pkg *derive.Package) error {
	before, err := e.deriver.Packages(ctx, e.before, []derive.Place{pkg.Place})
	if err != nil {
		return err
	}
	refusal := &Refusal{Reason: fmt.Sprintf("cannot derive from %s after this change:", pkg.Dir), Remedy: p.compileRemedy()}
	fresh := withoutExisting(slices.Clone(pkg.Problems), before[0].Problems)
	refusal.Diagnostics = withSource(fresh, e.before.With(p.texts))
	return refusal.orNil()
}

// deriveRefusal refuses to derive from a package with problems.
func deriveRefusal(pkg *derive.Package, view *typecheck.View) *Refusal {
	return &Refusal{
		Reason:        fmt.Sprintf("cannot derive from %s:", pkg.Dir),
		Diagnostics:   withSource(pkg.Problems, view),
		Remedy:        "Fix these errors first. Changes that do not involve this package still work.",
		existedBefore: true,
	}
}

// verify refuses a plan that conflicts with the project, does not compile, fails go vet, makes replay
// non-deterministic, or fails examples or tests. It ignores errors that the project had before.
func (e *Engine) verify(ctx context.Context, p *plan, o Options) error {
	if len(p.conflicts) > 0 {
		slices.Sort(p.conflicts)
		return &Refusal{Reason: p.operation.Title + ": conflict with existing files:", Conflicts: slices.Compact(p.conflicts), Remedy: "Nothing was changed. Choose another name, or rename or destroy what exists first (petrock destroy; over MCP: destroy_component)."}
	}
	if err := e.refuseBroken(p); err != nil {
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
		p.explainMissing(verdict.New)
		return &Refusal{
			Reason:      wouldNotCompile,
			Diagnostics: withSource(verdict.New, p.after),
			Declares:    p.declares(verdict.New),
			Remedy:      p.compileRemedy(),
		}
	}
	if err := e.vet(ctx, p); err != nil {
		return err
	}
	if p.checkPure {
		if err := e.verifyPure(ctx, p); err != nil {
			return err
		}
	}
	if p.files, err = e.changes(p); err != nil {
		return err
	}
	if err := e.compile(ctx, p); err != nil {
		return err
	}
	if err := p.verifySaved(); err != nil {
		return err
	}
	if err := e.decodeStored(ctx, p); err != nil {
		return err
	}
	return e.testPlan(ctx, p, o)
}

const wouldNotCompile = "the change would not compile:"

func (p *plan) compileRemedy() string {
	remedy := "Nothing was changed."
	if p.bodyFile != "" {
		remedy += " Correct " + p.correctable("the body") + " and retry."
	}
	var modules []string
	for _, name := range p.operation.Added {
		part, _ := parts.Find(name)
		required, _ := part.Required() // changePart has read them
		for _, m := range required {
			modules = append(modules, m.String())
		}
	}
	if len(modules) > 0 {
		remedy += " If modules are not downloaded, connect to the network, run this command, and retry:\n  go mod download " + strings.Join(modules, " ")
	}
	return remedy
}

// correctable returns what the caller can correct in a plan: the input or the code of an own generator, else
// source.
func (p *plan) correctable(source string) string {
	if p.generator == "" || p.generator == "version" || slices.Contains(Kinds(), p.generator) {
		return source
	}
	return fmt.Sprintf("the input of %s or its template in %s", p.generator, derive.OwnGenerators)
}

// explainMissing replaces errors about undefined package names with the reason why no package was
// imported.
func (p *plan) explainMissing(found []typecheck.Diagnostic) {
	for i, d := range found {
		for _, m := range p.missing {
			if (p.bodyFile == "" || d.File == p.bodyFile) && d.Message == "undefined: "+m.Name {
				found[i].Message = m.Reason
			}
		}
	}
}

// changes returns the files that the plan changes on disk, sorted.
func (e *Engine) changes(p *plan) ([]journal.Change, error) {
	var files []journal.Change
	for _, file := range slices.Sorted(maps.Keys(p.texts)) {
		f := journal.Change{Path: file, After: p.texts[file], Mode: p.modes[file], Derived: p.recomputed[file]}
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

const (
	plansDir = ".petrock/plans"
	maxPlans = 100 // number of saved plans
)

// A savedPlan is the plan of a dry run.
type savedPlan struct {
	Kind  string           `json:"kind"`
	Input string           `json:"input"` // JSON input of the generator
	Files []journal.Record `json:"files"` // the files that it would write

	id string // set when the plan is read
}

func planID(text []byte) string { return journal.Hash(text)[:16] }

// verifySaved adds the changed files to the plan to save, if there is one. It refuses to apply a saved
// plan if the files have changed since, or would now get different texts.
func (p *plan) verifySaved() error {
	if p.saved == nil {
		return nil
	}
	for _, f := range p.files {
		p.saved.Files = append(p.saved.Files, journal.Record{Path: f.Path, Before: journal.Hash(f.Before), After: journal.Hash(f.After)})
	}
	if p.applying == nil || slices.Equal(p.saved.Files, p.applying.Files) {
		return nil
	}
	return &Refusal{
		Reason: fmt.Sprintf("plan %s is out of date: the project has changed since, and the plan would now write different files", p.applying.id),
		Remedy: "Nothing was changed. Run the dry run again and review the new plan.",
	}
}

// savePlan saves the plan of a dry run of a generator. Other dry runs are not saved.
func (e *Engine) savePlan(p *plan) error {
	if p.saved == nil {
		return nil
	}
	text, err := json.Marshal(p.saved)
	if err != nil {
		return err
	}
	if err := e.root.MkdirAll(plansDir, 0o755); err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	e.prunePlans()
	p.savedID = planID(text)
	if err := e.root.WriteFile(path.Join(plansDir, p.savedID+".json"), text, 0o644); err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	return nil
}

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

// Apply applies the saved plan of a dry run of [Engine.Generate]. It refuses if the result would no longer be
// the same.
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
		return nil, terminal.Usagef("%q is not a plan id; a dry run prints the id, 16 hexadecimal digits", id)
	}
	text, err := e.root.ReadFile(path.Join(plansDir, id+".json"))
	if isMissing(err) {
		return nil, terminal.Usagef("plan %s does not exist: it was applied, is older than the last 100 plans, or was made in another clone; run the dry run again", id)
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

// PlanKind returns the name of the generator that a saved plan runs.
func (e *Engine) PlanKind(id string) (string, error) {
	saved, err := e.readSaved(id)
	if err != nil {
		return "", err
	}
	return saved.Kind, nil
}
