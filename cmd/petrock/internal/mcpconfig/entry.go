package mcpconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

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
	f.server.Disabled, f.server.DisabledTools, f.server.EnabledTools = e.Disabled, e.DisabledTools, e.EnabledTools
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
