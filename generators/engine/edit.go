package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// A FileEdit changes one file: it sets the text, replaces parts of it, deletes or renames the file.
// It can also replace parts of all files that a glob selects, or rename or move a Go symbol.
type FileEdit struct {
	Path    string        `json:"path,omitempty"`    // From the project's root; with replace also a glob: **/*.go
	Symbol  string        `json:"symbol,omitempty"`  // Or Go symbol to rename
	Text    *string       `json:"text,omitempty"`    // Whole new text
	Replace []Replacement `json:"replace,omitempty"` // Or replacements
	Rename  string        `json:"rename,omitempty"`  // New path or name; money.Tier moves a symbol
	Delete  bool          `json:"delete,omitempty"`
}

// A Replacement replaces a text that occurs once or, with All, every occurrence.
type Replacement struct {
	Old    string `json:"old"` // Exact text that occurs once
	New    string `json:"new"`
	All    bool   `json:"all,omitempty"`    // Every occurrence
	Regexp bool   `json:"regexp,omitempty"` // With ${1} in new
}

// Edit changes files of the project in one operation. Later edits see the texts of earlier ones. Go
// files are formatted, imports of the standard library and the module are added and removed as
// needed, and derived files follow. Edit refuses files that petrock writes.
func (e *Engine) Edit(ctx context.Context, edits []FileEdit, o Options) (*Result, error) {
	switch {
	case len(edits) == 0:
		return nil, terminal.Usagef("there are no edits; pass at least one, with a path")
	case o.Test && o.NoExec:
		return nil, terminal.Usagef("tests are disabled by --no-exec; edit without test")
	}
	return e.transact(ctx, request{Options: o, action: actionEdit, arguments: arguments{Edits: edits}, lenient: true}, func(j *journal.Journal, p *plan) error {
		return e.planEdit(ctx, j, p, edits)
	})
}

func (e *Engine) planEdit(ctx context.Context, j *journal.Journal, p *plan, edits []FileEdit) error {
	p.checkPure = true
	if err := e.planEdits(ctx, j, p, edits); err != nil {
		return err
	}
	p.name = joinFew(slices.Sorted(maps.Keys(p.texts)))
	p.title = actionEdit + " " + p.name
	if first := edits[0]; first.Symbol != "" {
		p.title = fmt.Sprintf("rename %s to %s", first.Symbol, first.Rename)
	}
	if !p.Test && !p.NoExec {
		p.next = append(p.next, fmt.Sprintf("Run the tests with %s.", e.Call("test")))
	}
	if err := e.derive(ctx, p, e.placesAfter(p), false); err != nil {
		return err
	}
	for _, pkg := range p.packages {
		if len(pkg.Problems) > 0 && e.whyUnread(pkg.Dir) == "" {
			if err := e.refuseNewProblems(ctx, p, pkg); err != nil {
				return err
			}
		}
	}
	return nil
}

// planEdits plans edits of files, on top of the planned texts.
func (e *Engine) planEdits(ctx context.Context, j *journal.Journal, p *plan, edits []FileEdit) error {
	if len(edits) == 0 {
		return nil
	}
	refusal := &Refusal{Reason: cannotEdit + ":", Remedy: "Nothing was changed."}
	if p.action == actionChange {
		refusal.Reason = fmt.Sprintf("%s, after the change of %s %s:", cannotEdit, p.kind, p.name)
	}
	for _, edit := range edits {
		var problem *typecheck.Diagnostic
		switch {
		case (edit.Path == "") == (edit.Symbol == ""):
			problem = &typecheck.Diagnostic{Message: "pass path or symbol, one of them, in each edit"}
		case edit.Symbol != "" && (edit.Rename == "" || edit.Text != nil || edit.Delete || len(edit.Replace) > 0):
			problem = &typecheck.Diagnostic{Message: "a symbol needs rename, without text, replace and delete"}
		case edit.Symbol != "":
			if err := e.planSymbol(ctx, p, edit); ctx.Err() != nil {
				return err
			} else if err != nil {
				problem = &typecheck.Diagnostic{Message: err.Error()}
			}
		case isGlob(edit.Path):
			problem = e.planGlob(j, p, edit)
		default:
			problem = e.planFile(j, p, edit)
		}
		if problem != nil {
			problem.File = cmp.Or(problem.File, edit.Path, edit.Symbol)
			refusal.Diagnostics = append(refusal.Diagnostics, *problem)
		}
	}
	if len(refusal.Diagnostics) > 0 {
		return refusal
	}
	missing, err := e.onDisk().completeGo(ctx, p.texts)
	if err != nil {
		return err
	}
	p.missing = append(p.missing, missing...)
	return e.planGoMod(ctx, p)
}

// cannotEdit is the reason of refusals of edits.
const cannotEdit = "these files cannot be edited as requested"

// planGlob plans replacements in all files that a glob selects. Each must occur in at least one.
func (e *Engine) planGlob(j *journal.Journal, p *plan, edit FileEdit) *typecheck.Diagnostic {
	if edit.Text != nil || edit.Rename != "" || edit.Delete || len(edit.Replace) == 0 {
		return &typecheck.Diagnostic{Message: "a glob needs replace, without text, rename and delete"}
	}
	files := newSelection([]string{e.pathInProject(edit.Path)})
	names, err := e.selectFiles(files)
	if err != nil {
		return &typecheck.Diagnostic{Message: err.Error()}
	}
	names = slices.Compact(slices.Sorted(slices.Values(append(names, slices.DeleteFunc(slices.Collect(maps.Keys(p.texts)), func(name string) bool { return !files.has(name) })...))))
	for _, r := range edit.Replace {
		r.All = true
		places, changed := 0, 0
		for _, name := range names {
			text, _, err := e.readToEdit(j, p, name)
			if err != nil || text == nil || !files.includes(name, text) {
				continue
			}
			n, replaced, err := r.replace(text)
			if err != nil {
				return &typecheck.Diagnostic{Message: err.Error()}
			}
			if n > 0 {
				p.texts[name], places, changed = replaced, places+n, changed+1
			}
		}
		if places == 0 {
			return &typecheck.Diagnostic{Message: fmt.Sprintf("old occurs in no file that may be edited: %q", gen.Shorten(r.Old))}
		}
		p.notices = append(p.notices, fmt.Sprintf("Replaced %q: %s in %s.", gen.Shorten(r.Old), count(places, "place"), count(changed, "file")))
	}
	return nil
}

// planFile plans one edit. It returns why the edit is refused, or nil.
func (e *Engine) planFile(j *journal.Journal, p *plan, edit FileEdit) *typecheck.Diagnostic {
	refuse := func(format string, args ...any) *typecheck.Diagnostic {
		return &typecheck.Diagnostic{Message: fmt.Sprintf(format, args...)}
	}
	name := e.pathInProject(edit.Path)
	text, mode, err := e.readToEdit(j, p, name)
	if invalid, ok := errors.AsType[*journal.PathError](err); ok && invalid.Path == name {
		return refuse("%s", invalid.Reason) // the diagnostic names the file
	} else if err != nil {
		return refuse("%v", err)
	}
	setsText, replaces := edit.Text != nil, len(edit.Replace) > 0
	switch {
	case setsText && replaces || edit.Delete && (setsText || replaces || edit.Rename != ""):
		return refuse("text, replace and delete cannot be combined, nor delete and rename; pass one of them")
	case !setsText && !replaces && !edit.Delete && edit.Rename == "":
		return refuse("pass text, replace, rename or delete")
	case text == nil && !setsText:
		return refuse("does not exist; pass text to create it")
	case edit.Delete:
		p.texts[name] = nil
		return nil
	case setsText:
		text = []byte(*edit.Text)
	}
	for _, r := range edit.Replace {
		var problem *typecheck.Diagnostic
		if text, problem = r.apply(text); problem != nil {
			return problem
		}
	}
	if edit.Rename != "" {
		p.texts[name] = nil
		name = e.pathInProject(edit.Rename)
		switch taken, _, err := e.readToEdit(j, p, name); {
		case err != nil:
			return refuse("rename to %s: %v", name, err)
		case taken != nil:
			return refuse("rename to %s: the file already exists; delete it first, or choose another name", name)
		}
		p.modes[name] = mode
	}
	p.texts[name] = text
	return nil
}

// pathInProject returns a path from the project's root. It accepts absolute paths in the project.
func (e *Engine) pathInProject(name string) string {
	if filepath.IsAbs(name) {
		if inside, err := filepath.Rel(e.project.Root, name); err == nil && filepath.IsLocal(inside) {
			name = filepath.ToSlash(inside)
		}
	}
	return path.Clean(name)
}

// readToEdit returns the planned text of a file, or the text on disk; nil if it does not exist. It
// refuses files that an edit may not change.
func (e *Engine) readToEdit(j *journal.Journal, p *plan, name string) (text []byte, mode fs.FileMode, err error) {
	if info, err := e.root.Lstat(name); err == nil && info.IsDir() {
		return nil, 0, errors.New("is a folder; name a file in it")
	}
	if text, mode, err = j.Read(name); err != nil {
		return nil, 0, err
	}
	if reason := e.whyNotEditable(name, text); reason != "" {
		return nil, 0, errors.New(reason)
	}
	if p.plans(name) {
		text = p.texts[name]
	}
	return text, mode, nil
}

// whyNotEditable returns why an edit may not change a file, and what to do instead. It returns an
// empty text if it may.
func (e *Engine) whyNotEditable(name string, text []byte) string {
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if info, err := e.root.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return dir + " is a symbolic link; name the file by its real path"
		}
	}
	reasons := map[string]string{
		contract.File: fmt.Sprintf("records what the server promises, and is changed by operations only; to accept changed fields of a command, %s; to keep old events readable, %s",
			e.Call("sync", "accept", []string{"COMMAND"}), e.Call("change")),
		SumFile:          "has the hashes of petrock's code; it never needs an edit",
		project.FileName: "identifies the project for petrock; only its initialisms may change, in an editor",
		"go.sum":         "follows from go.mod; edit go.mod",
	}
	mod := e.otherModule(name)
	switch {
	case reasons[name] != "":
		return reasons[name]
	case isPetrockPath(name):
		return "is in a folder with petrock's code, which petrock.sum verifies; write your own code in another folder"
	case strings.HasPrefix(name, "data/log.db"):
		return "is the server's event log; change it with commands of the server"
	case typecheck.IsDerived(name, text):
		return "is derived from the project's Go code; edit that, and it follows"
	case text == nil && strings.HasSuffix(name, "_gen.go"):
		return "names ending in _gen.go are for derived files; choose another name"
	case mod != "" && name != mod:
		return fmt.Sprintf("is in another module (%s)", mod)
	case path.Base(name) == "go.mod" && name != "go.mod":
		return fmt.Sprintf("would make %s another module, which petrock does not read", path.Dir(name))
	}
	return ""
}

// replace replaces all occurrences in a text, and returns their number.
func (r Replacement) replace(text []byte) (n int, replaced []byte, err error) {
	if r.Old == "" {
		return 0, nil, errors.New("old is empty; pass text to write the whole file")
	}
	if !r.Regexp {
		return bytes.Count(text, []byte(r.Old)), bytes.ReplaceAll(text, []byte(r.Old), []byte(r.New)), nil
	}
	pattern, err := regexp.Compile("(?m)" + r.Old)
	if err != nil {
		return 0, nil, err
	}
	return len(pattern.FindAllIndex(text, -1)), pattern.ReplaceAll(text, []byte(r.New)), nil
}

// apply replaces the text. It returns why it cannot, or nil.
func (r Replacement) apply(text []byte) ([]byte, *typecheck.Diagnostic) {
	n, replaced, err := r.replace(text)
	switch {
	case err != nil:
		return nil, &typecheck.Diagnostic{Message: err.Error()}
	case n == 0 && r.Regexp:
		return nil, &typecheck.Diagnostic{Message: fmt.Sprintf("old matches nothing: %q", gen.Shorten(r.Old))}
	case n == 0:
		line := nearestLine(string(text), r.Old)
		return nil, &typecheck.Diagnostic{
			Line: line, Message: fmt.Sprintf("old does not occur: %q; copy it exactly, white space included", gen.Shorten(r.Old)),
			Lines: typecheck.LinesAround(string(text), line),
		}
	case n > 1 && !r.All:
		return nil, &typecheck.Diagnostic{Message: fmt.Sprintf("old occurs %d times: %q; add lines around it, or set all", n, gen.Shorten(r.Old))}
	}
	return replaced, nil
}

// nearestLine returns the number of the first line of a text that contains a line of old, white
// space aside. It is 0 if there is none.
func nearestLine(text, old string) int {
	squeeze := func(line string) string { return strings.Join(strings.Fields(line), "") }
	for wanted := range strings.Lines(old) {
		number := 0
		for line := range strings.Lines(text) {
			number++
			if wanted := squeeze(wanted); len(wanted) > 2 && strings.Contains(squeeze(line), wanted) {
				return number
			}
		}
	}
	return 0
}

// placesAfter returns the places that have Go files before or after a plan.
func (e *Engine) placesAfter(p *plan) []derive.Place {
	after := e.before.With(p.texts)
	return slices.DeleteFunc(derive.Places(after), func(place derive.Place) bool {
		return len(after.Files(place.Dir))+len(e.before.Files(place.Dir)) == 0
	})
}
