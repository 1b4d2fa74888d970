// Package contract is the record of what a project promises. To clients it promises the list entries of its
// tools, resources and prompts; to its own event log it promises to read the events of every command and version.
//
// The record is the file contract.json at the project's root, which is committed. It is history: it cannot be derived
// from the source alone, because it remembers what the source was. Only recorded operations change it.
package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"github.com/petrock/petrock/core/strictjson"
)

// File is the contract's path from the project's root.
const File = "contract.json"

// format is the version of the file's layout.
const format = 1

// A Contract is what a project has promised so far.
type Contract struct {
	Format       int                        `json:"format"`
	Instructions string                     `json:"instructions,omitempty"` // what the server tells the model
	Capabilities map[string]json.RawMessage `json:"capabilities"`           // what the server says it can do

	// The list entries, complete, by name.
	Tools             map[string]json.RawMessage `json:"tools"`
	Resources         map[string]json.RawMessage `json:"resources"`
	ResourceTemplates map[string]json.RawMessage `json:"resourceTemplates"`
	Prompts           map[string]json.RawMessage `json:"prompts"`

	Commands map[string]Command `json:"commands"` // by their name in the event log, such as posts/create
}

// A Command is the record of one command.
type Command struct {
	Version  int           `json:"version"`           // of the events that it writes
	Removed  bool          `json:"removed,omitempty"` // the source no longer has it; event logs may
	Versions map[int]Shape `json:"versions"`          // what the events of each version hold
}

// New is an empty contract.
func New() *Contract {
	return &Contract{
		Format:            format,
		Capabilities:      map[string]json.RawMessage{},
		Tools:             map[string]json.RawMessage{},
		Resources:         map[string]json.RawMessage{},
		ResourceTemplates: map[string]json.RawMessage{},
		Prompts:           map[string]json.RawMessage{},
		Commands:          map[string]Command{},
	}
}

// Parse reads a contract. No text, nil, is an empty one.
func Parse(text []byte) (*Contract, error) {
	c := New()
	if text == nil {
		return c, nil
	}
	c.Format = 0
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("reading %s: %w; restore it from version control", File, err)
	}
	if c.Format != format {
		return nil, fmt.Errorf("reading %s: format %d is unknown to this petrock, which reads format %d; use the petrock that wrote it", File, c.Format, format)
	}
	for _, list := range c.lists() {
		for name, entry := range *list {
			var compact bytes.Buffer
			if err := json.Compact(&compact, entry); err != nil {
				return nil, fmt.Errorf("reading %s: %s: %w", File, name, err)
			}
			(*list)[name] = compact.Bytes()
		}
		if *list == nil {
			*list = map[string]json.RawMessage{}
		}
	}
	if c.Commands == nil {
		c.Commands = map[string]Command{}
	}
	return c, nil
}

// Encode is the contract as the file holds it: a line for each part of an entry and for each field of a command. Equal contracts have
// equal bytes.
func (c *Contract) Encode() ([]byte, error) {
	text, err := strictjson.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", File, err)
	}
	var out bytes.Buffer
	out.WriteByte('{')
	separator := ""
	err = strictjson.Object(text, func(key, value []byte) error {
		levels := 2 // list entries, and their parts
		if string(key) == "commands" {
			levels = 5 // commands, their parts, versions, shapes, and fields
		}
		fmt.Fprintf(&out, "%s\n\t%q: ", separator, key)
		separator = ","
		return writeIndented(&out, value, "\n\t", levels)
	})
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", File, err)
	}
	out.WriteString("\n}\n")
	return out.Bytes(), nil
}

// writeIndented writes a JSON value with each member on a line of its own, so many levels deep.
func writeIndented(out *bytes.Buffer, value []byte, indent string, levels int) error {
	first := strictjson.First(value)
	if levels == 0 || first != '{' && first != '[' || len(value) == 2 {
		return json.Compact(out, value)
	}
	out.WriteByte(first)
	separator := ""
	member := func(key, value []byte) error {
		out.WriteString(separator + indent + "\t")
		separator = ","
		if key != nil {
			out.Write(strictjson.AppendString(nil, key))
			out.WriteString(": ")
		}
		return writeIndented(out, value, indent+"\t", levels-1)
	}
	if first == '{' {
		err := strictjson.Object(value, member)
		out.WriteString(indent + "}")
		return err
	}
	err := strictjson.Array(value, func(value []byte) error { return member(nil, value) })
	out.WriteString(indent + "]")
	return err
}

// Clone is a copy that can be changed on its own.
func (c *Contract) Clone() *Contract {
	made := *c
	for i, list := range made.lists() {
		*list = maps.Clone(*c.lists()[i])
	}
	made.Commands = map[string]Command{}
	for name, command := range c.Commands {
		command.Versions = maps.Clone(command.Versions)
		made.Commands[name] = command
	}
	return &made
}

// lists are the maps of list entries, and the capabilities.
func (c *Contract) lists() []*map[string]json.RawMessage {
	return []*map[string]json.RawMessage{&c.Tools, &c.Resources, &c.ResourceTemplates, &c.Prompts, &c.Capabilities}
}

// Add merges the list entries and capabilities of another contract.
func (c *Contract) Add(other *Contract) {
	for i, list := range c.lists() {
		maps.Copy(*list, *other.lists()[i])
	}
}

// Restore brings list entries up to date after the change from before to after was reverted: those that the change did not concern, and
// those that had changed again since, become what the source has now. Entries that the change had added go, unless the source still has them.
func (c *Contract) Restore(before, after, was, source *Contract) {
	for i, list := range c.lists() {
		old, made, now := *before.lists()[i], *after.lists()[i], *was.lists()[i]
		for name := range made {
			if _, existed := old[name]; !existed {
				delete(*list, name)
			}
		}
		for name, entry := range *source.lists()[i] {
			isReverted := old[name] != nil && string(old[name]) != string(made[name]) && string(now[name]) == string(made[name])
			if !isReverted {
				(*list)[name] = entry
			}
		}
	}
}

// Revert undoes the change from before to after, entry by entry. What has changed again since stays as it is.
func (c *Contract) Revert(before, after *Contract) *Contract {
	made := c.Clone()
	if made.Instructions == after.Instructions {
		made.Instructions = before.Instructions
	}
	for i, list := range made.lists() {
		revert(*list, *before.lists()[i], *after.lists()[i])
	}
	revert(made.Commands, before.Commands, after.Commands)
	return made
}

// revert undoes the change from before to after in now.
func revert[T any](now, before, after map[string]T) {
	for name := range maps.Keys(joined(before, after)) {
		was, existed := before[name]
		became, remained := after[name]
		is, exists := now[name]
		switch {
		case existed == remained && reflect.DeepEqual(was, became), exists != remained || !reflect.DeepEqual(is, became):
		case existed:
			now[name] = was
		default:
			delete(now, name)
		}
	}
}

func joined[T any](a, b map[string]T) map[string]T {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]T{}
	}
	maps.Copy(all, b)
	return all
}
