package servers_test

import (
	"io"
	"net"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
)

// A line is a TCP proxy to a server, whose connections can be cut.
type line struct {
	mu    sync.Mutex
	conns []net.Conn
}

// newLine starts a line to a server, and returns its address.
func newLine(t *testing.T, server string) (*line, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{}
	t.Cleanup(func() {
		listener.Close()
		l.cut()
	})
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", server)
			if err != nil {
				in.Close()
				continue
			}
			l.mu.Lock()
			l.conns = append(l.conns, in, out)
			l.mu.Unlock()
			go io.Copy(in, out)
			go io.Copy(out, in)
		}
	}()
	return l, listener.Addr().String()
}

// cut closes all connections.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.conns {
		conn.Close()
	}
	l.conns = nil
}

// If the server stores events, the client resumes the streams of a call and of the session after a
// broken connection, and if the server closes the stream.
func TestGoSDKCut(t *testing.T) {
	t.Parallel()
	server := freeAddress(t)
	serve(t, server, exec.Command(build(t, "./keeper"), server))
	for _, revision := range []mcp.Revision{mcp.Revision20250326, mcp.Revision20250618, mcp.Revision20251125} {
		t.Run(string(revision), func(t *testing.T) {
			l, address := newLine(t, server)
			o, e := listening(t)
			o.Revision = revision
			c := connect(t, overHTTP("http://"+address), o)
			var progress []float64
			counted := call(t, c, "count", nil, client.OnProgress(func(p client.Progress) {
				progress = append(progress, p.Progress)
				if len(progress) == 3 {
					l.cut()
				}
			}))
			same(t, "count", counted, "counted")
			if !slices.Equal(progress, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
				t.Errorf("progress: %v", progress)
			}
			if revision == mcp.Revision20251125 {
				same(t, "leave", call(t, c, "leave", nil), "still here")
			}
			call(t, c, "grow", nil)
			await(t, e.changed, "tools") // on the session's stream
		})
	}
}
