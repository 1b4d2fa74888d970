package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A Question is something that only the client can answer: an [*Elicitation], a
// [*URLElicitation], a [*Sampling] or a [*RootList]. [Ask] puts it and fills in the answer.
type Question interface {
	// name is the key that the question has been given; it may be empty.
	name() string
	// request is how the question is put to a client of a revision.
	request(Revision) (method string, params any, err error)
	// needs is the capability, and the part of it, that the client must have declared.
	needs() need
	// answer takes what the client said.
	answer(raw json.RawMessage) error
}

// Ask puts questions to the client whose call ctx belongs to, all at once, and fills in
// the answers. It works the same in every revision for a handler that
//
//   - returns the error of Ask, wrapped or not. In a revision with sessions the client is asked
//     while the handler waits. In 2026-07-28 it is not: the call ends with the questions, and
//     the client calls again with the answers, when the handler runs anew from its start and Ask
//     returns them. What the handler returned the first time is not sent;
//   - does nothing that must not be done twice before its last Ask;
//   - gives a question the same Key each time, and different questions of one call
//     different ones. A question without a key is known by its number among those of the call.
//
// A client that has not declared what a question needs is not asked: the error is then a
// [*CannotAskError], which a handler that can do without looks for with [errors.As]. A client
// that refuses gives a [*RefusedError]. That a person declines is an answer.
func Ask(ctx context.Context, questions ...Question) error {
	c := CallFrom(ctx)
	if c == nil {
		return errors.New("asking the client: the context is not that of a call")
	}
	asked, err := c.talk().enter(questions)
	if err != nil {
		return fmt.Errorf("asking the client: %w", err)
	}
	if err := c.mayAsk(questions); err != nil {
		return err
	}
	if c.Revision.stateless() {
		return c.askLater(asked)
	}
	return c.askNow(ctx, asked)
}

// An asked question is one with its key and its wire form.
type asked struct {
	Question
	key string
}

// A dialogue is what has been asked and answered in a call.
type dialogue struct {
	answers map[string]json.RawMessage // by key, of this round and those before

	mu      sync.Mutex
	keys    map[string]bool // asked by this run of the handler
	pending *inputRequired  // what the call ends with, if a question is open
}

// enter gives questions their keys.
func (d *dialogue) enter(questions []Question) ([]asked, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.keys == nil {
		d.keys = make(map[string]bool)
	}
	all := make([]asked, len(questions))
	for i, q := range questions {
		key := q.name()
		if key == "" {
			key = fmt.Sprintf("q%d", len(d.keys)+1)
		}
		if d.keys[key] {
			return nil, fmt.Errorf("the key %q has been asked in this call: give each question its own", key)
		}
		d.keys[key] = true
		all[i] = asked{q, key}
	}
	return all, nil
}

// talk returns the dialogue of a call.
func (c *Call) talk() *dialogue {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dialogue == nil {
		c.dialogue = &dialogue{}
	}
	return c.dialogue
}

// openQuestions is the result that a call with open questions ends with, or nil.
func (c *Call) openQuestions() any {
	c.mu.Lock()
	d := c.dialogue
	c.mu.Unlock()
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pending == nil {
		return nil
	}
	return d.pending
}

// askNow asks the client and waits for its answers.
func (c *Call) askNow(ctx context.Context, questions []asked) error {
	errs := make([]error, len(questions))
	var all sync.WaitGroup
	for i, q := range questions {
		all.Go(func() { errs[i] = c.askOne(ctx, q) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (c *Call) askOne(ctx context.Context, q asked) error {
	method, params, err := q.request(c.Revision)
	if err != nil {
		return fmt.Errorf("asking the client %q: %w", q.key, err)
	}
	var raw json.RawMessage
	id, err := c.via.conn.CallID(ctx, method, params, &raw)
	var refusal *jsonrpc.Error
	switch {
	case ctx.Err() != nil && !id.IsZero():
		c.via.notify(ctx, "notifications/cancelled", map[string]any{"requestId": id, "reason": fmt.Sprint(context.Cause(ctx))})
		return fmt.Errorf("asking the client %q: %w", q.key, context.Cause(ctx))
	case errors.As(err, &refusal):
		return &RefusedError{q.key, refusal.Code, refusal.Message}
	case err != nil:
		return fmt.Errorf("asking the client %q: %w", q.key, err)
	}
	if err := q.answer(raw); err != nil {
		return fmt.Errorf("the client's answer to %q: %w", q.key, err)
	}
	return nil
}

// A RefusedError is what a client says that was asked and could not, or would not, answer.
type RefusedError struct {
	Key     string // of the question
	Code    jsonrpc.Code
	Message string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the client refused to answer %q: %s", e.Key, e.Message)
}

// An inputRequired is the result of a call that cannot be finished without answers.
type inputRequired struct {
	ResultType string                  `json:"resultType"`
	Requests   map[string]inputRequest `json:"inputRequests"`
	State      string                  `json:"requestState"`
}

type inputRequest struct {
	Method string `json:"method"`
	Params any    `json:"params,omitempty"`
}

// errOpen is what Ask returns while the client has not been asked yet.
var errOpen = errors.New("the client has to answer first; this call ends with the questions")

// askLater fills in the answers that came with the call; if one is missing, the call
// ends with the question.
func (c *Call) askLater(questions []asked) error {
	requests := make(map[string]inputRequest)
	answers := c.talk().answers
	for _, q := range questions {
		if raw, ok := answers[q.key]; ok {
			if err := q.answer(raw); err != nil {
				return jsonrpc.Errorf(jsonrpc.InvalidParams, "inputResponses[%q]: %v", q.key, err)
			}
			continue
		}
		method, params, err := q.request(c.Revision)
		if err != nil {
			return fmt.Errorf("asking the client %q: %w", q.key, err)
		}
		requests[q.key] = inputRequest{method, params}
	}
	if len(requests) == 0 {
		return nil
	}
	state, err := c.via.server.states.seal(c, requests)
	if err != nil {
		return fmt.Errorf("asking the client: %w", err)
	}
	d := c.talk()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending = &inputRequired{"input_required", requests, state}
	return errOpen
}

// readAnswers takes the answers that came with a call: those to the questions that the
// state is about, and with it those of the rounds before. Without a state they are answers to
// what the client expects to be asked.
func (c *Call) readAnswers(intro *introduction) error {
	if intro.state == nil && intro.responses == nil {
		return nil
	}
	d := c.talk()
	expected := func(string) bool { return true }
	if intro.state != nil {
		text, ok := strictjson.Unquote(intro.state)
		if !ok {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "requestState must be a string, got %s", strictjson.Describe(intro.state))
		}
		open, err := c.via.server.states.open(c, text)
		if err != nil {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "requestState %v; call again without it", err)
		}
		d.answers, expected = open.Answers, open.expects
	}
	if intro.responses == nil {
		return nil
	}
	if strictjson.First(intro.responses) != '{' {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "inputResponses must be an object, got %s", strictjson.Describe(intro.responses))
	}
	return strictjson.Object(intro.responses, func(key, value []byte) error {
		if !expected(string(key)) {
			return nil
		}
		if strictjson.First(value) != '{' {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "inputResponses[%q] must be an object, got %s", short(string(key)), strictjson.Describe(value))
		}
		if d.answers == nil {
			d.answers = make(map[string]json.RawMessage)
		}
		d.answers[string(key)] = value
		return nil
	})
}
