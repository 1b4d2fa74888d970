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

// codex is Codex, which keeps its servers in TOML. It fills in no variables. Headers take the values
// of variables by name: env_http_headers and bearer_token_env_var.
func codex() client {
	return client{
		name:     "Codex",
		file:     ".codex/config.toml",
		key:      "mcp_servers",
		toml:     true,
		fields:   []string{"cwd", "enabled", "startup_timeout_sec", "http_headers", "env_http_headers", "bearer_token_env_var", "disabled_tools", "enabled_tools"},
		expander: func(*source, *world) expander { return func(text string, _ bool) (string, error) { return text, nil } },
	}
}

// tomlToJSON returns the member key of a TOML file, if it has one, as a JSON object with that
// member alone.
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

// addHeader adds a header to the entry. Its value is prefix and the value of an environment variable.
func (f *filling) addHeader(field strictjson.Path, name, prefix, variable string) {
	f.server.HasVars = true
	f.server.WrittenMore[name] = prefix + "${" + variable + "}"
	value, ok := f.world.getenv(variable)
	if !ok {
		f.wrong(field, notSet(variable, "remove the header"))
		return
	}
	f.entry.Headers[name] = prefix + value
}

// addHeaders adds the headers whose values are in environment variables.
func (f *filling) addHeaders() {
	f.server.WrittenMore = maps.Collect(maps.All(f.entry.Headers))
	f.entry.Headers = maps.Collect(maps.All(f.entry.Headers)) // not nil
	for _, name := range slices.Sorted(maps.Keys(f.entry.EnvHeaders)) {
		f.addHeader(strictjson.Path("env_http_headers").Key(name), name, "", f.entry.EnvHeaders[name])
	}
	if f.entry.BearerVariable != "" {
		f.addHeader("bearer_token_env_var", "Authorization", "Bearer ", f.entry.BearerVariable)
	}
}
