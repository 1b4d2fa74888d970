package derive

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/typecheck"
)

// IsMapper reports whether a function reads events of removed commands.
func IsMapper(decl *ast.FuncDecl) bool {
	_, ok := findDirective("map", decl.Doc)
	return ok
}

// visitMapper adds a function with the directive map, or reports its errors. The function need not
// be exported.
func (f *finder) visitMapper(file *typecheck.File, decl *ast.FuncDecl) {
	first, ok := findDirective("map", decl.Doc)
	if !ok || isIgnored(decl.Doc) {
		return
	}
	name := decl.Name.Name
	switch {
	case decl.Recv != nil:
		f.problem(decl.Name.Pos(), "%s is a method; make it a function, or remove //petrock:map", name)
		return
	case isConstrained(file):
		f.problem(decl.Name.Pos(), constrainedProblem, name, "map function")
		return
	case f.function(decl) == nil:
		return // the compiler reports a declaration with the same name
	}
	var all []mapper
	m := mapper{function: name, pos: decl.Name.Pos(), line: f.diagnostic(first.pos, "")}
	for _, d := range directives(decl.Doc) {
		switch {
		case d.name == "pure":
			continue
		case d.name != "map":
			f.problem(d.pos, "%s has //petrock:map, which allows no other directive; remove this one", name)
			return
		case d.text == "":
			f.problem(d.pos, "//petrock:map needs the event types of removed commands, such as scratch/poke")
		}
		for eventType := range strings.FieldsSeq(d.text) {
			if feature, name, _ := strings.Cut(eventType, "/"); CheckFeatureName(feature) != nil || !isWireName(name) {
				f.problem(d.pos, "%q is not the type of an event; write the feature and the removed command, such as scratch/poke", eventType)
			}
			m.eventType = eventType
			all = append(all, m)
		}
	}
	f.found.mappers = append(f.found.mappers, all...)
}

// checkMappers checks the signatures of map functions. checkMap checks that of Map.
func (f *finder) checkMappers() {
	for _, m := range f.found.mappers {
		if m.function == mapFunc {
			continue
		}
		function := f.pkg.Scope().Lookup(m.function).(*types.Func)
		result := ""
		if f.hasSignature(function, f.pkg, signature{"eventlog.Record", "T error"}) {
			result = f.name(function.Signature().Results().At(0).Type())
		}
		isOlder := slices.ContainsFunc(f.found.oldVersions, func(o oldVersion) bool { return o.name == result })
		if !isOlder && !slices.ContainsFunc(f.found.Components, func(c Component) bool { return c.Kind == Command && c.Func == result }) {
			f.problem(m.pos, "%s reads old events as a command, so it must be func %[1]s(old eventlog.Record) (T, error), where T is a command of this package or an older version of one; change it, or remove //petrock:map", m.function)
		}
	}
}

// mapItems returns the map functions in the list of func Feature.
func (p *Package) mapItems() string {
	list := ""
	for _, m := range p.mappers {
		if m.function != mapFunc {
			list += fmt.Sprintf("app.MapOf(%q, %s),\n", m.eventType, m.function)
		}
	}
	return list
}

// MappedTypes returns the functions that read events of removed commands, such as scratch.MapPoke,
// by the type of the events. It leaves out packages with problems.
func MappedTypes(packages []*Package) map[string]string {
	mapped := map[string]string{}
	for _, p := range packages {
		for _, m := range p.mappers {
			if len(p.Problems) == 0 {
				mapped[m.eventType] = p.featureName() + "." + m.function
			}
		}
	}
	return mapped
}

// checkMappedTypes adds a problem to each package that maps events of a command, or of a type that
// others or an earlier package map too.
func checkMappedTypes(packages, others []*Package) {
	commands, mapped := map[string]Component{}, MappedTypes(others)
	for i, p := range slices.Concat(others, packages) {
		for _, c := range p.Components {
			if c.Kind != Command {
				continue
			}
			commands[c.EventType] = c
			if other, taken := mapped[c.EventType]; taken && i >= len(others) {
				p.Problems = append(p.Problems, typecheck.Diagnostic{File: c.File, Line: c.Line, Message: fmt.Sprintf(
					"%s is the command %s, and %s reads events of that type as those of a removed command; change its type with //petrock:event, or remove the map function",
					c.Func, c.EventType, other)})
			}
		}
	}
	for _, p := range packages {
		if len(p.Problems) > 0 {
			continue
		}
		for _, m := range p.mappers {
			d := m.line
			if c, exists := commands[m.eventType]; exists {
				d.Message = fmt.Sprintf("//petrock:map %s: it is the command %s in %s, and only events of removed commands are mapped; older versions need a type with Upgrade, or func Map without this directive", m.eventType, c.Func, c.File)
			} else if other, taken := mapped[m.eventType]; taken {
				d.Message = fmt.Sprintf("//petrock:map %s: %s maps it too; remove one", m.eventType, other)
			}
			if d.Message != "" {
				p.Problems = append(p.Problems, d)
			}
			mapped[m.eventType] = p.featureName() + "." + m.function
		}
	}
}
