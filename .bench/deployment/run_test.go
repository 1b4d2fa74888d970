package main

import (
	"strings"
	"testing"
	"time"
)

// The check finds commands that were lost or executed twice, and events that the worker missed.
func TestCheck(t *testing.T) {
	create := func(seq int64, id, title string) event {
		e := event{Seq: seq, ID: id, Type: createType}
		e.Data.Title = title
		return e
	}
	change := func(seq int64, eventType, id, title string) event {
		e := event{Seq: seq, ID: "event", Type: eventType}
		e.Data.ID, e.Data.Title = id, title
		return e
	}
	good := []event{create(1, "id1", "a"), create(2, "id2", "b"), change(3, updateType, "id1", "a2"), change(4, publishType, "id1", "")}
	acks := []ack{
		{eventType: createType, title: "a", id: "id1", seq: 1},
		{eventType: createType, title: "b", id: "id2", seq: 2},
		{eventType: updateType, title: "a2", id: "id1", seq: 1},
	}
	for _, test := range []struct {
		name  string
		log   []event
		fault string // "" for none
	}{
		{"good", good, ""},
		{"lost", []event{good[0], change(2, updateType, "id1", "a2"), change(3, publishType, "id1", "")}, `posts/create "b" was acknowledged`},
		{"executed twice", append(good[:4:4], create(5, "id3", "b")), "posts/create b was executed twice"},
		{"another id", []event{good[0], create(2, "id9", "b"), good[2], good[3]}, `posts/create "b" was acknowledged`},
		{"not acknowledged", append(good[:4:4], create(5, "id3", "c")), "3 commands were acknowledged, and the log has 4"},
		{"gap", []event{good[0], good[1], good[2], change(5, publishType, "id1", "")}, "event 5 at position 4"},
		{"worker missed an event", good[:3], "the worker has not handled event 3"},
		{"worker repeated an event", append(good[:4:4], change(5, publishType, "id1", "")), "posts/publish id1 was executed twice"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, l := &report{acks: map[*user][]ack{{}: acks}}, &load{}
			r.check(l, test.log)
			switch all := strings.Join(l.fault, "\n"); {
			case test.fault == "" && all != "":
				t.Errorf("got %s", all)
			case !strings.Contains(all, test.fault):
				t.Errorf("got %q, want %q", all, test.fault)
			}
		})
	}
}

func TestTimes(t *testing.T) {
	var all []time.Duration
	for i := range 100 {
		all = append(all, time.Duration(100-i)*time.Millisecond)
	}
	if got := strings.Join(strings.Fields(times(all)), " "); got != "51.0 ms 100.0 ms 100.0 ms" {
		t.Errorf("got %s", got)
	}
}
