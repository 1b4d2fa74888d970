package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/petrock/petrock/core/terminal"
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

// RemovePart removes a part that nothing uses. With force, it also removes one whose code was edited.
func (e *Engine) RemovePart(ctx context.Context, name string, o Options) (*Result, error) {
	return e.transact(ctx, partRequest{name: name, force: o.Force}, o)
}

// A partRequest adds or removes a part.
type partRequest struct {
	name       string
	add, force bool
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
			return nil, &Refusal{Reason: fmt.Sprintf("%s uses the part %s", user, part.Name), WayOut: "Nothing was changed. Destroy what uses it first."}
		}
		if drift := e.partDrift(part); !drift.IsEmpty() && !r.force {
			return nil, &Refusal{
				Reason:    fmt.Sprintf("the part %s is not as petrock made it:", part.Name),
				Conflicts: slices.Concat(drift.Changed, drift.Missing, drift.Added),
				WayOut:    "Nothing was changed. With force it is removed all the same.",
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
				return file.Path
			}
		}
	}
	return ""
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

// partDrift returns how the code of a part differs from what petrock wrote.
func (e *Engine) partDrift(part parts.Part) Drift {
	sum, err := ReadSum(e.root.FS())
	if err != nil {
		return Drift{Missing: []string{err.Error()}}
	}
	of := func(files []string) []string {
		return slices.DeleteFunc(files, func(file string) bool { return !part.Holds(file) })
	}
	drift := sum.Compare(e.root.FS(), PetrockFolders()...)
	return Drift{Changed: of(drift.Changed), Missing: of(drift.Missing), Added: of(drift.Added)}
}

// addNeeded adds the parts that the planned files need, and those that the project needs and lacks.
func (e *Engine) addNeeded(ctx context.Context, p *plan) error {
	for _, part := range parts.All() {
		view := e.before.With(p.texts)
		if isPresent(part, view) {
			continue
		}
		user := e.partUser(part, view)
		if user == "" {
			continue
		}
		if _, err := e.root.Lstat(part.Archive()); isMissing(err) && !p.plans(user) {
			continue // the project does not compile, and that is not because of this plan
		}
		if err := e.addPart(ctx, p, part); err != nil {
			return err
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
	if err := e.changeParts(ctx, p, part, files, []string{part.Archive()}); err != nil {
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
	return e.changeParts(ctx, p, part, map[string][]byte{part.Archive(): part.Pack(e.checker.Module().Path, code)}, gone)
}

// changeParts plans the files of a part that come and go, with petrock.sum, go.mod and go.sum.
func (e *Engine) changeParts(ctx context.Context, p *plan, part parts.Part, come map[string][]byte, gone []string) error {
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
	change := PartChange{Name: part.Name, Action: journal.Delete, Folders: part.Folders, Files: len(gone)}
	if !slices.Contains(before, part.Name) {
		change.Action, change.Files = journal.Create, len(come)
		p.operation.Added = append(p.operation.Added, part.Name)
	} else {
		p.operation.Removed = append(p.operation.Removed, part.Name)
	}
	goMod, goSum, err := e.plannedModules(p)
	if err != nil {
		return err
	}
	after := e.before.With(p.texts)
	newMod, newSum, ok, err := parts.ChangeModules(goMod, goSum, before, presentParts(after), importPaths(after))
	if err == nil && !ok {
		newMod, newSum, err = e.tidy(ctx, p, goMod, goSum)
	}
	if err != nil {
		return err
	}
	put("go.mod", newMod)
	put("go.sum", newSum)
	change.Modules = differentModules(goMod, newMod)
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

// differentModules returns the modules that one go.mod requires and the other does not.
func differentModules(one, other []byte) []string {
	count := map[string]int{}
	for _, text := range [][]byte{one, other} {
		if parsed, err := modfile.ParseLax("go.mod", text, nil); err == nil {
			for _, r := range parsed.Require {
				count[r.Mod.String()]++
			}
		}
	}
	var different []string
	for name, n := range count {
		if n == 1 {
			different = append(different, name)
		}
	}
	slices.Sort(different)
	return different
}

// tidy computes go.mod and go.sum with go mod tidy, which sees the planned files and writes to copies.
func (e *Engine) tidy(ctx context.Context, p *plan, goMod, goSum []byte) (newMod, newSum []byte, err error) {
	e.step("running go mod tidy on a copy of go.mod")
	dir, err := os.MkdirTemp("", "petrock")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	if goMod, err = withParts(goMod, presentParts(e.before.With(p.texts))); err != nil {
		return nil, nil, err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	write := func(name string, text []byte) (string, error) {
		file := filepath.Join(dir, name)
		return file, os.WriteFile(file, text, 0o644)
	}
	modFile, modErr := write("go.mod", goMod)
	_, sumErr := write("go.sum", goSum)
	if err := errors.Join(modErr, sumErr); err != nil {
		return nil, nil, err
	}
	for name, text := range p.texts {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		at := filepath.Join(e.project.Root, filepath.FromSlash(name))
		if overlay.Replace[at] = ""; text != nil {
			if overlay.Replace[at], err = write(fmt.Sprintf("%d.go", len(overlay.Replace)), text); err != nil {
				return nil, nil, err
			}
		}
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return nil, nil, err
	}
	overlayFile, err := write("overlay.json", text)
	if err != nil {
		return nil, nil, err
	}
	env := append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	_, said, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{Dir: e.project.Root, Env: env}, "go", "mod", "tidy", "-modfile="+modFile, "-overlay="+overlayFile)
	if err != nil {
		return nil, nil, &Refusal{
			Reason:    "go.mod and go.sum cannot be computed:",
			Conflicts: strings.Split(strings.TrimSpace(cmp.Or(string(said), err.Error())), "\n"),
			WayOut:    "Nothing was changed. If a module is not on this machine, run go mod download with a network, and try again.",
		}
	}
	newMod, modErr = os.ReadFile(modFile)
	newSum, sumErr = os.ReadFile(filepath.Join(dir, "go.sum"))
	return newMod, newSum, errors.Join(modErr, sumErr)
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
// still are as the operation left them, they become what they were.
func (e *Engine) revertParts(ctx context.Context, opened *journal.Journal, p *plan, target journal.Operation, force bool) error {
	for _, name := range target.Added {
		part, ok := parts.Find(name)
		if view := e.before.With(p.texts); !ok || !isPresent(part, view) {
			continue
		} else if user := e.partUser(part, view); user != "" {
			p.notices = append(p.notices, fmt.Sprintf("The part %s stays: %s uses it.", name, user))
			continue
		}
		if drift := e.partDrift(part); !drift.IsEmpty() && !force {
			p.notices = append(p.notices, fmt.Sprintf("The part %s stays: %s was edited.", name, slices.Concat(drift.Changed, drift.Missing, drift.Added)[0]))
			continue
		}
		if err := e.removePart(ctx, p, part); err != nil {
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
	if !slices.Equal(p.operation.Removed, target.Added) || !slices.Equal(p.operation.Added, target.Removed) {
		return nil
	}
	for _, record := range target.Files {
		if now, err := e.root.ReadFile(record.Path); err == nil && p.derived[record.Path] && journal.Hash(now) == record.After && strings.HasPrefix(record.Path, "go.") {
			if p.texts[record.Path], err = opened.Contents(record.Before); err != nil {
				return err
			}
		}
	}
	if len(p.parts) > 0 {
		e.cache.PlanModules(p.texts["go.mod"], p.texts["go.sum"])
	}
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
