package mcpcli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
)

// A printer shows what a server has to say.
type printer struct {
	out    io.Writer
	err    io.Writer
	asJSON bool
	shown  bool   // on a terminal, which text must not command
	dir    string // where files go
	base   string // what they are called if nothing better is known
}

func newPrinter(env Env, o *options) *printer {
	return &printer{out: env.Out, err: env.Err, asJSON: o.json(env), shown: terminal.Watched(env.Out), dir: env.Dir, base: "output"}
}

// printJSON prints one value for programs to read. A [json.RawMessage] stays what it is but for space.
func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// plain is text that a terminal is not commanded by: without control characters but for line breaks and tabs.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) {
			return r
		}
		return -1
	}, text)
}

// line is the first line of a text.
func line(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(plain(text)), "\n")
	return strings.TrimSpace(first)
}

// text prints a text as it is, but for what would command a terminal, and with a line break at the end.
func (p *printer) text(text string) error {
	if p.shown {
		text = plain(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(p.out, text)
	return err
}

// entry prints one entry of a list, and below it what it is for.
func (p *printer) entry(head, description string) error {
	if about := line(description); about != "" {
		head += "\n    " + about
	}
	return p.text(head)
}

// content prints blocks, one after another.
func (p *printer) content(blocks []mcp.Content) error {
	for _, block := range blocks {
		if err := p.block(block); err != nil {
			return err
		}
	}
	return nil
}

func (p *printer) block(block mcp.Content) error {
	switch b := block.(type) {
	case mcp.Text:
		return p.text(b.Text)
	case mcp.Image:
		return p.file(p.base, b.MIMEType, b.Data)
	case mcp.Audio:
		return p.file(p.base, b.MIMEType, b.Data)
	case mcp.EmbeddedResource:
		return p.resource(b.Resource)
	case mcp.ResourceLink:
		link := plain(b.Name + ": " + b.URI)
		if b.Description != "" {
			link += " (" + line(b.Description) + ")"
		}
		return p.text(link)
	}
	raw, err := block.MarshalJSON()
	if err != nil {
		return err
	}
	return p.structured(raw)
}

// resource prints the contents of a resource: text as it is, and anything else as a file.
func (p *printer) resource(c mcp.ResourceContents) error {
	if c.Blob == nil {
		return p.text(c.Text)
	}
	return p.file(lastPart(c.URI), c.MIMEType, c.Blob)
}

// structured prints JSON for people.
func (p *printer) structured(raw json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return p.text(string(raw))
	}
	return p.text(b.String())
}

// file writes a file, and says where.
func (p *printer) file(name, mimeType string, data []byte) error {
	path, err := save(p.dir, name, mimeType, data)
	if err != nil {
		return err
	}
	if mimeType == "" {
		mimeType = "of an unknown type"
	}
	return p.text(fmt.Sprintf("%s (%s, %d bytes)", path, plain(mimeType), len(data)))
}

// into has files written to a folder, as somebody in the working directory means it.
func (p *printer) into(env Env, dir string) {
	switch {
	case dir == "":
	case filepath.IsAbs(dir):
		p.dir = dir
	default:
		p.dir = filepath.Join(env.Dir, dir)
	}
}
