package mcpcli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
)

// A list is one of the lists of a server.
type list struct {
	method, field string
	key           string // the member of an entry that identifies it
}

var (
	toolList     = list{"tools/list", "tools", "name"}
	resourceList = list{"resources/list", "resources", "uri"}
	templateList = list{"resources/templates/list", "resourceTemplates", "uriTemplate"}
	promptList   = list{"prompts/list", "prompts", "name"}
)

// A component is an entry of a list.
type component struct {
	id string // its name or URI

	Name        string               `json:"name"`
	MIMEType    string               `json:"mimeType"`
	Description string               `json:"description"`
	InputSchema json.RawMessage      `json:"inputSchema"` // of a tool or, from Arguments, a prompt
	Arguments   []mcp.PromptArgument `json:"arguments"`
}

// components decodes the entries of a list, without those that are invalid.
func (l list) components(entries []json.RawMessage) (all []component) {
	for _, raw := range entries {
		var c component
		if err := strictjson.Unmarshal(raw, &c); err != nil {
			continue
		}
		if c.id, _ = strictjson.Unquote(strictjson.Member(raw, l.key)); c.id != c.Name {
			c.Description = cmp.Or(c.Description, c.Name)
		}
		if l == promptList {
			c.InputSchema = promptSchema(c.Arguments)
		}
		all = append(all, c)
	}
	return all
}

func describeTool(t mcp.Tool) component {
	return component{id: t.Name, Description: t.Description, InputSchema: t.InputSchema}
}

// promptSchema returns the schema of the arguments of a prompt, whose values are strings.
func promptSchema(arguments []mcp.PromptArgument) json.RawMessage {
	var properties []byte
	required := []string{}
	for _, a := range arguments {
		properties = strictjson.AppendMember(properties, a.Name, []byte(`{"type":"string"}`))
		if a.Required {
			required = append(required, a.Name)
		}
	}
	list, _ := strictjson.Marshal(required) // strings can be encoded
	return fmt.Appendf(nil, `{"type":"object","properties":{%s},"required":%s,"additionalProperties":false}`, properties, list)
}

// usage returns the component as a user types it.
func (c component) usage() string {
	text := terminal.Line(c.id)
	if c.MIMEType != "" {
		text += " (" + terminal.Line(c.MIMEType) + ")"
	}
	return strings.TrimSpace(text + " " + readInput(c.InputSchema).arguments())
}

// entries returns the entries of a list, as the server sends them, without tools that must not be
// called.
func (s *session) entries(ctx context.Context, l list) ([]json.RawMessage, error) {
	s.progress.Begin("listing " + l.field)
	defer s.progress.End()
	entries, err := s.Entries(ctx, l.method, l.field)
	if l.field != "tools" {
		return entries, err
	}
	return slices.DeleteFunc(entries, func(raw json.RawMessage) bool {
		name, _ := strictjson.Unquote(strictjson.Member(raw, "name"))
		return s.server.Refuse(name) != nil
	}), err
}

// list prints lists as text, or as one JSON object with the entries as the server sends them.
func (s *session) list(ctx context.Context, lists ...list) error {
	object := map[string][]json.RawMessage{}
	var all []component
	for _, l := range lists {
		entries, err := s.entries(ctx, l)
		if err != nil {
			return err
		}
		object[l.field] = append([]json.RawMessage{}, entries...)
		all = append(all, l.components(entries)...)
	}
	switch {
	case s.printer.asJSON:
		return terminal.PrintJSON(s.printer.out, object)
	case len(all) == 0:
		return s.printer.Text(terminal.Plain(s.server.Name) + " has no " + lists[0].field + ".")
	}
	return s.printer.components("", all)
}

// newListCommand returns a command without arguments that prints lists.
func newListCommand(env Env, name, short, long string, lists ...list) *cobra.Command {
	return newCommand(env, &cobra.Command{Use: name, Short: short, Long: long, Example: name}, ExactArgs(),
		func(ctx context.Context, s *session, _ []string) error { return s.list(ctx, lists...) })
}

func newCall(env Env) *cobra.Command {
	return newCommand(env, &cobra.Command{
		Use:   "call TOOL [name=value…|-]",
		Short: "Call a tool",
		Long: `Call a tool. Arguments are name=value pairs. The tool's schema determines their types; lists and
objects are JSON. To pass a list, you can also repeat name=value. With -, the arguments are a JSON
object on standard input; name=value pairs take precedence. The arguments are validated before the
call.

Text is printed. Images, audio and other files are written to the folder --out; existing files are not
overwritten. With --json, the whole result is printed as JSON instead. If the tool asks a question, answer
it on the terminal, or with --answer. Ctrl-C cancels the call.`,
		Example: "call add a=2 b=3\n" + `call add --json - <<< '{"a": 2, "b": 3}'`,
	}, MinimumArgs("add"), func(ctx context.Context, s *session, args []string) error {
		return s.call(ctx, env.In, args[0], args[1:])
	})
}

func (s *session) call(ctx context.Context, stdin io.Reader, name string, args []string) error {
	tool, err := s.Tool(ctx, name)
	if err != nil {
		return err
	}
	if err := s.server.Refuse(name); err != nil {
		return err
	}
	arguments, err := ParseArguments(tool, args, stdin)
	if err != nil {
		return err
	}
	title := "calling " + terminal.Plain(name)
	s.progress.Begin(title)
	var raw json.RawMessage
	result, err := s.CallTool(ctx, name, arguments, client.KeepResult(&raw), client.OnProgress(func(p client.Progress) {
		done := fmt.Sprint(p.Progress)
		if p.Total > 0 {
			done = fmt.Sprintf("%.0f %%", 100*p.Progress/p.Total)
		}
		s.progress.Begin(title + " " + done + " " + strictjson.Clip(terminal.Line(p.Message), 80))
	}))
	s.progress.End()
	if err = s.answers.check(name, err); err != nil {
		return serverError(ctx, err)
	}
	s.printer.base = name
	return s.printer.result(result, raw)
}

// serverError adds a prefix to an error that the server returned. Other errors stay as they are.
func serverError(ctx context.Context, err error) error {
	if ctx.Err() == nil && terminal.ExitCode(classify(ctx, err)) == terminal.ExitFailure {
		return fmt.Errorf("the server returned an error: %w", err)
	}
	return err
}

// result prints the result of a tool. raw is its JSON.
func (p *Printer) result(r *mcp.ToolResult, raw json.RawMessage) error {
	if p.asJSON {
		err := terminal.PrintJSON(p.out, raw)
		failed := errors.New("the tool returned an error")
		switch {
		case !r.IsError:
			return err
		case err == nil:
			return &terminal.PrintedError{Err: failed}
		}
		return &terminal.ReportedError{Err: failed} // the result was not printed
	}
	if r.IsError {
		return errors.New(cmp.Or(strings.TrimSpace(terminal.Plain(r.Text())), "the tool returned an error without a message"))
	}
	for _, block := range r.Content {
		if err := p.content(block); err != nil {
			return err
		}
	}
	if r.Text() != "" || r.StructuredContent == nil {
		return nil
	}
	return p.Text(string(terminal.IndentJSON(r.StructuredContent)))
}

func newRead(env Env) *cobra.Command {
	return newCommand(env, &cobra.Command{
		Use:   "read URI",
		Short: "Read a resource",
		Long: `Read a resource. Text is printed. Other contents are written to a file in the folder --out; existing
files are not overwritten.`,
		Example: "read note://1",
	}, ExactArgs("note://1"), func(ctx context.Context, s *session, args []string) error {
		s.progress.Begin("reading " + terminal.Plain(args[0]))
		var raw json.RawMessage
		contents, err := s.ReadResource(ctx, args[0], client.KeepResult(&raw))
		s.progress.End()
		if err = s.answers.check(args[0], err); err != nil {
			return serverError(ctx, err)
		}
		if s.printer.asJSON {
			return terminal.PrintJSON(s.printer.out, raw)
		}
		for _, c := range contents {
			if err := s.printer.resource(c); err != nil {
				return err
			}
		}
		return nil
	})
}

func newPrompt(env Env) *cobra.Command {
	return newCommand(env, &cobra.Command{
		Use:     "prompt NAME [name=value…]",
		Short:   "Get a prompt",
		Long:    "Get a prompt, and print its messages. Arguments are name=value pairs.",
		Example: "prompt review code='x := 1'",
	}, MinimumArgs("review"), func(ctx context.Context, s *session, args []string) error {
		return s.prompt(ctx, env.In, args[0], args[1:])
	})
}

func (s *session) prompt(ctx context.Context, stdin io.Reader, name string, args []string) error {
	entries, err := s.entries(ctx, promptList)
	if err != nil {
		return err
	}
	var names []string
	var prompt *component
	for _, c := range promptList.components(entries) {
		if names = append(names, c.id); c.id == name {
			prompt = &c
		}
	}
	if prompt == nil {
		return &client.NotFoundError{Kind: "prompt", Name: name, Available: names}
	}
	raw, err := ParseArguments(&mcp.Tool{Name: name, InputSchema: prompt.InputSchema}, args, stdin)
	if err != nil {
		return err
	}
	var arguments map[string]string
	if err := strictjson.Unmarshal(raw, &arguments); err != nil {
		return err
	}
	s.progress.Begin("getting " + terminal.Plain(name))
	result, err := s.GetPrompt(ctx, name, arguments, client.KeepResult(&raw))
	s.progress.End()
	err = s.answers.check(name, err)
	switch {
	case err != nil:
		return serverError(ctx, err)
	case s.printer.asJSON:
		return terminal.PrintJSON(s.printer.out, raw)
	}
	s.printer.base = name
	for _, m := range result.Messages {
		if err := s.printer.Text(string(m.Role) + ":"); err != nil {
			return err
		}
		if err := s.printer.content(m.Content); err != nil {
			return err
		}
	}
	return nil
}

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
