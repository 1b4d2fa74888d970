package engine

import (
	"cmp"
	"context"
	"errors"
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

// A brokenCommand is a command whose stored events would no longer be readable.
type brokenCommand struct {
	command    string
	changes    []contract.Change
	file       string // the command's file; empty if the source does not have the command
	line       int
	beingAdded bool // whether the plan adds the command again after it was removed
}

// String describes the changes: links/create: field url was removed, href was added.
func (b brokenCommand) String() string { return b.command + ": " + contract.Describe(b.changes) }

func (b brokenCommand) remedy() string {
	accept := fmt.Sprintf("if no stored data matters, run petrock sync --accept %s (over MCP: build with accept)", b.command)
	if slices.ContainsFunc(b.changes, func(c contract.Change) bool { return c.Path == "" }) {
		return fmt.Sprintf("restore the type that reads it, with its func Upgrade, or write func Map; or, %s", accept)
	}
	if b.beingAdded {
		return fmt.Sprintf("generate it with its recorded fields first, then run petrock generate version %s%s; or, %s", b.command, contract.RenameFlag(b.changes), accept)
	}
	return fmt.Sprintf("keep old events readable with petrock generate version %s%s (over MCP: change); or, %s", b.command, contract.RenameFlag(b.changes), accept)
}

func (b brokenCommand) diagnostic() typecheck.Diagnostic {
	return typecheck.Diagnostic{File: b.file, Line: b.line, Message: b.String() + "; " + b.remedy()}
}

// refuseBroken refuses a plan that makes stored events unreadable. A plan for a new version of a
// command ignores commands that were broken before. Undo and destroy ignore all broken commands.
func (p *plan) refuseBroken() error {
	if p.contractLost != "" {
		return &Refusal{Reason: p.contractLost, Remedy: "Nothing was changed."}
	}
	refusal := &Refusal{Reason: "stored events would no longer be readable:", Remedy: "Nothing was changed."}
	for _, b := range p.broken {
		switch {
		case p.ignoreBroken, p.newVersionOf != "" && p.newVersionOf != b.command && slices.Contains(p.brokenBefore, b.command):
		case p.newVersionOf != "" && p.newVersionOf != b.command:
			d := b.diagnostic()
			d.Message = fmt.Sprintf("%s: uses the same type; edit the type by hand first, then generate a new version of %s and of %s", b, p.newVersionOf, b.command)
			refusal.Diagnostics = append(refusal.Diagnostics, d)
		default:
			refusal.Diagnostics = append(refusal.Diagnostics, b.diagnostic())
		}
	}
	return refusal.orNil()
}

// readContract returns the planned contract, or else the contract on disk.
func (e *Engine) readContract(p *plan) (*contract.Contract, error) {
	text, err := e.textOf(p, contract.File)
	if err != nil {
		return nil, err
	}
	if err := project.CheckMerged(contract.File, text); err != nil {
		return nil, err
	}
	return contract.Parse(text)
}

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
	if p.keepsCommands {
		after.Commands = before.Commands
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
	complete := !slices.ContainsFunc(packages, hasProblems)
	now, err := derive.Contract(packages)
	if err != nil {
		return err
	}
	if complete {
		after.Tools, after.Resources, after.ResourceTemplates, after.Prompts = now.Tools, now.Resources, now.ResourceTemplates, now.Prompts
		after.Capabilities = now.Capabilities
		p.breaks = contract.Breaking(before, after)
	} else {
		after.Add(now) // keep entries of packages with errors
	}
	if err := checkAccepted(p.accepts, now, before); err != nil {
		return err
	}
	_, statErr := e.root.Stat(contract.File)
	_, sumErr := e.root.Stat(SumFile)
	if isMissing(statErr) && sumErr == nil && len(now.Commands) > 0 && len(p.accepts) == 0 && !p.ignoreBroken {
		p.contractLost = fmt.Sprintf("%s is missing, so petrock cannot tell whether stored events are still readable; restore it from version control, or run petrock sync --accept %s to record the current fields",
			contract.File, slices.Sorted(maps.Keys(now.Commands))[0])
		return nil
	}
	p.updateCommands(packages, now, before, after, complete)
	if p.newVersionOf != "" && len(p.broken) > 0 {
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

func hasProblems(pkg *derive.Package) bool { return len(pkg.Problems) > 0 }

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

// shippedPackages returns the packages that the server includes after a plan.
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

// updateCommands updates the commands of a contract whose recorded events are still readable, and notes the
// others as broken. If complete, it marks recorded commands that the source does not have as removed.
func (p *plan) updateCommands(packages []*derive.Package, now, before, after *contract.Contract, complete bool) {
	for _, command := range slices.Sorted(maps.Keys(now.Commands)) {
		recorded, known := before.Commands[command]
		if !known || slices.Contains(p.accepts, command) {
			after.Commands[command] = now.Commands[command]
			continue
		}
		updated, changes := recorded.Update(now.Commands[command], derive.HasMap(packages, command))
		if len(changes) == 0 {
			after.Commands[command] = updated
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
		if _, exists := now.Commands[command]; exists || !complete {
			continue
		}
		recorded.Removed = true
		after.Commands[command] = recorded
		if slices.Contains(p.accepts, command) {
			delete(after.Commands, command)
		}
	}
}

// checkAccepted refuses names of commands that are in neither the source nor the contract.
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

func joinOrNone(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }

// undone holds the contract before and after the operation to undo, and the current one.
type undone struct{ before, after, now *contract.Contract }

// derivesFeatureOf reports whether the plan changes the feature of a command, and derives from it
// without errors. Only then does a missing command mean that it was removed.
func (p *plan) derivesFeatureOf(command string) bool {
	feature, _, _ := strings.Cut(command, "/")
	dir := path.Join(derive.Features, feature)
	return slices.Contains(p.dirs(), dir) && !slices.ContainsFunc(p.packages, func(pkg *derive.Package) bool {
		return pkg.Dir == dir && hasProblems(pkg)
	})
}

// revertContract plans to undo the change that an operation made to the contract. It keeps later changes.
func (e *Engine) revertContract(opened *journal.Journal, p *plan, record journal.Record) error {
	read := func(hash string) (*contract.Contract, error) {
		text, err := opened.Contents(hash)
		if err != nil {
			return nil, err
		}
		return contract.Parse(text)
	}
	before, beforeErr := read(record.Before)
	after, afterErr := read(record.After)
	now, err := e.readContract(p)
	if err := errors.Join(beforeErr, afterErr, err); err != nil {
		return err
	}
	p.undone = &undone{before, after, now}
	text, err := now.Revert(before, after).Encode()
	p.texts[contract.File] = text
	return err
}

// updateRevertedContract updates a contract after its revert: the list entries of packages that the
// undo changes, because they may have been edited since, and the capabilities, which depend on all
// packages.
func (e *Engine) updateRevertedContract(ctx context.Context, p *plan, after *contract.Contract) error {
	if len(p.packages) == 0 {
		return nil
	}
	packages, err := e.shippedPackages(ctx, p, e.before.With(p.texts))
	if err != nil {
		return err
	}
	all, err := derive.Contract(packages)
	touched, touchedErr := derive.Contract(p.packages)
	if err := errors.Join(err, touchedErr); err != nil {
		return err
	}
	after.UpdateReverted(p.undone.before, p.undone.after, p.undone.now, touched)
	for command, recorded := range after.Commands {
		_, exists := touched.Commands[command]
		if !exists && !recorded.Removed && p.derivesFeatureOf(command) {
			if _, existed := p.undone.before.Commands[command]; !existed {
				delete(after.Commands, command)
				continue
			}
			recorded.Removed = true
			after.Commands[command] = recorded
		}
	}
	if !slices.ContainsFunc(packages, hasProblems) {
		after.Capabilities = all.Capabilities
	}
	return nil
}

// instructions returns the instructions of the server, if they are constant.
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
		for pair := range nodesOf[*ast.KeyValueExpr](file.Syntax) {
			key, ok := pair.Key.(*ast.Ident)
			if !ok || key.Name != "Instructions" {
				continue
			}
			if field := found.Info.Uses[key]; field == nil || field.Pkg() == nil || field.Pkg().Path() != e.deriver.Core+"/mcp" {
				continue
			}
			value := found.Info.Types[pair.Value].Value
			if value == nil || value.Kind() != constant.String {
				return "", false // computed at run time
			}
			text = constant.StringVal(value)
		}
	}
	return text, known
}
