package servers_test

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/petrock/petrock/core/mcp"
)

// A line passes connections on to a server, until they are cut.
type line struct {
	mu    sync.Mutex
	conns []net.Conn
}

// newLine is a line to a server, and the address at which it begins.
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

// cut ends all connections there are.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.conns {
		conn.Close()
	}
	l.conns = nil
}

// A connection that breaks in the middle of a call costs nothing where the server keeps what it sends: the client takes
// the stream up again. This server then repeats what it sent on others too, and events that are no messages.
func TestReferenceCut(t *testing.T) {
	server := strings.TrimPrefix(serveReference(t, reference(t, "everything"), "streamableHttp"), "http://")
	l, address := newLine(t, server)
	o, e := listening(t)
	c := connect(t, overHTTP("http://"+address+"/mcp"), o)
	e.forgiven = "the server sent what is no message"
	var progress []float64
	call(t, c, "trigger-long-running-operation", map[string]any{"duration": 3, "steps": 6}, mcp.OnProgress(func(p mcp.ProgressReport) {
		progress = append(progress, p.Progress)
		if len(progress) == 2 {
			l.cut()
		}
	}))
	if len(progress) < 2 || progress[len(progress)-1] != 6 {
		t.Errorf("progress: %v", progress)
	}
}
