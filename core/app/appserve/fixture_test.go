package appserve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/sqlite"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
)

type state struct {
	Posts []string
}

type create struct {
	Title string `json:"title"`
}

func (c create) Check(context.Context, *state) error {
	if c.Title == "" {
		return errors.New("a post needs a title")
	}
	return nil
}

func (c create) Apply(s *state, e app.Event) string {
	s.Posts = append(s.Posts, c.Title)
	return e.ID
}

// A drop removes the first post, and cannot be applied without one.
type drop struct{}

func (drop) Check(context.Context, *state) error { return nil }

func (drop) Apply(s *state, _ app.Event) string {
	s.Posts = s.Posts[1:]
	return ""
}

type list struct{}

func (list) Answer(_ context.Context, s *state) (string, error) {
	return strings.Join(s.Posts, ", "), nil
}

// digest is a worker that fails on a post called bad.
type digest struct{}

func (*digest) onCreate(_ context.Context, c create, _ app.Event) error {
	if c.Title == "bad" {
		return errors.New("digest service is down")
	}
	return nil
}

// posts returns a feature as derived code does.
func posts() appmcp.Feature {
	return appmcp.Feature{
		Feature: app.Feature{
			Name:     "posts",
			State:    app.StateOf(func() *state { return &state{} }),
			Commands: []app.CommandType{app.CommandTypeOf[create]("create", 1), app.CommandTypeOf[drop]("drop", 1)},
			Queries:  []app.QueryType{app.QueryTypeOf[list]("list")},
			Workers: []app.Worker{app.WorkerOf("digest", func(context.Context) (*digest, error) { return &digest{}, nil },
				app.On((*digest).onCreate))},
		},
		Register: func(s *mcp.Server, a *app.App) error {
			return errors.Join(
				mcp.AddTool(s, mcp.Tool{Name: "posts_create"}, appmcp.Do[create](a)),
				mcp.AddTool(s, mcp.Tool{Name: "posts_list"}, appmcp.Query[list](a)),
			)
		},
	}
}

// serve opens the data in a folder as a server does, until end is called.
func serve(t *testing.T, dir string) (client *mcptest.Client, end func()) {
	t.Helper()
	d := New("weather", posts())
	d.dir = dir
	server := mcp.NewServer(mcp.Implementation{Name: "weather", Version: "1"}, mcp.Options{})
	stop, err := d.Open(t.Context(), server, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	return mcptest.Connect(t, server), func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

// filled returns a folder whose log has posts with these titles.
func filled(t *testing.T, titles ...string) string {
	t.Helper()
	dir := t.TempDir()
	client, end := serve(t, dir)
	for _, title := range titles {
		if result := client.CallTool("posts_create", create{title}); result.IsError {
			t.Fatal(result.Text())
		}
	}
	end()
	return dir
}

// add appends records to the log, bypassing the features.
func add(t *testing.T, dir string, records ...eventlog.Record) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	last, err := store.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		last++
		records[i].Seq, records[i].ID, records[i].Version = last, fmt.Sprint("added", last), 1
	}
	if err := store.Write(t.Context(), func(tx eventlog.Tx) error { return tx.Append(records...) }); err != nil {
		t.Fatal(err)
	}
}

// command returns a command line with the data's commands.
func command(d *Data, args ...string) *cobra.Command {
	root := &cobra.Command{Use: d.program, SilenceErrors: true, SilenceUsage: true}
	root.AddGroup(&cobra.Group{ID: "Manage data:"})
	root.AddCommand(d.Commands()...)
	mcpcli.Finish(root, "weather 1") // refuses arguments, as in a server
	root.SetArgs(args)
	return root
}

// run runs one command on the data in a folder.
func run(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := runWith(t, dir, nil, &out, &out, args...)
	return out.String(), err
}

// runWith runs one command with these streams.
func runWith(t *testing.T, dir string, in io.Reader, out, errOut io.Writer, args ...string) error {
	t.Helper()
	cmd := command(New("weather", posts()), append(args, "--data", dir)...)
	cmd.SetIn(in)
	cmd.SetOut(out)
	cmd.SetErr(errOut)
	return cmd.ExecuteContext(t.Context())
}

// must runs a command that must succeed.
func must(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := run(t, dir, args...)
	if err != nil {
		t.Fatalf("%s: %v, want no error", strings.Join(args, " "), err)
	}
	return out
}
