package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
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
	beingAdded bool   // whether the plan adds the command again after it was removed
	call       string // the call that keeps its events readable
	sharedWith string // another broken command, whose new version comes with one of this command; may be empty
}

// String describes the changes: links/create: field url was removed, href was added.
func (b brokenCommand) String() string { return b.command + ": " + contract.Describe(b.changes) }

func (b brokenCommand) remedy() string {
	accept := fmt.Sprintf("if no stored data matters, run petrock sync --accept %s (over MCP: build with accept)", b.command)
	if slices.ContainsFunc(b.changes, func(c contract.Change) bool { return c.Path == "" }) {
		return fmt.Sprintf("restore the type that reads it, with its func Upgrade, or write func Map; or, %s", accept)
	}
	if b.sharedWith != "" {
		return fmt.Sprintf("it contains a type that also changed in %s, whose new version comes with one of %s", b.sharedWith, b.command)
	}
	if b.beingAdded {
		return fmt.Sprintf("generate it with its recorded fields first, then run %s; or, %s", b.call, accept)
	}
	return fmt.Sprintf("keep old events readable with %s; or, %s", b.call, accept)
}

func (b brokenCommand) diagnostic() typecheck.Diagnostic {
	return typecheck.Diagnostic{File: b.file, Line: b.line, Message: b.String() + "; " + b.remedy()}
}

// refuseBroken refuses a plan that makes stored events unreadable. A plan for a new version of a command ignores
// other commands that were broken before, so that they can be repaired one by one: the result has warnings. Undo
// and destroy ignore all broken commands.
func (p *plan) refuseBroken() error {
	if p.contractLost != "" {
		return &Refusal{Reason: p.contractLost, Remedy: "Nothing was changed."}
	}
	refusal := &Refusal{Reason: "stored events would no longer be readable:", Remedy: "Nothing was changed."}
	for _, b := range p.broken {
		d := b.diagnostic()
		isOther := len(p.newVersionsOf) > 0 && !slices.Contains(p.newVersionsOf, b.command)
		if p.ignoreBroken || isOther && slices.Contains(p.brokenBefore, b.command) {
			continue
		}
		refusal.Diagnostics = append(refusal.Diagnostics, d)
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
	if err := e.contractFromSource(ctx, p, before, after); err != nil {
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
	packages := p.shippedPackages()
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
	if err := e.noteBrokenBefore(ctx, p, before); err != nil {
		return err
	}
	if err := e.noteCalls(ctx, p, before); err != nil {
		return err
	}
	if p.action == actionSync || p.action == actionEdit {
		if text, known := e.instructions(e.before.With(p.texts)); known {
			after.Instructions = text
		}
	}
	return nil
}

// noteBrokenBefore notes which broken commands were broken before a plan for a new version.
func (e *Engine) noteBrokenBefore(ctx context.Context, p *plan, recorded *contract.Contract) error {
	if len(p.newVersionsOf) == 0 && p.action != actionEdit && p.action != actionChange || len(p.broken) == 0 {
		return nil
	}
	packages, err := e.deriver.Packages(ctx, e.before, e.existingPlaces())
	if err != nil {
		return err
	}
	source, err := derive.Contract(packages)
	if err != nil {
		return err
	}
	for _, b := range p.broken {
		was, existed := source.Commands[b.command]
		_, changes := recorded.Commands[b.command].Update(was, derive.HasMap(packages, b.command))
		if existed && len(changes) > 0 {
			p.brokenBefore = append(p.brokenBefore, b.command)
		}
	}
	return nil
}

func hasProblems(pkg *derive.Package) bool { return len(pkg.Problems) > 0 }

// shippedPackages returns the packages that the server includes after a plan.
func (p *plan) shippedPackages() []*derive.Package {
	return slices.DeleteFunc(slices.Concat(p.packages, p.others), func(pkg *derive.Package) bool { return !pkg.Wired })
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
	text, err := now.Revert(before, after).Encode()
	p.texts[contract.File] = text
	return err
}

// instructions returns the instructions of the server, if they are string literals.
func (e *Engine) instructions(view *typecheck.View) (text string, known bool) {
	files := view.Files(path.Join("cmd", e.project.Name))
	for _, file := range files {
		for pair := range nodesOf[*ast.KeyValueExpr](file.Syntax) {
			if key, ok := pair.Key.(*ast.Ident); !ok || key.Name != "Instructions" {
				continue
			}
			value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(pair.Value))
			if err != nil || value.Value == nil || value.Value.Kind() != constant.String {
				return "", false // computed at run time
			}
			return constant.StringVal(value.Value), true
		}
	}
	return "", len(files) > 0
}
