package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/trial"
)

// runGenerator calls Make of a generator, with the time limit of examples. Time that the generator spends
// in the engine does not count. The generator may be the project's own code: a panic becomes an error, and
// runGenerator returns after the limit even if Make does not.
func (e *Engine) runGenerator(ctx context.Context, g gen.Generator, input json.RawMessage) (gen.Draft, error) {
	type result struct {
		draft gen.Draft
		err   error
	}
	turn := &turn{}
	known := e.facts(ctx, turn)
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if value := recover(); value != nil {
				r.err = nonUsageError{fmt.Errorf("run generator %s: panic: %v (%s)", g.Name, value, e.panicPlace())}
			}
			done <- r
		}()
		r.draft, r.err = g.Make(known, input)
	}()
	limit := e.Limits.Time
	if limit <= 0 {
		limit = trial.DefaultTime
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case r := <-done:
			return r.draft, r.err
		case <-ctx.Done():
			turn.end()
			return gen.Draft{}, nonUsageError{ctx.Err()}
		case <-timer.C:
			if spent := turn.takeSpent(); spent > 0 {
				timer.Reset(spent)
				continue
			}
			turn.end()
			return gen.Draft{}, nonUsageError{fmt.Errorf("run generator %s: timeout after %s; nothing was changed", g.Name, limit)}
		}
	}
}

// A turn lets one generator use the engine, which is not safe for concurrent use, until the turn ends.
type turn struct {
	mu    sync.Mutex
	ended bool
	spent time.Duration // time in use
}

// use runs a function of the engine. It fails after the end of the turn.
func (t *turn) use(do func()) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nonUsageError{context.Canceled}
	}
	begin := time.Now()
	do()
	t.spent += time.Since(begin)
	return nil
}

// takeSpent waits until the engine is not in use, and returns the time in use since the last call.
func (t *turn) takeSpent() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	spent := t.spent
	t.spent = 0
	return spent
}

// end waits until the engine is not in use, and ends the turn.
func (t *turn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
}

// panicPlace returns the file and line of the panic that is being recovered: the innermost call in the
// project's own generators, or else the innermost call outside the runtime.
func (e *Engine) panicPlace() string {
	calls := make([]uintptr, 64)
	frames := runtime.CallersFrames(calls[:runtime.Callers(3, calls)])
	place := ""
	for {
		frame, more := frames.Next()
		file := frame.File
		if inside, err := filepath.Rel(e.project.Root, file); err == nil && filepath.IsLocal(inside) {
			file = inside
		}
		file = strings.TrimPrefix(filepath.ToSlash(file), e.checker.Module().Path+"/") // with -trimpath
		at := fmt.Sprintf("%s:%d", file, frame.Line)
		switch {
		case strings.HasPrefix(file, derive.OwnGenerators+"/"):
			return at
		case place == "" && !strings.HasPrefix(frame.Function, "runtime."):
			place = at
		}
		if !more {
			return place
		}
	}
}
