package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/linked"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// A planner adds a change to an empty plan.
type planner func(*journal.Journal, *plan) error

// transact makes one change to the project under its lock. Each phase returns what it decides, and
// no later phase changes that. A dry run saves the plan instead of applying it.
func (e *Engine) transact(ctx context.Context, asked request, makePlan planner) (*Result, error) {
	options := journal.Options{Waiting: func() { e.step("waiting for another petrock process in this project") }}
	j, err := journal.Open(ctx, e.project.Root, options)
	if err != nil {
		return nil, notMade(ctx, err)
	}
	defer j.Close()
	planned, err := e.plan(ctx, j, asked, makePlan)
	if err != nil {
		return nil, notMade(ctx, err)
	}
	checked, err := e.verify(ctx, planned)
	if err != nil {
		checked, err = e.verifyCorrected(ctx, planned, err)
	}
	if err = notMade(ctx, err); err != nil { // the last moment to cancel
		return nil, err
	}
	checked.result.Recovered = j.Recovered()
	switch {
	case asked.DryRun:
		return checked.result, e.savePlan(checked)
	case len(checked.files) == 0 && checked.undoes == "": // an undo counts even if the files were restored by hand
		return checked.result, nil
	}
	applied, err := e.apply(j, checked)
	if err != nil {
		return checked.result, err
	}
	return checked.result, e.record(j, checked, applied)
}

// notMade returns the error of a change that was not made. It adds that the caller cancelled it.
func notMade(ctx context.Context, err error) error {
	cancelled := ctx.Err()
	switch {
	case cancelled == nil:
		return err
	case err == nil || errors.Is(err, cancelled):
		return fmt.Errorf("interrupted; this change was not made: %w", cancelled)
	}
	return fmt.Errorf("interrupted; this change was not made: %w: %w", cancelled, err)
}

// plan reads the project, and plans a change.
func (e *Engine) plan(ctx context.Context, j *journal.Journal, asked request, makePlan planner) (plan, error) {
	if err := e.read(ctx, asked.lenient); err != nil {
		return plan{}, err
	}
	planned := newPlan(asked)
	err := makePlan(j, planned)
	return *planned, err
}

// apply writes the files of a change, all of them or none.
func (e *Engine) apply(j *journal.Journal, c *verified) (journal.Operation, error) {
	e.step("writing")
	op := journal.Operation{Action: c.action, Title: c.title, Undoes: c.undoes}
	if c.action == actionSync {
		op.Follows = len(c.Accept)+len(c.Skip) == 0
		if c.Saved || !c.changes(contract.File) {
			op.Action = "" // derived files need no history; the contract does
		}
	}
	for _, part := range c.parts {
		if part.Action == journal.Create {
			op.Added = append(op.Added, part.Name)
		} else {
			op.Removed = append(op.Removed, part.Name)
		}
	}
	return j.Apply(op, c.files)
}

// record adds the operation to the history, and its id to the result. It removes a saved plan, so
// that it cannot be applied again; if that fails, it adds a warning, because the change is made.
func (e *Engine) record(j *journal.Journal, c *verified, op journal.Operation) error {
	if err := j.Record(op); err != nil {
		return err
	}
	c.result.Operation = op.ID
	if c.applying == nil {
		return nil
	}
	if err := e.root.Remove(planFile(c.applying.id)); err != nil {
		c.result.Warnings = append(c.result.Warnings, typecheck.Diagnostic{Message: fmt.Sprintf("plan %s was applied, but not removed: %v; remove the file", c.applying.id, err)})
	}
	return nil
}

// verify refuses a plan that conflicts with the project, does not compile, fails go vet, makes
// replay non-deterministic or stored events unreadable, or fails examples or tests. It ignores
// errors that the project had before.
func (e *Engine) verify(ctx context.Context, p plan) (*verified, error) {
	if len(p.conflicts) > 0 {
		return nil, &Refusal{
			Reason:    p.title + ": conflict with existing files:",
			Conflicts: slices.Compact(slices.Sorted(slices.Values(p.conflicts))),
			Remedy:    fmt.Sprintf("Nothing was changed. Choose another name, or rename or destroy what exists first (%s).", e.Call("destroy")),
		}
	}
	if err := e.refuseBroken(&p, p.broken); err != nil {
		return nil, err
	}
	e.step("verifying")
	files, err := e.changedFiles(&p)
	if err != nil {
		return nil, err
	}
	c := &verified{plan: p, after: e.before.With(p.texts), files: files, result: newResult(&p, files)}
	for _, check := range []func(context.Context, *verified) error{
		e.verifyTypes, e.vet, e.verifyPure, e.compile, e.verifySaved, e.decodeStored, e.runPlannedTests, e.report,
	} {
		if err := check(ctx, c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// verifyTypes type-checks the changed packages and those that import them.
func (e *Engine) verifyTypes(ctx context.Context, c *verified) error {
	verdict, err := e.checker.Verify(ctx, e.before, c.after)
	if err != nil {
		return err
	}
	c.result.Diagnostics = append(c.result.Diagnostics, verdict.Old...)
	if len(verdict.New) == 0 {
		return nil
	}
	c.explainMissing(verdict.New)
	return c.declare(&Refusal{
		Reason:      wouldNotCompile,
		cause:       causeCompile,
		Diagnostics: withSource(verdict.New, c.after),
		Remedy:      c.compileRemedy(verdict.New),
	})
}

// verifyCorrected verifies a plan again that does not compile, after correctCase. If it still does
// not compile, verifyCorrected returns the first error.
func (e *Engine) verifyCorrected(ctx context.Context, p plan, first error) (*verified, error) {
	for err := first; ; {
		refusal, ok := errors.AsType[*Refusal](err)
		if !ok || refusal.cause != causeCompile {
			return nil, err
		}
		if !e.correctCase(ctx, &p, refusal.Diagnostics) {
			return nil, first
		}
		var c *verified
		if c, err = e.verify(ctx, p); err == nil {
			return c, nil
		}
	}
}

// correctCase corrects undefined names, such as c.Isbn to c.ISBN, in Go that the caller has sent,
// if exactly one name that differs in nothing but case is defined there. It adds a warning for
// each, and reports whether there is one.
func (e *Engine) correctCase(ctx context.Context, p *plan, found []typecheck.Diagnostic) (corrected bool) {
	view := e.before.With(p.texts)
	pass, err := e.checker.NewPass(ctx, view, p.dirs(), typecheck.PassOptions{})
	if err != nil || !slices.Contains([]string{actionGenerate, actionChange, actionEdit}, p.action) {
		return false
	}
	for _, d := range found {
		file := view.File(d.File)
		if file == nil || d.Column == 0 || !p.plans(d.File) || p.recomputed[d.File] {
			continue
		}
		at := view.Fset().File(file.Syntax.FileStart).LineStart(d.Line) + token.Pos(d.Column-1)
		ident := typecheck.Enclosing[*ast.Ident](file, at)
		var names []string
		for _, pkg := range pass.InspectTests(file.Dir()) {
			if ident != nil && slices.Contains(pkg.Files, file) && pkg.Info.ObjectOf(ident) == nil {
				names = append(names, namesInOtherCase(pkg.Info, file, ident, d.Message)...)
			}
		}
		if len(names) == 1 {
			text := bytes.Clone(p.texts[d.File])
			copy(text[view.Fset().PositionFor(at, false).Offset:], names[0])
			p.texts[d.File], corrected = text, true
			p.warnings = append(p.warnings, typecheck.Diagnostic{File: d.File, Line: d.Line, Column: d.Column, Message: fmt.Sprintf("corrected %s to %s", ident.Name, names[0])})
		}
	}
	return corrected
}

// otherMember matches the field or method in another case that the type checker suggests.
var otherMember = regexp.MustCompile(`but does have (?:field |method )?(\w+)\)?$`)

// namesInOtherCase returns what an undefined identifier may mean. message is the error about it.
func namesInOtherCase(info *types.Info, file *typecheck.File, ident *ast.Ident, message string) (names []string) {
	if found := otherMember.FindStringSubmatch(message); found != nil {
		return found[1:]
	}
	scope := info.Scopes[file.Syntax].Innermost(ident.Pos())
	selector := typecheck.Enclosing[*ast.SelectorExpr](file, ident.Pos())
	isMember := selector != nil && selector.Sel == ident
	if isMember {
		x, _ := selector.X.(*ast.Ident)
		imported, ok := info.Uses[x].(*types.PkgName)
		if !ok {
			return nil
		}
		scope = imported.Imported().Scope()
	}
	for ; scope != nil; scope = scope.Parent() {
		for _, name := range scope.Names() {
			_, found := scope.LookupParent(name, ident.Pos())
			isVisible := found != nil && (found.Exported() || !isMember)
			isOther := name != ident.Name && len(name) == len(ident.Name) && strings.EqualFold(name, ident.Name)
			if isVisible && isOther && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// explainMissing replaces errors about undefined package names with the reason why no package was
// imported.
func (p *plan) explainMissing(found []typecheck.Diagnostic) {
	for i, d := range found {
		for _, m := range p.missing {
			if (p.bodyFile == "" || d.File == p.bodyFile) && d.Message == "undefined: "+m.Name {
				found[i].Message = m.Reason
			}
		}
	}
}

// changedFiles returns the files that a plan changes on disk, sorted.
func (e *Engine) changedFiles(p *plan) ([]journal.Change, error) {
	var files []journal.Change
	for _, file := range slices.Sorted(maps.Keys(p.texts)) {
		f := journal.Change{Path: file, After: p.texts[file], Mode: p.modes[file], Derived: p.recomputed[file]}
		if was := e.before.File(file); was != nil {
			f.Before = was.Text
		} else if text, err := e.root.ReadFile(file); err == nil {
			f.Before = text
		} else if !isMissing(err) {
			return nil, err
		}
		if f.Action() != journal.None {
			files = append(files, f)
		}
	}
	return files, nil
}

// vet runs the checks of go vet on the packages whose code a plan writes, and refuses the plan if
// they find something new.
func (e *Engine) vet(ctx context.Context, c *verified) error {
	dirs := map[string]bool{}
	for file, text := range c.texts {
		if text != nil && !c.recomputed[file] && !isPetrockPath(file) && c.after.File(file) != nil {
			dirs[path.Dir(file)] = true
		}
	}
	changed := slices.Sorted(maps.Keys(dirs))
	after, _, err := e.checker.VetAll(ctx, c.after, changed)
	if err != nil || len(after) == 0 {
		return err
	}
	before, broken, err := e.checker.VetAll(ctx, e.before, changed)
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(withoutExisting(after, before), func(d typecheck.Diagnostic) bool {
		return !c.plans(d.File) && slices.Contains(broken, path.Dir(d.File)) // a file that was not checked before
	})
	refusal := &Refusal{Reason: "the change would fail go vet:", Diagnostics: withSource(fresh, c.after), Remedy: "Nothing was changed."}
	if c.bodyFile != "" {
		refusal.Remedy += " Correct the body and retry."
	}
	return refusal.orNil()
}

// verifyPure refuses code that makes replay non-deterministic.
func (e *Engine) verifyPure(ctx context.Context, c *verified) error {
	if !c.checkPure {
		return nil
	}
	after, err := e.checkPurity(ctx, c.after, c.dirs())
	isOther := func(d typecheck.Diagnostic) bool { return c.texts[d.File] == nil }
	c.result.Warnings = append(c.result.Warnings, slices.DeleteFunc(after.Warnings, isOther)...)
	if err != nil || len(after.Impure) == 0 {
		return err
	}
	before, err := e.checkPurity(ctx, e.before, c.dirs())
	if err != nil {
		return err
	}
	fresh := withoutExisting(after.Impure, before.Impure)
	refusal := &Refusal{
		Reason:      "replaying the event log would be non-deterministic:",
		Diagnostics: withSource(fresh, c.after),
		Remedy:      "Nothing was changed. If a function is deterministic, add //petrock:pure and a reason to its doc comment.",
	}
	return c.declare(refusal).orNil()
}

// errNoPurity refuses to check features in a process of a project that had none.
var errNoPurity = &Refusal{
	Reason: "this petrock was built before the project had features, and cannot check them",
	Remedy: "Nothing was changed. Generate the feature first, or run petrock add app.",
}

// checkPurity checks that replay of features is deterministic. If changed is not nil, it checks
// only features that depend on packages in these folders, except core.
func (e *Engine) checkPurity(ctx context.Context, view *typecheck.View, changed []string) (typecheck.PurityReport, error) {
	var dirs, affected []string
	for _, dir := range changed {
		if !isPetrockPath(dir) {
			affected = append(affected, e.checker.Importers(view, dir)...)
		}
	}
	for _, place := range derive.Places(view) {
		if place.Kind == derive.Feature && (changed == nil || slices.Contains(affected, place.Dir)) {
			dirs = append(dirs, place.Dir)
		}
	}
	find := linked.Purity()
	switch {
	case len(dirs) == 0:
		return typecheck.PurityReport{}, nil
	case find == nil:
		return typecheck.PurityReport{}, errNoPurity
	}
	e.step("checking that replay is deterministic")
	return find(ctx, e.checker, e.deriver.Core, view, dirs)
}

func (e *Engine) reportPurity(ctx context.Context, r *Result, view *typecheck.View) error {
	report, err := e.checkPurity(ctx, view, nil)
	if errors.Is(err, errNoPurity) {
		report.Warnings, err = []typecheck.Diagnostic{{Message: errNoPurity.Reason + "; restart it to check them"}}, nil
	}
	if err != nil {
		return err
	}
	r.Impure = report.Impure
	r.Warnings = append(r.Warnings, report.Warnings...)
	return nil
}

// report completes the result of an operation that was verified, before it is applied.
func (e *Engine) report(ctx context.Context, c *verified) error {
	result := c.result
	if s := result.Stored; s != nil && s.Looked && s.Events == 0 {
		result.Stored = nil // nothing to say
	}
	if c.action == actionEdit && !c.changes(contract.File) {
		result.ToolsList = nil // unchanged
	}
	for _, b := range c.broken {
		result.Warnings = append(result.Warnings, e.diagnose(&c.plan, b))
	}
	if c.action == actionSync {
		if err := e.reportPurity(ctx, result, c.after); err != nil {
			return err
		}
	}
	if c.action == actionChange && c.was.Contract != nil {
		isSame := func(tool, schema string) bool {
			return bytes.Equal(strictjson.Member(c.was.Tools[tool], schema), strictjson.Member(c.now.Tools[tool], schema))
		}
		shared := slices.DeleteFunc(slices.Sorted(maps.Keys(c.was.Tools)), func(tool string) bool {
			return tool == c.name || c.now.Tools[tool] == nil || isSame(tool, "inputSchema") && isSame(tool, "outputSchema")
		})
		if len(shared) > 0 {
			result.Warnings = append(result.Warnings, typecheck.Diagnostic{Message: fmt.Sprintf("other tools use the changed types; the schemas of these change too: %s", joinFew(shared))})
		}
	}
	switch {
	case c.DryRun:
		result.Next = []string{}
	case (c.action == actionGenerate || c.action == actionChange) && c.dir != "" && c.kind != string(derive.Type) && (result.Tests == nil || !result.Tests.OK):
		result.Next = append(result.Next, fmt.Sprintf("Run the tests with %s.", e.Call("test", "packages", []string{asFolder(c.dir)})))
	}
	result.Next = slices.Concat(result.Next, e.workerAdvice(c), e.partsAdvice(c))
	return nil
}

// newResult returns the part of a result that depends only on the change. Lists are never nil.
func newResult(p *plan, files []journal.Change) *Result {
	r := &Result{
		Action: p.action, DryRun: p.DryRun, Undoes: p.undoes, Reverted: p.reverted, Kind: p.kind, Name: p.name,
		Files: []FileChange{}, Components: []derive.Component{}, Next: append([]string{}, p.next...), Diagnostics: []typecheck.Diagnostic{},
		Refused: []typecheck.Diagnostic{}, Warnings: []typecheck.Diagnostic{}, Notices: p.notices, Parts: p.parts,
	}
	for _, f := range files {
		if !p.belongsToPart(f.Path) {
			r.Files = append(r.Files, newFileChange(f))
		}
	}
	for _, what := range p.breaks {
		r.Warnings = append(r.Warnings, typecheck.Diagnostic{Message: "this breaks clients: " + what})
	}
	isOther := func(d typecheck.Diagnostic) bool { return p.action != actionSync && !p.plans(d.File) }
	for _, pkg := range p.packages {
		r.Refused = append(r.Refused, pkg.Problems...)
		r.Warnings = append(r.Warnings, slices.DeleteFunc(slices.Clone(pkg.Warnings), isOther)...)
		for _, component := range pkg.Components {
			isIt := component.Name == r.Name && string(component.Kind) == r.Kind
			if isIt || r.Kind == string(derive.Feature) && component.Feature == r.Name {
				r.Components = append(r.Components, component)
			}
		}
	}
	r.Warnings = append(r.Warnings, p.warnings...)
	if p.now.Contract != nil && len(p.now.Tools) > 0 {
		r.ToolsList = newSize(p.now.Tools)
	}
	if p.stored != nil {
		r.Stored = new(*p.stored) // verify adds to it
	}
	r.OK = len(r.Refused) == 0
	return r
}

// workerAdvice advises on workers that a plan removes or renames.
func (e *Engine) workerAdvice(c *verified) []string {
	var advice []string
	for _, file := range slices.Sorted(maps.Keys(c.recomputed)) {
		after := c.after.File(file)
		for _, worker := range derive.Workers(e.before.File(file)) {
			if after != nil && !slices.Contains(derive.Workers(after), worker) {
				advice = append(advice, fmt.Sprintf("Worker %s no longer exists. If you renamed it, add //petrock:name %s to the doc comment of its type: its position in the event log is stored under this name.",
					worker, path.Base(worker)))
			}
		}
	}
	return advice
}

// partsAdvice names the parts that are no longer used after a plan.
func (e *Engine) partsAdvice(c *verified) []string {
	var next []string
	for _, part := range parts.All() {
		if isPresent(part, c.after) && e.partUser(part, e.before) != "" && e.partUser(part, c.after) == "" {
			next = append(next, fmt.Sprintf("Part %s is no longer used; run %s to remove it.", part.Name, e.Call("remove", "part", part.Name)))
		}
	}
	return next
}
