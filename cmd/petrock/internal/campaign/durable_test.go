package campaign_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
)

// A server is the project's own program, as a client starts it.
type server struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// startServer starts a built program in a folder, as clients do.
func startServer(t *testing.T, program, dir string, args ...string) *server {
	t.Helper()
	s := &server{t: t, cmd: exec.Command(program, append([]string{"mcp"}, args...)...)}
	s.cmd.Dir, s.cmd.Stderr = dir, t.Output()
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewScanner(out)
	s.out.Buffer(nil, 64<<20)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.request("initialize", object{"protocolVersion": "2025-11-25", "capabilities": object{}, "clientInfo": object{"name": "t", "version": "1"}})
	fmt.Fprintln(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

// request sends a request and returns its result as JSON.
func (s *server) request(method string, params object) string {
	s.t.Helper()
	message, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		s.t.Fatal(err)
	}
	fmt.Fprintf(s.in, "%s\n", message)
	for s.out.Scan() {
		if text := s.out.Text(); strings.Contains(text, `"id":1`) {
			return text
		}
	}
	s.t.Fatalf("%s was not answered: %v", method, s.out.Err())
	return ""
}

// call calls a tool. Its result must contain a text.
func (s *server) call(tool string, arguments object, says string) {
	s.t.Helper()
	if said := s.request("tools/call", object{"name": tool, "arguments": arguments}); !strings.Contains(said, says) {
		s.t.Errorf("%s %v returned %s, want %s in it", tool, arguments, said, says)
	}
}

// kill kills the server.
func (s *server) kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

// end closes the input, and waits for the server to exit.
func (s *server) end() {
	s.t.Helper()
	s.in.Close()
	for s.out.Scan() {
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the server exits with %v", err)
	}
}

// caller calls tools of the project through the dev server. Each result must contain a text.
func (w *world) caller(client *mcptest.Client) func(tool string, arguments object, says string) {
	return func(tool string, arguments object, says string) {
		w.Helper()
		if said := client.CallTool("call", object{"name": tool, "arguments": arguments}); !strings.Contains(said.Text(), says) {
			w.Errorf("%s %v returned %s, want %s in it", tool, arguments, said.Text(), says)
		}
	}
}

// Features keep their data after kill -9, with a second process, and after new commands.
func TestFeaturesLast(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	client := w.serve(devserver.Options{})
	call := w.caller(client)
	made := mustCall[engine.Result](w, client, "generate_feature", object{"name": "posts", "crud": true, "fields": []string{"title:string:1..80", "body:string?"}})
	if len(made.Components) != 6 || len(made.Refused)+len(made.Warnings) > 0 {
		t.Errorf("got %+v; want six components, no refusals and no warnings", made)
	}
	program := mustCall[devserver.BuildOutput](w, client, "build", nil).Program
	call("posts_create", object{"title": "from the dev server"}, `"seq":1`)
	call("posts_list", object{}, "from the dev server")

	first := startServer(t, program, w.dir)
	first.call("posts_list", object{}, "from the dev server")
	first.call("posts_create", object{"title": "one"}, `"seq":2`)
	second := startServer(t, program, t.TempDir()) // in another folder, with the same data
	second.call("posts_list", object{}, "one")
	second.call("posts_create", object{"title": "two"}, `"seq":3`)
	first.call("posts_list", object{}, "two")
	var page struct {
		Result struct {
			StructuredContent struct{ Items []struct{ ID, Title string } }
		}
	}
	if err := json.Unmarshal([]byte(first.request("tools/call", object{"name": "posts_list", "arguments": object{}})), &page); err != nil || len(page.Result.StructuredContent.Items) != 3 {
		t.Fatalf("posts_list returned %+v, %v; want three items and no error", page, err)
	}
	items := page.Result.StructuredContent.Items
	first.call("posts_update", object{"id": items[1].ID, "title": "changed"}, `"title":"changed"`)
	first.call("posts_delete", object{"id": items[0].ID}, `"title":"from the dev server"`)
	first.call("posts_get", object{"id": items[0].ID}, "no post ")
	first.kill()
	second.call("posts_get", object{"id": items[1].ID}, `"title":"changed"`)
	second.kill()

	// A new command does not change existing data.
	mustCall[engine.Result](w, client, "generate_command", object{
		"description": "Does its work.", "name": "posts/shout", "fields": []string{"id"},
		"check":    "return s.checkID(c.ID)",
		"body":     "post := s.Posts[c.ID]\npost.Title = strings.ToUpper(post.Title)\nreturn ShoutOutput{}",
		"examples": []object{{"tool": "posts_create", "input": object{"title": "a"}}, {"input": object{"id": "id1"}}, {"tool": "posts_get", "input": object{"id": "id1"}}},
	})
	mustCall[object](w, client, "build", nil)
	third := startServer(t, program, w.dir)
	third.call("posts_list", object{}, `"items":[{"id":"`+items[1].ID+`","seq":2,"title":"changed"`)
	third.call("posts_shout", object{"id": items[1].ID}, `"structuredContent":{}`)
	third.call("posts_get", object{"id": items[1].ID}, `"title":"CHANGED"`)
	if log := third.request("resources/read", object{"uri": "app://log?after=5"}); !strings.Contains(log, `posts/shout`) || strings.Contains(log, "posts/create") {
		t.Errorf("the log is %s; want posts/shout in it, and no posts/create", log)
	}
	third.end()
	if _, err := os.Stat(w.path("data/log.db")); err != nil {
		t.Error(err)
	}
}
