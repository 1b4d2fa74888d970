package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// A PartChange is a part that comes or goes with an operation.
type PartChange struct {
	Name    string         `json:"name"`              // Of the part
	Action  journal.Action `json:"action"`            // create or delete
	Folders []string       `json:"folders"`           // Where its code is
	Files   int            `json:"files"`             // How many files it has
	Modules []string       `json:"modules,omitempty"` // What it adds to go.mod, or takes from it
}

// String describes the change in one line.
func (c PartChange) String() string {
	how := "to"
	if c.Action == journal.Delete {
		how = "from"
	}
	text := fmt.Sprintf("%s  part %s: %s (%s)", c.Action, c.Name, strings.Join(c.Folders, ", "), count(c.Files, "file"))
	if len(c.Modules) > 0 {
		text += fmt.Sprintf(", %s %s go.mod", count(len(c.Modules), "module"), how)
	}
	return text
}

// count returns a number with its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// A PartStatus says whether a project has a part.
type PartStatus struct {
	Name        string `json:"name"`        // Of the part
	Description string `json:"description"` // What it is
	Present     bool   `json:"present"`     // Whether the project has it
	UsedBy      string `json:"usedBy"`      // A file that uses it; empty if none
}

// String describes the part in one line.
func (s PartStatus) String() string {
	switch {
	case !s.Present:
		return fmt.Sprintf("part %s: not in this project (%s); petrock add %[1]s adds it", s.Name, s.Description)
	case s.UsedBy != "":
		return fmt.Sprintf("part %s: %s; used by %s", s.Name, s.Description, s.UsedBy)
	}
	return fmt.Sprintf("part %s: %s", s.Name, s.Description)
}

// AddPart adds a part to the project.
func (e *Engine) AddPart(ctx context.Context, name string, o Options) (*Result, error) {
	return e.transact(ctx, partRequest{name: name, add: true}, o)
}

// RemovePart removes a part that nothing uses, and whose code nobody has edited.
func (e *Engine) RemovePart(ctx context.Context, name string, o Options) (*Result, error) {
	return e.transact(ctx, partRequest{name: name}, o)
}

// A partRequest adds or removes a part.
type partRequest struct {
	name string
	add  bool
}

func (r partRequest) plan(ctx context.Context, e *Engine, _ *journal.Journal) (*plan, error) {
	part, ok := parts.Find(r.name)
	if !ok {
		return nil, terminal.Usagef("there is no part %q; there are %s", r.name, strings.Join(parts.Names(), ", "))
	}
	action := actionRemove
	if r.add {
		action = actionAdd
	}
	p := newPlan(action)
	p.operation.Title, p.name, p.kind = action+" "+r.name, r.name, "part"
	switch has := isPresent(part, e.before); {
	case r.add && has:
		return nil, &Refusal{Reason: fmt.Sprintf("the project has the part %s already, in %s", part.Name, strings.Join(part.Folders, " and "))}
	case !r.add && !has:
		return nil, &Refusal{Reason: fmt.Sprintf("the project does not have the part %s; list shows the parts it has", part.Name)}
	}
	err := error(nil)
	if r.add {
		err = e.addPart(ctx, p, part)
	} else {
		if user := e.partUser(part, e.before); user != "" {
			return nil, &Refusal{Reason: fmt.Sprintf("%s uses the part %s", user, part.Name), WayOut: "Nothing was changed. Destroy the component, or remove the import, first."}
		}
		if drift := e.partDrift(part); len(drift) > 0 {
			return nil, &Refusal{
				Reason:    fmt.Sprintf("the part %s is not as petrock made it:", part.Name),
				Conflicts: drift,
				WayOut:    "Nothing was changed. Restore these files from version control, and move away what is yours.",
			}
		}
		err = e.removePart(ctx, p, part)
	}
	if err != nil {
		return nil, err
	}
	return p, e.derive(ctx, p, nil, false)
}

// isPresent reports whether a project has a part.
func isPresent(part parts.Part, view *typecheck.View) bool {
	return slices.ContainsFunc(view.Dirs(), func(dir string) bool { return part.Holds(dir) && len(view.Files(dir)) > 0 })
}

// presentParts returns the names of the parts that a project has.
func presentParts(view *typecheck.View) []string {
	var names []string
	for _, part := range parts.All() {
		if isPresent(part, view) {
			names = append(names, part.Name)
		}
	}
	return names
}

// partUser returns a file of the user that uses a part; empty if there is none.
func (e *Engine) partUser(part parts.Part, view *typecheck.View) string {
	return append(e.partUsers(part, view), "")[0]
}

// partUsers returns the files of the user that use a part.
func (e *Engine) partUsers(part parts.Part, view *typecheck.View) []string {
	var users []string
	for _, dir := range view.Dirs() {
		if folder, _, _ := strings.Cut(dir, "/"); slices.Contains(PetrockFolders(), folder) {
			continue
		}
		for _, file := range view.Files(dir) {
			var imported []string
			for _, i := range file.Imports() {
				imported = append(imported, i.Path)
			}
			if !file.IsDerived() && part.IsUsedBy(file.Path, e.checker.Module().Path, imported) {
				users = append(users, file.Path)
			}
		}
	}
	return users
}

// importPaths returns what the files of a project import.
func importPaths(view *typecheck.View) []string {
	var all []string
	for _, dir := range view.Dirs() {
		for _, file := range view.Files(dir) {
			for _, i := range file.Imports() {
				all = append(all, i.Path)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// partDrift returns the files in which the code of a part differs from what petrock wrote. Import paths
// may differ by the module, which may have been renamed.
func (e *Engine) partDrift(part parts.Part) []string {
	sum, err := ReadSum(e.root.FS())
	if err != nil {
		return []string{err.Error()}
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
	return slices.DeleteFunc(slices.Concat(changed, drift.Missing, drift.Added), func(file string) bool { return !part.Holds(file) })
}

// addNeeded adds the parts that planned files need. A plan of the whole project also adds those that
// other files need, as far as possible.
func (e *Engine) addNeeded(ctx context.Context, p *plan) error {
	for _, part := range parts.All() {
		view := e.before.With(p.texts)
		if isPresent(part, view) {
			continue
		}
		users := e.partUsers(part, view)
		isPlanned := slices.ContainsFunc(users, p.plans)
		if len(users) == 0 || !isPlanned && !p.whole {
			continue
		}
		was := *p
		was.texts, was.derived = maps.Clone(p.texts), maps.Clone(p.derived)
		err := e.addPart(ctx, p, part)
		if err != nil && (isPlanned || ctx.Err() != nil) {
			return err
		}
		if err != nil {
			*p = was
			e.cache.PlanModules(p.texts["go.mod"], p.texts["go.sum"])
			p.warnings = append(p.warnings, typecheck.Diagnostic{File: users[0], Message: fmt.Sprintf("it needs the part %s: %v", part.Name, err)})
		}
	}
	return nil
}

// addPart plans to unpack a part: its code, go.mod, go.sum and petrock.sum change, and its archive goes.
func (e *Engine) addPart(ctx context.Context, p *plan, part parts.Part) error {
	e.step("adding the part " + part.Name)
	archive, err := e.root.ReadFile(part.Archive())
	if isMissing(err) {
		return &Refusal{Reason: fmt.Sprintf("%s, which holds the part %s, is missing", part.Archive(), part.Name), WayOut: "Nothing was changed. Restore it from version control."}
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
			p.conflicts = append(p.conflicts, fmt.Sprintf("%s exists, and the part %s would write it", file, part.Name))
		}
	}
	if err := e.changeParts(ctx, p, part, journal.Create, files, []string{part.Archive()}); err != nil {
		return err
	}
	return e.findModules(ctx, p, part, files)
}

// removePart plans to pack a part into its archive, the reverse of addPart.
func (e *Engine) removePart(ctx context.Context, p *plan, part parts.Part) error {
	e.step("removing the part " + part.Name)
	code := map[string][]byte{}
	for _, file := range filesBelow(e.root.FS(), part.Folders) {
		text, err := e.root.ReadFile(file)
		if err != nil {
			return err
		}
		code[file] = text
	}
	var gone []string
	for file := range code {
		gone = append(gone, file)
	}
	return e.changeParts(ctx, p, part, journal.Delete, map[string][]byte{part.Archive(): part.Pack(e.checker.Module().Path, code)}, gone)
}

// changeParts plans to create or delete a part: the files that come and go, petrock.sum, go.mod and go.sum.
func (e *Engine) changeParts(ctx context.Context, p *plan, part parts.Part, action journal.Action, come map[string][]byte, gone []string) error {
	if _, err := e.root.Lstat("vendor/modules.txt"); err == nil {
		return &Refusal{Reason: fmt.Sprintf("the part %s changes go.mod, and the folder vendor would no longer match it", part.Name), WayOut: "Nothing was changed. Remove the folder vendor, try again, and run go mod vendor."}
	}
	before := presentParts(e.before.With(p.texts))
	sum, err := e.plannedSum(p)
	if err != nil {
		return err
	}
	put := func(file string, text []byte) {
		p.texts[file], p.derived[file] = text, true
	}
	for _, file := range gone {
		put(file, nil)
		delete(sum, file)
	}
	for file, text := range come {
		put(file, text)
		sum.Add(file, text)
	}
	put(SumFile, sum.Encode())
	change := PartChange{Name: part.Name, Action: action, Folders: part.Folders}
	if action == journal.Create {
		change.Files = len(come)
		p.operation.Added = append(p.operation.Added, part.Name)
	} else {
		change.Files = len(gone)
		p.operation.Removed = append(p.operation.Removed, part.Name)
	}
	goMod, goSum, err := e.plannedModules(p)
	if err != nil {
		return err
	}
	view := e.before.With(p.texts)
	after := presentParts(view)
	newMod, newSum, ok, err := parts.ChangeModules(goMod, goSum, before, after, importPaths(view))
	if err == nil && !ok {
		p.tidied = true
		newMod, newSum, err = e.tidy(ctx, p, goMod, goSum, before, after)
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

// plannedSum returns petrock.sum as the plan has it.
func (e *Engine) plannedSum(p *plan) (Sum, error) {
	if text := p.texts[SumFile]; text != nil {
		return ParseSum(text)
	}
	return ReadSum(e.root.FS())
}

// plannedModules returns go.mod and go.sum as the plan has them.
func (e *Engine) plannedModules(p *plan) (goMod, goSum []byte, err error) {
	if p.plans("go.mod") {
		return p.texts["go.mod"], p.texts["go.sum"], nil
	}
	if goMod, err = e.root.ReadFile("go.mod"); err != nil {
		return nil, nil, err
	}
	goSum, err = e.root.ReadFile("go.sum")
	if isMissing(err) {
		err = nil
	}
	return goMod, goSum, err
}

// compareModules returns the paths of modules that only one go.mod requires, and how the versions of
// others differ.
func compareModules(old, now []byte) (different, versions []string) {
	required := [2]map[string]string{{}, {}}
	for i, text := range [][]byte{old, now} {
		if parsed, err := modfile.ParseLax("go.mod", text, nil); err == nil {
			for _, r := range parsed.Require {
				required[i][r.Mod.Path] = r.Mod.Version
			}
		}
	}
	for name, version := range required[0] {
		switch other, both := required[1][name]; {
		case !both:
			different = append(different, name)
		case other != version:
			versions = append(versions, fmt.Sprintf("%s %s becomes %s", name, version, other))
		}
	}
	for name := range required[1] {
		if _, both := required[0][name]; !both {
			different = append(different, name)
		}
	}
	slices.Sort(different)
	slices.Sort(versions)
	return different, versions
}

// tidy computes go.mod and go.sum with go mod tidy, which sees the planned files and writes to copies.
func (e *Engine) tidy(ctx context.Context, p *plan, goMod, goSum []byte, before, after []string) (newMod, newSum []byte, err error) {
	e.step("running go mod tidy on a copy of go.mod")
	dir, err := os.MkdirTemp("", "petrock")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	copied, err := withParts(goMod, after)
	if err != nil {
		return nil, nil, err
	}
	modFile, sumFile := filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")
	overlay, err := e.overlay(p, dir)
	if err := errors.Join(err, os.WriteFile(modFile, copied, 0o644), os.WriteFile(sumFile, goSum, 0o644)); err != nil {
		return nil, nil, err
	}
	flags := slices.DeleteFunc(strings.Fields(os.Getenv("GOFLAGS")), func(flag string) bool {
		return strings.HasPrefix(strings.TrimLeft(flag, "-"), "mod")
	})
	env := append(os.Environ(), "GOWORK=off", "GOFLAGS="+strings.Join(flags, " "))
	// With -e, imports of the user that lead nowhere are not in the way.
	_, said, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{Dir: e.project.Root, Env: env}, "go", "mod", "tidy", "-e", "-modfile="+modFile, "-overlay="+overlay)
	if err != nil {
		return nil, nil, &Refusal{
			Reason:    "go.mod and go.sum cannot be computed:",
			Conflicts: strings.Split(strings.TrimSpace(cmp.Or(string(said), err.Error())), "\n"),
			WayOut:    "Nothing was changed. If a module is not on this machine, run go mod download with a network, and try again.",
		}
	}
	tidyMod, modErr := os.ReadFile(modFile)
	tidySum, sumErr := os.ReadFile(sumFile)
	if err := errors.Join(modErr, sumErr); err != nil {
		return nil, nil, err
	}
	return parts.MergeTidied(goMod, goSum, tidyMod, tidySum, before, after)
}

// verifyModules refuses a plan with which packages of the user no longer compile, because modules have
// changed.
func (e *Engine) verifyModules(ctx context.Context, p *plan) error {
	e.step("compiling the project with the changed modules")
	dir, err := os.MkdirTemp("", "petrock")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	overlay, err := e.overlay(p, dir)
	if err != nil {
		return err
	}
	after, err := typecheck.CheckPackages(ctx, typecheck.BuildOptions{Dir: e.project.Root, Flags: []string{"-overlay=" + overlay}})
	if err != nil || len(after.Diagnostics) == 0 {
		return err
	}
	before, err := typecheck.CheckPackages(ctx, typecheck.BuildOptions{Dir: e.project.Root})
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(after.Diagnostics, func(d typecheck.Diagnostic) bool {
		return slices.ContainsFunc(before.Diagnostics, func(old typecheck.Diagnostic) bool { return old.File == d.File && old.Message == d.Message })
	})
	if len(fresh) == 0 {
		return nil
	}
	return &Refusal{Reason: "with other modules in go.mod it would not compile:", Diagnostics: fresh, WayOut: "Nothing was changed."}
}

// overlay writes planned files to a folder: Go, go.mod and go.sum, and an overlay that puts them into the
// project.
func (e *Engine) overlay(p *plan, dir string) (file string, err error) {
	replace := map[string]string{}
	for name, text := range p.texts {
		if !strings.HasSuffix(name, ".go") && name != "go.mod" && name != "go.sum" {
			continue
		}
		at := filepath.Join(e.project.Root, filepath.FromSlash(name))
		if replace[at] = ""; text != nil {
			replace[at] = filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), path.Base(name)))
			err = errors.Join(err, os.WriteFile(replace[at], text, 0o644))
		}
	}
	text, jsonErr := json.Marshal(map[string]any{"Replace": replace})
	file = filepath.Join(dir, "overlay.json")
	return file, errors.Join(err, jsonErr, os.WriteFile(file, text, 0o644))
}

// withParts returns a go.mod that requires at least the versions that parts require.
func withParts(goMod []byte, names []string) ([]byte, error) {
	parsed, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return nil, fmt.Errorf("reading %w", err)
	}
	for _, name := range names {
		part, _ := parts.Find(name)
		required, err := part.Required()
		if err != nil {
			return nil, err
		}
		for _, m := range required {
			versions := []module.Version{m}
			for _, r := range parsed.Require {
				if r.Mod.Path == m.Path {
					versions = append(versions, r.Mod)
				}
			}
			module.Sort(versions)
			if err := parsed.AddRequire(m.Path, versions[len(versions)-1].Version); err != nil {
				return nil, fmt.Errorf("go.mod: %w", err)
			}
		}
	}
	parsed.Cleanup()
	return parsed.Format()
}

// findModules refuses a plan whose part imports packages that are not on this machine.
func (e *Engine) findModules(ctx context.Context, p *plan, part parts.Part, files map[string][]byte) error {
	view := e.before.With(p.texts)
	var imported []string
	for name := range files {
		file := view.File(name)
		if file == nil {
			continue // not of this system
		}
		for _, i := range file.Imports() {
			if !strings.HasPrefix(i.Path, e.checker.Module().Path+"/") {
				imported = append(imported, i.Path)
			}
		}
	}
	slices.Sort(imported)
	imported = slices.Compact(imported)
	e.step("compiling the modules of the part " + part.Name)
	exports, err := e.cache.Find(ctx, imported)
	if err != nil {
		return err
	}
	var reasons []string
	for _, i := range imported {
		if !exports.Has(i) && i != "unsafe" {
			reasons = append(reasons, exports.Why(i))
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	required, err := part.Required()
	if err != nil {
		return err
	}
	command := "go mod download"
	for _, m := range required {
		command += " " + m.String()
	}
	return &Refusal{
		Reason:    fmt.Sprintf("modules of the part %s are not on this machine:", part.Name),
		Conflicts: reasons,
		WayOut:    "Nothing was changed. With a network, run this and try again:\n  " + command,
	}
}

// revertParts plans to undo what an operation did to the parts: one that it added goes, unless
// something uses it or it was edited, and one that it removed comes back. Where go.mod and go.sum
// still are as the operation left them, and nothing else depends on them, they become what they were.
func (e *Engine) revertParts(ctx context.Context, opened *journal.Journal, p *plan, target journal.Operation) error {
	stays := func(name, why string) {
		p.notices = append(p.notices, fmt.Sprintf("The part %s stays: %s.", name, why))
	}
	for _, name := range target.Added {
		part, ok := parts.Find(name)
		if view := e.before.With(p.texts); !ok || !isPresent(part, view) {
			continue
		} else if user := e.partUser(part, view); user != "" {
			stays(name, user+" uses it")
		} else if drift := e.partDrift(part); len(drift) > 0 {
			stays(name, drift[0]+" was edited")
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
		return &Refusal{Reason: fmt.Sprintf("nothing of %s (%s) can be undone:", target.ID, target.Title), Conflicts: p.notices, WayOut: "Nothing was changed."}
	}
	if !slices.Equal(p.operation.Removed, target.Added) || !slices.Equal(p.operation.Added, target.Removed) {
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
			return nil // something has come to need what go mod tidy left
		} else if err != nil {
			return err
		}
		restored.tidied = false
	}
	*p = restored
	e.cache.PlanModules(was["go.mod"], was["go.sum"])
	return nil
}

// completeModules plans what go.mod and go.sum lack of the modules of present parts, after a merge say.
func (e *Engine) completeModules(p *plan) error {
	present := presentParts(e.before)
	goMod, goSum, err := e.plannedModules(p)
	if err != nil || len(present) == 0 || p.plans("go.mod") {
		return err
	}
	lacks := false
	for _, name := range present {
		part, _ := parts.Find(name)
		required, err := part.Required()
		if err != nil {
			return err
		}
		for _, m := range required {
			lacks = lacks || !bytes.Contains(goMod, []byte(m.Path+" v")) || bytes.Contains(goMod, []byte(m.Path+" "+m.Version)) && !bytes.Contains(goSum, []byte(m.Path+" "+m.Version+" h1:"))
		}
	}
	if !lacks {
		return nil
	}
	newMod, newSum, ok, err := parts.ChangeModules(goMod, goSum, present, present, nil)
	if err != nil || !ok {
		return err
	}
	for name, text := range map[string][]byte{"go.mod": newMod, "go.sum": newSum} {
		p.texts[name], p.derived[name] = text, true
	}
	e.cache.PlanModules(newMod, newSum)
	return nil
}

// forParts names the parts that nothing uses once a plan is applied, and that something used before.
func (e *Engine) forParts(p *plan) []string {
	var next []string
	for _, part := range parts.All() {
		if isPresent(part, p.after) && e.partUser(part, e.before) != "" && e.partUser(part, p.after) == "" {
			next = append(next, fmt.Sprintf("Nothing uses the part %s any more; petrock remove %[1]s removes it.", part.Name))
		}
	}
	return next
}

// partStatus returns which parts the project has.
func (e *Engine) partStatus() []PartStatus {
	var all []PartStatus
	for _, part := range parts.All() {
		all = append(all, PartStatus{Name: part.Name, Description: part.Description, Present: isPresent(part, e.before), UsedBy: e.partUser(part, e.before)})
	}
	return all
}
