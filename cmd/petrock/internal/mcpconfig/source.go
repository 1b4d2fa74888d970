package mcpconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/petrock/petrock/cmd/petrock/internal/userfile"
	"github.com/petrock/petrock/core/strictjson"
)

const maxFile = 1 << 20 // bytes

// A source is a parsed configuration file.
type source struct {
	file    string
	folder  string // of the project, absolute
	client  client
	hasKey  bool // the file has the client's key for servers
	entries []rawEntry
	inputs  []byte // JSON, or nil
	private bool   // only the user can write the file
}

// A rawEntry is a server before decoding.
type rawEntry struct {
	name  string
	value []byte // JSON
}

// readSource reads a file. If it returns a source and a problem, the servers of the source are
// usable. The problem is errForeign if isOwn, which may be nil, rejects the file or the link to it.
func readSource(file, absolute string, isOwn func(fs.FileInfo) bool) (*source, *Problem) {
	text, info, err := readFile(file)
	if err == nil && isOwn != nil {
		link, linkErr := os.Lstat(file)
		if err = linkErr; err == nil && (!isOwn(info) || !isOwn(link)) {
			err = errForeign
		}
	}
	if err != nil {
		return nil, &Problem{File: file, Err: err}
	}
	s := &source{file: file, private: userfile.IsPrivate(info)}
	known := false
	s.client, s.folder, known = clientOf(absolute)
	if !known && filepath.Ext(absolute) == ".toml" {
		s.client, known = codex(), true
	}
	if s.client.toml {
		text, problem := tomlToJSON(file, s.client.key, text)
		if problem != nil {
			return nil, problem
		}
		return s.readServers(text)
	}
	if !known {
		keys, err := topKeys(blankComments(text))
		if err != nil {
			return nil, syntaxProblem(file, text, err)
		}
		if s.client, known = clientFor(keys); !known {
			return nil, &Problem{File: file, Err: errors.New("must have exactly one of the keys mcpServers, mcp and servers")}
		}
	}
	clean := bytes.Clone(text)
	blankBOM(clean)
	if s.client.comments {
		clean = blankComments(text)
	}
	if err := strictjson.Check(clean); err != nil {
		return nil, syntaxProblem(file, text, err)
	}
	return s.readServers(clean)
}

// readServers reads the servers from the text of the file, which is valid JSON.
func (s *source) readServers(text []byte) (*source, *Problem) {
	var wrong []string
	var problem *Problem
	err := strictjson.Members(text, func(key, value []byte) error {
		switch key := string(key); {
		case key == s.client.key:
			s.hasKey = true
			if err := s.addServers(value); err != nil {
				problem = &Problem{File: s.file, Field: key, Err: err}
			}
		case key == "inputs":
			s.inputs = value
		case key == "mcp" && s.client.file == gemini().file: // settings for all servers
		case slices.Contains([]string{"mcpServers", "servers", "mcp"}, key) && strictjson.First(value) == '{':
			wrong = append(wrong, key)
		}
		return nil
	})
	if err != nil {
		return nil, &Problem{File: s.file, Err: err}
	}
	if problem == nil && len(wrong) > 0 {
		problem = &Problem{File: s.file, Field: wrong[0], Err: fmt.Errorf("%s reads %q instead of this key; move the servers there", s.client.name, s.client.key)}
	}
	return s, problem
}

func (s *source) addServers(value []byte) error {
	return strictjson.Members(value, func(key, value []byte) error {
		s.entries = append(s.entries, rawEntry{string(key), value})
		return nil
	})
}

// topKeys returns the keys of a JSON object.
func topKeys(text []byte) ([]string, error) {
	if err := strictjson.Check(text); err != nil {
		return nil, err
	}
	var keys []string
	err := strictjson.Members(text, func(key, _ []byte) error {
		keys = append(keys, string(key))
		return nil
	})
	return keys, err
}

// readFile reads a file of at most maxFile bytes. Its error does not name the file.
func readFile(file string) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, nil, withoutPath(err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("not a regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, withoutPath(err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil { // the file may have been replaced
		return nil, nil, withoutPath(err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, nil, withoutPath(err)
	}
	if len(text) > maxFile {
		return nil, nil, fmt.Errorf("longer than %d bytes", maxFile)
	}
	return text, info, nil
}

// An entry is a decoded server, before expansion.
type entry struct {
	Type    string
	Command string
	Args    []string
	Env     map[string]json.RawMessage
	URL     string
	Headers map[string]string

	// Fields that only some clients have.
	EnvFile       string
	Cwd           string
	HTTPURL       string
	Timeout       int64 // in seconds, or in milliseconds if client.millis is set
	Disabled      bool
	DisabledTools []string
	EnabledTools  []string

	// Fields of Codex.
	Enabled        *bool
	StartupTimeout float64           // in seconds
	EnvHeaders     map[string]string // variables by header
	BearerVariable string

	invalid []string // fields that could not be decoded
}

const maxTimeout = 24 * 60 * 60 // seconds

// decode decodes the fields of a server that its client knows. An invalid field is a problem, and
// stays empty.
func (b *builder) decode(value []byte) *entry {
	e := &entry{}
	fields := map[string]any{
		"type": &e.Type, "command": &e.Command, "args": &e.Args, "env": &e.Env, "url": &e.URL, "headers": &e.Headers,
	}
	for key, to := range map[string]any{
		"envFile": &e.EnvFile, "cwd": &e.Cwd,
		"timeout": &e.Timeout, "disabled": &e.Disabled, "disabled_tools": &e.DisabledTools, "enabled_tools": &e.EnabledTools,
		"enabled": &e.Enabled, "startup_timeout_sec": &e.StartupTimeout,
		"httpUrl": &e.HTTPURL, "includeTools": &e.EnabledTools, "excludeTools": &e.DisabledTools,
		"http_headers": &e.Headers, "env_http_headers": &e.EnvHeaders, "bearer_token_env_var": &e.BearerVariable,
	} {
		if slices.Contains(b.source.client.fields, key) {
			fields[key] = to
		}
	}
	err := strictjson.Members(value, func(key, value []byte) error {
		to := fields[string(key)]
		if to == nil {
			return nil
		}
		err := strictjson.Unmarshal(value, to)
		var unfit *strictjson.TypeError
		if errors.As(err, &unfit) {
			e.invalid = append(e.invalid, string(key))
			b.addProblem(strictjson.Path(strictjson.Path(key).Join(unfit.Path)), errors.New(unfit.Msg))
			return nil
		}
		return err
	})
	if err != nil { // not an object
		e.invalid = append(e.invalid, "type")
		b.addProblem("", err)
	}
	if e.HTTPURL != "" {
		e.URL, e.Type = e.HTTPURL, string(HTTP)
	}
	return e
}

// setPlain sets the fields that have no variables.
func (b *builder) setPlain() {
	e := b.entry
	limit, unit, units := int64(maxTimeout), time.Second, "seconds"
	if b.source.client.millis {
		limit, unit, units = maxTimeout*1000, time.Millisecond, "milliseconds"
	}
	if e.Timeout < 0 || e.Timeout > limit {
		b.addProblem("timeout", fmt.Errorf("must be between 0 and %d %s", limit, units))
	} else {
		b.server.Timeout = time.Duration(e.Timeout) * unit
	}
	if e.StartupTimeout < 0 || e.StartupTimeout > maxTimeout {
		b.addProblem("startup_timeout_sec", fmt.Errorf("must be between 0 and %d seconds", maxTimeout))
	} else if e.StartupTimeout > 0 {
		b.server.Timeout = time.Duration(e.StartupTimeout * float64(time.Second))
	}
	b.server.Disabled, b.server.DisabledTools, b.server.EnabledTools = e.Disabled || e.Enabled != nil && !*e.Enabled, e.DisabledTools, e.EnabledTools
}

// kind returns the kind of the server. If it is invalid, kind adds the problem and returns "".
func (b *builder) kind() Kind {
	e := b.entry
	for _, field := range []string{"type", "command", "url", "httpUrl"} {
		if slices.Contains(e.invalid, field) {
			return "" // the problem has been added
		}
	}
	if e.Type == "" {
		switch c := b.source.client; {
		case c.needsType:
			b.addProblem("type", fmt.Errorf(`missing, but %s requires it; write "stdio", "http" or "sse"`, c.name))
		case e.Command != "" && e.URL != "":
			b.addProblem("type", errors.New(`missing, but required for a server with a command and a url; write "stdio" or "http"`))
		case e.Command != "":
			return Stdio
		case e.URL != "":
			return HTTP
		default:
			b.addProblem("", errors.New("no command and no url; write the program to start or the URL to call"))
		}
		return ""
	}
	kind := Kind(e.Type)
	if !b.source.client.needsType && (e.Type == "streamable-http" || e.Type == "streamableHttp") {
		kind = HTTP
	}
	switch {
	case kind == Stdio && e.Command == "":
		b.addProblem("command", errors.New("missing or empty; write the program to start"))
	case kind != Stdio && kind != HTTP && kind != SSE:
		b.addProblem("type", fmt.Errorf(`unknown type %.40q; write "stdio", "http" or "sse"`, e.Type))
	case kind != Stdio && e.URL == "":
		b.addProblem("url", errors.New("missing or empty; write the URL to call"))
	default:
		return kind
	}
	return ""
}

// envText returns the text of a value of env, and whether the variable is set: null unsets it.
func envText(raw []byte, anyEnv bool) (text string, set bool, err error) {
	if text, ok := strictjson.Unquote(raw); ok {
		return text, true, nil
	}
	switch strictjson.First(raw) {
	case 'n':
		if anyEnv {
			return "", false, nil
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if anyEnv {
			return string(raw), true, nil
		}
		return "", false, fmt.Errorf("must be a string, got %s; write it between quotes", strictjson.Describe(raw))
	}
	return "", false, fmt.Errorf("must be a string, got %s", strictjson.Describe(raw))
}

// blankComments converts JSON with comments to JSON. It returns a copy of text in which spaces
// replace the bytes of comments, of trailing commas and of a byte order mark. Line breaks and
// offsets stay the same. It does not check the text: invalid JSON stays invalid, such as a comment
// without an end.
func blankComments(text []byte) []byte {
	out := bytes.Clone(text)
	comma := -1 // the last comma, if only space and comments follow it
	for i := blankBOM(out); i < len(out); {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			i = stringEnd(out, i)
		case c == '/':
			end := commentEnd(out, i)
			if end == i {
				comma = -1
				i++
				continue
			}
			blank(out[i:end])
			i = end
		case c == ',':
			if i++; comma < 0 {
				comma = i - 1
				continue
			}
			comma = -1 // two in a row are invalid, and stay
		case c == '}' || c == ']':
			if comma >= 0 && endsWithValue(out[:comma]) {
				out[comma] = ' '
			}
			comma = -1
			i++
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
		default:
			comma = -1
			i++
		}
	}
	return out
}

// endsWithValue reports whether text ends with a value, and not with an opening bracket, a colon or
// a comma.
func endsWithValue(text []byte) bool {
	text = bytes.TrimRight(text, " \t\r\n")
	return len(text) > 0 && !bytes.ContainsRune([]byte("{[:,"), rune(text[len(text)-1]))
}

// blankBOM blanks a byte order mark at the beginning of out, and returns the offset after it.
func blankBOM(out []byte) int {
	mark := []byte("\xef\xbb\xbf")
	if !bytes.HasPrefix(out, mark) {
		return 0
	}
	blank(out[:len(mark)])
	return len(mark)
}

// stringEnd returns the offset after the JSON string that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// commentEnd returns the offset after the comment that begins at i. It returns i if there is no
// comment, or it has no end.
func commentEnd(text []byte, i int) int {
	switch rest := text[i:]; {
	case bytes.HasPrefix(rest, []byte("//")):
		if n := bytes.IndexAny(rest, "\r\n"); n >= 0 {
			return i + n
		}
		return len(text)
	case bytes.HasPrefix(rest, []byte("/*")):
		if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
			return i + 2 + n + 2
		}
	}
	return i
}

// blank replaces everything but line breaks with spaces.
func blank(part []byte) {
	for i, c := range part {
		if c != '\n' && c != '\r' {
			part[i] = ' '
		}
	}
}
