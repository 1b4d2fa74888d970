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

// askNow asks the client and waits for its answers.
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
	id, err := c.via.conn.CallID(ctx, q.request.Method, q.request.Params, &answer)
	var refusal *jsonrpc.Error
	switch {
	case ctx.Err() != nil && !id.IsZero():
		_ = c.req.Notify("notifications/cancelled", map[string]any{"requestId": id, "reason": fmt.Sprint(context.Cause(ctx))})
		return nil, fmt.Errorf("asking the client %q: %w", q.key, context.Cause(ctx))
	case errors.As(err, &refusal):
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

// askLater fills in the answers that came with the call; if one is missing, the call
// ends with the question.
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
