package contract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Breaking lists the changes from one contract to another that break clients: removed entries,
// stricter inputs, changed outputs.
func Breaking(before, after *Contract) (found []string) {
	for _, list := range []struct {
		kind          string
		before, after map[string]json.RawMessage
		compare       func(was, is map[string]any) []string
	}{
		{"tool", before.Tools, after.Tools, toolBreaks},
		{"resource", before.Resources, after.Resources, func(was, is map[string]any) []string { return valueBreaks(was, is, "uri") }},
		{"resource template", before.ResourceTemplates, after.ResourceTemplates, func(was, is map[string]any) []string { return valueBreaks(was, is, "uriTemplate") }},
		{"prompt", before.Prompts, after.Prompts, promptBreaks},
	} {
		for _, name := range slices.Sorted(maps.Keys(list.before)) {
			subject := list.kind + " " + name
			entry, ok := list.after[name]
			if !ok {
				found = append(found, subject+" "+removed)
				continue
			}
			var was, is map[string]any
			if json.Unmarshal(list.before[name], &was) != nil || json.Unmarshal(entry, &is) != nil {
				continue
			}
			for _, what := range list.compare(was, is) {
				found = append(found, subject+": "+what)
			}
		}
	}
	return found
}

func valueBreaks(was, is map[string]any, key string) []string {
	if was[key] == is[key] {
		return nil
	}
	return []string{fmt.Sprintf("%s changed from %v to %v", key, was[key], is[key])}
}

// promptBreaks lists changes of a prompt's arguments, which are compared as the properties of a
// schema.
func promptBreaks(was, is map[string]any) []string {
	schema := func(entry map[string]any) map[string]any {
		properties, required := map[string]any{}, []any{}
		list, _ := entry["arguments"].([]any)
		for _, a := range list {
			argument, _ := a.(map[string]any)
			name, _ := argument["name"].(string)
			properties[name] = map[string]any{}
			if argument["required"] == true {
				required = append(required, name)
			}
		}
		return map[string]any{"properties": properties, "required": required}
	}
	b := breaks{input: true}
	b.compare("", schema(was), schema(is), 0)
	return b.found
}

// toolBreaks lists changes of a tool's schemas that reject calls which used to be valid, or allow
// results that clients do not expect.
func toolBreaks(was, is map[string]any) (found []string) {
	for _, key := range []string{"inputSchema", "outputSchema"} {
		b := breaks{input: key == "inputSchema"}
		b.was, _ = was[key].(map[string]any)
		b.is, _ = is[key].(map[string]any)
		if !b.input && b.was != nil && b.is == nil {
			found = append(found, "the output schema "+removed)
		}
		b.compare("", b.was, b.is, 0)
		found = append(found, b.found...)
	}
	return found
}

// resolve returns the definition that a schema refers to in its document, or the schema itself.
func resolve(document, schema map[string]any) map[string]any {
	ref, ok := schema["$ref"].(string)
	if !ok {
		return schema
	}
	definitions, _ := document["$defs"].(map[string]any)
	found, _ := definitions[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	return found
}

// breaks compares two versions of a tool's input or output schema.
type breaks struct {
	was, is map[string]any // the schema documents
	input   bool
	found   []string
}

func (b *breaks) note(path, format string, args ...any) {
	subject := "output"
	if b.input {
		subject = "input"
	}
	if path != "" {
		subject += " property " + path
	}
	b.found = append(b.found, subject+" "+fmt.Sprintf(format, args...))
}

// compare finds values that the old schema of an input allows and the new one refuses. For an
// output it finds the opposite.
func (b *breaks) compare(path string, was, is map[string]any, depth int) {
	const maxDepth = 8 // bounds recursive types
	was, is = resolve(b.was, was), resolve(b.is, is)
	if depth > maxDepth || was == nil || is == nil || reflect.DeepEqual(was, is) {
		return
	}
	wide, narrow := is, was
	if !b.input {
		wide, narrow = was, is
	}
	if had, has := typesOf(narrow), typesOf(wide); len(has) > 0 && (len(had) == 0 || slices.ContainsFunc(had, func(t string) bool { return !allows(has, t) })) {
		b.note(path, "changed from %s to %s", typeText(typesOf(was)), typeText(typesOf(is)))
		return
	}
	b.compareLimits(path, was, is)
	before, _ := was["properties"].(map[string]any)
	after, _ := is["properties"].(map[string]any)
	needed, needs := texts(was["required"]), texts(is["required"])
	for _, name := range slices.Sorted(maps.Keys(merge(before, after))) {
		at := name
		if path != "" {
			at = path + "." + name
		}
		old, existed := before[name].(map[string]any)
		now, remains := after[name].(map[string]any)
		switch {
		case existed && !remains:
			b.note(at, removed)
		case b.input && slices.Contains(needs, name) && !existed:
			b.note(at, added+" and is required")
		case b.input && slices.Contains(needs, name) && !slices.Contains(needed, name):
			b.note(at, "became required")
		case !b.input && slices.Contains(needed, name) && !slices.Contains(needs, name):
			b.note(at, "became optional")
		}
		if existed && remains {
			b.compare(at, old, now, depth+1)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		old, isOld := was[key].(map[string]any)
		now, isNow := is[key].(map[string]any)
		if isOld && isNow {
			b.compare(path+"[]", old, now, depth+1)
		}
	}
}

// compareLimits notes narrower limits of an input, and new enum values of an output.
func (b *breaks) compareLimits(path string, was, is map[string]any) {
	had, hadAny := was["enum"].([]any)
	has, hasAny := is["enum"].([]any)
	if !b.input {
		had, has, hadAny, hasAny = has, had, hasAny, hadAny
	}
	isMissing := func(v any) bool {
		return !slices.ContainsFunc(has, func(w any) bool { return reflect.DeepEqual(v, w) })
	}
	if hasAny && (!hadAny || slices.ContainsFunc(had, isMissing)) {
		b.note(path, "changed its allowed values")
	}
	if !b.input {
		return
	}
	for _, key := range []string{"minimum", "minLength", "minItems", "minProperties", "maximum", "maxLength", "maxItems", "maxProperties"} {
		old, limited := was[key].(float64)
		now, ok := is[key].(float64)
		isStricter := !limited || now > old
		if strings.HasPrefix(key, "max") {
			isStricter = !limited || now < old
		}
		if ok && isStricter {
			b.note(path, "has a stricter %s: %v", key, now)
		}
	}
	if old, existed := was["default"]; existed && !reflect.DeepEqual(old, is["default"]) {
		b.note(path, "changed its default")
	}
	for _, key := range []string{"pattern", "format"} {
		if now, ok := is[key].(string); ok && was[key] != now {
			b.note(path, "has a new %s: %s", key, now)
		}
	}
}

func typesOf(schema map[string]any) []string {
	if one, ok := schema["type"].(string); ok {
		return []string{one}
	}
	return texts(schema["type"])
}

func allows(list []string, t string) bool {
	return slices.Contains(list, t) || t == "integer" && slices.Contains(list, "number")
}

func typeText(list []string) string { return cmp.Or(strings.Join(list, " or "), "any") }

func texts(v any) (all []string) {
	list, _ := v.([]any)
	for _, item := range list {
		if text, ok := item.(string); ok {
			all = append(all, text)
		}
	}
	return all
}
