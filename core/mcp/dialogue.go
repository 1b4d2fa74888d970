package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A dialogue is what has been asked and answered in a call.
type dialogue struct {
	state *dialogueState // that came with the call; nil if none did

	mu      sync.Mutex
	answers map[string]json.RawMessage // by key, of this round and those before
	open    map[string]inputRequest    // by key
	keys    map[string]bool            // all that have been asked by now
	before  map[string]bool            // those asked by a hook before the handler was called
	ran     bool                       // the handler has been called
	used    bool                       // the state has been used
}

// talk returns the dialogue of a call.
func (c *Call) talk() *dialogue {
	c.dialogue.CompareAndSwap(nil, &dialogue{})
	return c.dialogue.Load()
}

// enter gives questions their keys and their form.
func (d *dialogue) enter(questions []Question, r Revision) ([]asked, error) {
	all := make([]asked, len(questions))
	for i, q := range questions {
		method, params, err := q.request(r)
		var raw json.RawMessage
		if err == nil {
			raw, err = strictjson.Marshal(params)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", cmp.Or(q.name(), fmt.Sprintf("#%d", i+1)), err)
		}
		all[i] = asked{q, q.name(), inputRequest{method, raw}}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.keys == nil {
		d.keys = make(map[string]bool)
	}
	for i := range all {
		if all[i].key == "" {
			all[i].key = fmt.Sprintf("#%d", len(d.keys)+1)
		}
		if d.keys[all[i].key] {
			return nil, fmt.Errorf("the key %q has been asked in this call: give each question its own", all[i].key)
		}
		d.keys[all[i].key] = true
	}
	return all, nil
}

// answerTo returns the answer to a question; if there is none, the question is open.
func (d *dialogue) answerTo(q asked) (json.RawMessage, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if raw, ok := d.answers[q.key]; ok {
		return raw, true
	}
	if d.open == nil {
		d.open = make(map[string]inputRequest)
	}
	d.open[q.key] = q.request
	return nil, false
}

// beginDialogue is called when the handler is: the state is now used up, and the handler may
// ask what it asked before, if a hook calls it again.
func (c *Call) beginDialogue() error {
	d := c.talk()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state != nil && !d.used {
		if err := c.via.server.states.use(d.state); err != nil {
			return badState(err)
		}
		d.used = true
	}
	if d.ran {
		d.keys, d.open = maps.Clone(d.before), nil
		return nil
	}
	d.ran, d.before = true, maps.Clone(d.keys)
	return nil
}

// reuse makes the state that came with the call valid again.
func (d *dialogue) reuse(k *stateKeeper) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used {
		k.reuse(d.state)
		d.used = false
	}
}

// An inputRequired is the result of a call that cannot be finished without answers.
type inputRequired struct {
	ResultType string                  `json:"resultType"`
	Requests   map[string]inputRequest `json:"inputRequests"`
	State      string                  `json:"requestState"`
}

// openQuestions is the result that a call with open questions ends with, or nil. The state that
// goes with them carries what has been answered.
func (c *Call) openQuestions() (any, error) {
	d := c.dialogue.Load()
	if d == nil {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		return nil, nil
	}
	maps.DeleteFunc(d.answers, func(key string, _ json.RawMessage) bool { return !d.keys[key] })
	state, err := c.via.server.states.seal(c, d.open, d.answers)
	if err != nil {
		return nil, fmt.Errorf("asking the client: %w", err)
	}
	if most := c.via.server.maxMessage / 2; len(state) > most { // it must come back in a message
		return nil, jsonrpc.Errorf(jsonrpc.InternalError, "the answers so far are too large to ask for more: with what goes around them they have %d bytes, and %d fit into a message", len(state), most)
	}
	return &inputRequired{"input_required", d.open, state}, nil
}

// waited reports why nobody waits for a call any more, if so.
func (c *Call) waited() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return errors.New("the call is over")
	}
	return c.ctx.Err()
}
