// Package contract records what a project promises: to clients, the list entries of its tools,
// resources and prompts; to its own event log, that stored events of every command and version stay
// readable.
//
// The record is the committed file contract.json at the project's root. It contains former states
// of the source, so it cannot be derived from the source. Only petrock's operations change it.
package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

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
