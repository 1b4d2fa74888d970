package mcpcli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
)

// A Printer prints what a server answers.
type Printer struct {
	out        io.Writer
	asJSON     bool
	toTerminal bool
	dir        string // the folder for files
	base       string // the name of files without one
}

// NewPrinter returns a printer to env.Out.
func NewPrinter(env Env, flags *Flags) *Printer {
	return &Printer{out: env.Out, asJSON: flags.PrintsJSON(env.Out), toTerminal: terminal.Watched(env.Out), dir: env.Dir, base: "output"}
}

// Text prints a text with a line break at the end. On a terminal it leaves out control characters.
func (p *Printer) Text(text string) error {
	if p.toTerminal {
		text = terminal.Plain(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(p.out, text)
	return err
}

// entry prints one entry of a list, and the first line of its description below it.
func (p *Printer) entry(head, description string) error {
	if about := terminal.Line(description); about != "" {
		head += "\n    " + about
	}
	return p.Text(head)
}

// content prints blocks.
func (p *Printer) content(blocks []mcp.Content) error {
	for _, block := range blocks {
		if err := p.block(block); err != nil {
			return err
		}
	}
	return nil
}

func (p *Printer) block(block mcp.Content) error {
	switch b := block.(type) {
	case mcp.Text:
		return p.Text(b.Text)
	case mcp.Image:
		return p.file(p.base, b.MIMEType, b.Data)
	case mcp.Audio:
		return p.file(p.base, b.MIMEType, b.Data)
	case mcp.EmbeddedResource:
		return p.resource(b.Resource)
	case mcp.ResourceLink:
		link := terminal.Plain(b.Name + ": " + b.URI)
		if b.Description != "" {
			link += " (" + terminal.Line(b.Description) + ")"
		}
		return p.Text(link)
	}
	raw, err := block.MarshalJSON()
	if err != nil {
		return err
	}
	return p.structured(raw)
}

// resource prints the text of a resource, or writes its blob to a file.
func (p *Printer) resource(c mcp.ResourceContents) error {
	if c.Blob == nil {
		return p.Text(c.Text)
	}
	return p.file(lastPart(c.URI), c.MIMEType, c.Blob)
}

// structured prints indented JSON as text.
func (p *Printer) structured(raw json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return p.Text(string(raw))
	}
	return p.Text(b.String())
}

// file writes a file, and prints its path.
func (p *Printer) file(name, mimeType string, data []byte) error {
	path, err := save(p.dir, name, mimeType, data)
	if err != nil {
		return err
	}
	if mimeType == "" {
		mimeType = "unknown type"
	}
	return p.Text(fmt.Sprintf("%s (%s, %d bytes)", path, terminal.Plain(mimeType), len(data)))
}

// writeFilesTo sets the folder for files, relative to the working directory.
func (p *Printer) writeFilesTo(env Env, dir string) {
	switch {
	case dir == "":
	case filepath.IsAbs(dir):
		p.dir = dir
	default:
		p.dir = filepath.Join(env.Dir, dir)
	}
}
