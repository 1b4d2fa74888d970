package engine

import (
	"context"
	"fmt"
	"go/ast"
	"go/constant"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// A brokenCommand is a command whose stored events the source would no longer read as they were written.
type brokenCommand struct {
	command    string
	changes    []contract.Change
	file       string // of the command; empty if the source does not have it
	line       int
	beingAdded bool // the plan adds the command again, after it was removed
}

// String says what changed: links/create: field url was removed, href was added.
func (b brokenCommand) String() string { return b.command + ": " + contract.Describe(b.changes) }

func (b brokenCommand) remedy() string {
	accept := fmt.Sprintf("if no stored data matters, run petrock sync --accept %s (over MCP: build with accept)", b.command)
	if slices.ContainsFunc(b.changes, func(c contract.Change) bool { return c.Path == "" }) {
		return fmt.Sprintf("restore the type that reads it, with its func Upgrade, or write func Map; or, %s", accept)
	}
	if b.beingAdded {
		return fmt.Sprintf("generate it with its recorded fields first, then run petrock generate version %s%s; or, %s", b.command, contract.RenameFlag(b.changes), accept)
	}
	return fmt.Sprintf("keep old events readable with petrock generate version %s%s (over MCP: generate_version); or, %s", b.command, contract.RenameFlag(b.changes), accept)
}

func (b brokenCommand) diagnostic() typecheck.Diagnostic {
	return typecheck.Diagnostic{File: b.file, Line: b.line, Message: b.String() + "; " + b.remedy()}
}

// refuseBroken refuses a plan with which stored events would no longer be read. A plan that settles one
// command excuses those that were broken before; an undo or a destroy excuses all.
func (p *plan) refuseBroken() error {
	if p.contractLost != "" {
		return &Refusal{Reason: p.contractLost, WayOut: "Nothing was changed."}
	}
	refusal := &Refusal{Reason: "stored events would no longer be readable:", WayOut: "Nothing was changed."}
	for _, b := range p.broken {
		switch {
		case p.lenient, p.settles != "" && p.settles != b.command && slices.Contains(p.brokenBefore, b.command):
		case p.settles != "" && p.settles != b.command:
			d := b.diagnostic()
			d.Message = fmt.Sprintf("%s: uses the same type; edit the type by hand first, then generate a new version of %s and of %s", b, p.settles, b.command)
			refusal.Diagnostics = append(refusal.Diagnostics, d)
		default:
			refusal.Diagnostics = append(refusal.Diagnostics, b.diagnostic())
		}
	}
	if len(refusal.Diagnostics) == 0 {
		return nil
	}
	return refusal
}

func (e *Engine) readContract(p *plan) (*contract.Contract, error) {
	text, planned := p.texts[contract.File]
	if !planned {
		var err error
		if text, err = e.root.ReadFile(contract.File); err != nil && !isMissing(err) {
			return nil, err
		}
	}
	if err := project.CheckMerged(contract.File, text); err != nil {
		return nil, err
	}
	return contract.Parse(text)
}

// updateContract brings the contract up to date with what was derived, and notes what it would break.
func (e *Engine) updateContract(ctx context.Context, p *plan) error {
	before, err := e.readContract(p)
	if err != nil {
		return err
	}
	after := before.Clone()
	if p.undone != nil {
		err = e.updateRevertedContract(ctx, p, after)
	} else {
		err = e.contractFromSource(ctx, p, before, after)
	}
	if err != nil {
		return err
	}
	text, err := after.Encode()
	if err != nil {
		return err
	}
	p.texts[contract.File] = text
	return nil
}

func (e *Engine) contractFromSource(ctx context.Context, p *plan, before, after *contract.Contract) error {
	view := e.before.With(p.texts)
	packages, err := e.shippedPackages(ctx, p, view)
	if err != nil {
		return err
	}
	whole := !slices.ContainsFunc(packages, func(pkg *derive.Package) bool { return len(pkg.Problems) > 0 })
	now, err := derive.Contract(packages)
	if err != nil {
		return err
	}
	if whole {
		after.Tools, after.Resources, after.ResourceTemplates, after.Prompts = now.Tools, now.Resources, now.ResourceTemplates, now.Prompts
		after.Capabilities = now.Capabilities
		p.breaks = contract.Breaking(before, after)
	} else {
		after.Add(now) // nothing is dropped of what could not be read
	}
	if err := checkAccepted(p.accepts, now, before); err != nil {
		return err
	}
	_, statErr := e.root.Stat(contract.File)
	_, sumErr := e.root.Stat(SumFile)
	if isMissing(statErr) && sumErr == nil && len(now.Commands) > 0 && len(p.accepts) == 0 && !p.lenient {
		p.contractLost = fmt.Sprintf("%s is missing, so petrock cannot tell whether stored events are still readable; restore it from version control, or run petrock sync --accept %s to record the current fields",
			contract.File, slices.Sorted(maps.Keys(now.Commands))[0])
		return nil
	}
	p.updateCommands(packages, now, before, after, whole)
	if p.settles != "" && len(p.broken) > 0 {
		if err := e.noteBrokenBefore(ctx, p, before); err != nil {
			return err
		}
	}
	if p.wholeProject {
		if text, known := e.instructions(ctx, view); known {
			after.Instructions = text
		}
	}
	return nil
}

func (e *Engine) noteBrokenBefore(ctx context.Context, p *plan, recorded *contract.Contract) error {
	packages, err := e.deriver.Packages(ctx, e.before, e.existingPlaces())
	if err != nil {
		return err
	}
	was, err := derive.Contract(packages)
	if err != nil {
		return err
	}
	old := newPlan(actionSync)
	old.updateCommands(packages, was, recorded, recorded.Clone(), true)
	for _, b := range old.broken {
		p.brokenBefore = append(p.brokenBefore, b.command)
	}
	return nil
}

// offered are the packages that the program that ships offers, after a plan.
func (e *Engine) shippedPackages(ctx context.Context, p *plan, view *typecheck.View) ([]*derive.Package, error) {
	var found []*derive.Package
	var others []derive.Place
	known := slices.Concat(p.packages, p.otherTools)
	for _, place := range derive.Places(view) {
		if !place.Wired || len(view.Files(place.Dir)) == 0 {
			continue
		}
		at := slices.IndexFunc(known, func(pkg *derive.Package) bool { return pkg.Place == place })
		if at < 0 {
			others = append(others, place)
			continue
		}
		found = append(found, known[at])
	}
	if len(others) == 0 {
		return found, nil
	}
	more, err := e.deriver.Packages(ctx, view, others)
	return append(found, more...), err
}

// keepCommands brings the commands of a contract up to date, as far as the events of their recorded versions can still be read.
func (p *plan) updateCommands(packages []*derive.Package, now, before, after *contract.Contract, whole bool) {
	for _, command := range slices.Sorted(maps.Keys(now.Commands)) {
		recorded, known := before.Commands[command]
		if !known || slices.Contains(p.accepts, command) {
			after.Commands[command] = now.Commands[command]
			continue
		}
		followed, changes := recorded.Update(now.Commands[command], derive.HasMap(packages, command))
		if len(changes) == 0 {
			after.Commands[command] = followed
			continue
		}
		broken := brokenCommand{command: command, changes: changes, beingAdded: recorded.Removed}
		for _, pkg := range packages {
			for _, c := range pkg.Components {
				if c.EventType == command {
					broken.file, broken.line = c.File, c.Line
				}
			}
		}
		p.broken = append(p.broken, broken)
	}
	for command, recorded := range before.Commands {
		if _, exists := now.Commands[command]; exists || !whole {
			continue
		}
		recorded.Removed = true
		after.Commands[command] = recorded
		if slices.Contains(p.accepts, command) {
			delete(after.Commands, command)
		}
	}
}

// checkAccepted refuses names that are no commands, of the source or of the record.
func checkAccepted(accepts []string, now, before *contract.Contract) error {
	for _, command := range accepts {
		_, exists := now.Commands[command]
		if _, recorded := before.Commands[command]; !exists && !recorded {
			known := slices.Sorted(maps.Keys(now.Commands))
			return terminal.Usagef("accept %q: no such command; the commands are %s", command, joinOrNone(known))
		}
	}
	return nil
}

func joinOrNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// An undone is the contract before and after an operation that is to be undone, and as it is now.
type undone struct{ before, after, now *contract.Contract }

// removes reports whether the plan derives from the feature of a command, or removes it.
func (p *plan) removes(command string) bool {
	feature, _, _ := strings.Cut(command, "/")
	dir := path.Join(derive.Features, feature)
	return slices.Contains(p.dirs(), dir) && !slices.ContainsFunc(p.packages, func(pkg *derive.Package) bool {
		return pkg.Dir == dir && len(pkg.Problems) > 0
	})
}

// revertContract plans the contract without what an operation changed in it. Operations after it may have changed it too.
func (e *Engine) revertContract(opened *journal.Journal, p *plan, record journal.Record) error {
	var texts [2][]byte
	for i, hash := range []string{record.Before, record.After} {
		var err error
		if texts[i], err = opened.Contents(hash); err != nil {
			return err
		}
	}
	before, err := contract.Parse(texts[0])
	if err != nil {
		return err
	}
	after, err := contract.Parse(texts[1])
	if err != nil {
		return err
	}
	now, err := e.readContract(p)
	if err != nil {
		return err
	}
	p.undone = &undone{before, after, now}
	text, err := now.Revert(before, after).Encode()
	p.texts[contract.File] = text
	return err
}

// restoreEntries brings the list entries of the packages that an undo changes up to date, because they may have been edited since, and
// the capabilities, which follow from all packages.
func (e *Engine) updateRevertedContract(ctx context.Context, p *plan, after *contract.Contract) error {
	if len(p.packages) == 0 {
		return nil
	}
	packages, err := e.shippedPackages(ctx, p, e.before.With(p.texts))
	if err != nil {
		return err
	}
	all, err := derive.Contract(packages)
	if err != nil {
		return err
	}
	touched, err := derive.Contract(p.packages)
	if err != nil {
		return err
	}
	after.UpdateReverted(p.undone.before, p.undone.after, p.undone.now, touched)
	for command, recorded := range after.Commands {
		_, exists := touched.Commands[command]
		if !exists && !recorded.Removed && p.removes(command) {
			if _, existed := p.undone.before.Commands[command]; !existed {
				delete(after.Commands, command)
				continue
			}
			recorded.Removed = true
			after.Commands[command] = recorded
		}
	}
	if !slices.ContainsFunc(packages, func(pkg *derive.Package) bool { return len(pkg.Problems) > 0 }) {
		after.Capabilities = all.Capabilities
	}
	return nil
}

// instructions is what the program that ships tells the model, if the source says so in a constant.
func (e *Engine) instructions(ctx context.Context, view *typecheck.View) (text string, known bool) {
	dir := path.Join("cmd", e.project.Name)
	pass, err := e.checker.NewPass(ctx, view, []string{dir}, typecheck.PassOptions{})
	if err != nil {
		return "", false
	}
	found := pass.Inspect(dir)
	if found == nil {
		return "", false
	}
	known = true
	for _, file := range found.Files {
		for node := range ast.Preorder(file.Syntax) {
			pair, ok := node.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			key, ok := pair.Key.(*ast.Ident)
			if !ok || key.Name != "Instructions" {
				continue
			}
			if field := found.Info.Uses[key]; field == nil || field.Pkg() == nil || field.Pkg().Path() != e.deriver.Core+"/mcp" {
				continue
			}
			value := found.Info.Types[pair.Value].Value
			if value == nil || value.Kind() != constant.String {
				return "", false // it is made when the server starts
			}
			text = constant.StringVal(value)
		}
	}
	return text, known
}
