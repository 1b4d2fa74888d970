package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// A PartChange is a part that an operation adds or removes.
type PartChange struct {
	Name    string         `json:"name"`              // Name of the part
	Action  journal.Action `json:"action"`            // create or delete
	Folders []string       `json:"folders"`           // Folders of its code
	Files   int            `json:"files"`             // Number of its files
	Modules []string       `json:"modules,omitempty"` // Modules that it adds to go.mod or removes from it
}

// String describes the change in one line.
func (c PartChange) String() string {
	verb := "add"
	if c.Action == journal.Delete {
		verb = "remove"
	}
	text := fmt.Sprintf("%s  part %s: %s (%s)", verb, c.Name, strings.Join(c.Folders, ", "), count(c.Files, "file"))
	if len(c.Modules) > 0 {
		text += fmt.Sprintf(" and %s in go.mod", count(len(c.Modules), "module"))
	}
	return text
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// A PartStatus describes a part, and whether a project has it.
type PartStatus struct {
	Name        string `json:"name"`        // Name of the part
	Description string `json:"description"` // Description of the part
	Present     bool   `json:"present"`     // Whether the project has it
	UsedBy      string `json:"usedBy"`      // A file that uses it; empty if none

	users []string // all files that use it
}

// String describes the part in one line.
func (s PartStatus) String() string {
	switch {
	case !s.Present:
		return fmt.Sprintf("part %s: not in this project (%s); run petrock add %[1]s to add it", s.Name, s.Description)
	case len(s.users) > 0:
		var folders []string
		for _, file := range s.users {
			folders = append(folders, path.Dir(file))
		}
		return fmt.Sprintf("part %s: %s; used by %s", s.Name, s.Description, joinFew(slices.Compact(folders)))
	}
	return fmt.Sprintf("part %s: %s", s.Name, s.Description)
}

// AddPart adds a part to the project.
func (e *Engine) AddPart(ctx context.Context, name string, o Options) (*Result, error) {
	return e.transact(ctx, o, func(*journal.Journal) (*plan, error) { return e.planPart(ctx, name, actionAdd) })
}

// RemovePart removes a part. It refuses if the part is used, or if its code was edited.
func (e *Engine) RemovePart(ctx context.Context, name string, o Options) (*Result, error) {
	return e.transact(ctx, o, func(*journal.Journal) (*plan, error) { return e.planPart(ctx, name, actionRemove) })
}

func (e *Engine) planPart(ctx context.Context, name, action string) (*plan, error) {
	part, ok := parts.Find(name)
	if !ok {
		return nil, terminal.Usagef("part %q does not exist; the parts are %s", name, strings.Join(parts.Names(), ", "))
	}
	add := action == actionAdd
	p := newPlan(action)
	p.operation.Title, p.name, p.kind = action+" "+name, name, "part"
	switch has := isPresent(part, e.before); {
	case add && has:
		return nil, &Refusal{Reason: fmt.Sprintf("the project already has part %s, in %s", part.Name, strings.Join(part.Folders, " and "))}
	case !add && !has:
		return nil, &Refusal{Reason: fmt.Sprintf("the project does not have part %s; see petrock list", part.Name)}
	}
	if add {
		if err := e.addPart(ctx, p, part); err != nil {
			return nil, err
		}
	} else {
		if user := e.partUser(part, e.before); user != "" {
			return nil, &Refusal{Reason: fmt.Sprintf("%s uses part %s", user, part.Name), Remedy: "Nothing was changed. Destroy the component, or remove the import, first."}
		}
		drift, err := e.partDrift(part)
		if err != nil {
			return nil, err
		}
		if len(drift) > 0 {
			return nil, &Refusal{
				Reason:    fmt.Sprintf("files of part %s differ from %s:", part.Name, SumFile),
				Conflicts: drift,
				Remedy:    "Nothing was changed. Restore these files from version control, and move your own files elsewhere.",
			}
		}
		if other := partNeeding(part, e.before); other != "" {
			return nil, &Refusal{Reason: fmt.Sprintf("part %s needs part %s", other, part.Name), Remedy: fmt.Sprintf("Nothing was changed. Run petrock remove %s first.", other)}
		}
		if err := e.removePart(ctx, p, part); err != nil {
			return nil, err
		}
	}
	return p, e.derive(ctx, p, nil, false)
}

func isPresent(part parts.Part, view *typecheck.View) bool {
	return slices.ContainsFunc(view.Dirs(), func(dir string) bool { return part.Holds(dir) && len(view.Files(dir)) > 0 })
}

func presentParts(view *typecheck.View) []string {
	var names []string
	for _, part := range parts.All() {
		if isPresent(part, view) {
			names = append(names, part.Name)
		}
	}
	return names
}

// partNeeding returns a part of the project that needs another one, or an empty string.
func partNeeding(part parts.Part, view *typecheck.View) string {
	for _, other := range parts.All() {
		if slices.Contains(other.Needs, part.Name) && isPresent(other, view) {
			return other.Name
		}
	}
	return ""
}

// partUser returns a user file that uses a part, or an empty string.
func (e *Engine) partUser(part parts.Part, view *typecheck.View) string {
	return append(e.partUsers(part, view), "")[0]
}

func (e *Engine) partUsers(part parts.Part, view *typecheck.View) []string {
	var users []string
	for _, file := range view.All() {
		if isPetrockPath(file.Path) || file.IsDerived() {
			continue
		}
		if part.IsUsedBy(file.Path, e.checker.Module().Path, importPaths(file)) {
			users = append(users, file.Path)
		}
	}
	return users
}

// partDrift returns the files of a part that are edited, missing or added. A renamed module in import paths is
// not an edit.
func (e *Engine) partDrift(part parts.Part) ([]string, error) {
	sum, err := ReadSum(e.root.FS())
	if err != nil {
		return nil, err
	}
	drift := sum.Compare(e.root.FS(), PetrockFolders()...)
	changed := slices.DeleteFunc(drift.Changed, func(file string) bool {
		text, err := e.root.ReadFile(file)
		if err != nil {
			return false
		}
		text, err = imports.Rewrite(file, text, []imports.Move{{From: e.checker.Module().Path, To: e.project.Module}})
		return err == nil && sum.Matches(file, text)
	})
	return slices.DeleteFunc(slices.Concat(changed, drift.Missing, drift.Added), func(file string) bool { return !part.Holds(file) }), nil
}

// addNeeded adds the parts that planned files use. A plan for the whole project also tries to add those that
// other files use.
func (e *Engine) addNeeded(ctx context.Context, p *plan) error {
	for _, part := range parts.All() {
		view := e.before.With(p.texts)
		if isPresent(part, view) {
			continue
		}
		users := e.partUsers(part, view)
		isPlanned := slices.ContainsFunc(users, p.plans)
		if len(users) == 0 || !isPlanned && !p.wholeProject {
			continue
		}
		was := *p
		was.texts, was.recomputed = maps.Clone(p.texts), maps.Clone(p.recomputed)
		err := e.addPart(ctx, p, part)
		if err != nil && (isPlanned || ctx.Err() != nil) {
			return err
		}
		if err != nil {
			*p = was
			e.cache.PlanModules(p.texts["go.mod"], p.texts["go.sum"])
			p.warnings = append(p.warnings, typecheck.Diagnostic{File: users[0], Message: fmt.Sprintf("requires part %s: %v", part.Name, err)})
		}
	}
	return nil
}

// addPart plans to unpack a part, and those that it needs: it adds its code, updates go.mod, go.sum and
// petrock.sum, and removes its archive.
func (e *Engine) addPart(ctx context.Context, p *plan, part parts.Part) error {
	for _, name := range part.Needs {
		if needed, ok := parts.Find(name); ok && !isPresent(needed, e.before.With(p.texts)) {
			if err := e.addPart(ctx, p, needed); err != nil {
				return err
			}
		}
	}
	e.step("adding the part " + part.Name)
	archive, err := e.root.ReadFile(part.Archive())
	if isMissing(err) {
		return &Refusal{Reason: fmt.Sprintf("%s, the archive of part %s, is missing", part.Archive(), part.Name), Remedy: "Nothing was changed. Restore it from version control."}
	}
	if err != nil {
		return err
	}
	files, err := part.Unpack(e.checker.Module().Path, archive)
	if err != nil {
		return err
	}
	for file := range files {
		if _, err := e.root.Lstat(file); err == nil {
			p.conflicts = append(p.conflicts, fmt.Sprintf("%s already exists, and part %s contains it", file, part.Name))
		}
	}
	if err := e.changePart(ctx, p, part, journal.Create, files, []string{part.Archive()}); err != nil {
		return err
	}
	return e.checkDownloaded(ctx, p, part, files)
}

// removePart plans to pack a part into its archive, the reverse of addPart.
func (e *Engine) removePart(ctx context.Context, p *plan, part parts.Part) error {
	e.step("removing the part " + part.Name)
	code := map[string][]byte{}
	for _, file := range filesBelow(e.root.FS(), part.Folders) {
		if !part.Holds(file) {
			continue
		}
		text, err := e.root.ReadFile(file)
		if err != nil {
			return err
		}
		code[file] = text
	}
	packed := map[string][]byte{part.Archive(): part.Pack(e.checker.Module().Path, code)}
	return e.changePart(ctx, p, part, journal.Delete, packed, slices.Collect(maps.Keys(code)))
}

// changePart plans to create or delete a part: it adds and removes files, and updates petrock.sum, go.mod
// and go.sum.
func (e *Engine) changePart(ctx context.Context, p *plan, part parts.Part, action journal.Action, added map[string][]byte, removed []string) error {
	if _, err := e.root.Lstat("vendor/modules.txt"); err == nil {
		return &Refusal{Reason: fmt.Sprintf("part %s changes go.mod, so the folder vendor would be out of date", part.Name), Remedy: "Nothing was changed. Remove the folder vendor, try again, and run go mod vendor."}
	}
	before := presentParts(e.before.With(p.texts))
	sum, err := ReadSum(e.root.FS())
	if text := p.texts[SumFile]; text != nil {
		sum, err = ParseSum(text)
	}
	if err != nil {
		return err
	}
	put := func(file string, text []byte) {
		p.texts[file], p.recomputed[file] = text, true
	}
	for _, file := range removed {
		put(file, nil)
		delete(sum, file)
	}
	for file, text := range added {
		put(file, text)
		sum.Add(file, text)
	}
	put(SumFile, sum.Encode())
	change := PartChange{Name: part.Name, Action: action, Folders: part.Folders}
	if action == journal.Create {
		change.Files = len(added)
		p.operation.Added = append(p.operation.Added, part.Name)
	} else {
		change.Files = len(removed)
		p.operation.Removed = append(p.operation.Removed, part.Name)
	}
	goMod, goSum, err := e.plannedModules(p)
	if err != nil {
		return err
	}
	view := e.before.With(p.texts)
	after := presentParts(view)
	newMod, newSum, ok, err := parts.ChangeModules(goMod, goSum, before, after, importPaths(view.All()...))
	if err == nil && !ok {
		p.tidied = true
		if newMod, newSum, err = e.runTidy(ctx, p, goMod, goSum, after); err == nil {
			newMod, newSum, err = parts.MergeTidied(goMod, goSum, newMod, newSum, before, after)
		}
	}
	if err != nil {
		return err
	}
	put("go.mod", newMod)
	put("go.sum", newSum)
	var versions []string
	change.Modules, versions = compareModules(goMod, newMod)
	for _, version := range versions {
		p.notices = append(p.notices, "go.mod: "+version+".")
	}
	p.parts = append(p.parts, change)
	e.cache.PlanModules(newMod, newSum)
	return nil
}

// revertParts plans to undo the changes to parts. It removes parts that the operation added, unless they
// are used or edited, and adds parts that it removed. It restores go.mod and go.sum if they have not changed
// since and the project compiles with them.
func (e *Engine) revertParts(ctx context.Context, opened *journal.Journal, p *plan, target journal.Operation) error {
	keep := func(name, reason string) {
		p.notices = append(p.notices, fmt.Sprintf("Part %s stays: %s.", name, reason))
	}
	for _, name := range slices.Backward(target.Added) { // a part comes after those that it needs
		part, ok := parts.Find(name)
		if view := e.before.With(p.texts); !ok || !isPresent(part, view) {
			continue
		} else if user := e.partUser(part, view); user != "" {
			keep(name, user+" uses it")
		} else if other := partNeeding(part, view); other != "" {
			keep(name, "part "+other+" needs it")
		} else if drift, err := e.partDrift(part); err != nil {
			keep(name, err.Error())
		} else if len(drift) > 0 {
			keep(name, drift[0]+" differs from "+SumFile)
		} else if err := e.removePart(ctx, p, part); err != nil {
			return err
		}
	}
	for _, name := range target.Removed {
		part, ok := parts.Find(name)
		if !ok || isPresent(part, e.before.With(p.texts)) {
			continue
		}
		if err := e.addPart(ctx, p, part); err != nil {
			return err
		}
	}
	if len(p.texts) == 0 && len(p.notices) > 0 {
		return &Refusal{Reason: fmt.Sprintf("nothing of %s (%s) can be undone:", target.ID, target.Title), Conflicts: p.notices, Remedy: "Nothing was changed."}
	}
	if !sameNames(p.operation.Removed, target.Added) || !sameNames(p.operation.Added, target.Removed) {
		return nil
	}
	was := map[string][]byte{}
	for _, record := range target.Files {
		now, err := e.root.ReadFile(record.Path)
		if (record.Path == "go.mod" || record.Path == "go.sum") && err == nil && journal.Hash(now) == record.After {
			if was[record.Path], err = opened.Contents(record.Before); err != nil {
				return err
			}
		}
	}
	if len(was) < 2 || len(p.parts) == 0 {
		return nil
	}
	restored := *p
	restored.texts = maps.Clone(p.texts)
	maps.Copy(restored.texts, was)
	if p.tidied {
		err := e.verifyModules(ctx, &restored)
		if _, refused := errors.AsType[*Refusal](err); refused {
			return nil // the project now needs the tidied go.mod
		} else if err != nil {
			return err
		}
		restored.tidied = false
	}
	*p = restored
	e.cache.PlanModules(was["go.mod"], was["go.sum"])
	return nil
}

// sameNames reports whether two lists have the same names, in any order.
func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// partsAdvice names the parts that are no longer used after a plan.
func (e *Engine) partsAdvice(p *plan) []string {
	var next []string
	for _, part := range parts.All() {
		if isPresent(part, p.after) && e.partUser(part, e.before) != "" && e.partUser(part, p.after) == "" && partNeeding(part, p.after) == "" {
			next = append(next, fmt.Sprintf("Part %s is no longer used; run petrock remove %[1]s to remove it.", part.Name))
		}
	}
	return next
}
