package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A Question is something that only the client can answer: an [*Elicitation], a
// [*URLElicitation], a [*Sampling] or a [*RootList]. [Ask] puts it and fills in the answer, so
// there is a new one for each call.
type Question interface {
	// name is the key that the question has been given; it may be empty.
	name() string
	// needs is the capability, and the part of it, that the client must have declared.
	needs() need
	// request is how the question is put to a client of a revision.
	request(Revision) (method string, params any, err error)
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
//     different ones. A question without a key is known by its number among those of the call,
//     which is of no use if several goroutines ask.
//
// A client that has not declared what a question needs is not asked: the error is then a
// [*CannotAskError], which a handler that can do without looks for with [errors.As]. A client
// that refuses gives a [*RefusedError]. That a person declines is an answer.
func Ask(ctx context.Context, questions ...Question) error {
	c := CallFrom(ctx)
	if c == nil {
		return errors.New("asking the client: the context is not that of a call")
	}
	if err := c.mayAsk(questions); err != nil {
		return err
	}
	asked, err := c.talk().enter(questions, c.Revision)
	if err != nil {
		return fmt.Errorf("asking the client: %w", err)
	}
	if c.Revision.stateless() {
		return c.askLater(asked)
	}
	return c.askNow(ctx, asked)
}

// An asked question is one with its key and the form in which it is put.
type asked struct {
	Question
	key     string
	request inputRequest
}

type inputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

func (c *Call) askNow(ctx context.Context, questions []asked) error {
	answers, errs := make([]json.RawMessage, len(questions)), make([]error, len(questions))
	var all sync.WaitGroup
	for i, q := range questions {
		all.Go(func() { answers[i], errs[i] = c.askOne(ctx, q) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, q := range questions {
		if err := q.answer(answers[i]); err != nil {
			return fmt.Errorf("the client's answer to %q: %w", q.key, err)
		}
	}
	return nil
}

// askOne runs nobody's code but ours: a panic on its goroutine would be the end of the process.
func (c *Call) askOne(ctx context.Context, q asked) (answer json.RawMessage, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("asking the client %q: %w", q.key, context.Cause(ctx))
	}
	id, answer, err := c.via.conn.Do(ctx, &jsonrpc.Outgoing{Method: q.request.Method, Params: q.request.Params})
	refusal, refused := errors.AsType[*jsonrpc.Error](err)
	switch {
	case ctx.Err() != nil && !id.IsZero():
		_ = c.req.Notify("notifications/cancelled", map[string]any{"requestId": id, "reason": fmt.Sprint(context.Cause(ctx))})
		return nil, fmt.Errorf("asking the client %q: %w", q.key, context.Cause(ctx))
	case refused:
		return nil, &RefusedError{q.key, refusal.Code, refusal.Message}
	case err != nil:
		return nil, fmt.Errorf("asking the client %q: %w", q.key, err)
	}
	return answer, nil
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

// errOpen is what Ask returns while the client has not been asked yet.
var errOpen = errors.New("the client has to answer first; this call ends with the questions")

// askLater fills in the answers that came with the call. If one is missing, the call ends.
func (c *Call) askLater(questions []asked) error {
	d := c.talk()
	open := false
	for _, q := range questions {
		raw, ok := d.answerTo(q)
		if !ok {
			open = true
			continue
		}
		if err := q.answer(raw); err != nil {
			d.reuse(c.via.server.states) // the client may answer again
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "inputResponses[%q]: %v", q.key, err)
		}
	}
	if open {
		return errOpen
	}
	return nil
}

// readAnswers takes the answers that came with a call, and with the state those of earlier rounds.
// Without a state they answer what the client expects to be asked.
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
		state, err := c.via.server.states.open(c, text)
		if err != nil {
			return badState(err)
		}
		d.state, d.answers, expected = state, state.Answers, state.expects
	}
	switch strictjson.First(intro.responses) {
	case 0:
		return nil
	case '{':
	default:
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "inputResponses must be an object, got %s", strictjson.Describe(intro.responses))
	}
	return strictjson.Members(intro.responses, func(key, value []byte) error {
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

func badState(err error) error {
	return jsonrpc.Errorf(jsonrpc.InvalidParams, "requestState %v; call again without it", err)
}

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

func (c *Call) talk() *dialogue {
	c.dialogue.CompareAndSwap(nil, &dialogue{})
	return c.dialogue.Load()
}

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

// beginDialogue is called before the handler. It uses up the state. A handler that a hook calls
// again may ask again.
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

// openQuestions returns the result that a call with open questions ends with, or nil.
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
	if most := c.via.server.o.MaxMessage / 2; len(state) > most { // it must come back in a message
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
