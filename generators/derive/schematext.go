package derive

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/inference"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/gen"
)

// A schemaText is the schema of an input or output, or a part that several of them have in common.
type schemaText struct{ name, text string }

// schemaConstants returns the declaration of the constants that hold schemas, or "". Constants
// compile faster than literals. Each object schema that is used more than once is declared once.
//
//	const (
//		schemaBook = `{"type":"object",…}`
//
//		inputSchemaGet  = `{"type":"object",…}`
//		outputSchemaGet = schemaBook
//
//		inputSchemaList  = `{"type":"object",…}`
//		outputSchemaList = `{"type":"object","properties":{"item":` + schemaBook + `}}`
//	)
func (f *finder) schemaConstants() string {
	var added []schemaText
	groups := [][]schemaText{nil} // so that gofmt does not realign other components
	for _, form := range f.found.forms {
		groups[0] = append(groups[0], form.constant())
	}
	for _, c := range f.found.Components {
		groups = append(groups, c.constants())
	}
	all := slices.Concat(groups...)
	shared := f.sharedConstants(all)
	for _, c := range shared {
		if !slices.Contains(all, c) {
			added = append(added, c)
		}
	}
	text := declare(added, shared)
	for _, group := range groups {
		text += declare(group, shared)
	}
	if text == "" {
		return ""
	}
	return "const (\n" + strings.TrimSuffix(text, "\n") + ")"
}

// declare returns constants, one line each, and an empty line. They use those in shared.
func declare(constants, shared []schemaText) string {
	text := ""
	for _, c := range constants {
		value := gen.RawString(c.text)
		for _, s := range shared { // the longest first
			if s != c {
				value = strings.ReplaceAll(value, s.text, "` + "+s.name+" + `")
			}
		}
		value = strings.TrimSuffix(strings.TrimPrefix(value, "`` + "), " + ``")
		text += c.name + " = " + value + "\n"
	}
	if text != "" {
		text += "\n"
	}
	return text
}

// constants returns the schemas of a component.
func (c Component) constants() (all []schemaText) {
	if c.hasInput() && !c.isHidden() {
		all = append(all, schemaText{c.constant("inputSchema"), string(c.Input)})
	}
	if c.Output != nil && !c.isHidden() {
		all = append(all, schemaText{c.constant("outputSchema"), string(c.Output)})
	}
	return all
}

// constant returns the name of a constant of the component, which is unique in the package.
func (c Component) constant(prefix string) string {
	return prefix + strings.ReplaceAll(c.Func, ".", "_")
}

func (c Component) hasInput() bool {
	return c.Input != nil && (c.Kind.IsTool() || c.Kind == Generator || len(c.arguments) > 0)
}

// sharedConstants returns the object schemas that occur more than once in constants, the longest
// first. Each has the name of its struct type or, if several types have the same schema, is the
// first of the constants.
func (f *finder) sharedConstants(all []schemaText) (shared []schemaText) {
	objects := map[string]bool{}
	var texts []string
	for _, c := range all {
		findObjects(json.RawMessage(c.text), objects)
		texts = append(texts, c.text)
	}
	isSingle := func(text string, _ bool) bool { return strings.Count(strings.Join(texts, "\n"), text) < 2 }
	if maps.DeleteFunc(objects, isSingle); len(objects) == 0 {
		return nil
	}
	names := f.structNames(objects)
	for _, text := range slices.SortedFunc(maps.Keys(objects), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	}) {
		if isSingle(text, true) {
			continue // only part of a longer one
		}
		for i := range texts {
			texts[i] = strings.ReplaceAll(texts[i], text, "#")
		}
		texts = append(texts, text)
		isFree := func(name string) bool {
			return f.pkg.Scope().Lookup(name) == nil && !slices.ContainsFunc(shared, func(c schemaText) bool { return c.name == name })
		}
		at := slices.IndexFunc(all, func(c schemaText) bool { return c.text == text })
		if types := names[text]; len(types) > 0 && (len(types) == 1 || at < 0) && isFree("schema"+types[0]) {
			shared = append(shared, schemaText{"schema" + types[0], text})
		} else if at >= 0 {
			shared = append(shared, all[at])
		}
	}
	return shared
}

// findObjects adds the schemas of objects with properties in a JSON value.
func findObjects(value json.RawMessage, objects map[string]bool) {
	if strictjson.First(value) != '{' {
		return
	}
	if strictjson.Member(value, "type") != nil && strictjson.Member(value, "properties") != nil {
		objects[string(value)] = true
	}
	_ = strictjson.Object(value, func(_, member []byte) error { // it was validated before
		findObjects(member, objects)
		return nil
	})
}

// structNames returns the names of the struct types that have the given schemas.
func (f *finder) structNames(schemas map[string]bool) map[string][]string {
	names := map[string][]string{}
	for _, t := range f.structs {
		name := t.Obj().Name()
		if !f.isThisPackage(t.Obj().Pkg()) {
			name = gen.Capitalize(t.Obj().Pkg().Name()) + name
		}
		for _, d := range []schema.Direction{schema.Input, schema.Output} {
			s := &schemaBuilder{finder: f, output: d == schema.Output}
			document, _, err := inference.Infer(s.typeOf(t), d)
			if text := string(document); err == nil && schemas[text] && !slices.Contains(names[text], name) {
				names[text] = append(names[text], name)
			}
		}
	}
	return names
}
