package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/internal/form"
	"github.com/petrock/petrock/core/internal/jsonschema"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/peer"
	"github.com/petrock/petrock/core/strictjson"
)

// Ask sends questions, in parallel, to the client whose call ctx belongs to, and stores the answers
// in them.
//
// In revisions with sessions, Ask waits for the answers. In revision 2026-07-28, Ask returns an
// error and the call ends with the questions. The client then repeats the call with the answers:
// the handler runs again from its start, and this time Ask finds the answers. So a handler must
//
//   - return the error of Ask, wrapped or not; the handler's result is then ignored;
//   - be idempotent up to its last Ask;
//   - give each question of a call its own Key, the same in every run. Without a Key, questions are
//     numbered in the order of Ask, which is not reliable if several goroutines ask.
//
// If the client does not declare the capability that a question needs, the error is a
// [*CannotAskError]. A handler that has an alternative checks for it with [errors.As]. If the
// client refuses, the error is a [*RefusedError]. If the user declines, that is an answer and not
// an error. In a session, Ask returns when ctx ends, even if the client has not answered.
func Ask(ctx context.Context, questions ...Question) error {
	c := CallFrom(ctx)
	if c == nil {
		return errors.New("ask the client: the context does not belong to a call")
	}
	if err := c.checkCanAsk(questions); err != nil {
		return err
	}
	prepared, err := c.ensureDialogue().prepare(questions, c.Revision)
	if err != nil {
		return fmt.Errorf("ask the client: %w", err)
	}
	if c.Revision.stateless() {
		return c.askStateless(prepared)
	}
	return c.askInSession(ctx, prepared)
}

// checkCanAsk returns an error if the client cannot be asked these questions in this call.
func (c *Call) checkCanAsk(questions []Question) error {
	if c.ended.Load() {
		return errors.New("ask the client: the call has ended")
	}
	if err := c.ctx.Err(); err != nil {
		return fmt.Errorf("ask the client: %w", err)
	}
	if c.Revision.stateless() && !c.method.mayAsk {
		return jsonrpc.Errorf(jsonrpc.InternalError, "%s cannot ask the client in revision %s", c.Method, c.Revision)
	}
	missing := make(map[string]map[string]struct{}) // parts by capability
	var since Revision
	for _, q := range questions {
		n := q.needs()
		if n.isMet(c.Revision, c.ClientCapabilities()) {
			continue
		}
		since = max(since, n.since)
		if missing[n.capability] == nil {
			missing[n.capability] = make(map[string]struct{})
		}
		if n.part != "" {
			missing[n.capability][n.part] = struct{}{}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	required := make(Capabilities)
	for name, parts := range missing {
		required[name], _ = strictjson.Marshal(parts) // strings cannot fail
	}
	return &CannotAskError{required, c.Revision, since}
}

// A preparedQuestion is a question with its key and the request that the client gets.
type preparedQuestion struct {
	Question
	key     string
	request inputRequest
}

// askInSession sends all questions at once and waits for all answers. It stores answers only if no
// question failed.
func (c *Call) askInSession(ctx context.Context, questions []preparedQuestion) error {
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
		if err := q.setAnswer(answers[i]); err != nil {
			return fmt.Errorf("the client's answer to %q: %w", q.key, err)
		}
	}
	return nil
}

// askOne sends a question and waits for the answer. If ctx ends first, it cancels the question,
// without waiting for a client that does not read. It does not call user code, because a panic on
// its goroutine would end the process.
func (c *Call) askOne(ctx context.Context, q preparedQuestion) (answer json.RawMessage, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("ask the client %q: %w", q.key, context.Cause(ctx))
	}
	id, answer, err := c.via.conn.Do(ctx, &peer.Outgoing{Method: q.request.Method, Params: q.request.Params})
	refusal, refused := errors.AsType[*jsonrpc.Error](err)
	switch {
	case ctx.Err() != nil && !id.IsZero():
		_ = c.req.Notify(ctx, "notifications/cancelled", map[string]any{"requestId": id, "reason": fmt.Sprint(context.Cause(ctx))})
		return nil, fmt.Errorf("ask the client %q: %w", q.key, context.Cause(ctx))
	case refused:
		return nil, &RefusedError{q.key, refusal.Code, refusal.Message}
	case err != nil:
		return nil, fmt.Errorf("ask the client %q: %w", q.key, err)
	}
	return answer, nil
}

// askStateless stores the answers that the client sent with the call. If one is missing, it returns
// errUnanswered.
func (c *Call) askStateless(questions []preparedQuestion) error {
	d := c.ensureDialogue()
	d.mu.Lock()
	defer d.mu.Unlock()
	var open error
	for _, q := range questions {
		raw, ok := d.answers[q.key]
		if !ok {
			if d.unanswered == nil {
				d.unanswered = make(map[string]inputRequest)
			}
			d.unanswered[q.key], open = q.request, errUnanswered
			continue
		}
		if err := q.setAnswer(raw); err != nil {
			if d.used { // the client may answer again
				c.via.server.states.restore(d.state)
				d.used = false
			}
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "inputResponses[%q]: %v", q.key, err)
		}
	}
	return open
}

// errUnanswered ends a stateless call whose questions have no answers yet.
var errUnanswered = errors.New("waiting for the client's answers; return this error from the handler")

// readAnswers reads the answers of a call, and those of earlier rounds from its state. Without a
// state, the client may answer questions before they are asked.
func (c *Call) readAnswers(sp *statelessParams) error {
	if sp.state == nil && sp.responses == nil {
		return nil
	}
	d := c.ensureDialogue()
	if sp.state != nil {
		text, ok := strictjson.Unquote(sp.state)
		if !ok {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "requestState must be a string, got %s", strictjson.Describe(sp.state))
		}
		digest, err := callDigest(c)
		if err == nil {
			d.state, err = c.via.server.states.verify(digest, text)
		}
		if err != nil {
			return stateError(err)
		}
		d.answers = d.state.Answers
	}
	switch strictjson.First(sp.responses) {
	case 0:
		return nil
	case '{':
	default:
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "inputResponses must be an object, got %s", strictjson.Describe(sp.responses))
	}
	return strictjson.Members(sp.responses, func(key, value []byte) error {
		if d.state != nil && !slices.Contains(d.state.Asked, string(key)) {
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

// stateError returns the error response for a requestState that is not accepted.
func stateError(err error) error {
	return jsonrpc.Errorf(jsonrpc.InvalidParams, "requestState %v; repeat the call without it", err)
}

// callDigest returns a digest of the parts of a call that must be the same when it is repeated: the
// method, the caller and the params except _meta and the answers. The order of keys and white space
// do not matter. Missing and empty arguments are equal. Hooks do not change the digest.
func callDigest(c *Call) ([]byte, error) {
	var params map[string]any
	d := json.NewDecoder(bytes.NewReader(c.req.Params()))
	d.UseNumber() // distinguishes large numbers
	if err := d.Decode(&params); err != nil {
		return nil, err
	}
	maps.DeleteFunc(params, func(key string, value any) bool {
		object, ok := value.(map[string]any)
		return key == "_meta" || key == "inputResponses" || key == "requestState" || value == nil || ok && len(object) == 0
	})
	// Marshal sorts keys.
	text, err := strictjson.Marshal([]any{c.Method, params, auth.From(c.ctx).Principal()})
	sum := sha256.Sum256(text)
	return sum[:], err
}

// ensureDialogue returns the dialogue of the call, and creates it if needed. Several goroutines may
// ask at once.
func (c *Call) ensureDialogue() *dialogue {
	c.dialogue.CompareAndSwap(nil, &dialogue{})
	return c.dialogue.Load()
}

// prepare encodes questions and gives each of them a unique key.
func (d *dialogue) prepare(questions []Question, r Revision) ([]preparedQuestion, error) {
	all := make([]preparedQuestion, len(questions))
	for i, q := range questions {
		method, params, err := q.request(r)
		if p, ok := params.(elicitParams); ok && q.name() != "" && !r.stateless() {
			p.Meta = Meta{MetaKey: q.name()}
			params = p
		}
		var raw json.RawMessage
		if err == nil {
			raw, err = strictjson.Marshal(params)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", cmp.Or(q.name(), fmt.Sprintf("#%d", i+1)), err)
		}
		all[i] = preparedQuestion{q, q.name(), inputRequest{method, raw}}
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
			return nil, fmt.Errorf("duplicate key %q; give each question of a call its own", all[i].key)
		}
		d.keys[all[i].key] = true
	}
	return all, nil
}

// beginDialogue is called before the handler. It marks the state as used. If a hook calls the
// handler again, the handler may repeat its questions.
func (c *Call) beginDialogue() error {
	d := c.ensureDialogue()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state != nil && !d.used {
		if err := c.via.server.states.use(d.state); err != nil {
			return stateError(err)
		}
		d.used = true
	}
	if d.ran {
		d.keys, d.unanswered = maps.Clone(d.before), nil
		return nil
	}
	d.ran, d.before = true, maps.Clone(d.keys)
	return nil
}

// openQuestions returns the result of a stateless call that ends with questions, or nil.
func (c *Call) openQuestions() (any, error) {
	d := c.dialogue.Load()
	if d == nil {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unanswered == nil {
		return nil, nil
	}
	maps.DeleteFunc(d.answers, func(key string, _ json.RawMessage) bool { return !d.keys[key] })
	digest, err := callDigest(c)
	state := ""
	if err == nil {
		state, err = c.via.server.states.seal(digest, slices.Sorted(maps.Keys(d.unanswered)), d.answers)
	}
	if err != nil {
		return nil, fmt.Errorf("ask the client: %w", err)
	}
	// The client must return the state in a message.
	if limit := c.via.server.o.MaxMessage / 2; len(state) > limit {
		return nil, jsonrpc.Errorf(jsonrpc.InternalError, "cannot ask again: requestState with the answers so far has %d bytes (limit %d)", len(state), limit)
	}
	return map[string]any{"resultType": "input_required", "inputRequests": d.unanswered, "requestState": state}, nil
}

// AskFor asks the user to fill in a form, and returns it. T is a struct whose fields are those of
// the form:
//
//	type Confirm struct {
//		Sure bool `json:"sure"` // Whether to remove all notes
//	}
//
//	answer, err := mcp.AskFor[Confirm](ctx, "Remove all notes?")
//
// It has the rules of [Ask]: return the error, and change nothing before. If the user declines, the
// error is [ErrDeclined], and [ErrCancelled] if the user dismisses the question; check for them
// with [errors.Is]. Before revision 2025-06-18, the error is a [*CannotAskError].
//
// Fields are strings, numbers, booleans, enums of strings and, from revision 2025-11-25 on, lists
// of such an enum. Their tags json and schema are those of tools, except pattern, unique and
// header. Fields with omitempty or a default are optional. If a package of tools, resources or
// prompts calls AskFor, petrock derives the form, with the comments of fields and the constants of
// enum types.
func AskFor[T any](ctx context.Context, message string, options ...AskOption) (answer T, err error) {
	e := &Elicitation{Key: reflect.TypeFor[T]().Name(), Message: message}
	for _, set := range options {
		set(e)
	}
	if c := CallFrom(ctx); c != nil { // otherwise Ask returns an error
		e.Schema, err = c.via.server.formOf(reflect.TypeFor[T]())
	}
	if err == nil {
		err = Ask(ctx, e)
	}
	if err == nil {
		err = e.Decode(&answer)
	}
	return answer, err
}

// An AskOption is an option of [AskFor].
type AskOption func(*Elicitation)

// Key sets the key of a question, see [Ask]. The default is the name of its type.
func Key(key string) AskOption { return func(e *Elicitation) { e.Key = key } }

// formOf returns the form for a type: the derived one, or else an inferred one.
func (s *Server) formOf(t reflect.Type) (json.RawMessage, error) {
	if known, ok := s.forms.Load(t); ok {
		return known.(json.RawMessage), nil
	}
	document, err := jsonschema.Infer(t, jsonschema.Input)
	return s.addForm(t, document, err)
}

// addForm keeps the form that is made from the input schema of a struct. err is the error of the
// schema.
func (s *Server) addForm(t reflect.Type, document json.RawMessage, err error) (json.RawMessage, error) {
	if err == nil && t.Kind() != reflect.Struct {
		err = errors.New("must be a struct")
	}
	if err == nil {
		document, err = form.Of(document)
	}
	if err != nil {
		return nil, fmt.Errorf("form %v: %w", t, err)
	}
	s.forms.Store(t, document)
	return document, nil
}

// AddForm is for derived code: it registers the input schema of a struct, from which [AskFor] makes
// its form.
func AddForm[T any](d *Derived, schema json.RawMessage) error {
	t := reflect.TypeFor[T]()
	compiled, err := jsonschema.Compile(schema)
	if err == nil {
		err = d.check(compiled, t, jsonschema.Input)
	}
	_, err = d.server.addForm(t, schema, err)
	return err
}
