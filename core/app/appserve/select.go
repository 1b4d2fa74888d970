package appserve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// A selection selects events by their numbers and content. Its zero value selects all.
type selection struct {
	ranges  []eventRange // sorted, disjoint; empty means all events
	numbers []int64      // events that are named one by one
	kind    string       // such as posts/create
	version int          // 0 means any
	actor   string
	fields  []string // NAME=VALUE of top-level fields
}

// An eventRange is a range of events. Last is 0 if it has no end.
type eventRange struct{ first, last int64 }

// eventsHelp explains the arguments.
const eventsHelp = `EVENTS are numbers of events and ranges: 17 20-30 100-`

// flags adds the flags that select by type.
func (s *selection) flags(cmd *cobra.Command, kind, version string) {
	cmd.Flags().StringVar(&s.kind, kind, "", "select events of this type, such as posts/create")
	cmd.Flags().IntVar(&s.version, version, 0, "select events of this version (default all)")
}

// isEmpty reports whether nothing was selected.
func (s *selection) isEmpty() bool {
	return len(s.ranges) == 0 && s.isUnfiltered()
}

// isUnfiltered reports whether the selection depends only on numbers.
func (s *selection) isUnfiltered() bool {
	return s.kind == "" && s.version == 0 && s.actor == "" && len(s.fields) == 0
}

// parse reads the arguments of a command.
func (s *selection) parse(args []string) error {
	for _, arg := range args {
		from, to, isRange := strings.Cut(arg, "-")
		first, err := parseSeq(from)
		if err != nil {
			return err
		}
		r := eventRange{first, first}
		switch {
		case !isRange:
			s.numbers = append(s.numbers, first)
		case to == "":
			r.last = 0
		default:
			if r.last, err = parseSeq(to); err != nil {
				return err
			}
			if r.last < first {
				return terminal.Usagef("range %s ends before it starts", arg)
			}
		}
		s.ranges = append(s.ranges, r)
	}
	for _, field := range s.fields {
		if name, _, ok := strings.Cut(field, "="); !ok || name == "" {
			return terminal.Usagef("--field %s is not NAME=VALUE, such as id=k2", field)
		}
	}
	slices.SortFunc(s.ranges, func(a, b eventRange) int { return cmp.Compare(a.first, b.first) })
	var merged []eventRange
	for _, r := range s.ranges {
		if n := len(merged) - 1; n >= 0 && (merged[n].last == 0 || r.first <= merged[n].last+1) {
			if merged[n].last != 0 && (r.last == 0 || r.last > merged[n].last) {
				merged[n].last = r.last
			}
			continue
		}
		merged = append(merged, r)
	}
	s.ranges = merged
	return nil
}

// bounds returns the first and the last event that the selection can include; 0 means those of the
// log.
func (s *selection) bounds() (first, last int64) {
	if len(s.ranges) == 0 {
		return 0, 0
	}
	return s.ranges[0].first, s.ranges[len(s.ranges)-1].last
}

// includes reports whether the selection includes an event, as it was recorded or as its amendment
// reads it. am may be nil.
func (s *selection) includes(r eventlog.Record, am *app.Amendment) bool {
	if len(s.ranges) > 0 {
		at, found := slices.BinarySearchFunc(s.ranges, r.Seq, func(e eventRange, seq int64) int { return cmp.Compare(e.first, seq) })
		if !found {
			at--
		}
		if at < 0 || s.ranges[at].last != 0 && r.Seq > s.ranges[at].last {
			return false
		}
	}
	if s.actor != "" && s.actor != r.Actor {
		return false
	}
	return s.matches(r.Type, r.Version, r.Data) || am != nil && !am.Skip && s.matches(am.Type, am.Version, am.Data)
}

func (s *selection) matches(eventType string, version int, data []byte) bool {
	if s.kind != "" && s.kind != eventType || s.version != 0 && s.version != version {
		return false
	}
	if len(s.fields) == 0 {
		return true
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(data, &values) != nil {
		return false
	}
	return !slices.ContainsFunc(s.fields, func(field string) bool {
		name, want, _ := strings.Cut(field, "=")
		value, text := values[name], ""
		if json.Unmarshal(value, &text) != nil {
			text = string(value) // not a string
		}
		return value == nil || text != want
	})
}

// missing returns an error if one of the events that were named one by one does not exist, or is
// one that cannot be amended. unchanged is the error of an event that needs no change.
func (s *selection) missing(ctx context.Context, admin *app.Admin, included func(int64) bool, unchanged string) error {
	if !s.isUnfiltered() {
		return nil
	}
	var errs []error
	for _, seq := range s.numbers {
		if included(seq) {
			continue
		}
		r, err := admin.Find(ctx, seq)
		am, amErr := admin.FindAmendment(ctx, seq)
		switch {
		case err != nil:
		case amErr != nil:
			err = amErr
		case am != nil && am.Erased:
			err = fmt.Errorf("event %d was erased", seq)
		case r.Type == amendedType:
			err = fmt.Errorf("event %d is an amendment; name the event that it amends", seq)
		default:
			err = fmt.Errorf("event %d %s", seq, unchanged)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
