package derive

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/contract"
)

// Contract is what packages promise, without what was promised before: list entries, capabilities, and the commands with the
// versions that the source has. Packages with problems promise nothing.
func Contract(packages []*Package) (*contract.Contract, error) {
	made := contract.New()
	made.Capabilities["logging"] = json.RawMessage(`{}`)
	for _, pkg := range packages {
		if !pkg.Wired || len(pkg.Problems) > 0 {
			continue
		}
		for _, c := range pkg.Components {
			if list := c.listOf(made); list != nil {
				entry, err := c.listEntry()
				if err != nil {
					return nil, fmt.Errorf("encoding the list entry of %s: %w", c.Name, err)
				}
				list[c.Name] = entry
			}
			if c.Kind == Command {
				made.Commands[c.Entry] = c.recorded()
			}
			c.declare(made.Capabilities)
		}
	}
	return made, nil
}

// listOf is the list of a contract that a component is in, nil if it is in none.
func (c Component) listOf(all *contract.Contract) map[string]json.RawMessage {
	switch {
	case c.IsTool():
		return all.Tools
	case c.isTemplate():
		return all.ResourceTemplates
	case c.Kind == Resource:
		return all.Resources
	case c.Kind == Prompt:
		return all.Prompts
	}
	return nil
}

// declare adds the capabilities that a server with the component has.
func (c Component) declare(capabilities map[string]json.RawMessage) {
	switch {
	case c.IsTool():
		capabilities["tools"] = json.RawMessage(`{"listChanged":true}`)
	case c.Kind == Prompt:
		capabilities["prompts"] = json.RawMessage(`{"listChanged":true}`)
	case c.Kind == Resource, c.Kind == Feature: // features show their log
		capabilities["resources"] = json.RawMessage(`{"subscribe":true,"listChanged":true}`)
	}
	if c.completes() {
		capabilities["completions"] = json.RawMessage(`{}`)
	}
}

// recorded is a command as a contract has it.
func (c Component) recorded() contract.Command {
	made := contract.Command{Version: c.version, Versions: map[int]contract.Shape{c.version: c.stored}}
	for _, o := range c.olders {
		made.Versions[o.version] = o.shape
	}
	return made
}

// listEntry is what clients are told of a tool, a resource, a template or a prompt in a list, nil for other components.
func (c Component) listEntry() (json.RawMessage, error) {
	switch {
	case c.IsTool():
		return c.Tool().AppendJSON(nil)
	case c.Kind == Resource && c.isTemplate():
		return strictjson.Marshal(mcp.ResourceTemplate{URITemplate: c.URI, Name: c.Name, Title: c.Title, Description: c.Description, MIMEType: c.MIMEType})
	case c.Kind == Resource:
		return strictjson.Marshal(mcp.Resource{URI: c.URI, Name: c.Name, Title: c.Title, Description: c.Description, MIMEType: c.MIMEType})
	case c.Kind == Prompt:
		made := mcp.Prompt{Name: c.Name, Title: c.Title, Description: c.Description}
		input, err := schema.Compile(string(c.Input))
		if err != nil {
			return nil, err
		}
		for _, p := range input.Properties() {
			made.Arguments = append(made.Arguments, mcp.PromptArgument{Name: p.Name, Description: p.Description, Required: p.Required})
		}
		return strictjson.Marshal(made)
	}
	return nil, nil
}

// isTemplate reports whether a resource stands for many, by variables in its address.
func (c Component) isTemplate() bool { return c.Kind == Resource && len(c.arguments) > 0 }

// completes reports whether the server completes what people type as an argument of the component.
func (c Component) completes() bool {
	return c.completer != "" || (c.Kind == Prompt || c.isTemplate()) && strings.Contains(string(c.Input), `"enum":`)
}

// Version is that of a command.
func (c Component) Version() int { return c.version }

// Stored is what the events of a command hold, in its own version.
func (c Component) Stored() contract.Shape { return c.stored }
