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

	"github.com/petrock/petrock/core/plumbing/transport"
	"github.com/petrock/petrock/core/strictjson"
)

// A builder builds a [Server] from an entry, and collects all problems.
type builder struct {
	server   *Server
	entry    *entry
	source   *source
	resolver *resolver
	expand   expander
	problems []error
	length   int               // of all expanded texts
	fileVars map[string]string // of envFile
}

// buildServer builds a server. The variables of a disabled server are expanded only if
// expandDisabled is set.
func buildServer(e *fileEntry, r *resolver, expandDisabled bool) *Server {
	b := &builder{
		server:   &Server{Name: e.name, File: e.source.file, Shadows: slices.Clone(e.shadows), Trusted: e.source.private && r.isHome(e.source.folder)},
		source:   e.source,
		resolver: r,
		expand:   e.source.client.expander(e.source, r),
	}
	b.entry = b.decode(e.value)
	if strings.HasPrefix(e.name, "-") {
		b.addProblem("", errors.New("the name begins with -, so command lines read it as a flag; rename the server"))
	}
	b.setPlain()
	b.server.Kind = b.kind()
	if !b.server.Disabled || expandDisabled {
		switch b.server.Kind {
		case Stdio:
			b.setProgram()
		case HTTP, SSE:
			b.setURL()
		}
	}
	b.server.Definition = b.definition(e.value)
	b.server.Err = errors.Join(b.problems...)
	if len(b.problems) == 1 {
		b.server.Err = b.problems[0]
	}
	return b.server
}

// definition returns a hash of everything that the project's files define for a server, including
// envFile, but not the values of other variables.
func (b *builder) definition(value []byte) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode([]any{b.source.client.name, b.source.folder, value, b.source.inputs, b.fileVars}) // writing to a hash does not fail
	return hex.EncodeToString(h.Sum(nil))
}

func (b *builder) addProblem(field strictjson.Path, err error) {
	b.problems = append(b.problems, &Problem{File: b.source.file, Server: b.server.Name, Field: string(field), Err: err})
}

// expandText expands the variables of a text. If it fails, it adds the problem.
func (b *builder) expandText(field strictjson.Path, text string, keepUnknown bool) (string, bool) {
	if strings.ContainsRune(text, '$') { // the file may have it as \u0024
		b.server.HasVars = true
	}
	out, err := b.expand(text, keepUnknown)
	if err == nil {
		if b.length += len(out); b.length > maxValue {
			err = errTooLong
		}
	}
	if err == nil && strings.ContainsRune(out, 0) {
		err = errNUL
	}
	if err != nil {
		b.addProblem(field, err)
		return "", false
	}
	return out, true
}

// expandPath is expandText for paths: it also expands ~/ if the client does.
func (b *builder) expandPath(field strictjson.Path, text string, keepUnknown bool) (string, bool) {
	out, ok := b.expandText(field, text, keepUnknown)
	if !ok || b.source.client.expandTilde == nil {
		return out, ok
	}
	out, err := b.source.client.expandTilde(b.resolver, out)
	if err != nil {
		b.addProblem(field, err)
	}
	return out, err == nil
}

// setProgram sets the fields for [Stdio].
func (b *builder) setProgram() {
	b.server.Unexpanded = append([]string{b.entry.Command}, b.entry.Args...)
	b.server.Dir = b.source.folder
	if b.entry.Cwd != "" {
		if dir, ok := b.expandPath("cwd", b.entry.Cwd, false); ok {
			b.server.Dir = absoluteIn(b.source.folder, dir)
		}
	}
	command, ok := b.expandPath("command", b.entry.Command, false)
	switch {
	case !ok:
	case command == "":
		b.addProblem("command", errors.New("missing or empty; write the program to start"))
	case strings.ContainsAny(command, "/"+string(filepath.Separator)):
		b.server.Command = absoluteIn(b.server.Dir, command)
	default:
		b.server.Command = command
	}
	for i, arg := range b.entry.Args {
		arg, _ = b.expandPath(strictjson.Path("args").Index(i), arg, true)
		b.server.Args = append(b.server.Args, arg)
	}
	b.setEnv()
}

// absoluteIn returns path, which is relative to dir or absolute, as an absolute path.
func absoluteIn(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// setEnv sets the environment of a program. env takes precedence over envFile.
func (b *builder) setEnv() {
	env, written := make(map[string]string), make(map[string]string)
	if b.entry.EnvFile != "" {
		if file, ok := b.expandText("envFile", b.entry.EnvFile, false); ok {
			vars, err := readDotenv(absoluteIn(b.source.folder, file))
			if err != nil {
				b.addProblem("envFile", err)
			}
			b.fileVars = vars
			maps.Copy(env, vars)
			maps.Copy(written, vars)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.entry.Env)) {
		field := strictjson.Path("env").Key(name)
		if name == "" || strings.ContainsAny(name, "=\x00") {
			b.addProblem(field, errors.New("not a valid variable name"))
			continue
		}
		text, set, err := envText(b.entry.Env[name], b.source.client.anyEnv)
		switch {
		case err != nil:
			b.addProblem(field, err)
		case !set:
			delete(env, name)
			delete(written, name)
		default:
			written[name] = text
			if value, ok := b.expandText(field, text, false); ok {
				env[name] = b.pathPrefix(env, name) + value
			}
		}
	}
	if last := b.source.client.completeEnv; last != nil {
		last(b.source, b.resolver, env)
		last(b.source, b.resolver, written)
	}
	b.server.UnexpandedPairs = written
	if len(env) > 0 {
		b.server.Env = env
	}
}

// pathPrefix returns the text before the value of a variable: the current PATH, if the client
// appends to it, and otherwise "".
func (b *builder) pathPrefix(env map[string]string, name string) string {
	if !b.source.client.appendsPath || !strings.EqualFold(name, "PATH") {
		return ""
	}
	path, ok := env[name]
	if !ok {
		path, _ = b.resolver.getenv("PATH")
	}
	if path == "" {
		return ""
	}
	return path + string(filepath.ListSeparator)
}

// readDotenv reads envFile. Its error does not name the file, because the name may contain the
// value of a variable.
func readDotenv(file string) (map[string]string, error) {
	text, _, err := readFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the file: %w; relative paths are relative to the project's folder", err)
	}
	return parseDotenv(text)
}

// setURL sets the fields for [HTTP] and [SSE].
func (b *builder) setURL() {
	b.server.Unexpanded = []string{b.entry.URL}
	b.addHeaders()
	if text, ok := b.expandText("url", b.entry.URL, false); ok {
		if at, err := url.Parse(text); err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
			b.addProblem("url", errors.New("not a valid URL; write one that begins with http:// or https://"))
		} else {
			b.server.URL = text
		}
	}
	b.server.Header = make(http.Header)
	for _, name := range slices.Sorted(maps.Keys(b.entry.Headers)) {
		field := strictjson.Path("headers").Key(name)
		value, ok := b.expandText(field, b.entry.Headers[name], false)
		value = strings.Trim(value, " \t")
		switch {
		case !ok, value == "" && b.source.client.skipsEmpty:
		case !transport.IsHeaderName(name):
			b.addProblem(field, errors.New("not a valid header name; use letters, digits and dashes"))
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			b.addProblem(field, errors.New("the value contains a line break or another control character; remove it from the variable"))
		case b.server.Header.Get(name) != "":
			b.addProblem(field, errors.New("duplicate header, in different letter case; keep one of them"))
		default:
			b.server.Header.Set(name, value)
		}
	}
}

// An Input is a value that .vscode/mcp.json asks the user for, with ${input:ID}.
type Input struct {
	File        string // that defines it
	ID          string
	Type        string // promptString or pickString
	Description string
	Default     string   // "" for none
	Password    bool     // must not be shown
	Options     []Option // of pickString: the answer must be the value of one of them
}

// An Option is a possible answer to an [Input].
type Option struct {
	Label string // to show
	Value string
}

// Variable returns the environment variable that overrides the input, such as
// MCP_INPUT_ORCHARD_TOKEN for orchard-token.
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

// ErrCannotAsk is returned for an input that the user cannot be asked for.
var ErrCannotAsk = errors.New("petrock cannot ask for it")

// An answerKey identifies an input.
type answerKey struct{ file, id string }

// An answer is remembered, so the user is asked once.
type answer struct {
	text string
	err  error
}

// input returns the answer to an input of a file.
func (r *resolver) input(s *source, id string) (string, error) {
	key := answerKey{s.file, id}
	a, ok := r.answers[key]
	if !ok {
		a.text, a.err = r.ask(s, id)
		r.answers[key] = a
	}
	return a.text, a.err
}

func (r *resolver) ask(s *source, id string) (string, error) {
	in, err := findInput(s, id)
	if err != nil {
		return "", err
	}
	text, ok := r.getenv(in.Variable())
	switch {
	case ok:
	case in.Type != "promptString" && in.Type != "pickString":
		return "", fmt.Errorf("input %q: only the editor can ask for this type; set %s in the environment", id, in.Variable())
	case r.Input != nil:
		if text, err = r.Input(in); err != nil {
			return "", fmt.Errorf("input %q: %w", id, err)
		}
	case in.Default != "":
		text = in.Default
	default:
		return "", fmt.Errorf("input %q: %w, and it has no default; set %s in the environment", id, ErrCannotAsk, in.Variable())
	}
	if in.Type == "pickString" && !slices.ContainsFunc(in.Options, func(o Option) bool { return o.Value == text }) {
		var values []string
		for _, o := range in.Options {
			values = append(values, o.Value)
		}
		return "", fmt.Errorf("input %q: the answer must be one of %q", id, values)
	}
	return text, nil
}

// findInput returns the first input of a file with an ID.
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
			return nil // other inputs may be invalid
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
		return Input{}, fmt.Errorf("input %q: %w", id, err)
	}
	if found.ID == "" {
		return Input{}, noInput(id)
	}
	return found, nil
}

func noInput(id string) error { return fmt.Errorf("input %q: not defined; add it to inputs", id) }

// decodeOption decodes an option, which is a string, or an object with a label and a value.
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
