package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/generators/handover"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// A PartStatus describes a part, and whether a project has it.
type PartStatus struct {
	Name        string `json:"name"`        // Name of the part
	Description string `json:"description"` // Description of the part
	Present     bool   `json:"present"`     // Whether the project has it
	UsedBy      string `json:"usedBy"`      // A file or part that uses it; empty if none
}

// String describes the part in one line.
func (s PartStatus) String() string {
	switch {
	case !s.Present:
		return fmt.Sprintf("part %s: not in this project (%s)", s.Name, s.Description)
	case s.UsedBy != "":
		return fmt.Sprintf("part %s: %s; used by %s", s.Name, s.Description, s.UsedBy)
	}
	return fmt.Sprintf("part %s: %s", s.Name, s.Description)
}

// partUser returns a user file that uses a part, or a part that needs it; empty if there is none.
func (e *Engine) partUser(part parts.Part, view *typecheck.View) string {
	for _, other := range parts.All() {
		if slices.Contains(other.Needs, part.Name) && isPresent(other, view) {
			return "part " + other.Name
		}
	}
	for _, file := range view.All() {
		if e.usesPart(file, part) {
			return file.Path
		}
	}
	return ""
}

func (e *Engine) usesPart(file *typecheck.File, part parts.Part) bool {
	return !isPetrockPath(file.Path) && !file.IsDerived() && part.IsUsedBy(file.Path, e.checker.Module().Path, importPaths(file))
}

// whyPartStays returns why a part cannot be removed: it is used, or its files are edited, missing
// or added. It returns an empty string if it can.
func (e *Engine) whyPartStays(part parts.Part, view *typecheck.View) string {
	if user := e.partUser(part, view); user != "" {
		return user + " uses it"
	}
	drift, err := e.CompareSum()
	if err != nil {
		return err.Error()
	}
	for _, file := range slices.Concat(drift.Changed, drift.Missing, drift.Added) {
		if part.Holds(file) {
			return fmt.Sprintf("%s differs from %s; restore it from version control, or move it away", file, SumFile)
		}
	}
	return ""
}

// BuildPetrock compiles a program of a project, which is its petrock, with the code of the parts
// that the project does not have yet, and returns the path of the executable.
func BuildPetrock(ctx context.Context, root, program string) (string, error) {
	found, err := project.Find(root)
	if err != nil {
		return "", err
	}
	code, err := partCode(found)
	if err != nil {
		return "", err
	}
	return handover.Build(ctx, found.Root, program, code)
}

// partCode returns the code that parts add to the petrock of a project, by path, as far as the
// project does not have them yet.
func partCode(found *project.Project) (map[string][]byte, error) {
	code := map[string][]byte{}
	var names []string
	for _, part := range parts.All() {
		if part.Generators == "" {
			continue
		}
		names = append(names, part.Name)
		archive, err := os.ReadFile(filepath.Join(found.Root, filepath.FromSlash(part.Archive())))
		if isMissing(err) { // the project has the part
			continue
		}
		if err != nil {
			return nil, err
		}
		files, err := part.Unpack(found.Module, archive)
		if err != nil {
			return nil, err
		}
		for name, text := range files {
			if strings.HasPrefix(name, "generators/") {
				code[name] = text
			}
		}
	}
	if len(code) == 0 {
		return nil, nil
	}
	text, err := parts.LinkedText(found.Module, names)
	code[parts.Linked] = text
	return code, err
}

// addNeeded adds the parts that planned files use; for a sync, those that any file uses.
func (e *Engine) addNeeded(ctx context.Context, p *plan) error {
	for _, part := range parts.All() {
		view := e.before.With(p.texts)
		isUser := func(file *typecheck.File) bool {
			return e.usesPart(file, part) && (p.plans(file.Path) || p.action == actionSync)
		}
		if isPresent(part, view) || !slices.ContainsFunc(view.All(), isUser) {
			continue
		}
		if err := e.addPart(ctx, p, part); err != nil {
			return err
		}
	}
	return nil
}

// addPart plans to unpack a part, and those that it needs: it adds its code, updates go.mod, go.sum
// and petrock.sum, and removes its archive.
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
			p.conflict("%s already exists, and part %s contains it", file, part.Name)
		}
	}
	return e.changePart(ctx, p, part, journal.Create, files, []string{part.Archive()})
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

// changePart plans to create or delete a part: it adds and removes files, and updates petrock.sum,
// go.mod and go.sum.
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
	view := e.before.With(p.texts)
	after := presentParts(view)
	if linked, err := e.textOf(p.texts, parts.Linked); err != nil {
		return err
	} else if linked != nil {
		if linked, err = parts.LinkedText(e.checker.Module().Path, after); err != nil {
			return err
		}
		put(parts.Linked, linked)
		sum.Add(parts.Linked, linked)
	}
	put(SumFile, sum.Encode())
	change := PartChange{Name: part.Name, Action: action, Folders: part.Folders, Files: len(added)}
	if action == journal.Delete {
		change.Files = len(removed)
	}
	goMod, modErr := e.textOf(p.texts, "go.mod")
	goSum, sumErr := e.textOf(p.texts, "go.sum")
	if err := errors.Join(modErr, sumErr); err != nil {
		return err
	}
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
	change.Modules = changedModules(goMod, newMod)
	p.parts = append(p.parts, change)
	e.cache.PlanModules(p.texts)
	return nil
}

// revertParts plans to undo the changes to parts. It removes parts that the operation added, unless
// they are used or edited, and adds parts that it removed.
func (e *Engine) revertParts(ctx context.Context, p *plan, target journal.Operation) error {
	for _, name := range slices.Backward(target.Added) { // a part comes after those that it needs
		part, ok := parts.Find(name)
		view := e.before.With(p.texts)
		if !ok || !isPresent(part, view) {
			continue
		}
		if reason := e.whyPartStays(part, view); reason != "" {
			p.notices = append(p.notices, fmt.Sprintf("Part %s stays: %s.", name, reason))
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
	return nil
}
