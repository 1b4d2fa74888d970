package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
)

// Destroy removes a component: its file and its test, or the folder of a feature, and what uses it in other tests. It refuses
// to remove what has been edited since it was generated, unless that is forced. It can be undone.
func (e *Engine) Destroy(ctx context.Context, kind, name string, o Options) (*Result, error) {
	if !slices.Contains(Kinds(), kind) {
		return nil, terminal.Usagef("%q is no kind of component; there are %s", kind, strings.Join(Kinds(), ", "))
	}
	r := &destroyRequest{kind: kind, name: name, options: o}
	result, err := e.transact(ctx, r, o)
	if refusal, ok := err.(*Refusal); ok && len(refusal.Diagnostics) > 0 && !refusal.before {
		e.nameUsers(refusal, r.component)
	}
	return result, err
}

// A destroyRequest removes a component.
type destroyRequest struct {
	kind, name string
	options    Options

	component derive.Component // the component to remove; set by plan
}

func (r *destroyRequest) plan(ctx context.Context, e *Engine, j *journal.Journal) (*plan, error) {
	p := newPlan(actionDestroy)
	p.operation.Title = actionDestroy + " " + r.kind + " " + r.name
	p.lenient, p.destroys = true, true
	place, component, err := e.choose(ctx, derive.Kind(r.kind), r.name)
	if err != nil {
		return nil, err
	}
	r.component = component
	p.kind, p.name = r.kind, component.Name
	history, err := j.History()
	if err != nil {
		return nil, err
	}
	files, err := e.filesOf(place, component)
	if err != nil {
		return nil, err
	}
	if err := e.untouched(j, history, files, r.options); err != nil {
		return nil, err
	}
	for _, file := range files {
		p.texts[file] = nil
	}
	if err := e.derive(ctx, p, []derive.Place{place}, true); err != nil {
		return nil, err
	}
	return p, e.dropTests(ctx, p, component, j, history, r.options)
}

// Kinds are the kinds of components that a project adds.
func Kinds() []string {
	var kinds []string
	for _, kind := range []derive.Kind{derive.Command, derive.Feature, derive.Generator, derive.Prompt, derive.Query, derive.Resource, derive.Tool, derive.Worker} {
		kinds = append(kinds, string(kind))
	}
	return kinds
}

// untouched refuses files that hold somebody's work: those that are not as they were generated or
// as the project was made.
func (e *Engine) untouched(opened *journal.Journal, history []journal.Operation, files []string, o Options) error {
	if o.Force {
		return nil
	}
	refusal := &Refusal{
		Reason: "there is work in what would be removed:",
		WayOut: "Nothing was changed. With force it is removed all the same, and undo brings it back.",
	}
	for _, file := range files {
		f, edited, err := e.edited(opened, history, file)
		if err != nil {
			return err
		}
		if edited {
			refusal.Files = append(refusal.Files, fileChange(f))
		}
	}
	if len(refusal.Files) > 0 {
		return refusal
	}
	return nil
}

// edited reports whether a file is not as it was generated or as the project was made, with what was changed.
func (e *Engine) edited(opened *journal.Journal, history []journal.Operation, file string) (journal.Change, bool, error) {
	now, err := e.root.ReadFile(file)
	if err != nil {
		return journal.Change{}, false, err
	}
	hash := journal.Hash(now)
	var last *journal.Record
	for _, op := range history {
		for _, record := range op.Files {
			if record.Path == file {
				last = &record
			}
		}
	}
	sum, err := ReadSum(e.root.FS())
	if err != nil && !isMissing(err) {
		return journal.Change{}, false, err
	}
	if sum.Matches(file, now) || last != nil && last.After == hash {
		return journal.Change{}, false, nil
	}
	f := journal.Change{Path: file, After: now}
	if last != nil {
		f.Before, _ = opened.Contents(last.After) // without it, all of the file is shown
	}
	return f, true, nil
}
