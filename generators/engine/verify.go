package engine

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/trial"
	"github.com/petrock/petrock/generators/typecheck"
)

// try builds and runs the trial of a plan with the planned files, and refuses the plan if that fails.
// The result is nil if there is nothing to run.
func (e *Engine) try(ctx context.Context, p *plan, o Options) (*Trial, error) {
	options := trial.Options{Root: e.project.Root, Flags: e.system.Flags, Planned: p.texts, Step: e.step}
	if p.trial.Program != "" && !o.NoExec {
		found, err := trial.Build(ctx, options, p.trial.Program)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return nil, &Refusal{Reason: p.trial.Program + " would not build:", Diagnostics: withLines(found, p.texts), WayOut: "Nothing was changed."}
		}
	}
	if p.trial.Test == "" {
		return nil, nil
	}
	if p.applying != nil && p.applying.Trial != nil && p.applying.Trial.Ran {
		return p.applying.Trial, nil
	}
	if o.NoExec {
		return &Trial{Passed: []string{}}, nil
	}
	report, err := trial.Test(ctx, options, p.dir, p.trial.Test, e.Limits)
	if err != nil {
		return nil, err
	}
	if !report.Passed {
		return nil, p.failed(report)
	}
	tried := &Trial{Ran: true, Passed: []string{}, Printed: report.Printed, Confined: report.IsConfined(), Unenforced: report.Unenforced}
	for _, c := range report.Cases {
		tried.Passed = append(tried.Passed, p.example(c).Name)
	}
	return tried, nil
}

func (p *plan) failed(report *trial.Report) *Refusal {
	refusal := &Refusal{Diagnostics: withLines(report.Diagnostics, p.texts), Printed: cut(report.Printed, report.Ended != ""), WayOut: "Nothing was changed. Mend the body or the example."}
	if len(report.Diagnostics) > 0 {
		refusal.Reason = "it would not build:"
		return refusal
	}
	refusal.Reason = "examples failed:"
	if p.trial.Examples == nil {
		refusal.Reason = "its test failed:"
	}
	for _, c := range report.Cases {
		if c.Passed {
			continue
		}
		said := strings.Join(c.Messages, "\n")
		if said == "" {
			said = report.Ended
		}
		if lines := p.panicked(said); lines != "" {
			said += "\n" + lines
		}
		refusal.Failures = append(refusal.Failures, Failure{p.example(c), said})
		if report.IsConfined() && (strings.Contains(said, "permission denied") || strings.Contains(said, "read-only file system")) {
			refusal.WayOut = "Nothing was changed. Examples may write to the folder that they run in, and to temporary folders, alone."
		}
	}
	if left := len(p.trial.Examples) - len(report.Cases); left > 0 && report.Ended != "" {
		refusal.WayOut += " The examples behind it were not run."
	}
	if len(refusal.Failures) == 0 {
		refusal.Reason = cmp.Or(report.Ended, "its test failed")
	}
	return refusal
}

// panicked returns the source lines around a panic, if a message names a position in a planned file.
func (p *plan) panicked(said string) string {
	found := regexp.MustCompile(`panic: .*\(([^()]+):(\d+)\)`).FindStringSubmatch(said)
	if found == nil {
		return ""
	}
	line, _ := strconv.Atoi(found[2])
	return typecheck.LinesAround(string(p.texts[found[1]]), line)
}

// cut shortens the output of a test: of a crash, it keeps the reason and the crashing goroutine.
func cut(printed string, crashed bool) string {
	const most = 2000
	if crashed {
		parts := strings.SplitN(printed, "\n\n", 3)
		if len(parts) > 1 && strings.Contains(parts[0], "panic: ") {
			printed = parts[0] + "\n" + parts[1]
		} else {
			printed = parts[0]
		}
	}
	if len(printed) > most {
		printed = strings.ToValidUTF8(printed[:most], "") + " …"
	}
	return printed
}

// example returns the example of a test case. Test names have underscores for spaces.
func (p *plan) example(c trial.Case) gen.Example {
	for _, e := range p.trial.Examples {
		if strings.ReplaceAll(e.Name, "_", " ") == c.Name {
			return e
		}
	}
	return gen.Example{Name: c.Name}
}

// purity checks that replay of features is deterministic: of all, or if changed is not nil, of those
// that depend on packages in these folders.
func (e *Engine) purity(ctx context.Context, view *typecheck.View, changed []string) (typecheck.PurityReport, error) {
	var dirs []string
	for _, place := range derive.Places(view) {
		if place.Kind == derive.Feature && (changed == nil || e.reaches(view, place.Dir, changed, map[string]bool{})) {
			dirs = append(dirs, place.Dir)
		}
	}
	if len(dirs) > 0 {
		e.step("looking at how commands are applied")
	}
	return typecheck.PurityCheck{Core: e.deriver.Core, Checker: e.checker}.Find(ctx, view, dirs)
}

// reaches reports whether the package in a folder is one of others, or imports one, directly or not,
// but not through core.
func (e *Engine) reaches(view *typecheck.View, dir string, others []string, seen map[string]bool) bool {
	if seen[dir] || dir == "core" || strings.HasPrefix(dir, "core/") {
		return false
	}
	seen[dir] = true
	if slices.Contains(others, dir) {
		return true
	}
	for _, file := range view.Files(dir) {
		for _, i := range file.Imports() {
			inside, ours := strings.CutPrefix(i.Path, e.checker.Module().Path+"/")
			if ours && !file.IsTest() && !file.IsDerived() && e.reaches(view, inside, others, seen) {
				return true
			}
		}
	}
	return false
}

// verifyPure refuses a plan that makes the application of commands non-deterministic, so that replaying
// the event log might give another state.
func (e *Engine) verifyPure(ctx context.Context, p *plan) error {
	after, err := e.purity(ctx, p.after, p.dirs())
	p.warnings = slices.DeleteFunc(after.Warnings, func(d typecheck.Diagnostic) bool { return p.texts[d.File] == nil })
	if err != nil || len(after.Impure) == 0 {
		return err
	}
	before, err := e.purity(ctx, e.before, p.dirs())
	if err != nil {
		return err
	}
	fresh := newIn(after.Impure, before.Impure)
	if len(fresh) == 0 {
		return nil
	}
	return &Refusal{
		Reason:      "the state would not be the same when the log is read again:",
		Diagnostics: withLines(fresh, p.texts),
		Declares:    p.declares(fresh),
		WayOut:      "Nothing was changed. A function that does no harm may say so in its doc comment: //petrock:pure and the reason.",
	}
}

// newIn returns the diagnostics that were not there before: same file, same message.
func newIn(after, before []typecheck.Diagnostic) []typecheck.Diagnostic {
	return slices.DeleteFunc(after, func(d typecheck.Diagnostic) bool {
		return slices.ContainsFunc(before, func(old typecheck.Diagnostic) bool { return old.File == d.File && old.Message == d.Message })
	})
}

func (e *Engine) reportPurity(ctx context.Context, r *Result, view *typecheck.View) error {
	report, err := e.purity(ctx, view, nil)
	if err != nil {
		return err
	}
	r.Impure = report.Impure
	r.Warnings = append(r.Warnings, report.Warnings...)
	return nil
}

// Impurities lists what makes replay non-deterministic; empty if nothing was found.
func (r *Result) Impurities() string {
	var out strings.Builder
	for _, d := range r.Impure {
		fmt.Fprintf(&out, "%s\n", d)
	}
	return out.String()
}

// hidden returns the places that exist but are not read: symbolic links and nested modules. Treating
// them as missing would unregister their components.
func (e *Engine) hidden() []*derive.Package {
	var places []derive.Place
	for _, place := range derive.Places(e.before) {
		if place.Wired && place.Kind != derive.Feature {
			places = append(places, place)
		}
	}
	if e.whyHidden(derive.Features) != "" {
		places = append(places, derive.FeaturePlace(derive.Features))
	} else if entries, err := fs.ReadDir(e.root.FS(), derive.Features); err == nil { // there may be none
		for _, entry := range entries {
			places = append(places, derive.FeaturePlace(path.Join(derive.Features, entry.Name())))
		}
	}
	var found []*derive.Package
	for _, place := range places {
		if why := e.whyHidden(place.Dir); why != "" {
			found = append(found, &derive.Package{Place: place, Problems: []typecheck.Diagnostic{{Message: why}}})
		}
	}
	return found
}

// whyHidden explains why a folder is not read; empty if it is.
func (e *Engine) whyHidden(dir string) string {
	if info, err := e.root.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Sprintf("%s is a link, and what it leads to is not looked at; make it a folder", dir)
	}
	if mod := e.otherModule(path.Join(dir, "x")); mod != "" {
		return fmt.Sprintf("%s is in another module, that of %s; make it part of this one", dir, mod)
	}
	return ""
}

// otherModule returns the go.mod of the nested module that a file would be in; empty if none.
func (e *Engine) otherModule(file string) string {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		mod := path.Join(dir, "go.mod")
		if _, err := e.root.Lstat(mod); err == nil {
			return mod
		}
	}
	return ""
}

func (e *Engine) interrupted() []typecheck.Diagnostic {
	if !journal.Interrupted(e.root) {
		return nil
	}
	return []typecheck.Diagnostic{{Message: "an operation was interrupted, or is under way; sync, or any operation, waits for it, and finishes it or rolls it back"}}
}
