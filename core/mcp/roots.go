package mcp

import (
	"encoding/json"
	"errors"
	"fmt"

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

// request has params although none are needed: some clients cannot do without.
func (l *RootList) request(Revision) (string, any, error) { return "roots/list", struct{}{}, nil }

func (l *RootList) answer(raw json.RawMessage) error {
	var result struct {
		Roots *[]Root `json:"roots"`
	}
	if err := strictjson.Unmarshal(raw, &result); err != nil {
		return err
	}
	if result.Roots == nil {
		return errors.New("must have roots")
	}
	for i, root := range *result.Roots {
		if root.URI == "" {
			return fmt.Errorf("roots[%d] must have a uri", i)
		}
	}
	l.Roots = *result.Roots
	return nil
}
