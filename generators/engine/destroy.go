package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/change"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
)

// Destroy removes a component: its file and the test beside it. Work that somebody has put into them
// is in the way, unless it is forced. It can be undone.
func (e *Engine) Destroy(ctx context.Context, kind, name string, o Options) (*Result, error) {
	place, ok := derive.PlaceOf(derive.Kind(kind))
	if !ok {
		return nil, terminal.Usagef("%q is no kind of component; there are %s", kind, strings.Join(Kinds(), ", "))
	}
	op := journal.Operation{Action: actionDestroy, Title: actionDestroy + " " + kind + " " + name}
	return e.transact(ctx, &op, o, func(opened *journal.Journal, result *Result) (*plan, error) {
		found, err := e.deriver.Packages(ctx, e.before, []derive.Place{place})
		if err != nil {
			return nil, err
		}
		p := newPlan()
		if len(found[0].Problems) > 0 {
			return nil, e.refused(p, found[0])
		}
		component, err := pick(found[0], kind, name)
		if err != nil {
			return nil, err
		}
		if place.Kind == derive.Generator && e.cameWith(component) {
			return nil, &Refusal{
				Reason: fmt.Sprintf("the generator %s came with the project, in %s", component.Name, component.File),
				WayOut: "Nothing was changed. Generators that were added to the project can be destroyed.",
			}
		}
		result.Kind, result.Name = kind, component.Name
		history, err := opened.History()
		if err != nil {
			return nil, err
		}
		files := []string{component.File}
		if test := strings.TrimSuffix(component.File, ".go") + "_test.go"; e.before.File(test) != nil {
			files = append(files, test)
		}
		if err := e.untouched(opened, history, files, o); err != nil {
			return nil, err
		}
		for _, file := range files {
			p.texts[file] = nil
		}
		return p, e.derive(ctx, p, []derive.Place{place}, true)
	})
}

// Kinds are the kinds of components that a project adds.
func Kinds() []string {
	var kinds []string
	for _, place := range derive.Places() {
		if added, ok := derive.PlaceOf(place.Kind); ok && added == place {
			kinds = append(kinds, string(place.Kind))
		}
	}
	return kinds
}

// cameWith reports whether a component is in a file that the project was made with.
func (e *Engine) cameWith(c derive.Component) bool { return e.project.Files[c.File] != "" }

// pick finds a component by the name that clients or Go have for it. Its file has to be its own.
func pick(pkg *derive.Package, kind, name string) (derive.Component, error) {
	var names []string
	for _, c := range pkg.Components {
		names = append(names, c.Name)
	}
	at := slices.IndexFunc(pkg.Components, func(c derive.Component) bool {
		return c.Name == name || c.Func == name || strings.HasSuffix(c.Func, "."+name)
	})
	if at < 0 {
		at = slices.IndexFunc(pkg.Components, func(c derive.Component) bool {
			return c.Name == strings.ReplaceAll(name, "-", "_")
		})
	}
	if at < 0 {
		there := "there are " + strings.Join(names, ", ")
		if len(names) == 0 {
			there = "there is none"
		}
		return derive.Component{}, terminal.Usagef("there is no %s %q; %s", kind, name, there)
	}
	component := pkg.Components[at]
	var others []string
	for _, c := range pkg.Components {
		if c.File == component.File && c.Name != component.Name {
			others = append(others, c.Name)
		}
	}
	if len(others) > 0 {
		return component, &Refusal{
			Reason: fmt.Sprintf("%s also holds %s", component.File, strings.Join(others, ", ")),
			WayOut: fmt.Sprintf("Remove %s there by hand, and derive again with sync or build.", component.Func),
		}
	}
	return component, nil
}

// untouched refuses files that hold somebody's work: those that are not as they were generated or
// as the project was made.
func (e *Engine) untouched(opened *journal.Journal, history []journal.Operation, files []string, o Options) error {
	if o.Force {
		return nil
	}
	edited := &Refusal{
		Reason: "there is work in what would be removed:",
		WayOut: "Nothing was changed. With force it is removed all the same, and undo brings it back.",
	}
	for _, file := range files {
		now := e.before.File(file).Text
		hash := change.Hash(now)
		if e.project.Files[file] == hash {
			continue
		}
		var last *journal.Record
		for _, op := range history {
			for _, record := range op.Files {
				if record.Path == file {
					last = &record
				}
			}
		}
		if last != nil && last.After == hash {
			continue
		}
		f := change.File{Path: file, After: now}
		if last != nil {
			f.Before, _ = opened.Contents(last.After) // without it, all of the file is shown
		}
		edited.Files = append(edited.Files, fileChange(f))
	}
	if len(edited.Files) > 0 {
		return edited
	}
	return nil
}
