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
	if !isRecorded && stored.Why == errNotBuilt.Error() {
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

// noteShared notes the broken commands that get a new version together with another one.
func (e *Engine) noteShared(ctx context.Context, p *plan, record *contract.Contract) error {
	for i, first := range p.broken {
		if first.sharedWith != "" || first.file == "" || i == len(p.broken)-1 {
			continue
		}
		m := &migration{base: e.onDisk(), record: record, texts: p.texts}
		if err := m.findStored(ctx, first.command); err != nil {
			return err
		}
		for _, v := range m.chooseVersions() {
			for j, other := range p.broken[i+1:] {
				if v.EventType == other.command {
					p.broken[i+1+j].sharedWith = first.command
				}
			}
		}
	}
	return nil
}

// refuseBroken refuses a plan that makes stored events unreadable. A plan for a new version of a
// command, an undo and a destroy ignore commands that were broken before, so that they can be
// repaired one by one: the result has warnings.
func (e *Engine) refuseBroken(p *plan, broken []brokenCommand) error {
	if p.contractLost != "" {
		return &Refusal{Reason: p.contractLost, Remedy: "Nothing was changed."}
	}
	refusal := &Refusal{Reason: "stored events would no longer be readable:", Remedy: "Nothing was changed.", cause: causeEvents}
	for _, b := range broken {
		if !p.mayBreak(b.command) {
			refusal.Diagnostics = append(refusal.Diagnostics, e.diagnose(p, b))
		}
	}
	return refusal.orNil()
}

// mayBreak reports whether a command was broken before, and a plan ignores that.
func (p *plan) mayBreak(command string) bool {
	ignores := p.isRevert() || p.action == actionDestroy || len(p.newVersionsOf) > 0 && !slices.Contains(p.newVersionsOf, command)
	return ignores && slices.ContainsFunc(p.broken, func(b brokenCommand) bool { return b.command == command && b.isOlder })
}

// diagnose describes the changes of a command and the remedy:
// links/create: field url was removed, href was added; keep old events readable with …
func (e *Engine) diagnose(p *plan, b brokenCommand) typecheck.Diagnostic {
	what := cmp.Or(b.unreadable, contract.Describe(b.changes), "the command was removed")
	if stored := p.stored.describe(b.command); stored != "" {
		what += " (" + stored + ")"
	}
	return typecheck.Diagnostic{File: b.file, Line: b.line, Message: b.command + ": " + what + "; " + e.remedy(p, b)}
}

// remedy returns the next calls that keep or give up the stored events.
func (e *Engine) remedy(p *plan, b brokenCommand) string {
	accepts := []any{"accept", []string{b.command}}
	if p.stored.describe(b.command) != "" {
		accepts = append(accepts, "no_data", true)
	}
	accept := "if no stored data matters, "
	switch {
	case p.isRevert() && b.unreadable != "" && !b.isRecorded:
		accept += fmt.Sprintf("%s with %s", p.action, e.option("no_data"))
	case p.isRevert() && !b.isOlder:
		accept += fmt.Sprintf("edit the type (%s) with %s", e.Call("edit"), e.Call("", accepts...))
	case p.action == actionEdit:
		accept += "edit again with " + e.Call("", accepts...)
	default:
		accept += e.Call("sync", accepts...)
	}
	isVersion := func(c contract.Change) bool { return c.Path == "" }
	isOld := func(c contract.Change) bool { return c.Version > 0 }
	switch {
	case slices.Contains(p.Accept, b.command):
		return fmt.Sprintf("to accept that although they are stored, pass %s too; the server then starts only after %s log skip or log map", e.option("no_data"), e.project.Name)
	case len(b.changes) == 0 && b.unreadable == "":
		return e.removalRemedy(p, b)
	case p.now.mapped[b.command] != "":
		return "edit its map function, " + p.now.mapped[b.command] + ", so that it fits"
	case b.isNewer:
		return "keep the type and its version; or, " + accept
	case slices.ContainsFunc(b.changes, isVersion) && b.beingAdded:
		return "choose another name; or, " + accept
	case slices.ContainsFunc(b.changes, isVersion):
		return "restore the type that reads it, with its func Upgrade, or write func Map; or, " + accept
	case slices.ContainsFunc(b.changes, isOld):
		return "an older version must keep its fields: where its type uses a struct that changes, replace that by a copy with the old fields; or, " + accept
	case b.sharedWith != "":
		return fmt.Sprintf("it contains a type that also changed in %s, whose new version comes with one of %s", b.sharedWith, b.command)
	}
	version := e.changeCall(b)
	if b.isOlder { // the source on disk has the change
		version = e.versionCall(b.command, contract.Renamed(b.changes))
	}
	if b.beingAdded {
		return fmt.Sprintf("generate it with its recorded fields first, then keep old events readable with %s; or, %s", version, accept)
	}
	return fmt.Sprintf("keep old events readable with %s; or, %s", version, accept)
}

// removalRemedy returns the decisions about the events of a removed command.
func (e *Engine) removalRemedy(p *plan, b brokenCommand) string {
	_, name, _ := strings.Cut(b.command, "/")
	_, isOnDisk := p.was.Commands[b.command]
	renamed := fmt.Sprintf("if you renamed its type, put //petrock:event %s into the doc comment of the new one", name)
	switch {
	case p.action == actionDestroy && p.kind == string(derive.Feature):
		return fmt.Sprintf("decide about the events of the feature: to ignore them, %s; to keep some, destroy its commands first, with a map to another feature",
			e.Call("destroy", "kind", "feature", "name", p.name, "skip", true))
	case !isOnDisk:
		return fmt.Sprintf("decide about its events: to replay them, restore its type and put //petrock:retired into the doc comment; to read them as another command, write a function with //petrock:map %s; %s; to ignore them, %s",
			b.command, renamed, e.Call("sync", "skip", []string{b.command}))
	}
	remedy := fmt.Sprintf("decide about its events: %s (replay them), or with %s (ignore them) or %s (read them as another command) instead",
		e.Call("destroy", "kind", "command", "name", b.command, "retire", true), e.Call("", "skip", true), e.Call("", "map", "FEATURE/COMMAND"))
	if p.action == actionEdit {
		remedy += fmt.Sprintf("; or add a function with //petrock:map %s to this edit; %s", b.command, renamed)
	}
	return remedy
}

// changeCall returns the call that makes the change of a broken command and generates its version.
func (e *Engine) changeCall(b brokenCommand) string {
	arguments := []any{"kind", "command", "name", b.command}
	if rename := contract.Renamed(b.changes); rename != "" {
		return e.Call("change", append(arguments, "rename_fields", []string{rename})...)
	}
	var set, removed []string
	for _, c := range b.changes {
		if c.Removed {
			removed = append(removed, c.Path)
		} else {
			set = append(set, c.Path+":TYPE")
		}
	}
	if len(set) > 0 {
		arguments = append(arguments, "fields", set)
	}
	if len(removed) > 0 {
		arguments = append(arguments, "remove_fields", removed)
	}
	return e.Call("change", arguments...)
}

// versionCall returns the call that generates a version of a command, with a renamed field as
// OLD=NEW or "".
func (e *Engine) versionCall(command, rename string) string {
	arguments := []any{"kind", "version", "name", command}
	if rename != "" {
		arguments = append(arguments, "rename", []string{rename})
	}
	return e.Call("generate", arguments...)
}
