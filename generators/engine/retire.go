package engine

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// A Removal is the decision about the stored events of a command, or of the commands of a feature,
// that is removed. At most one of Retire, Skip and Map is set.
type Removal struct {
	Retire bool   `json:"retire,omitempty"`                  // Keep the type, to replay its events
	Skip   bool   `json:"skip,omitempty"`                    // Ignore its events
	Map    string `json:"map,omitempty"`                     // Read its events as this command
	Body   string `json:"body,omitempty" schema:"format=go"` // With map: returns the command from old, an eventlog.Record
}

// check refuses a decision that does not fit the component.
func (r Removal) check(e *Engine, c derive.Component) error {
	hasMap, isDecided := r.Map != "", r.Retire || r.Skip || r.Map != ""
	switch {
	case r.Retire && r.Skip || r.Retire && hasMap || r.Skip && hasMap:
		return terminal.Usagef("%s, %s and %s cannot be combined; pass one of them", e.option("retire"), e.option("skip"), e.option("map"))
	case r.Retire && c.Retired:
		return terminal.Usagef("command %s is already retired; to remove its type, pass %s or %s", c.EventType, e.option("skip"), e.option("map"))
	case r.Body != "" && !hasMap:
		return terminal.Usagef("%s needs %s, the command that it returns", e.option("body"), e.option("map"))
	case isDecided && c.Kind != derive.Command && (c.Kind != derive.Feature || !r.Skip):
		return terminal.Usagef("%s %s: only commands have stored events; for a feature, pass %s, or remove its commands first", c.Kind, c.Name, e.option("skip"))
	}
	return nil
}

// planRemoval plans the decision about the stored events of a component that is removed.
func (e *Engine) planRemoval(ctx context.Context, p *plan, place derive.Place, c derive.Component, r Removal) error {
	switch {
	case r.Skip:
		packages, err := e.deriver.Packages(ctx, e.before, []derive.Place{place})
		if err != nil {
			return err
		}
		for _, other := range packages[0].Components {
			if other.Kind == derive.Command && (c.Kind == derive.Feature || other.EventType == c.EventType) {
				p.skips = append(p.skips, other.EventType)
			}
		}
	case r.Retire:
		return e.planRetired(ctx, p, c)
	case r.Map != "":
		return e.planMapped(ctx, p, c, r)
	}
	return nil
}

// planRetired keeps the type of a command, with //petrock:retired and without Check. It removes the
// other directives that are about calls.
func (e *Engine) planRetired(ctx context.Context, p *plan, c derive.Component) error {
	dir := path.Dir(c.File)
	edit, err := e.onDisk().newRewrite(ctx, dir)
	if err != nil {
		return err
	}
	file := e.before.File(c.File)
	for _, decl := range file.Syntax.Decls {
		if declarationName(decl) == c.Func+".Check" {
			edit.replace(file, startOf(decl), decl.End(), "")
		}
	}
	pkg, _ := edit.pass.Package(dir) // the caller has found the type
	edit.editDoc(pkg.Scope().Lookup(c.Func).Pos(), func(text, directives []string) ([]string, []string) {
		directives = slices.DeleteFunc(directives, func(d string) bool {
			name, _, _ := strings.Cut(d, " ")
			return strings.HasPrefix(name, "//petrock:") && name != "//petrock:version" && name != "//petrock:event"
		})
		return text, append(directives, "//petrock:retired")
	})
	maps.Copy(p.texts, edit.texts())
	p.missing, err = e.onDisk().completeGo(ctx, p.texts)
	return err
}

// planMapped writes a function that reads the events of a removed command as another command.
func (e *Engine) planMapped(ctx context.Context, p *plan, c derive.Component, r Removal) error {
	target, home, err := e.onDisk().lookUp(ctx, derive.Command, r.Map)
	switch {
	case err != nil:
		return err
	case target.EventType == c.EventType:
		return terminal.Usagef("map %s to %s: it is the command that is removed; name another one", c.EventType, r.Map)
	}
	body := r.Body
	if body == "" {
		record, err := e.readContract(p.texts)
		if err != nil {
			return err
		}
		versions := map[int]contract.Shape{}
		maps.Copy(versions, record.Commands[c.EventType].Versions)
		versions[c.Version()] = c.Stored()
		for _, version := range slices.Sorted(maps.Keys(versions)) {
			if changes := versions[version].Changes(target.Stored()); versions[version].Breaks(target.Stored()) {
				return terminal.Usagef("map %s to %s: the fields of version %d differ (%s); pass %s, Go statements that return %s and an error from old, an eventlog.Record: old.Version is its version, old.Decode(&fields) reads its data, and app.ErrDrop ignores the event",
					c.EventType, target.EventType, version, contract.Describe(changes), e.option("body"), target.Func)
			}
		}
		body = fmt.Sprintf("var command %s\nerr := old.Decode(&command)\nreturn command, err", target.Func)
	}
	if err := checkBody("body", body); err != nil {
		return generatorError("map", err)
	}
	name, err := gen.ParseName("map_" + strings.ReplaceAll(c.EventType, "/", "_"))
	if err != nil {
		return err
	}
	dir := home.Dir
	text := fmt.Sprintf(`package %s

// %s reads stored events of %s, which was removed, as %s commands.
//
//petrock:map %[3]s
func %[2]s(old eventlog.Record) (%[4]s, error) {
%[5]s
}
`, path.Base(dir), name.Go(), c.EventType, target.Func, strings.Trim(body, "\n"))
	file := path.Join(dir, name.File("command"))
	if e.before.File(file) != nil {
		p.conflicts = append(p.conflicts, file+" already exists")
		return nil
	}
	completed, missing, err := e.onDisk().with(p.texts).addImports(ctx, gen.File{Path: file, Text: []byte(text)})
	p.texts[file], p.bodyFile, p.missing = formatted(file, completed), file, missing
	return err
}
