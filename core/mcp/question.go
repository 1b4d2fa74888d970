package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A Question asks the client for input. It is an [*Elicitation], a [*URLElicitation], a [*Sampling]
// or a [*RootList]; other packages cannot implement it. [Ask] sends it and stores the answer in it,
// so use a new one for each call.
type Question interface {
	name() string // the key of the question; may be empty
	needs() need

	// request returns the request for clients of a revision, or an error if the question is invalid
	// or the revision cannot express it.
	request(Revision) (method string, params any, err error)

	// setAnswer checks and stores the client's answer.
	setAnswer(raw json.RawMessage) error
}

// An inputRequest is a question as the client gets it.
type inputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// A need is a capability that a client must declare before it can be asked a question.
type need struct {
	capability string
	part       string   // a required member of the capability; may be empty
	since      Revision // the first revision that has it
	implied    bool     // an empty capability includes the part
}

// isMet reports whether a client of revision r with these capabilities can be asked.
func (n need) isMet(r Revision, c Capabilities) bool {
	if r < n.since || !c.Has(n.capability) {
		return false
	}
	if n.part == "" {
		return true
	}
	parts := Capabilities{}
	if strictjson.First(c[n.capability]) == '{' && strictjson.Unmarshal(c[n.capability], &parts) != nil {
		return false
	}
	return parts.Has(n.part) || n.implied && len(parts) == 0
}

// A CannotAskError means that the client has not declared the capabilities that a question needs.
// If a handler returns it, a client of revision 2026-07-28 gets the error code [MissingCapability].
type CannotAskError struct {
	Required Capabilities // the missing capabilities
	revision Revision     // of the client
	since    Revision     // the first revision that has all of them
}

func (e *CannotAskError) Error() string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(e.Required)) {
		names = append(names, name+" "+string(e.Required[name]))
	}
	text := "this needs a client that declares the capability " + strings.Join(names, " and ")
	if e.revision < e.since {
		text += fmt.Sprintf(", which revision %s does not have; connect with %s or newer", e.revision, e.since)
	}
	return text
}

// Unwrap returns the error response in revisions that have a code for it, else nil.
func (e *CannotAskError) Unwrap() error {
	if !e.revision.stateless() {
		return nil
	}
	// checkCanAsk has made Required, so it always encodes.
	data, _ := strictjson.Marshal(map[string]any{"requiredCapabilities": e.Required})
	return &jsonrpc.Error{Code: MissingCapability, Message: e.Error(), Data: data}
}

// A RefusedError is the error response of a client to a question. Only sessions have it: in
// revision 2026-07-28, a client that refuses does not repeat the call.
type RefusedError struct {
	Key     string // of the question
	Code    jsonrpc.Code
	Message string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the client refused to answer %q: %s", e.Key, e.Message)
}
