package app

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/petrock/petrock/core/strictjson"
)

// Query runs a query with the app of ctx: the context of a worker, a check, another query, or a
// call to a server with features. The query sees everything that any process committed before. The
// answer is a copy.
func Query[S, Out any](ctx context.Context, q Answerer[S, Out]) (out Out, err error) {
	s := scopeOf(ctx)
	if s.app == nil {
		return out, fmt.Errorf("query %T: no app in the context; use the context of a worker, a check, a query or a tool call, or app.With", q)
	}
	raw, err := QueryRaw(ctx, s.app, q)
	if err != nil {
		return out, err
	}
	return out, strictjson.Unmarshal(raw, &out)
}

// QueryRaw is [Query] with an explicit app, and returns the answer as JSON. Use it to pass the
// answer on without decoding it, as tools do.
func QueryRaw[S, Out any](ctx context.Context, a *App, q Answerer[S, Out]) (json.RawMessage, error) {
	return a.read(ctx, reflect.TypeFor[S](), func(ctx context.Context, state any) (any, error) { return q.Answer(ctx, state.(*S)) })
}

// read calls f with the state of a type, and encodes its result before the state can change.
func (a *App) read(ctx context.Context, kind reflect.Type, f func(context.Context, any) (any, error)) (json.RawMessage, error) {
	feature := a.states[kind]
	if feature == nil {
		return nil, fmt.Errorf("%v is not the state of any feature", kind)
	}
	s := scopeOf(ctx)
	if !s.holdsLock || s.app != a {
		if err := a.lockCurrent(ctx); err != nil {
			return nil, err
		}
		defer a.mu.RUnlock()
		s.app, s.holdsLock = a, true
		ctx = s.with(ctx)
	}
	if stuck := feature.stuck; stuck != nil {
		if stuck.Stopped || s.inCheck || s.call != nil {
			return nil, stuck // a command must not depend on an old state
		}
		if a.o.OnStale != nil {
			a.o.OnStale(ctx, stuck)
		}
	}
	out, err := f(ctx, feature.state)
	if err != nil {
		return nil, err
	}
	return a.outputs.Encode(out)
}

// lockCurrent locks the states for reading, after applying everything that was committed before.
func (a *App) lockCurrent(ctx context.Context) error {
	for {
		stamp, err := a.store.Stamp(ctx)
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if err := a.lockToRead(ctx); err != nil {
			return err
		}
		if stamp == a.stamp && a.isValid() {
			return nil
		}
		a.mu.RUnlock()
		if err := a.catchUp(ctx); err != nil {
			return err
		}
		if err := a.lockToRead(ctx); err != nil {
			return err
		}
		if a.isValid() {
			return nil // the states may be newer by now, but not older
		}
		a.mu.RUnlock()
	}
}

// refresh rebuilds the states if they are not valid.
func (a *App) refresh(ctx context.Context) error {
	if err := a.lockToRead(ctx); err != nil {
		return err
	}
	valid := a.isValid()
	a.mu.RUnlock()
	if valid {
		return nil
	}
	return a.catchUp(ctx)
}
