package mcpconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// A filling makes a [Server] of an entry. It goes on after a problem, so that all of them are told.
type filling struct {
	server   *Server
	entry    *entry
	source   *source
	world    *world
	expand   expander
	problems []error
	length   int               // of all texts
	fileVars map[string]string // of the file of variables
}

// fill makes a server of what a file says. A disabled one gets its variables filled in if it is wanted alone.
func fill(e *entryOf, w *world, wanted bool) *Server {
	f := &filling{
		server: &Server{Name: e.name, File: e.source.file, Shadows: slices.Clone(e.shadows), OfUser: e.source.private && w.isHome(e.source.folder)},
		source: e.source,
		world:  w,
		expand: e.source.client.expander(e.source, w),
	}
	f.entry = f.decode(e.value)
	if strings.HasPrefix(e.name, "-") {
		f.wrong("", errors.New("the name begins with -, so command lines read it as a flag; rename the server"))
	}
	f.said()
	f.server.Kind = f.kind()
	if !f.server.Disabled || wanted {
		switch f.server.Kind {
		case Stdio:
			f.program()
		case HTTP, SSE:
			f.address()
		}
	}
	f.server.Definition = f.definition(e.value)
	f.server.Err = errors.Join(f.problems...)
	if len(f.problems) == 1 {
		f.server.Err = f.problems[0]
	}
	return f.server
}

// definition returns a hash of what the files say about a server. The values of variables are no
// part of it, except those of envFile, which is a file of the project too.
func (f *filling) definition(value []byte) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode([]any{f.source.client.name, f.source.folder, value, f.source.inputs, f.fileVars}) // a hash takes everything
	return hex.EncodeToString(h.Sum(nil))
}

// wrong adds a problem.
func (f *filling) wrong(field strictjson.Path, err error) {
	f.problems = append(f.problems, &Problem{File: f.source.file, Server: f.server.Name, Field: string(field), Err: err})
}

// text fills in the variables of a text.
func (f *filling) text(field strictjson.Path, text string, free bool) (string, bool) {
	if strings.ContainsRune(text, '$') { // decoded: in the file it may be written as \u0024
		f.server.HasVars = true
	}
	out, err := f.expand(text, free)
	if err == nil {
		if f.length += len(out); f.length > maxValue {
			err = errTooLong
		}
	}
	if err == nil && strings.ContainsRune(out, 0) {
		err = errors.New("it has a zero byte in it, which no program can be handed")
	}
	if err != nil {
		f.wrong(field, err)
		return "", false
	}
	return out, true
}

// path is text with the ~/ of the clients that know it.
func (f *filling) path(field strictjson.Path, text string, free bool) (string, bool) {
	out, ok := f.text(field, text, free)
	if !ok || f.source.client.tilde == nil {
		return out, ok
	}
	out, err := f.source.client.tilde(f.world, out)
	if err != nil {
		f.wrong(field, err)
	}
	return out, err == nil
}

// program fills in what a program needs to be started.
func (f *filling) program() {
	f.server.Written = append([]string{f.entry.Command}, f.entry.Args...)
	f.server.Dir = f.source.folder
	if f.entry.Cwd != "" {
		if dir, ok := f.path("cwd", f.entry.Cwd, false); ok {
			f.server.Dir = within(f.source.folder, dir)
		}
	}
	command, ok := f.path("command", f.entry.Command, false)
	switch {
	case !ok:
	case command == "":
		f.wrong("command", errors.New("it is missing or empty; write the program to start"))
	case strings.ContainsAny(command, "/"+string(filepath.Separator)):
		f.server.Command = within(f.server.Dir, command)
	default:
		f.server.Command = command
	}
	for i, arg := range f.entry.Args {
		arg, _ = f.path(strictjson.Path("args").Index(i), arg, true)
		f.server.Args = append(f.server.Args, arg)
	}
	f.environment()
}

// within is path seen from dir, unless it is absolute.
func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// environment fills in the environment of a program: what the file of variables has, and then what env has.
func (f *filling) environment() {
	env, written := make(map[string]string), make(map[string]string)
	if f.entry.EnvFile != "" {
		if file, ok := f.text("envFile", f.entry.EnvFile, false); ok {
			vars, err := readDotenv(within(f.source.folder, file))
			if err != nil {
				f.wrong("envFile", err)
			}
			f.fileVars = vars
			maps.Copy(env, vars)
			maps.Copy(written, vars)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.entry.Env)) {
		field := strictjson.Path("env").Key(name)
		if name == "" || strings.ContainsAny(name, "=\x00") {
			f.wrong(field, errors.New("this is no name of a variable"))
			continue
		}
		text, there, err := envText(f.entry.Env[name], f.source.client.loose)
		switch {
		case err != nil:
			f.wrong(field, err)
		case !there:
			delete(env, name)
			delete(written, name)
		default:
			written[name] = text
			if value, ok := f.text(field, text, false); ok {
				env[name] = f.pathList(env, name) + value
			}
		}
	}
	if last := f.source.client.environment; last != nil {
		last(f.source, f.world, env)
		last(f.source, f.world, written)
	}
	f.server.WrittenMore = written
	if len(env) > 0 {
		f.server.Env = env
	}
}

// pathList is what comes before the value of a variable, if that is one to add to a PATH.
func (f *filling) pathList(env map[string]string, name string) string {
	if !f.source.client.addsPath || !strings.EqualFold(name, "PATH") {
		return ""
	}
	path, ok := env[name]
	if !ok {
		path, _ = f.world.getenv("PATH")
	}
	if path == "" {
		return ""
	}
	return path + string(filepath.ListSeparator)
}

// readDotenv reads a file of variables. Its error does not name the file, which may have got its name from a variable.
func readDotenv(file string) (map[string]string, error) {
	text, _, err := readFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the file: %w; a relative path is seen from the folder of the project", err)
	}
	return parseDotenv(text)
}

// address fills in where a server is, and what it is sent with each request.
func (f *filling) address() {
	f.server.Written = []string{f.entry.URL}
	f.addHeaders()
	if text, ok := f.text("url", f.entry.URL, false); ok {
		if at, err := url.Parse(text); err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
			f.wrong("url", errors.New("it is no address; write one that begins with http:// or https://"))
		} else {
			f.server.URL = text
		}
	}
	f.server.Header = make(http.Header)
	for _, name := range slices.Sorted(maps.Keys(f.entry.Headers)) {
		field := strictjson.Path("headers").Key(name)
		value, ok := f.text(field, f.entry.Headers[name], false)
		value = strings.Trim(value, " \t")
		switch {
		case !ok, value == "" && f.source.client.sparse:
		case !mcp.IsHeaderName(name):
			f.wrong(field, errors.New("this is no name of a header; it may have letters, digits and dashes"))
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			f.wrong(field, errors.New("the value has a line break or another control character in it; take it out of the variable"))
		case f.server.Header.Get(name) != "":
			f.wrong(field, errors.New("the header stands here twice, in other letter case; keep one of them"))
		default:
			f.server.Header.Set(name, value)
		}
	}
}

// An Input is something that .vscode/mcp.json has people asked for, by ${input:ID}.
type Input struct {
	File        string // that has it
	ID          string
	Type        string // promptString or pickString
	Description string
	Default     string   // "" if there is none
	Password    bool     // not to be shown
	Options     []Option // of pickString: the answer has to be the value of one of them
}

// An Option is one answer to choose.
type Option struct {
	Label string // as people read it
	Value string
}

// Variable is the environment variable that answers for the input, and keeps anybody from being asked: that of orchard-token is
// MCP_INPUT_ORCHARD_TOKEN.
func (in Input) Variable() string {
	return "MCP_INPUT_" + strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, in.ID)
}

// ErrUnasked is the error of an input that a client asks its user for, where no user can be asked.
var ErrUnasked = errors.New("there is nobody to ask")

// An answerKey is the input that an answer is for.
type answerKey struct{ file, id string }

// An answer is kept: nobody is asked twice.
type answer struct {
	text string
	err  error
}

// input returns the answer to an input of a file.
func (w *world) input(s *source, id string) (string, error) {
	key := answerKey{s.file, id}
	a, ok := w.answers[key]
	if !ok {
		a.text, a.err = w.ask(s, id)
		w.answers[key] = a
	}
	return a.text, a.err
}

func (w *world) ask(s *source, id string) (string, error) {
	in, err := findInput(s, id)
	if err != nil {
		return "", err
	}
	text, ok := w.getenv(in.Variable())
	switch {
	case ok:
	case in.Type != "promptString" && in.Type != "pickString":
		return "", fmt.Errorf("the input %q is of a type that the editor alone can ask for; set %s in the environment", id, in.Variable())
	case w.Input != nil:
		if text, err = w.Input(in); err != nil {
			return "", fmt.Errorf("asking for the input %q: %w", id, err)
		}
	case in.Default != "":
		text = in.Default
	default:
		return "", fmt.Errorf("%w for the input %q, and it has no default; set %s in the environment", ErrUnasked, id, in.Variable())
	}
	if in.Type == "pickString" && !slices.ContainsFunc(in.Options, func(o Option) bool { return o.Value == text }) {
		var values []string
		for _, o := range in.Options {
			values = append(values, o.Value)
		}
		return "", fmt.Errorf("the answer to the input %q is none of its options: %q", id, values)
	}
	return text, nil
}

// findInput returns the input of a file that is called id.
func findInput(s *source, id string) (Input, error) {
	if s.inputs == nil {
		return Input{}, noInput(id)
	}
	var found Input
	err := strictjson.Elements(s.inputs, func(element []byte) error {
		var in struct {
			ID          string            `json:"id"`
			Type        string            `json:"type"`
			Description string            `json:"description"`
			Default     string            `json:"default"`
			Password    bool              `json:"password"`
			Options     []json.RawMessage `json:"options"`
		}
		if err := strictjson.Unmarshal(element, &in); in.ID != id || found.ID != "" {
			return nil // the first counts, and another may be as wrong as it likes
		} else if err != nil {
			return err
		}
		found = Input{s.file, id, in.Type, in.Description, in.Default, in.Password, nil}
		for _, raw := range in.Options {
			option, err := decodeOption(raw)
			if err != nil {
				return err
			}
			found.Options = append(found.Options, option)
		}
		return nil
	})
	if err != nil {
		return Input{}, fmt.Errorf("the input %q: %w", id, err)
	}
	if found.ID == "" {
		return Input{}, noInput(id)
	}
	return found, nil
}

func noInput(id string) error { return fmt.Errorf("there is no input %q; add it to inputs", id) }

// decodeOption reads an option, which is a text, or an object with a label and a value.
func decodeOption(raw []byte) (Option, error) {
	if text, ok := strictjson.Unquote(raw); ok {
		return Option{text, text}, nil
	}
	var o struct {
		Label string `json:"label"`
		Value string `json:"value"`
	}
	if err := strictjson.Unmarshal(raw, &o); err != nil {
		return Option{}, fmt.Errorf("options: %w", err)
	}
	return Option{o.Label, o.Value}, nil
}
