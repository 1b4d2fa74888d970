package mcp

import (
	"encoding/json"

	"github.com/petrock/petrock/core/strictjson"
)

// A Root is a folder or file that the person works on.
type Root struct {
	URI  string `json:"uri"` // a file: address
	Name string `json:"name,omitempty"`
}

// A RootList asks the client what the person works on. The answer is a hint, and
// no fence around anything.
type RootList struct {
	Key string // see [Ask]

	Roots []Root // the answer
}

func (l *RootList) name() string { return l.Key }

func (l *RootList) needs() need {
	return need{capability: "roots", since: Revision20241105}
}

func (l *RootList) request(Revision) (string, any, error) { return "roots/list", nil, nil }

func (l *RootList) answer(raw json.RawMessage) error {
	var result struct {
		Roots []Root `json:"roots"`
	}
	err := strictjson.Unmarshal(raw, &result)
	l.Roots = result.Roots
	return err
}
