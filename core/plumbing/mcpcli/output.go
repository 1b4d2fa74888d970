package mcpcli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// A Printer prints the results of a server.
type Printer struct {
	out        io.Writer
	asJSON     bool
	toTerminal bool
	dir        string // the folder for files
	base       string // the name of files that the server does not name
}

// NewPrinter returns a printer to env.Out.
func NewPrinter(env Env, flags *Flags) *Printer {
	return &Printer{out: env.Out, asJSON: flags.JSON, toTerminal: terminal.IsTerminal(env.Out), base: "output"}
}

// Text prints text and a line break. On a terminal, it escapes text with [terminal.Plain].
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

// Tools prints the usage and the description of tools. If server is not empty, it precedes their
// names.
func (p *Printer) Tools(server string, tools []mcp.Tool) error {
	var all []component
	for _, t := range tools {
		all = append(all, describeTool(t))
	}
	return p.components(server, all)
}

// components prints the usage of components, and below it the first line of the description.
func (p *Printer) components(server string, all []component) error {
	for _, c := range all {
		text := strings.TrimSpace(server + " " + c.usage())
		if about := terminal.Line(c.Description); about != "" {
			text += "\n    " + about
		}
		if err := p.Text(text); err != nil {
			return err
		}
	}
	return nil
}

func (p *Printer) content(block mcp.Content) error {
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
	return p.Text(string(terminal.IndentJSON(raw)))
}

func (p *Printer) resource(c mcp.ResourceContents) error {
	if c.Blob == nil {
		return p.Text(c.Text)
	}
	uri, _, _ := strings.Cut(c.URI, "?")
	return p.file(path.Base(uri), c.MIMEType, c.Blob)
}

func (p *Printer) file(name, mimeType string, data []byte) error {
	file, err := save(p.dir, name, mimeType, data)
	if err != nil {
		return fmt.Errorf("save a file of the server: %w", err)
	}
	return p.Text(fmt.Sprintf("%s (%s, %d bytes)", file, cmp.Or(terminal.Plain(mimeType), "unknown type"), len(data)))
}

// save writes data to a new file in a folder, which it creates if needed, and returns the path. The
// file's name is derived from name and the MIME type. save does not overwrite files, and does not
// follow links out of the folder: fileName has no separators, and O_EXCL refuses links.
func save(dir, name, mimeType string, data []byte) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	stem, extension := fileName(name, mimeType)
	file := filepath.Join(dir, stem+extension)
	for n := 2; ; n++ {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			file = filepath.Join(dir, fmt.Sprintf("%s-%d%s", stem, n, extension))
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(data)
		return file, errors.Join(err, f.Close())
	}
}

// fileName returns a file name that is valid on every system, and its extension.
func fileName(name, mimeType string) (stem, extension string) {
	const maxLength = 60
	stem = unsafeInFileName.ReplaceAllString(name, "_")
	kind, _, _ := mime.ParseMediaType(mimeType) // "" if it is invalid
	extension = cmp.Or(extensions[kind], ".bin")
	if own := filepath.Ext(stem); len(own) > 1 && len(own) <= 8 && (extension == ".bin" || strings.EqualFold(own, extension)) {
		extension = own
	}
	stem = strings.Trim(strings.TrimSuffix(stem, extension), "._")
	if len(stem) > maxLength {
		stem = stem[:maxLength]
	}
	if stem == "" || project.IsDevice(stem) {
		stem = "output"
	}
	return stem, extension
}

var unsafeInFileName = regexp.MustCompile(`[^a-zA-Z0-9._-]`)

// extensions has the extensions of common MIME types. The tables of package mime differ from
// machine to machine.
var extensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp",
	"image/svg+xml": ".svg", "image/bmp": ".bmp", "image/tiff": ".tiff",
	"audio/wav": ".wav", "audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "audio/flac": ".flac",
	"audio/mp4": ".m4a", "video/mp4": ".mp4", "video/webm": ".webm",
	"application/pdf": ".pdf", "application/json": ".json", "application/zip": ".zip", "application/gzip": ".gz",
	"text/plain": ".txt", "text/html": ".html", "text/csv": ".csv", "text/markdown": ".md",
}
