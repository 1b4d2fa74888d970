package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// mostRounds is how often a call may come back with questions.
const mostRounds = 20

// stateless is how a client without a handshake speaks: it says with each request who sends
// it, and answers the questions that a call ends with by calling again.
type stateless struct {
	meta   map[string]any
	handle func(ctx context.Context, method string, params json.RawMessage) (any, error)
}

func newStateless(o Options) *stateless {
	return &stateless{
		meta: map[string]any{
			"io.modelcontextprotocol/protocolVersion":    o.Revision,
			"io.modelcontextprotocol/clientCapabilities": o.Capabilities,
			"io.modelcontextprotocol/clientInfo":         o.Info,
		},
		handle: o.Handle,
	}
}

// discover learns what a handshake would have told.
func (c *Client) discover() {
	c.t.Helper()
	var found struct {
		Meta struct {
			Server mcp.Implementation `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
		Capabilities mcp.Capabilities `json:"capabilities"`
		Instructions string           `json:"instructions"`
	}
	c.must("server/discover", nil, &found)
	c.Revision, c.Server = mcp.Latest, found.Meta.Server
	c.Capabilities, c.Instructions = found.Capabilities, found.Instructions
}

// introduce adds to params what the client says of itself, and to those of another round what it answers.
func (s *stateless) introduce(params any, round map[string]any) (map[string]any, error) {
	raw, err := strictjson.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encoding the params: %w", err)
	}
	full := map[string]json.RawMessage{}
	if params != nil {
		if err := strictjson.Unmarshal(raw, &full); err != nil {
			return nil, fmt.Errorf("reading the params: %w", err)
		}
	}
	meta := maps.Clone(s.meta)
	all := map[string]any{"_meta": meta}
	for key, value := range full {
		if key != "_meta" {
			all[key] = value
			continue
		}
		own := map[string]json.RawMessage{}
		if err := strictjson.Unmarshal(value, &own); err != nil {
			return nil, fmt.Errorf("reading the _meta of the params: %w", err)
		}
		for key, value := range own {
			meta[key] = value
		}
	}
	maps.Copy(all, round)
	return all, nil
}

// call sends a request, and again with the answers as long as the server has questions.
func (s *stateless) call(ctx context.Context, c *Client, method string, params any) (json.RawMessage, jsonrpc.ID, error) {
	round := map[string]any{}
	for range mostRounds {
		full, err := s.introduce(params, round)
		if err != nil {
			return nil, jsonrpc.ID{}, err
		}
		var raw json.RawMessage
		id, err := c.conn.CallID(ctx, method, full, &raw)
		if err != nil {
			return nil, id, err
		}
		var kind struct {
			ResultType string `json:"resultType"`
			Requests   map[string]struct {
				Method string          `json:"method"`
				Params json.RawMessage `json:"params"`
			} `json:"inputRequests"`
			State *string `json:"requestState"`
		}
		if err := strictjson.Unmarshal(raw, &kind); err != nil || kind.ResultType != "input_required" {
			return raw, id, err
		}
		answers := map[string]any{}
		for key, q := range kind.Requests {
			if s.handle == nil {
				return nil, id, fmt.Errorf("%s asks %s, and this client has no Handle", method, q.Method)
			}
			if answers[key], err = s.handle(ctx, q.Method, q.Params); err != nil {
				return nil, id, err
			}
		}
		round = map[string]any{"inputResponses": answers}
		if kind.State != nil {
			round["requestState"] = *kind.State
		}
	}
	return nil, jsonrpc.ID{}, fmt.Errorf("%s still asks after %d rounds", method, mostRounds)
}
