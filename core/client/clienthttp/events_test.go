package clienthttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// readAll reads all events of a stream, as "name:data@id".
func readAll(r io.Reader, max int) (all []string, e *eventReader, err error) {
	e = newEventReader(r, max)
	for {
		event, err := e.next()
		if err != nil {
			return all, e, err
		}
		all = append(all, fmt.Sprintf("%s:%s@%s", event.name, event.data, e.lastID))
	}
}

func TestEvents(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for _, test := range []struct{ stream, want string }{
		{"data: a\n\n", "message:a@"},
		{"data:a\r\n\r\ndata:  b\r\n\r\n", "message:a@|message: b@"},
		{"\ufeffdata: a\n\n", "message:a@"},
		{"event: endpoint\ndata: /m\n\n", "endpoint:/m@"},
		{"data: a\ndata\ndata: b\n\n", "message:a\n\nb@"},
		{": hello\n\n:\n\ndata: a\n\n", "message:a@"},
		{"id: 1\ndata: a\n\ndata: b\n\nid: 2\n\n", "message:a@1|message:b@1|message:@2"},
		{"id: s_1\nretry: 500\ndata:\n\n", "message:@s_1"},
		{"retry: 500\n\n", ""},
		{"colour: red\ndata: a\n\n", "message:a@"},
		{"id: a\x00b\ndata: a\n\n", "message:a@"},
		{"data: " + long + "\n\n", "message:" + long + "@"},
		{"data: unfinished\n", ""},
		{"data: unfinished", ""},
		{"", ""},
	} {
		for _, reader := range []io.Reader{strings.NewReader(test.stream), iotest.OneByteReader(strings.NewReader(test.stream))} {
			all, _, err := readAll(reader, 1<<20)
			if got := strings.Join(all, "|"); got != test.want || !errors.Is(err, io.EOF) {
				t.Errorf("%.60q gives %.60q, %v; want %q and the error %v", test.stream, got, err, test.want, io.EOF)
			}
		}
	}
}

func TestEventsKeepTheirPlace(t *testing.T) {
	_, e, _ := readAll(strings.NewReader("id: 1\nretry: 250\ndata: a\n\nid: 2\ndata: cut"), 1<<20)
	if e.lastID != "1" || e.retry != 250*time.Millisecond {
		t.Errorf(`the last id is %q, the retry time %v; want "1" and 250ms`, e.lastID, e.retry)
	}
	_, e, _ = readAll(strings.NewReader("retry: soon\nretry: -1\nretry: 99999999999999\n\n"), 1<<20)
	if e.retry != 0 {
		t.Errorf("the event has the retry time %v, want 0", e.retry)
	}
}

func TestEventsTooLarge(t *testing.T) {
	for _, stream := range []string{"data: " + strings.Repeat("x", 200_000) + "\n\n", strings.Repeat("data: xxxxxxxxxx\n", 20_000) + "\n"} {
		if _, _, err := readAll(strings.NewReader(stream), 100_000); err == nil || !strings.Contains(err.Error(), "larger than 100000 bytes") {
			t.Errorf(`got %v; want an error containing "larger than 100000 bytes"`, err)
		}
	}
}

// Events do not depend on how the stream is divided into reads.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("id: 1\nevent: message\ndata: {}\n\n"))
	f.Add([]byte("data: a\r\ndata: b\r\n\r\n: c\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		at, e, err := readAll(bytes.NewReader(stream), 1000)
		bit, e2, err2 := readAll(iotest.OneByteReader(bytes.NewReader(stream)), 1000)
		if want, got := strings.Join(at, "|"), strings.Join(bit, "|"); got != want {
			t.Fatalf("%q: read byte by byte, the events are %q, at once %q; want the same", stream, got, want)
		}
		if e.lastID != e2.lastID || e.retry != e2.retry {
			t.Fatalf("%q: read byte by byte, the last id is %q and the retry time %v, at once %q and %v; want the same", stream, e2.lastID, e2.retry, e.lastID, e.retry)
		}
		if (err == io.EOF) != (err2 == io.EOF) {
			t.Fatalf("%q: read byte by byte, it ends with %v, at once with %v; want the same", stream, err2, err)
		}
	})
}

// Comments that keep a stream alive do not count towards the size of the next event.
func TestEventsAfterComments(t *testing.T) {
	events := newEventReader(strings.NewReader(strings.Repeat(": still here\n\n", 100)+"data: x\n\n"), 100)
	if event, err := events.next(); err != nil || string(event.data) != "x" {
		t.Errorf(`%q, %v; want no error and data "x"`, event.data, err)
	}
}
