package scaffold

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"text/template"

	"github.com/petrock/petrock/core/project"
)

// texts says what the templates become.
func texts() map[string]string {
	return map[string]string{
		"AGENTS.md.tmpl":     "AGENTS.md",
		"CLAUDE.md.tmpl":     "CLAUDE.md",
		"Dockerfile.tmpl":    "Dockerfile",
		"README.md.tmpl":     "README.md",
		"codex.toml.tmpl":    ".codex/config.toml",
		"crush.json.tmpl":    "crush.json",
		"cursor.json.tmpl":   ".cursor/mcp.json",
		"dockerignore.tmpl":  ".dockerignore",
		"gitattributes.tmpl": ".gitattributes",
		"gitignore.tmpl":     ".gitignore",
		"go.mod.tmpl":        "go.mod",
		"go.sum.tmpl":        "go.sum",
		"mcp.json.tmpl":      ".mcp.json",
		"vscode.json.tmpl":   ".vscode/mcp.json",
		"workflow.yml.tmpl":  ".github/workflows/check.yml",
	}
}

// words are what templates may say.
type words struct {
	Name   string // of the project
	Module string // path of the module
	Image  string // of a container: the name, as those are spelt

	Example string // what the project began with; empty for nothing
	OAuth   bool   // its server checks bearer tokens
	Facts          // what its server is like

	DataVariable   string // the environment variable for where data is
	KeyVariable    string // the one for API keys
	StateVariable  string // the one for the key of what goes through clients
	IssuerVariable string // the one for the issuer of tokens
}

// render calls put for each text of the project.
func render(templates fs.FS, a Answers, put func(file string, data []byte)) error {
	say := words{
		Name: a.Name, Module: a.Module, Image: image(a.Name), Example: a.Example, OAuth: a.OAuth, Facts: a.Facts(),
		DataVariable: project.Variable(a.Name, "data"), KeyVariable: project.Variable(a.Name, "api_key"),
		StateVariable: project.Variable(a.Name, "state_key"), IssuerVariable: project.Variable(a.Name, "oauth_issuer"),
	}
	for from, to := range texts() {
		parsed, err := template.New(from).Option("missingkey=error").ParseFS(templates, path.Join("project", from))
		if err != nil {
			return fmt.Errorf("reading the template of %s: %w", to, err)
		}
		var text bytes.Buffer
		if err := parsed.Execute(&text, say); err != nil {
			return fmt.Errorf("writing %s: %w", to, err)
		}
		put(to, text.Bytes())
	}
	return nil
}

// image is a name as those of containers are spelt.
func image(name string) string {
	return regexp.MustCompile(`[-_]+`).ReplaceAllString(strings.ToLower(name), "-")
}
