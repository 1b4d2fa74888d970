package devserver

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/generators/engine"
)

// The addresses of what changes with the project.
const (
	projectURI = "petrock://project"
	historyURI = "petrock://history"
)

// pages are the documentation.
//
//go:embed docs/*.md
var pages embed.FS

// registerResources offers what can be read: the project, its history, and the documentation.
func (t *Tools) registerResources(s *mcp.Server) error {
	all := []error{
		mcp.AddResource(s, mcp.Resource{URI: projectURI, Name: "project", Description: "The project: its layout, and what its server offers.", MIMEType: "text/markdown"},
			t.read(t.describe)),
		mcp.AddResource(s, mcp.Resource{URI: historyURI, Name: "history", Description: "What was done to the project in this clone of it, as JSON, the oldest first. The ids are for undo.", MIMEType: "application/json"},
			t.read(func(ctx context.Context, o *opened) (string, error) {
				history, err := o.engine.History(ctx)
				if err != nil {
					return "", err
				}
				text, err := json.MarshalIndent(history, "", "  ")
				return string(text), err
			})),
	}
	entries, err := pages.ReadDir("docs")
	all = append(all, err)
	for _, entry := range entries {
		text, err := pages.ReadFile(path.Join("docs", entry.Name()))
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		name := strings.TrimSuffix(entry.Name(), ".md")
		uri := "petrock://docs/" + name
		all = append(all, err, s.AddResource(mcp.Resource{URI: uri, Name: "docs/" + name, Description: title, MIMEType: "text/markdown"},
			func(context.Context, string, map[string]string) ([]mcp.ResourceContents, error) {
				return []mcp.ResourceContents{{URI: uri, MIMEType: "text/markdown", Text: string(text)}}, nil
			}))
	}
	return errors.Join(all...)
}

// read returns a function that reads the project that is meant if none is named.
func (t *Tools) read(look func(context.Context, *opened) (string, error)) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		o, done, err := t.take(ctx, "")
		if err != nil {
			return "", err
		}
		defer done()
		return look(ctx, o)
	}
}

// describe says what there is in a project.
func (t *Tools) describe(ctx context.Context, o *opened) (string, error) {
	listing, err := o.engine.List(ctx)
	if err != nil {
		return "", err
	}
	found, err := project.Find(listing.Root)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\nAn MCP server in Go, in %s, module %s, made with petrock %s.\n\n", found.Name, found.Root, found.Module, found.Petrock)
	fmt.Fprintf(&out, `## Layout

- cmd/%[1]s: the server that ships; `+"`%[1]s mcp`"+` serves over standard input and output
- tools, resources, prompts: what it offers, one plain Go function each, with its test beside it
- features/NAME: a state, and the commands, queries and workers over it; commands and queries are tools
- *_gen.go: derived from the rest; never edited, made again by build
- internal/generators: the project's own generators
- core, generators: petrock's code, verified by petrock.sum; never edited
- cmd/petrock: the project's petrock, which runs this server
- .petrock: history and plans of this clone, ignored by git

## Components

`, found.Name)
	for _, c := range listing.Components {
		address := ""
		if c.URI != "" {
			address = " (" + c.URI + ")"
		}
		fmt.Fprintf(&out, "- %s %s%s, %s:%d: %s\n", c.Kind, c.Name, address, c.File, c.Line, firstSentence(c.Description))
	}
	for _, d := range listing.Refused {
		fmt.Fprintf(&out, "- not known: %s\n", d)
	}
	fmt.Fprintf(&out, "\n%s\n", cost(listing.ToolsList))
	return out.String(), nil
}

func cost(s *engine.Size) string {
	return fmt.Sprintf("The list of %d tools costs about %d tokens.", s.Tools, s.Tokens)
}

// firstSentence is the first sentence of a text.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(strings.ReplaceAll(text, "\n", " "), ". ")
	return strings.TrimSuffix(text, ".") + "."
}
