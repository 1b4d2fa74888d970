package app

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/petrock/petrock/core/strictjson"
)

// Read answers a query, as JSON. It sees all that was committed before it began, in any process.
func Read[S, Out any](ctx context.Context, a *App, q Answerer[S, Out]) (json.RawMessage, error) {
	return a.read(ctx, reflect.TypeFor[S](), func(ctx context.Context, state any) (any, error) { return q.Answer(ctx, state.(*S)) })
}

// Ask is [Read] for who has a context that leads to the app: workers, checks, other queries, and the calls of a server with features. The answer is a copy.
func Ask[S, Out any](ctx context.Context, q Answerer[S, Out]) (out Out, err error) {
	s := scopeOf(ctx)
	if s.app == nil {
		return out, fmt.Errorf("asking %T: the context leads to no app; use that of a worker, a check or a query, or of a call to a server with features, or app.With", q)
	}
	raw, err := Read(ctx, s.app, q)
	if err != nil {
		return out, err
	}
	return out, strictjson.Unmarshal(raw, &out)
}

// read calls f with the state of a type, and encodes what comes of it before anything changes that.
func (a *App) read(ctx context.Context, kind reflect.Type, f func(context.Context, any) (any, error)) (json.RawMessage, error) {
	of := a.states[kind]
	if of == nil {
		return nil, fmt.Errorf("%v is the state of no feature", kind)
	}
	if s := scopeOf(ctx); !s.inside || s.app != a {
		if err := a.rlock(ctx); err != nil {
			return nil, err
		}
		defer a.mu.RUnlock()
		s.app, s.inside = a, true
		ctx = s.with(ctx)
	}
	if of.stuck != nil {
		return nil, of.stuck
	}
	out, err := f(ctx, of.state)
	if err != nil {
		return nil, err
	}
	return strictjson.MarshalOutput(out)
}

// rlock locks the states for reading, when they are those after all that was committed before.
func (a *App) rlock(ctx context.Context) error {
	for {
		stamp, err := a.store.Stamp(ctx)
		if err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
		if err := a.lockToRead(ctx); err != nil {
			return err
		}
		if stamp == a.stamp && a.sound() {
			return nil
		}
		a.mu.RUnlock()
		if err := a.catchUp(ctx); err != nil {
			return err
		}
		if err := a.lockToRead(ctx); err != nil {
			return err
		}
		if a.sound() {
			return nil // they may be newer by now, never older
		}
		a.mu.RUnlock()
	}
}

// sound reports whether the states are those after an entry with which they were caught up. a.mu is locked.
func (a *App) sound() bool { return !a.stale && !a.behind }

// refresh makes states again that are not sound.
func (a *App) refresh(ctx context.Context) error {
	if err := a.lockToRead(ctx); err != nil {
		return err
	}
	sound := a.sound()
	a.mu.RUnlock()
	if sound {
		return nil
	}
	return a.catchUp(ctx)
}
