package servers_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/mcp"
)

// Restarted servers do not know the session, and report that in different ways. The client opens a
// new session, and calls succeed.
func TestLostSession(t *testing.T) {
	address := freeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	servers := map[string]struct {
		path  string
		start func(t *testing.T) *exec.Cmd
	}{
		"go-sdk": {"", func(t *testing.T) *exec.Cmd {
			return exec.Command(build(t, goSDK+"examples/server/everything"), "-http", address)
		}},
		"mcp-go": {"/mcp", func(t *testing.T) *exec.Cmd {
			return exec.Command(buildAt(t, mcpGo+"everything", `Start(":8080")`, `Start("`+address+`")`), "-t", "http")
		}},
		"reference": {"/mcp", func(t *testing.T) *exec.Cmd {
			cmd := exec.Command(*node, reference(t, "everything"), "streamableHttp")
			cmd.Env = append(os.Environ(), "PORT="+port)
			return cmd
		}},
	}
	for name, server := range servers {
		t.Run(name, func(t *testing.T) {
			o, _ := listening(t)
			o.Revision = mcp.LatestHandshake
			var c *client.Client
			ok := t.Run("before", func(t *testing.T) {
				serve(t, address, server.start(t))
				var err error
				if c, err = clienthttp.Dial(t.Context(), clienthttp.Server{URL: "http://" + address + server.path}, o); err != nil {
					t.Fatal(err)
				}
				toolNames(t, c)
			})
			if !ok || c == nil {
				t.SkipNow() // the reference servers are optional
			}
			t.Run("after", func(t *testing.T) {
				serve(t, address, server.start(t))
				if names := toolNames(t, c); len(names) == 0 {
					t.Error("no tools")
				}
				if err := c.Close(); err != nil {
					t.Errorf("closing: %v", err)
				}
			})
		})
	}
}
