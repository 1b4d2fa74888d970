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

// maxFile is how long a file may be, in bytes.
const maxFile = 1 << 20

// A source is a configuration file that has been read.
type source struct {
	file    string
	folder  string // of the project, absolute
	client  client
	has     bool // the key of the client
	entries []rawEntry
	inputs  []byte // JSON, or nil
	private bool   // only the user can write the file
}

// A rawEntry is a server as it stands in a file.
type rawEntry struct {
	name  string
	value []byte // JSON
}

// readSource reads a file. If it returns a source and a problem, the servers can be used. The
// problem is errForeign if isOwn does not accept the file, or the link that leads to it. isOwn may
// be nil.
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
		return s.take(text)
	}
	if !known {
		keys, err := topKeys(blankComments(text))
		if err != nil {
			return nil, malformed(file, text, err)
		}
		if s.client, known = clientFor(keys); !known {
			return nil, &Problem{File: file, Err: errors.New("it has to have one of the keys mcpServers, mcp and servers, and no other of them, so that one can tell whose file it is")}
		}
	}
	clean := bytes.Clone(text)
	blankMark(clean)
	if s.client.comments {
		clean = blankComments(text)
	}
	if err := strictjson.Check(clean); err != nil {
		return nil, malformed(file, text, err)
	}
	return s.take(clean)
}

// take finds the servers in the text of the file, which has been checked.
func (s *source) take(text []byte) (*source, *Problem) {
	var wrong []string
	var problem *Problem
	err := strictjson.Members(text, func(key, value []byte) error {
		switch key := string(key); {
		case key == s.client.key:
			s.has = true
			if err := s.takeServers(value); err != nil {
				problem = &Problem{File: s.file, Field: key, Err: err}
			}
		case key == "inputs":
			s.inputs = value
		case slices.Contains([]string{"mcpServers", "servers", "mcp"}, key) && strictjson.First(value) == '{':
			wrong = append(wrong, key)
		}
		return nil
	})
	if err != nil {
		return nil, &Problem{File: s.file, Err: err}
	}
	if problem == nil && len(wrong) > 0 {
		problem = &Problem{File: s.file, Field: wrong[0], Err: fmt.Errorf("%s does not read this key, but %q; move the servers there", s.client.name, s.client.key)}
	}
	return s, problem
}

func (s *source) takeServers(value []byte) error {
	return strictjson.Members(value, func(key, value []byte) error {
		s.entries = append(s.entries, rawEntry{string(key), value})
		return nil
	})
}

// topKeys lists the keys of a JSON object.
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

// readFile returns what is in a file of a size to be expected. Its error does not name the file.
func readFile(file string) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, nil, bare(err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("it is not a file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, bare(err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil { // it may be another one by now
		return nil, nil, bare(err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, nil, bare(err)
	}
	if len(text) > maxFile {
		return nil, nil, fmt.Errorf("it is longer than %d bytes", maxFile)
	}
	return text, info, nil
}

// An entry is what a file says about a server, before variables are filled in.
type entry struct {
	Type    string
	Command string
	Args    []string
	Env     map[string]json.RawMessage
	URL     string
	Headers map[string]string

	// What not all clients have.
	EnvFile       string
	Cwd           string
	Timeout       int64 // in seconds
	Disabled      bool
	DisabledTools []string
	EnabledTools  []string

	// Of Codex.
	Enabled        *bool
	StartupTimeout float64           // in seconds
	EnvHeaders     map[string]string // variables by header
	BearerVariable string

	unfit []string // fields that could not be read
}

// maxTimeout is the longest that Crush may be told to wait, in seconds.
const maxTimeout = 24 * 60 * 60

// decode reads the fields of a server that its client knows. What does not fit is a problem and stays empty.
func (f *filling) decode(value []byte) *entry {
	e := &entry{}
	fields := map[string]any{
		"type": &e.Type, "command": &e.Command, "args": &e.Args, "env": &e.Env, "url": &e.URL, "headers": &e.Headers,
	}
	for key, to := range map[string]any{
		"envFile": &e.EnvFile, "cwd": &e.Cwd,
		"timeout": &e.Timeout, "disabled": &e.Disabled, "disabled_tools": &e.DisabledTools, "enabled_tools": &e.EnabledTools,
		"enabled": &e.Enabled, "startup_timeout_sec": &e.StartupTimeout,
		"http_headers": &e.Headers, "env_http_headers": &e.EnvHeaders, "bearer_token_env_var": &e.BearerVariable,
	} {
		if slices.Contains(f.source.client.fields, key) {
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
			e.unfit = append(e.unfit, string(key))
			f.wrong(strictjson.Path(strictjson.Path(key).Join(unfit.Path)), errors.New(unfit.Msg))
			return nil
		}
		return err
	})
	if err != nil { // it is no object
		e.unfit = append(e.unfit, "type")
		f.wrong("", err)
	}
	return e
}

// said fills in what has no variables in it.
func (f *filling) said() {
	e := f.entry
	if e.Timeout < 0 || e.Timeout > maxTimeout {
		f.wrong("timeout", fmt.Errorf("it has to be between 0 and %d seconds", maxTimeout))
	} else {
		f.server.Timeout = time.Duration(e.Timeout) * time.Second
	}
	if e.StartupTimeout < 0 || e.StartupTimeout > maxTimeout {
		f.wrong("startup_timeout_sec", fmt.Errorf("must be between 0 and %d seconds", maxTimeout))
	} else if e.StartupTimeout > 0 {
		f.server.Timeout = time.Duration(e.StartupTimeout * float64(time.Second))
	}
	f.server.Disabled, f.server.DisabledTools, f.server.EnabledTools = e.Disabled || e.Enabled != nil && !*e.Enabled, e.DisabledTools, e.EnabledTools
}

// kind finds out how the server is spoken to, or adds the problem and returns "".
func (f *filling) kind() Kind {
	e := f.entry
	for _, field := range []string{"type", "command", "url"} {
		if slices.Contains(e.unfit, field) {
			return "" // what it would be is what could not be read
		}
	}
	if e.Type == "" {
		switch c := f.source.client; {
		case c.typed:
			f.wrong("type", fmt.Errorf(`it is missing, and %s needs it; write "stdio", "http" or "sse"`, c.name))
		case e.Command != "" && e.URL != "":
			f.wrong("type", errors.New(`it has a command and a url; write the type "stdio" or "http", so that one of them counts`))
		case e.Command != "":
			return Stdio
		case e.URL != "":
			return HTTP
		default:
			f.wrong("", errors.New("it has no command and no url; write the program to start or the address to call"))
		}
		return ""
	}
	kind := Kind(e.Type)
	if !f.source.client.typed && (e.Type == "streamable-http" || e.Type == "streamableHttp") {
		kind = HTTP
	}
	switch {
	case kind == Stdio && e.Command == "":
		f.wrong("command", errors.New("it is missing or empty; write the program to start"))
	case kind != Stdio && kind != HTTP && kind != SSE:
		f.wrong("type", fmt.Errorf(`%.40q is none that is known; write "stdio", "http" or "sse"`, e.Type))
	case kind != Stdio && e.URL == "":
		f.wrong("url", errors.New("it is missing or empty; write the address to call"))
	default:
		return kind
	}
	return ""
}

// envText returns the text that a value of env stands for, and whether the variable is there at all: null is not.
func envText(raw []byte, loose bool) (text string, there bool, err error) {
	if text, ok := strictjson.Unquote(raw); ok {
		return text, true, nil
	}
	switch strictjson.First(raw) {
	case 'n':
		if loose {
			return "", false, nil
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if loose {
			return string(raw), true, nil
		}
		return "", false, fmt.Errorf("must be a string, got %s; write it between quotes", strictjson.Describe(raw))
	}
	return "", false, fmt.Errorf("must be a string, got %s", strictjson.Describe(raw))
}

// blankComments returns JSON for JSON with comments: text with a space for each byte of a comment, of a comma before a closing
// bracket, and of a byte order mark. Line breaks stay, and so does everything else: what stands at an offset of the one stands at
// the same offset of the other. JSON without any of them is returned as it is, and text is never written to.
//
// It is no check: what is no JSON before is none after, a comment without an end included.
func blankComments(text []byte) []byte {
	out := bytes.Clone(text)
	comma := -1 // a comma that nothing but space and comments has followed
	for i := blankMark(out); i < len(out); {
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
			comma = -1 // two in a row are wrong, and stay
		case c == '}' || c == ']':
			if comma >= 0 && closes(out[:comma]) {
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

// closes reports whether a comma behind text follows a value: one behind an opening bracket, a colon or another comma does not.
func closes(text []byte) bool {
	text = bytes.TrimRight(text, " \t\r\n")
	return len(text) > 0 && !bytes.ContainsRune([]byte("{[:,"), rune(text[len(text)-1]))
}

// blankMark blanks the byte order mark that out may begin with, and returns where the text begins.
func blankMark(out []byte) int {
	mark := []byte("\xef\xbb\xbf")
	if !bytes.HasPrefix(out, mark) {
		return 0
	}
	blank(out[:len(mark)])
	return len(mark)
}

// stringEnd returns where the JSON string that begins at i ends.
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

// commentEnd returns where the comment that begins at i ends, or i if none does, or it has no end.
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

// blank puts spaces for all of part but line breaks.
func blank(part []byte) {
	for i, c := range part {
		if c != '\n' && c != '\r' {
			part[i] = ' '
		}
	}
}
