package jsonrpc

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
func readAll(r io.Reader, most int) (all []string, e *Events, err error) {
	e = NewEvents(r, most)
	for {
		event, err := e.Next()
		if err != nil {
			return all, e, err
		}
		all = append(all, fmt.Sprintf("%s:%s@%s", event.Name, event.Data, e.LastID))
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
			all, _, err := readAll(reader, 0)
			if got := strings.Join(all, "|"); got != test.want || !errors.Is(err, io.EOF) {
				t.Errorf("%.60q gives %.60q, %v", test.stream, got, err)
			}
		}
	}
}

func TestEventsKeepTheirPlace(t *testing.T) {
	_, e, _ := readAll(strings.NewReader("id: 1\nretry: 250\ndata: a\n\nid: 2\ndata: cut"), 0)
	if e.LastID != "1" || e.Retry != 250*time.Millisecond {
		t.Errorf("the last is %q, to wait for %v", e.LastID, e.Retry)
	}
	_, e, _ = readAll(strings.NewReader("retry: soon\nretry: -1\nretry: 99999999999999\n\n"), 0)
	if e.Retry != 0 {
		t.Errorf("it waits %v", e.Retry)
	}
}

func TestEventsTooLarge(t *testing.T) {
	for _, stream := range []string{"data: " + strings.Repeat("x", 200_000) + "\n\n", strings.Repeat("data: xxxxxxxxxx\n", 20_000) + "\n"} {
		if _, _, err := readAll(strings.NewReader(stream), 100_000); err == nil || !strings.Contains(err.Error(), "larger than 100000 bytes") {
			t.Errorf("it gives %v", err)
		}
	}
}

// Whatever comes, it is the same however it comes, and no event holds more than it may.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("id: 1\nevent: message\ndata: {}\n\n"))
	f.Add([]byte("data: a\r\ndata: b\r\n\r\n: c\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		at, e, err := readAll(bytes.NewReader(stream), 1000)
		bit, e2, err2 := readAll(iotest.OneByteReader(bytes.NewReader(stream)), 1000)
		if strings.Join(at, "|") != strings.Join(bit, "|") || e.LastID != e2.LastID || e.Retry != e2.Retry || (err == io.EOF) != (err2 == io.EOF) {
			t.Fatalf("%q: %q, %v and %q, %v", stream, at, err, bit, err2)
		}
	})
}

// What keeps a stream alive is not part of the next event.
func TestEventsAfterComments(t *testing.T) {
	events := NewEvents(strings.NewReader(strings.Repeat(": still here\n\n", 100)+"data: x\n\n"), 100)
	if event, err := events.Next(); err != nil || string(event.Data) != "x" {
		t.Errorf("%q, %v", event.Data, err)
	}
}
