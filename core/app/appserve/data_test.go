package appserve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// Answered commands survive a restart, and two servers share one log.
func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "data")
	one, endOne := serve(t, dir)
	two, endTwo := serve(t, dir)
	one.CallTool("posts_create", create{"a"})
	two.CallTool("posts_create", create{"b"})
	if got := one.CallTool("posts_list", nil).Text(); got != "a, b" {
		t.Errorf("the posts are %s, want \"a, b\"", got)
	}
	endOne()
	endTwo()
	again, end := serve(t, dir)
	defer end()
	if got := again.CallTool("posts_list", nil).Text(); got != "a, b" {
		t.Errorf("after a restart the posts are %s, want \"a, b\"", got)
	}
	if text := again.ReadResource("app://log")[0].Text; !strings.Contains(text, `"last":2`) {
		t.Errorf("the log is %s, want %q in it", text, `"last":2`)
	}
}

// The error for an unusable folder names it, with a remedy.
func TestUnusableFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("not a log"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, fileName), []byte(strings.Repeat("not a log ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), broken} {
		d := New("weather", posts())
		d.dir = dir
		_, err := d.Open(t.Context(), mcp.NewServer(mcp.Implementation{Name: "weather", Version: "1"}, mcp.Options{}), slog.New(slog.NewTextHandler(t.Output(), nil)))
		if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "--data DIR") || !strings.Contains(err.Error(), "WEATHER_DATA") {
			t.Errorf("%s: got %v, want an error that names the folder, --data DIR and WEATHER_DATA", dir, err)
		}
	}
}

// The fingerprints in the environment are those of one executable.
func TestFingerprint(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stamp, err := project.Stamp(executable)
	if err != nil {
		t.Fatal(err)
	}
	dir := filled(t, "a")
	for _, test := range []struct{ value, want string }{
		{stamp + " notes=b posts=a", "a"},
		{stamp + " notes=b", ""},
		{stamp, ""},
		{"1" + stamp + " notes=b posts=a", ""}, // another size
		{stamp + "1 notes=b posts=a", ""},      // another time
		{"notes=b posts=a", ""},
		{"", ""},
	} {
		t.Setenv("WEATHER_FEATURES", test.value)
		got := ""
		if f := New("weather", posts()).fingerprint(); f != nil {
			got = f("posts")
		}
		if got != test.want {
			t.Errorf("%q: the fingerprint is %q, want %q", test.value, got, test.want)
		}
		must(t, dir, "replay", "--snapshot")
		hasMatch := strings.Contains(must(t, dir, "replay"), "matches")
		t.Setenv("WEATHER_FEATURES", "")
		if sameProgram := strings.Contains(must(t, dir, "replay"), "matches"); !hasMatch || test.want != "" && sameProgram {
			t.Errorf("%q: the snapshot is found: %t, and without the variable: %t, want true and false", test.value, hasMatch, sameProgram)
		}
	}
}

// Only serve has the flag that offers the app's resources over HTTP.
func TestRemoteResources(t *testing.T) {
	for _, name := range []string{"serve", "mcp"} {
		d, cmd := New("weather", posts()), &cobra.Command{Use: name}
		d.Flags(cmd)
		err := cmd.ParseFlags([]string{"--app-resources"})
		if serves := name == "serve"; d.options.RemoteResources != serves || (err == nil) != serves {
			t.Errorf("%s --app-resources: RemoteResources %t, %v; want %t, and an error only without the flag", name, d.options.RemoteResources, err, serves)
		}
	}
}

func TestFolder(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, "home")
	source := filepath.Join(root, "weather")
	deep := filepath.Join(source, "features", "posts")
	for _, dir := range []string{home, deep} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(source, project.FileName), []byte(`{"name":"weather"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, variable := range []string{"HOME", "XDG_DATA_HOME", "LocalAppData"} {
		t.Setenv(variable, home)
	}
	below := "weather"
	if runtime.GOOS == "darwin" {
		below = filepath.Join("Library", "Application Support", "weather")
	}
	for _, test := range []struct{ name, in, flag, variable, want string }{
		{"the flag", deep, "x", "y", filepath.Join(deep, "x")},
		{"the environment", deep, "", filepath.Join(root, "y"), filepath.Join(root, "y")},
		{"the project", deep, "", "", filepath.Join(source, "data")},
		{"the user", root, "", "", filepath.Join(home, below)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(test.in)
			t.Setenv("WEATHER_DATA", test.variable)
			d := New("weather")
			d.dir = test.flag
			if got, err := d.folder(); err != nil || got != test.want {
				t.Errorf("got %s, %v; want %s", got, err, test.want)
			}
		})
	}
	t.Run("a broken project", func(t *testing.T) {
		t.Chdir(deep)
		if err := os.WriteFile(filepath.Join(source, project.FileName), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := New("weather").folder(); err == nil || !strings.Contains(err.Error(), "--data DIR") {
			t.Errorf("got %s, %v, want \"--data DIR\" in it", got, err)
		}
	})
}

// The arguments of a process are public, so they must not have a password. A file may.
func TestPasswords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "database")
	if err := os.WriteFile(file, []byte("postgres://me:secret@db/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("WEATHER_DATA_FILE", file)
	t.Setenv("WEATHER_DATA", "")
	for _, test := range []struct {
		args []string
		want string // the URL that is opened; empty if it is refused
	}{
		{[]string{"log"}, "postgres://me:secret@db/x"},
		{[]string{"log", "--data", "postgres://me@db/x"}, "postgres://me@db/x"},
		{[]string{"log", "--data", "postgresql://me:@db/x?passfile=p"}, "postgresql://me:@db/x?passfile=p"},
		{[]string{"log", "--data", "postgres://me:secret@db/x"}, ""},
		{[]string{"log", "--data", "postgresql://db/x?user=me&password=secret"}, ""},
		{[]string{"workers", "--data=postgres://db/x?sslpassword=secret"}, ""},
		{[]string{"log", "copy", "data", "postgres://me:secret@db/x"}, ""},
		{[]string{"log", "copy", "postgres://me:secret@db/x", "data"}, ""},
		{[]string{"log", "copy", "postgres://me@db/x", "data"}, "postgres://me@db/x"},
	} {
		opened := ""
		d := WithPostgres(New("weather", posts()), func(_ context.Context, url, _ string, _ eventlog.OpenMode) (*eventlog.Memory, error) {
			opened = url
			return nil, errors.New("unreachable")
		})
		err := command(d, test.args...).ExecuteContext(t.Context())
		says := fmt.Sprint(err)
		if opened != test.want || strings.Contains(says, "secret") || err == nil {
			t.Errorf(`%s: opened %q, got %v; want %q opened, and an error without "secret"`, test.args, opened, err, test.want)
		}
		if hint := "WEATHER_DATA_FILE"; test.want == "" && (!strings.Contains(says, hint) || !strings.Contains(says, "PGPASSFILE") || terminal.ExitCode(err) != terminal.ExitUsage) {
			t.Errorf("%s: got %v with exit code %d, want a usage error with %s and PGPASSFILE", test.args, err, terminal.ExitCode(err), hint)
		}
	}
}

// A URL of a database is opened by the part postgres, with the program as the default schema.
// Without the part, the error names the command that adds it. Passwords are not printed.
func TestURL(t *testing.T) {
	const address = "postgres://me:secret@db.example.com/shop"
	t.Setenv("WEATHER_DATA", address)
	d := New("weather", posts())
	for _, line := range []string{"log", "workers", "replay"} {
		cmd := command(d, line)
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "petrock add postgres") || strings.Contains(err.Error(), "secret") {
			t.Errorf(`%s: got %v, want an error with "petrock add postgres" in it, and no "secret"`, line, err)
		}
	}
	store := eventlog.NewMemory()
	var opened []string
	WithPostgres(d, func(_ context.Context, url, defaultSchema string, mode eventlog.OpenMode) (*eventlog.Memory, error) {
		opened = append(opened, fmt.Sprint(url, " ", defaultSchema, " ", mode == eventlog.OpenOrCreate))
		if len(opened) == 1 {
			return nil, fmt.Errorf("no log in the schema: %w", fs.ErrNotExist)
		}
		return store.Share(), nil
	})
	if err := command(d, "log").ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "no data in postgres://me:xxxxx@db.example.com/shop: weather has not run") {
		t.Errorf("log, want %q in it: %v", "no data in postgres://me:xxxxx@db.example.com/shop: weather has not run", err)
	}
	var logged bytes.Buffer
	server := mcp.NewServer(mcp.Implementation{Name: "weather", Version: "1"}, mcp.Options{})
	end, err := d.Open(t.Context(), server, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	mcptest.Connect(t, server).CallTool("posts_create", create{"a"})
	if err := end(); err != nil {
		t.Error(err)
	}
	if strings.Contains(logged.String(), "secret") || !strings.Contains(logged.String(), "db.example.com") {
		t.Errorf(`logged %s, want "db.example.com" in it, and no "secret"`, &logged)
	}
	if last, _ := store.Last(t.Context()); last != 1 || !slices.Equal(opened, []string{address + " weather false", address + " weather true"}) {
		t.Errorf("%d events; opened %q, want 1", last, opened)
	}
}

// The error of a database that does not work has the remedy for its cause.
func TestUnusableDatabase(t *testing.T) {
	for _, test := range []struct {
		err           error
		want, notWant string
	}{
		{fmt.Errorf("dial unix: %w: %w", fs.ErrNotExist, eventlog.ErrUnavailable), "if the data is elsewhere, use --data URL", "has not run"},
		{fmt.Errorf("create the log: %w", eventlog.ErrFull), "the disk with the data is full; free some space", "--data"},
	} {
		d := WithPostgres(New("weather", posts()), func(context.Context, string, string, eventlog.OpenMode) (*eventlog.Memory, error) {
			return nil, test.err
		})
		_, err := d.openURL(t.Context(), "postgres://db.example.com/shop", eventlog.OpenExisting)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), test.notWant) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

func TestUserData(t *testing.T) {
	home := t.TempDir() // absolute on any system
	getenv := func(name string) string {
		return map[string]string{"XDG_DATA_HOME": "relative", "LocalAppData": filepath.Join(home, "local")}[name]
	}
	for system, want := range map[string]string{
		"linux": filepath.Join(home, ".local", "share"), "darwin": filepath.Join(home, "Library", "Application Support"), "windows": filepath.Join(home, "local"),
	} {
		if got, err := userData(system, getenv, func() (string, error) { return home, nil }); err != nil || got != want {
			t.Errorf("on %s it is %s, %v, want %v", system, got, err, want)
		}
	}
	if _, err := userData("linux", getenv, func() (string, error) { return "", errors.New("no home") }); err == nil {
		t.Error("without a home folder: got no error, want one")
	}
}

// Commands that only read create no files.
func TestNothingThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, line := range []string{
		"log", "log --follow", "log show 1", "log skip 1 --reason x", "log map 1 --type posts/create --reason x", "log restore 1 --reason x",
		"log erase 1 --yes", "log copy " + dir + " " + filepath.Join(t.TempDir(), "copy"),
		"workers", "workers retry posts/digest 1", "replay", "replay --snapshot", "backup " + filepath.Join(t.TempDir(), "copy"),
	} {
		if _, err := run(t, dir, strings.Fields(line)...); err == nil || !strings.Contains(err.Error(), "no data in "+dir) {
			t.Errorf("%s: got %v, want %q in it", line, err, "no data in "+dir)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Fatalf("%s has made the folder, want an error", line)
		}
	}
}

// A read-only server answers queries and refuses commands. It needs data, and creates none.
func TestReadOnly(t *testing.T) {
	folder := filled(t, "a", "b")
	none := filepath.Join(t.TempDir(), "none")
	const database = "postgres://db.example.com/shop"
	open := func(data string) (*mcp.Server, func() error, error) {
		d := WithPostgres(New("weather", posts()), func(ctx context.Context, _, _ string, mode eventlog.OpenMode) (eventlog.Store, error) {
			if mode != eventlog.OpenExisting {
				t.Errorf("the log is opened with the mode %v, want eventlog.OpenExisting", mode)
			}
			return New("weather").existing(ctx, folder)
		})
		d.dir = data
		d.SetReadOnly("the new build does not start")
		server := mcp.NewServer(mcp.Implementation{Name: "weather", Version: "1"}, mcp.Options{})
		end, err := d.Open(t.Context(), server, slog.New(slog.DiscardHandler))
		return server, end, err
	}
	for _, data := range []string{folder, database} {
		server, end, err := open(data)
		if err != nil {
			t.Fatal(err)
		}
		client := mcptest.Connect(t, server)
		if got := client.CallTool("posts_list", list{}).Text(); !strings.Contains(got, "a, b") {
			t.Errorf("the posts are %s, want \"a, b\" in it", got)
		}
		result := client.CallTool("posts_create", create{"c"})
		if want := "execute posts/create: the server is read-only: the new build does not start"; !result.IsError || result.Text() != want {
			t.Errorf("got %q, want %q", result.Text(), want)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if out := must(t, folder, "log"); strings.Count(out, "\n") != 2 {
			t.Errorf("the log is\n%s, want 2 lines", out)
		}
	}
	if _, _, err := open(none); err == nil || !strings.Contains(err.Error(), "has not run with it yet") {
		t.Errorf("without data: %v, want \"has not run with it yet\" in it", err)
	}
	if _, err := os.Stat(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was created: %v, want fs.ErrNotExist", err)
	}
}

// A feature that cannot follow the log makes the server degraded, not unready.
func TestHealth(t *testing.T) {
	dir := filled(t, "a")
	d := New("weather", posts())
	d.dir = dir
	server := mcp.NewServer(mcp.Implementation{Name: "weather", Version: "1"}, mcp.Options{})
	end, err := d.Open(t.Context(), server, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if unready, degraded := d.Health(); len(unready)+len(degraded) > 0 {
		t.Errorf("Health() = %q, %q; want nothing unready and nothing degraded", unready, degraded)
	}
	add(t, dir, eventlog.Record{Type: "posts/unknown", Data: []byte(`{}`)})
	mcptest.Connect(t, server).CallTool("posts_list", list{}) // reads the log first
	unready, degraded := d.Health()
	if len(unready) > 0 || len(degraded) != 1 || !strings.HasPrefix(degraded[0], "feature posts: ") {
		t.Errorf("Health() = %q, %q; want nothing unready, and the feature posts degraded", unready, degraded)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}
