package peer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/petrock/petrock/core/jsonrpc"
)

const sentinel = `{"jsonrpc":"2.0","id":"end","method":"m"}`

func TestLines(t *testing.T) {
	one := `{"jsonrpc":"2.0","id":1,"method":"m"}`
	for name, in := range map[string]string{
		"newline":         one + "\n" + sentinel + "\n",
		"no last newline": one + "\n" + sentinel,
		"crlf":            one + "\r\n" + sentinel + "\r\n",
		"last cr":         one + "\n" + sentinel + "\r",
		"blank lines":     "\n\r\n \t\n" + one + "\n\n\n  " + sentinel + "  \n\n \r\n",
	} {
		if got := talk(t, Options{}, Dialect{}, in); fmt.Sprint(got) != `[1 {} "end" {}]` {
			t.Errorf(`%s: got %v, want [1 {} "end" {}]`, name, got)
		}
	}
	equal(t, talk(t, Options{}, Dialect{}, "garbage\n[\n{\n\x00\xff\n"+sentinel),
		`- error -32700`, `- error -32700`, `- error -32700`, `- error -32700`, `"end" {}`)
	equal(t, talk(t, Options{}, Dialect{}, ""))
	equal(t, talk(t, Options{}, Dialect{}, "\n"))
}

func TestLinesInPieces(t *testing.T) {
	var out bytes.Buffer
	in := iotest.OneByteReader(strings.NewReader(strings.Repeat(sentinel+"\r\n\n", 50)))
	conn := NewConn(jsonrpc.NewLines(in, &out, jsonrpc.LinesOptions{}), Options{Handle: echo})
	if err := conn.Run(t.Context()); err != nil || len(gists(t, out.String())) != 50 {
		t.Errorf("Run: %v, %d answers; want no error and 50 answers", err, len(gists(t, out.String())))
	}
}

func TestReadErrorEndsRun(t *testing.T) {
	broken := errors.New("cable cut")
	in := io.MultiReader(strings.NewReader(sentinel+"\n"+sentinel[:10]), iotest.ErrReader(broken))
	var out bytes.Buffer
	err := NewConn(jsonrpc.NewLines(in, &out, jsonrpc.LinesOptions{}), Options{Handle: echo}).Run(t.Context())
	if !errors.Is(err, broken) {
		t.Errorf("Run: got %v, want %v", err, broken)
	}
	equal(t, gists(t, out.String()), `"end" {}`)
}

// The limit applies to the message without its line ending.
func TestMessageAtTheLimit(t *testing.T) {
	for _, max := range []int{100, 64<<10 - 2, 64<<10 - 1, 64 << 10, 64<<10 + 1, 128<<10 - 1, 128 << 10} {
		for _, end := range []string{"\n", "\r\n", ""} {
			for over := range 2 {
				line := `{"jsonrpc":"2.0","id":1,"method":"m","x":"`
				line += strings.Repeat("x", max-len(line)-2+over) + `"}`
				var out bytes.Buffer
				lines := jsonrpc.NewLines(strings.NewReader(line+end), &out, jsonrpc.LinesOptions{MaxMessage: max})
				if err := NewConn(lines, Options{Handle: echo}).Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				want := []string{`1 {}`, `1 error -32600`}[over]
				if got := gists(t, out.String()); len(got) != 1 || got[0] != want {
					t.Errorf("limit %d, %d over, end %q: got %q, want %q", max, over, end, got, want)
				}
			}
		}
	}
}

// endless reads head, n bytes of filler, and tail.
func endless(head string, filler byte, n int64, tail string) io.Reader {
	return io.MultiReader(strings.NewReader(head), io.LimitReader(fill(filler), n), strings.NewReader(tail))
}

type fill byte

func (f fill) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(f)
	}
	return len(p), nil
}

func TestOversizeMessageTakesNoMemory(t *testing.T) {
	size := int64(64 << 20)
	for _, test := range []struct {
		name, head string
		filler     byte
		tail, want string
	}{
		{"id first", `{"jsonrpc":"2.0","id":1,"method":"m","params":["`, 'x', `"]}`, `1 error -32600`},
		{"id last", `{"jsonrpc":"2.0","method":"m","params":["`, 'x', `"],"id":"\u0061 b"}`, `"\u0061 b" error -32600`},
		{"escaped key", `{"params":["`, 'x', `"],"\u0069\u0064" : 5,"method":"m"}`, `5 error -32600`},
		{"id nested", `{"params":{"id":7,"a":["`, 'x', `"],"id":8},"method":"m"}`, `- error -32600`},
		{"id in a string", `{"params":{"a":"\",\"id\":7,`, 'x', `\"}"},"id":3,"method":"m"}`, `3 error -32600`},
		{"deep", `{"id":3,"method":"m","params":`, '[', ``, `3 error -32600`},
		{"two ids", `{"id":3,"method":"m","id":3,"params":["`, 'x', `"]}`, `- error -32600`},
		{"bad id", `{"id":{"id":3},"method":"m","params":["`, 'x', `"]}`, `- error -32600`},
		{"huge id", `{"method":"m","id":"`, 'x', `"}`, `- error -32600`},
		{"huge key", `{"method":"m","`, 'x', `":1,"id":4}`, `4 error -32600`},
		{"huge number", `{"method":"m","id":`, '1', `}`, `- error -32600`},
		{"no JSON", ``, 'x', ``, `- error -32600`},
		{"carriage returns", ``, '\r', ``, `- error -32600`},
		{"spaces", `{"method":"m",`, ' ', `"id":1}`, `1 error -32600`},
		{"batch", `[{"id":1,"method":"m","params":["`, 'x', `"]}]`, `- error -32600`},
		{"response", `{"jsonrpc":"2.0","id":1,"result":["`, 'x', `"]}`, ``},
		{"notification", `{"jsonrpc":"2.0","method":"m","params":["`, 'x', `"]}`, `- error -32600`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			in := endless(test.head, test.filler, size, test.tail+"\n"+sentinel+"\n")
			conn := NewConn(jsonrpc.NewLines(in, &out, jsonrpc.LinesOptions{MaxMessage: 100_000}), Options{Handle: echo, Logger: slog.New(slog.DiscardHandler)})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := conn.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
				t.Errorf("%d bytes were allocated, want at most %d", n, 1<<20)
			}
			var want []string
			if test.want != "" {
				want = append(want, test.want)
			}
			equal(t, gists(t, out.String()), append(want, `"end" {}`)...)
		})
		size = 1 << 20 // one large one will do
	}
}

func TestOversizeLastLineWithoutNewline(t *testing.T) {
	got := talk(t, Options{}, Dialect{}, sentinel+"\n"+`{"id":1,"method":"m","params":["`+strings.Repeat("x", jsonrpc.DefaultMaxMessage))
	equal(t, got, `"end" {}`, `1 error -32600`)
}

func TestOversizeResponseFailsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, answers := io.Pipe()
		calls, out := io.Pipe()
		conn := NewConn(jsonrpc.NewLines(in, out, jsonrpc.LinesOptions{MaxMessage: 100}), Options{Logger: slog.New(slog.DiscardHandler)})
		done := make(chan error, 1)
		go func() { done <- conn.Run(t.Context()) }()
		go func() {
			_, _ = calls.Read(make([]byte, 1000))
			fmt.Fprintf(answers, `{"jsonrpc":"2.0","result":[%s1],"id":1}`+"\n", strings.Repeat("1,", 100))
		}()
		if err := conn.Call(t.Context(), "m", nil, nil); err == nil || !strings.Contains(err.Error(), "larger than 100 bytes") {
			t.Errorf(`Call: %v; want an error containing "larger than 100 bytes"`, err)
		}
		answers.Close()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
