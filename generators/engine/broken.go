package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/typecheck"
)

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
