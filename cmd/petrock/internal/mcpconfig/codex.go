package mcpconfig

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/petrock/petrock/core/strictjson"
)

// codex returns the client for Codex, whose file is TOML. It expands no variables:
// env_http_headers and bearer_token_env_var name the variables that hold the values of headers.
func codex() client {
	return client{
		name:   "Codex",
		file:   ".codex/config.toml",
		key:    "mcp_servers",
		toml:   true,
		fields: []string{"cwd", "enabled", "startup_timeout_sec", "http_headers", "env_http_headers", "bearer_token_env_var", "disabled_tools", "enabled_tools"},
		expander: func(*source, *resolver) expander {
			return func(text string, _ bool) (string, error) { return text, nil }
		},
	}
}

// tomlToJSON converts TOML to a JSON object that has only the member key, if it exists.
func tomlToJSON(file, key string, text []byte) ([]byte, *Problem) {
	var all map[string]any
	err := toml.Unmarshal(text, &all)
	if syntax, ok := errors.AsType[toml.ParseError](err); ok {
		return nil, &Problem{File: file, Line: syntax.Position.Line, Column: syntax.Position.Col, Err: errors.New(strings.ToLower(syntax.Message[:1]) + syntax.Message[1:])}
	}
	maps.DeleteFunc(all, func(name string, _ any) bool { return name != key })
	if err == nil {
		text, err = json.Marshal(all)
	}
	if err != nil {
		return nil, &Problem{File: file, Err: err}
	}
	return text, nil
}

// addHeader adds a header to the entry. Its value is prefix followed by the value of an environment
// variable.
func (b *builder) addHeader(field strictjson.Path, name, prefix, variable string) {
	b.server.HasVars = true
	b.server.UnexpandedPairs[name] = prefix + "${" + variable + "}"
	value, ok := b.resolver.getenv(variable)
	if !ok {
		b.addProblem(field, notSet(variable, "remove the header"))
		return
	}
	b.entry.Headers[name] = prefix + value
}

// addHeaders adds the headers whose values are in environment variables.
func (b *builder) addHeaders() {
	b.server.UnexpandedPairs = maps.Collect(maps.All(b.entry.Headers))
	b.entry.Headers = maps.Collect(maps.All(b.entry.Headers)) // not nil
	for _, name := range slices.Sorted(maps.Keys(b.entry.EnvHeaders)) {
		b.addHeader(strictjson.Path("env_http_headers").Key(name), name, "", b.entry.EnvHeaders[name])
	}
	if b.entry.BearerVariable != "" {
		b.addHeader("bearer_token_env_var", "Authorization", "Bearer ", b.entry.BearerVariable)
	}
}
