package generators

import (
	"fmt"
	"strings"
	"time"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/field"
)

// texts are JSON in the making, and what went wrong with it.
type texts struct{ err error }

// value is a value as JSON.
func (w *texts) value(v any) string {
	text, err := strictjson.Marshal(v)
	if err != nil {
		w.err = err
	}
	return string(text)
}

// object is an object of keys and values, in their order.
func (w *texts) object(pairs ...any) string {
	var parts []string
	for i := 0; i < len(pairs); i += 2 {
		parts = append(parts, w.value(pairs[i])+":"+w.value(pairs[i+1]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// create is what create is given: all fields, or those that must be there.
func (w *texts) create(c crud, all bool) string {
	var pairs []any
	for _, f := range c.fields {
		if all || !f.Optional {
			pairs = append(pairs, f.Name, f.Sample())
		}
	}
	return w.object(pairs...)
}

// wrong is what create refuses.
func (w *texts) wrong(c crud) (string, bool) {
	for _, bad := range c.fields {
		wrong, ok := bad.Wrong()
		if !ok {
			continue
		}
		var pairs []any
		for _, f := range c.fields {
			switch {
			case f.Name == bad.Name:
				pairs = append(pairs, f.Name, wrong)
			case !f.Optional:
				pairs = append(pairs, f.Name, f.Sample())
			}
		}
		return w.object(pairs...), true
	}
	return "", false
}

// item is what the test's log says of an item: the entry that created it, the one that last changed it, and which
// field that changed to what, if it did.
func (w *texts) item(c crud, created, updated int, all bool, changed field.Field, change any) string {
	pairs := []any{"id", fmt.Sprintf("id%d", created), "seq", created}
	for _, f := range c.fields {
		switch {
		case f.Name == changed.Name:
			pairs = append(pairs, f.Name, change)
		case all || !f.Optional:
			pairs = append(pairs, f.Name, f.Sample())
		}
	}
	return w.object(append(pairs, "created_at", at(created), "updated_at", at(updated))...)
}

// at is the time of an entry of a test's log.
func at(seq int) time.Time {
	return time.Date(2026, 1, 1, 0, 0, seq-1, 0, time.UTC)
}
