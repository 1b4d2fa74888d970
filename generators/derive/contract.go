package derive

import (
	"encoding/json"
	"fmt"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/inference"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/contract"
)

// Contract returns the contract of packages, without history: list entries, capabilities, and the
// versions of commands in the source. It leaves out packages with problems.
func Contract(packages []*Package) (*contract.Contract, error) {
	all := contract.New()
	all.Capabilities["logging"] = json.RawMessage(`{}`)
	for _, pkg := range packages {
		if !pkg.Wired || len(pkg.Problems) > 0 {
			continue
		}
		for _, c := range pkg.Components {
			for _, c := range c.WithAliases() {
				if err := c.addListEntry(all); err != nil {
					return nil, fmt.Errorf("encode the list entry of %s: %w", c.Name, err)
				}
			}
			if c.Kind == Command {
				versions := map[int]contract.Shape{c.version: c.stored}
				for _, o := range c.oldVersions {
					versions[o.version] = o.shape
				}
				all.Commands[c.EventType] = contract.Command{Version: c.version, Retired: c.Retired, Versions: versions}
			}
			c.addCapabilities(all.Capabilities)
		}
	}
	return all, nil
}

func (c Component) addCapabilities(capabilities map[string]json.RawMessage) {
	switch {
	case c.IsTool():
		capabilities["tools"] = json.RawMessage(`{"listChanged":true}`)
	case c.Kind == Prompt:
		capabilities["prompts"] = json.RawMessage(`{"listChanged":true}`)
	case c.Kind == Resource, c.Kind == Feature: // features have a resource for the event log
		capabilities["resources"] = json.RawMessage(`{"subscribe":true,"listChanged":true}`)
	}
	if c.hasCompletion() {
		capabilities["completions"] = json.RawMessage(`{}`)
	}
}

// addListEntry adds the list entry of a tool, resource, template or prompt. Other components have
// none.
func (c Component) addListEntry(all *contract.Contract) (err error) {
	switch {
	case c.IsTool():
		all.Tools[c.Name], err = strictjson.Marshal(mcp.Tool{Name: c.Name, Title: c.Title, Description: c.Description, InputSchema: c.Input, OutputSchema: c.Output, Scopes: c.scopes, Annotations: c.annotations})
	case c.isTemplate():
		all.ResourceTemplates[c.Name], err = strictjson.Marshal(mcp.ResourceTemplate{URITemplate: c.URI, Name: c.Name, Title: c.Title, Description: c.Description, MIMEType: c.MIMEType})
	case c.Kind == Resource:
		all.Resources[c.Name], err = strictjson.Marshal(mcp.Resource{URI: c.URI, Name: c.Name, Title: c.Title, Description: c.Description, MIMEType: c.MIMEType})
	case c.Kind == Prompt:
		prompt := mcp.Prompt{Name: c.Name, Title: c.Title, Description: c.Description}
		for _, p := range inference.Properties(c.Input) {
			prompt.Arguments = append(prompt.Arguments, mcp.PromptArgument{Name: p.Name, Description: p.Description, Required: p.Required})
		}
		all.Prompts[c.Name], err = strictjson.Marshal(prompt)
	}
	return err
}
