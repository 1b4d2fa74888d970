package mcphttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/auth"
)

// Invalid or ambiguous HTTP is refused, and the rest of the connection is not served.
func TestRaw(t *testing.T) {
	addr, _ := start(t, echo{}, ServeOptions{Gates: []auth.Gate{keys(t)}, MaxHeader: 8 << 10})
	const post = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Api-Token: " + key + "\r\n"
	const second = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Api-Token: " + key + "\r\nContent-Length: 8\r\n\r\nsmuggled"
	for _, test := range []struct {
		name   string
		send   string
		status int
	}{
		{"a good one", post + "Content-Length: 5\r\nConnection: close\r\n\r\nhello", 200},
		{"a good one in chunks", post + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 200},
		{"a folded line", post + "X-A: a\r\n Host: evil\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 200},
		{"lines without CR", strings.ReplaceAll(post, "\r", "") + "Content-Length: 5\nConnection: close\n\nhello", 200},
		{"chunks without CR", post + "Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n" + second, 400},
		{"a folded key", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Api-Token: " + key[:16] + "\r\n " + key[16:] + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 401},
		{"no HTTP", "hello\r\n\r\n" + second, 400},
		{"JSON", "{\"jsonrpc\":\"2.0\"}\r\n\r\n", 400},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
		{"another protocol", "POST /mcp HTTP/9.9\r\nHost: localhost\r\n\r\n", 505},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 403},
		{"no host", "POST /mcp HTTP/1.1\r\nContent-Length: 0\r\n\r\n" + second, 400},
		{"two hosts", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n" + second, 400},
		{"a host with white space", "POST /mcp HTTP/1.1\r\nHost: local host\r\n\r\n" + second, 400},
		{"an old client without a host", "POST /mcp HTTP/1.0\r\nX-Api-Token: " + key + "\r\nContent-Length: 5\r\n\r\nhello", 403},
		{"another host in the address", "POST http://evil/mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 403},
		{"a bad method", "P@ST /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n" + second, 400},
		{"chunks and a length", post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + second, 200},
		{"chunks twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + second, 501},
		{"another coding", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + second, 501},
		{"a coding with odd white space", post + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + second, 400},
		{"two lengths", post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello" + second, 400},
		{"two lengths in one", post + "Content-Length: 5, 5\r\n\r\nhello" + second, 400},
		{"a negative length", post + "Content-Length: -5\r\n\r\nhello" + second, 400},
		{"a length with a sign", post + "Content-Length: +5\r\n\r\nhello" + second, 400},
		{"a length in other digits", post + "Content-Length: 0x5\r\n\r\nhello" + second, 400},
		{"a length beyond all", post + "Content-Length: 99999999999999999999\r\n\r\nhello" + second, 400},
		{"a folded line in a name", "POST /mcp HTTP/1.1\r\n Host: localhost\r\n\r\n" + second, 400},
		{"white space before the colon", post + "Content-Length : 5\r\n\r\nhello" + second, 400},
		{"no colon", post + "Nonsense\r\n\r\n" + second, 400},
		{"NUL in a value", post + "X-A: a\x00b\r\n\r\n" + second, 400},
		{"NUL in a name", post + "X\x00A: b\r\n\r\n" + second, 400},
		{"CR in a value", post + "X-A: a\rX-B: b\r\n\r\n" + second, 400},
		{"a bad chunk", post + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\nhello\r\n0\r\n\r\n", 400},
		{"a huge header", post + "X-A: " + strings.Repeat("a", 16<<10) + "\r\n\r\n" + second, 431},
		{"many headers", post + strings.Repeat("X-A: a\r\n", 4<<10) + "\r\n" + second, 431},
		{"all options", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404},
		{"a tunnel", "CONNECT localhost:22 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404},
		{"an expectation", post + "Expect: the-moon\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 417},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go io.WriteString(conn, test.send) // it may be cut off
			reader := bufio.NewReader(conn)
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(response.Body)
			if response.StatusCode != test.status {
				t.Errorf("got the status %d, want %d: %s", response.StatusCode, test.status, text)
			}
			rest, _ := io.ReadAll(reader) // until the connection ends
			if strings.Contains(string(text)+string(rest), "smuggled") {
				t.Errorf(`got %q, then %q; want no "smuggled"`, text, rest)
			}
			if strings.Contains(string(text), key) {
				t.Errorf("the client gets %q, want it without the key %q", text, key)
			}
		})
	}
}

// A request in the body of another request is not served.
func TestPipelined(t *testing.T) {
	addr, _ := start(t, echo{}, ServeOptions{Health: true})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	inner := "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"
	io.WriteString(conn, "POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: "+strconv.Itoa(len(inner))+"\r\n\r\n"+inner)
	io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
	reader := bufio.NewReader(conn)
	for _, want := range []string{"405 ", "200 POST  hello"} {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		if got := response.Status[:4] + string(text); !strings.HasPrefix(got, want) {
			t.Errorf("got the answer %q, want it to start with %q", got, want)
		}
	}
	if rest, _ := io.ReadAll(reader); len(rest) > 0 {
		t.Errorf("after the answer the connection sends %q, want nothing", rest)
	}
}
