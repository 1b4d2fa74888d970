package raw

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// answering returns a connection to a server that answers any request with text.
func answering(t *testing.T, text string) *Conn {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close() })
	go func() {
		defer far.Close()
		far.Read(make([]byte, 100))
		io.WriteString(far, text)
	}()
	return New(near)
}

func TestDo(t *testing.T) {
	for _, test := range []struct {
		text, body string
		status     int
	}{
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", 200},
		{"HTTP/1.1 200 OK\r\ncontent-length:5\r\n\r\nhello", "hello", 200},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x\r\nlo\r\n0\r\n\r\n", "hello", 200},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n", "hello", 200},
		{"HTTP/1.0 404 Not Found\r\n\r\nhello", "hello", 404},
		{"HTTP/1.1 202 Accepted\r\n\r\n", "", 202},
		{"HTTP/1.1 204 No Content\r\n\r\n", "", 204},
	} {
		head, body, err := answering(t, test.text).Do([]byte("?"))
		if err != nil || head.Status != test.status || string(body) != test.body {
			t.Errorf("%q: %d %q, %v", test.text, head.Status, body, err)
		}
	}
	head, _, err := answering(t, "HTTP/1.1 200 OK\r\nMcp-Session-Id: abc\r\nConnection: close\r\nContent-Type: text/event-stream\r\nContent-Length: 0\r\n\r\n").Do([]byte("?"))
	if err != nil || head.Session != "abc" || !head.Close || !head.Events {
		t.Errorf("%+v, %v", head, err)
	}
}

func TestDoBroken(t *testing.T) {
	for _, text := range []string{
		"", "hello", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
	} {
		if head, body, err := answering(t, text).Do([]byte("?")); err == nil {
			t.Errorf("%q: %+v %q", text, head, body)
		}
	}
}

func TestEvents(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	stream := ":\n\nid: 1\ndata:\n\nevent: message\nid: 2\ndata: {}\n\ndata: " + long + "\r\n\r\n"
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks(stream, 7) + "0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 10057\r\n\r\n" + stream,
	} {
		conn := answering(t, text)
		if _, err := conn.Ask([]byte("?")); err != nil {
			t.Fatal(err)
		}
		events := conn.Events()
		for _, want := range []Event{{ID: "1"}, {ID: "2", Data: []byte("{}")}, {Data: []byte(long)}} {
			got, err := events.Next()
			if err != nil || got.ID != want.ID || string(got.Data) != string(want.Data) {
				t.Errorf("got %.20q %.20q, %v", got.ID, got.Data, err)
			}
		}
		if _, err := events.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %v", err)
		}
	}
	cut := answering(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+chunks("data: 1\n\ndata: 2\n", 9))
	if _, err := cut.Ask([]byte("?")); err != nil {
		t.Fatal(err)
	}
	events := cut.Events()
	if _, err := events.Next(); err != nil {
		t.Error(err)
	}
	if _, err := events.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a stream that was cut: %v", err)
	}
}

// chunks cuts a text into chunks of n bytes.
func chunks(text string, n int) string {
	var out strings.Builder
	const digits = "0123456789abcdef"
	for len(text) > 0 {
		n := min(n, len(text))
		out.WriteString(string(digits[n]) + "\r\n" + text[:n] + "\r\n")
		text = text[n:]
	}
	return out.String()
}

func TestMessage(t *testing.T) {
	for _, test := range []struct {
		events     bool
		body, want string
	}{
		{false, "{}\n", "{}"},
		{true, "data: {}\n\n", "{}"},
		{true, "id: 1\ndata: 1\n\nevent: message\ndata: {\"data: \":2}\n\n", `{"data: ":2}`},
		{true, ":\n\n", ""},
	} {
		if got := Message(Head{Events: test.events}, []byte(test.body)); string(got) != test.want {
			t.Errorf("%q: %q, want %q", test.body, got, test.want)
		}
	}
}
