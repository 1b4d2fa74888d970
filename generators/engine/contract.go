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
	"reflect"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// updateContract plans the contract, and returns it.
func (e *Engine) updateContract(ctx context.Context, p *plan) (*contract.Contract, error) {
	u, err := e.newCommandUpdate(ctx, p)
	if err != nil {
		return nil, err
	}
	after, now := u.after, p.now
	if u.complete {
		after.Tools, after.Resources, after.ResourceTemplates, after.Prompts = now.Tools, now.Resources, now.ResourceTemplates, now.Prompts
		after.Capabilities = now.Capabilities
		p.breaks = contract.Breaking(u.before, after)
	} else {
		after.Add(now.Contract) // keep entries of packages with errors
	}
	if err := u.checkAccepted(); err != nil {
		return nil, err
	}
	_, statErr := e.root.Stat(contract.File)
	_, sumErr := e.root.Stat(SumFile)
	if isMissing(statErr) && sumErr == nil && len(now.Commands) > 0 && len(p.Accept) == 0 && !p.isRevert() && p.action != actionDestroy {
		p.contractLost = fmt.Sprintf("%s is missing, so petrock cannot tell whether stored events are still readable; restore it from version control, or record the current fields with %s",
			contract.File, e.Call("sync", "accept", slices.Sorted(maps.Keys(now.Commands))[:1]))
	} else if err := e.updateCommands(ctx, u); err != nil {
		return nil, err
	}
	if text, known := e.instructions(e.before.With(p.texts)); known && (p.action == actionSync || p.action == actionEdit) {
		after.Instructions = text
	}
	if p.Saved {
		after.Commands = u.before.Commands
	}
	p.texts[contract.File], err = after.Encode()
	return after, err
}

// revertContract plans to undo the change that an operation made to the contract. It keeps later
// changes.
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
	now, err := e.readContract(p.texts)
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

// A commandUpdate compares the commands of a plan with those that are recorded.
type commandUpdate struct {
	*plan
	before   *contract.Contract // the planned contract, or else the contract on disk
	onDisk   *contract.Contract // unlike the planned one, an undo has not changed it
	after    *contract.Contract // the new contract
	complete bool               // whether all packages could be read
}

func (e *Engine) newCommandUpdate(ctx context.Context, p *plan) (*commandUpdate, error) {
	before, err := e.readContract(p.texts)
	onDisk, diskErr := e.readContract(nil)
	earlier, earlierErr := e.deriver.Packages(ctx, e.before, e.onDisk().existingPlaces())
	var wasErr, nowErr error
	p.was, wasErr = newSource(earlier)
	p.now, nowErr = newSource(p.shippedPackages())
	if err := cmp.Or(err, diskErr, earlierErr, wasErr, nowErr); err != nil {
		return nil, err
	}
	return &commandUpdate{plan: p, before: before, onDisk: onDisk, after: before.Clone(), complete: !slices.ContainsFunc(p.now.packages, hasProblems)}, nil
}

func newSource(packages []*derive.Package) (source, error) {
	promised, err := derive.Contract(packages)
	return source{packages, promised, derive.MappedTypes(packages)}, err
}

// update returns the record of a command after its source has become this one, see
// [contract.Command.Update].
func (s source) update(recorded contract.Command, command string) (contract.Command, []contract.Change) {
	return recorded.Update(s.Commands[command], derive.HasMap(s.packages, command))
}

// reads reports whether a command or a mapping reads events.
func (s source) reads(t storedType) bool {
	command, exists := s.Commands[t.Type]
	if !exists {
		return s.mapped[t.Type] != ""
	}
	_, isKnown := command.Versions[t.Version]
	return isKnown || t.Version < command.Version && derive.HasMap(s.packages, t.Type)
}

// updateCommands updates the commands of a contract whose recorded events are still readable. It
// notes as broken those whose recorded or stored events would not be, and those that were removed
// without a decision about their events.
func (e *Engine) updateCommands(ctx context.Context, u *commandUpdate) error {
	for _, command := range slices.Sorted(maps.Keys(u.now.Commands)) {
		if err := e.updateCommand(ctx, u, command); err != nil {
			return err
		}
	}
	if err := e.lookAtChanged(ctx, u); err != nil {
		return err
	}
	for _, command := range slices.Sorted(maps.Keys(u.before.Commands)) {
		if _, exists := u.now.Commands[command]; exists || u.mayBeHidden(command) {
			continue
		}
		if err := e.updateRemoved(ctx, u, command, u.before.Commands[command]); err != nil {
			return err
		}
	}
	if u.isRevert() {
		e.checkReverted(ctx, u)
	}
	return e.noteShared(ctx, u.plan, u.before)
}

// updateCommand updates a command that the source has.
func (e *Engine) updateCommand(ctx context.Context, u *commandUpdate, command string) error {
	recorded, known := u.before.Commands[command]
	if !known || slices.Contains(u.Accept, command) {
		u.after.Commands[command] = u.now.Commands[command]
		return nil
	}
	updated, changes := u.now.update(recorded, command)
	if len(changes) == 0 {
		u.after.Commands[command] = updated
		if lost := recorded.Versions[updated.Version].LostValues(updated.Versions[updated.Version]); len(lost) > 0 {
			u.warn(fmt.Sprintf("%s: stored events may have the value %s, which was removed; replay keeps it, and results that contain it are refused. Keep the value until no state has it, or convert old events in a new version",
				command, strings.Join(lost, " or ")))
		}
		return nil
	}
	isKept, err := true, error(nil)
	if u.isRevert() { // may restore a type that was edited by hand, and refused
		isKept, err = e.isKept(ctx, u, command)
	}
	u.breaks(command, brokenCommand{changes: changes, beingAdded: recorded.IsGone(), isOlder: !isKept})
	return err
}

// lookAtChanged looks at the stored events if a plan changes commands. It notes as broken the
// commands whose events no type reads any more, and plans to decode those of changed types.
func (e *Engine) lookAtChanged(ctx context.Context, u *commandUpdate) error {
	changed, isRecorded := u.changed()
	if len(changed) == 0 || u.Saved || u.contractOnly {
		return nil
	}
	stored, err := e.lookAtEvents(ctx, u.plan, isRecorded)
	if err != nil {
		return err
	}
	if !stored.Looked && !isRecorded {
		u.stored = nil // new commands have no events, unless their names were once in use
		return nil
	}
	isSkipped := func(command string) bool {
		return slices.Contains(u.skips, command) || u.before.Commands[command].Skipped && !slices.Contains(u.Accept, command)
	}
	mayMapChange := func(eventType string) bool { // the function, or the command that it returns
		feature, _, isMapped := strings.Cut(u.now.mapped[eventType], ".")
		return isMapped && slices.ContainsFunc(changed, func(c string) bool { return c == eventType || strings.HasPrefix(c, feature+"/") })
	}
	for _, t := range stored.types {
		if slices.Contains(changed, t.Type) {
			stored.Events += t.Count
		}
		command, exists := u.now.Commands[t.Type]
		switch isRead := u.now.reads(t); {
		case isRead && exists && slices.Contains(changed, t.Type), mayMapChange(t.Type):
			u.decode = append(u.decode, t)
		case isRead || isSkipped(t.Type) && !exists || !u.was.reads(t) && !slices.Contains(u.Accept, t.Type):
		case exists:
			u.breaks(t.Type, brokenCommand{isNewer: t.Version > command.Version, unreadable: fmt.Sprintf("version %d of its events is stored, and the source has version %d", t.Version, command.Version)})
		case !u.mayBeHidden(t.Type):
			u.breaks(t.Type, brokenCommand{})
		}
	}
	return nil
}

// changed returns the commands whose types, or functions that map them, a plan adds, changes or
// removes. isRecorded reports whether the contract on disk has one of them.
func (u *commandUpdate) changed() (changed []string, isRecorded bool) {
	all := map[string]bool{}
	for _, commands := range []map[string]contract.Command{u.was.Commands, u.now.Commands, u.before.Commands} {
		for command := range commands {
			was, now := u.was.Commands[command], u.now.Commands[command]
			isUndecided := now.Versions == nil && !u.before.Commands[command].IsGone()
			all[command] = isUndecided || !reflect.DeepEqual(was, now) || u.was.mapped[command] != u.now.mapped[command]
		}
	}
	for _, command := range slices.Concat(u.Accept, u.skips) {
		all[command] = true
	}
	for _, command := range slices.Sorted(maps.Keys(all)) {
		if all[command] {
			changed = append(changed, command)
			_, known := u.before.Commands[command]
			isRecorded = isRecorded || known || u.was.Commands[command].Versions != nil
		}
	}
	return changed, isRecorded
}

// updateRemoved records the decision about the events of a command that the source does not have.
// Without one, it notes the command as broken, unless no event of it can be stored anywhere.
func (e *Engine) updateRemoved(ctx context.Context, u *commandUpdate, command string, recorded contract.Command) error {
	gone := contract.Command{Version: recorded.Version, Versions: recorded.Versions}
	switch {
	case slices.Contains(u.Accept, command):
		delete(u.after.Commands, command)
		return nil
	case u.now.mapped[command] != "":
		gone.Mapped = true
	case recorded.Skipped || slices.Contains(u.skips, command):
		gone.Skipped = true
	case recorded.Removed: // by an older petrock, which did not ask
		if gone.Removed = true; u.action == actionSync {
			u.warnings = append(u.warnings, e.diagnose(u.plan, brokenCommand{command: command}))
		}
	case u.isMissing(command) && u.action != actionSync: // removed by hand, before this plan
		u.warnings = append(u.warnings, e.diagnose(u.plan, brokenCommand{command: command}))
		return nil
	default:
		isKept, err := e.isKept(ctx, u, command)
		if err != nil || !isKept {
			delete(u.after.Commands, command)
			return err
		}
		u.breaks(command, brokenCommand{})
		return nil
	}
	u.after.Commands[command] = gone
	return nil
}

// isKept reports whether events of a command may be stored somewhere: in the data, or by a server
// of the last commit. Without git and data, every recorded command is kept.
func (e *Engine) isKept(ctx context.Context, u *commandUpdate, command string) (bool, error) {
	if u.contractOnly {
		return true, nil
	}
	stored, err := e.lookAtEvents(ctx, u.plan, true)
	if err != nil || len(stored.of(command)) > 0 {
		return true, err
	}
	committed, known := e.committedContract(ctx)
	_, isCommitted := committed.Commands[command]
	return isCommitted || !known && !stored.Looked, nil
}

// checkReverted notes as broken the commands and versions that the last commit has and an undo or a
// redo removes. Without git and data, the contract on disk takes the place of the last commit.
func (e *Engine) checkReverted(ctx context.Context, u *commandUpdate) {
	committed, known := e.committedContract(ctx)
	if !known {
		committed = u.onDisk
	}
	for i, b := range u.broken {
		recorded, isRecorded := committed.Commands[b.command]
		_, changes := u.now.update(recorded, b.command)
		u.broken[i].isRecorded = isRecorded && len(changes) > 0
	}
	if !known && u.stored != nil && u.stored.Looked {
		return
	}
	for _, command := range slices.Sorted(maps.Keys(committed.Commands)) {
		recorded := committed.Commands[command]
		_, exists := u.now.Commands[command]
		decided := u.after.Commands[command]
		switch {
		case exists:
			if _, changes := u.now.update(recorded, command); len(changes) > 0 {
				u.breaks(command, brokenCommand{changes: changes})
			}
		case !recorded.IsGone() && !decided.IsGone() && !u.mayBeHidden(command):
			u.breaks(command, brokenCommand{})
		case recorded.IsGone() && !decided.IsGone():
			u.after.Commands[command] = recorded
		}
	}
}

// breaks notes a command as broken. It is an older fault if the source on disk broke it in the same
// way.
func (u *commandUpdate) breaks(command string, b brokenCommand) {
	if slices.ContainsFunc(u.broken, func(known brokenCommand) bool { return known.command == command }) {
		return
	}
	b.command = command
	for _, pkg := range u.now.packages {
		for _, c := range pkg.Components {
			if c.EventType == command {
				b.file, b.line = c.File, c.Line
			}
		}
	}
	_, isOnDisk := u.was.Commands[command]
	b.isOlder = b.isOlder || isOnDisk && reflect.DeepEqual(u.was.Commands[command], u.now.Commands[command])
	b.isNewer = b.isNewer || u.isRevert() && !b.isOlder && u.was.Commands[command].Version > u.now.Commands[command].Version
	u.broken = append(u.broken, b)
}

// isMissing reports whether the source on disk lacks a command that the contract on disk has.
func (u *commandUpdate) isMissing(command string) bool {
	recorded, isRecorded := u.onDisk.Commands[command]
	return isRecorded && !recorded.IsGone() && u.was.Commands[command].Versions == nil && u.was.mapped[command] == ""
}

// mayBeHidden reports whether a command that is missing may be in a package with errors. If the
// source on disk has the command, its package is known.
func (u *commandUpdate) mayBeHidden(command string) bool {
	for _, was := range u.was.packages {
		if slices.ContainsFunc(was.Components, func(c derive.Component) bool { return c.EventType == command }) {
			return slices.ContainsFunc(u.now.packages, func(now *derive.Package) bool { return now.Dir == was.Dir && hasProblems(now) })
		}
	}
	return !u.complete
}

// checkAccepted refuses names of commands that are in neither the source nor the contract, and
// commands to skip that the source still has.
func (u *commandUpdate) checkAccepted() error {
	for _, command := range slices.Concat(u.Accept, u.skips) {
		_, exists := u.now.Commands[command]
		_, recorded := u.before.Commands[command]
		switch {
		case !exists && !recorded:
			known := slices.Sorted(maps.Keys(u.now.Commands))
			return terminal.Usagef("%q is not a command; %s", command, terminal.DidYouMean(command, known, "the commands are "+joinOrNone(known)))
		case exists && slices.Contains(u.skips, command):
			return terminal.Usagef("skip %s: the source still has the command; destroy it, or remove its type first", command)
		}
	}
	return nil
}

// shippedPackages returns the packages that the server includes after a plan.
func (p *plan) shippedPackages() []*derive.Package {
	return slices.DeleteFunc(slices.Concat(p.packages, p.others), func(pkg *derive.Package) bool { return !pkg.Wired })
}

func hasProblems(pkg *derive.Package) bool { return len(pkg.Problems) > 0 }
