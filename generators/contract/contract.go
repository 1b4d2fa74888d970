// Package contract records what a project promises: to clients, the list entries of its tools,
// resources and prompts; to its own event log, that stored events of every command and version stay
// readable.
//
// The record is the committed file contract.json at the project's root. It contains former states
// of the source, so it cannot be derived from the source. Only petrock's operations change it.
package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// File is the contract's path from the project's root.
const File = "contract.json"

const format = 1 // version of the file's layout

// A Contract is what a project has promised so far.
type Contract struct {
	Format       int                        `json:"format"`
	Instructions string                     `json:"instructions,omitempty"` // the server's instructions for the model
	Capabilities map[string]json.RawMessage `json:"capabilities"`           // the server's capabilities

	// Complete list entries, by name.
	Tools             map[string]json.RawMessage `json:"tools"`
	Resources         map[string]json.RawMessage `json:"resources"`
	ResourceTemplates map[string]json.RawMessage `json:"resourceTemplates"`
	Prompts           map[string]json.RawMessage `json:"prompts"`

	Commands map[string]Command `json:"commands"` // by their name in the event log, such as posts/create
}

// A Command is the record of one command.
type Command struct {
	Version  int           `json:"version"`           // current version, the highest that it reads
	Retired  bool          `json:"retired,omitempty"` // its events are replayed, but it can no longer be executed
	Mapped   bool          `json:"mapped,omitempty"`  // removed; a function reads its events as another command
	Skipped  bool          `json:"skipped,omitempty"` // removed; its events are ignored
	Removed  bool          `json:"removed,omitempty"` // removed without such a decision, by an older petrock
	Versions map[int]Shape `json:"versions"`          // the shape of its events, by version
}

// IsGone reports whether the command was removed from the source.
func (c Command) IsGone() bool { return c.Mapped || c.Skipped || c.Removed }

// Skipped returns the commands whose events are ignored, sorted.
func (c *Contract) Skipped() (skipped []string) {
	for _, name := range slices.Sorted(maps.Keys(c.Commands)) {
		if c.Commands[name].Skipped {
			skipped = append(skipped, name)
		}
	}
	return skipped
}

// New returns an empty contract.
func New() *Contract {
	c := &Contract{Format: format, Commands: map[string]Command{}}
	for _, list := range c.lists() {
		*list = map[string]json.RawMessage{}
	}
	return c
}

// Parse reads a contract. It returns an empty one for nil.
func Parse(text []byte) (*Contract, error) {
	c := New()
	if text == nil {
		return c, nil
	}
	c.Format = 0
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("read %s: %w; restore it from version control", File, err)
	}
	if c.Format != format {
		return nil, fmt.Errorf("read %s: format %d is not supported, only format %d; use the petrock that wrote it", File, c.Format, format)
	}
	read := c.Clone() // null becomes an empty map
	for _, list := range read.lists() {
		for name, entry := range *list {
			var compact bytes.Buffer
			if err := json.Compact(&compact, entry); err != nil {
				return nil, fmt.Errorf("read %s: %s: %w", File, name, err)
			}
			(*list)[name] = compact.Bytes()
		}
	}
	return read, nil
}

// Encode returns the content of the contract's file. It has a line for each member of an entry and
// for each field of a command. Equal contracts have equal bytes.
func (c *Contract) Encode() ([]byte, error) {
	text, err := strictjson.Marshal(c)
	var indented, out bytes.Buffer
	if err == nil {
		err = json.Indent(&indented, append(text, '\n'), "", "\t")
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", File, err)
	}
	levels := 0
	for line := range bytes.Lines(indented.Bytes()) {
		rest := bytes.TrimLeft(line, "\t")
		level := len(line) - len(rest)
		switch {
		case level == 1 && bytes.HasPrefix(rest, []byte(`"commands"`)):
			levels = 6 // commands, their members, versions, shapes and fields
		case level == 1:
			levels = 3 // list entries and their members
		case level > levels || level == levels && (rest[0] == '}' || rest[0] == ']'):
			out.Truncate(out.Len() - len("\n"))
			line = rest
		}
		out.Write(line)
	}
	return out.Bytes(), nil
}

// Clone returns an independent copy.
func (c *Contract) Clone() *Contract {
	clone := New()
	clone.Instructions = c.Instructions
	clone.Add(c)
	for name, command := range c.Commands {
		command.Versions = maps.Clone(command.Versions)
		clone.Commands[name] = command
	}
	return clone
}

// lists returns the maps of list entries, and the capabilities.
func (c *Contract) lists() []*map[string]json.RawMessage {
	return []*map[string]json.RawMessage{&c.Tools, &c.Resources, &c.ResourceTemplates, &c.Prompts, &c.Capabilities}
}

// Add merges the list entries and capabilities of another contract.
func (c *Contract) Add(other *Contract) {
	for i, list := range c.lists() {
		maps.Copy(*list, *other.lists()[i])
	}
}

// Revert returns a contract in which the change from before to after is undone. Entries that have
// changed since then stay as they are.
func (c *Contract) Revert(before, after *Contract) *Contract {
	reverted := c.Clone()
	if reverted.Instructions == after.Instructions {
		reverted.Instructions = before.Instructions
	}
	for i, list := range reverted.lists() {
		revert(*list, *before.lists()[i], *after.lists()[i])
	}
	revert(reverted.Commands, before.Commands, after.Commands)
	return reverted
}

func revert[T any](now, before, after map[string]T) {
	for name := range merge(before, after) {
		switch was, existed := before[name]; {
		case reflect.DeepEqual(was, after[name]), !reflect.DeepEqual(now[name], after[name]):
		case existed:
			now[name] = was
		default:
			delete(now, name)
		}
	}
}

func merge[K comparable, V any](a, b map[K]V) map[K]V {
	all := map[K]V{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// Update returns the record of a command after its source has become now. It adds compatible
// changes and new versions. If stored events could no longer be read, or would change their
// meaning, it returns the record unchanged, and the breaking changes. hasMap means that the feature
// has a func Map, which may read versions without a type.
func (c Command) Update(now Command, hasMap bool) (Command, []Change) {
	if now.Version < c.Version {
		return c, []Change{{What: fmt.Sprintf("version %d is recorded, but the source has version %d", c.Version, now.Version), Breaking: true}}
	}
	var broken []Change
	for _, version := range slices.Sorted(maps.Keys(c.Versions)) {
		shape, known := now.Versions[version]
		switch {
		case known && c.Versions[version].Breaks(shape):
			for _, change := range c.Versions[version].Changes(shape) {
				if version < now.Version {
					change.Version = version
				}
				broken = append(broken, change)
			}
		case !known && !hasMap:
			broken = append(broken, Change{What: fmt.Sprintf("version %d is recorded, but no type or func Map reads it", version), Breaking: true})
		}
	}
	if len(broken) > 0 {
		return c, broken
	}
	return Command{Version: now.Version, Retired: now.Retired, Versions: merge(c.Versions, now.Versions)}, nil
}

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
