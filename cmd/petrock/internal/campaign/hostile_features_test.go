package campaign_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/trial"
)

// tried fails the test unless the project is formatted and fresh. With -long it must be sound.
func (w *world) tried(e *engine.Engine) {
	w.Helper()
	if *long {
		w.soundQuickly(e)
		return
	}
	w.Logf("built and tested only with -long")
	w.formatted(".")
	w.fresh(e)
}

// hostileFeatures is the table of hostile inputs for features.
func hostileFeatures() []hostile {
	long := strings.Repeat("a", 10_000)
	var all []hostile
	add := func(more ...hostile) { all = append(all, more...) }
	title := []string{"title"}

	// Names of features and their components that are invalid for folders, packages or clients.
	for _, name := range []string{"", " ", "a b", `"`, "`", "*/", "a\nb", "a\x00b", "\xff", "..", "../x", "../../etc/passwd", "/etc/passwd", `C:\x`, ".git", "_", "-x", "--force", "1a", "a.b", "a-b", "aB", "POSTS",
		"аdd", "ädd", "\u202eadd", "ſend", long, "func", "type", "go", "import", "string", "error", "nil", "init", "main", "app", "a", "vendor", "internal", "testdata", "con", "com1", "core", "cmd", "tools", "serve", "features", "mcp", "context", "time"} {
		add(hostile{"feature", input{Name: name}, "*"}, hostile{"feature", input{Name: name, CRUD: true, Fields: title}, "*"})
		for _, kind := range []string{"command", "query", "worker"} {
			add(hostile{kind, input{Name: name + "/publish", Every: map[bool]string{true: "5m"}[kind == "worker"]}, "*"})
		}
	}
	for _, name := range []string{"publish", "posts/", "/publish", "posts//publish", "posts/a/b", "posts/..", "posts/../x", "../posts/x", "posts/x.go", "posts/ ", "posts/a b", "posts/a\nb", "posts/ä", "posts/_", "posts/" + long, "posts/a_b_c",
		"posts/state", "posts/new-state", "posts/feature", "posts/map", "posts/register", "posts/event", "posts/replay"} {
		for _, kind := range []string{"command", "query", "worker"} {
			add(hostile{kind, input{Name: name, Every: map[bool]string{true: "5m"}[kind == "worker"]}, "*"})
		}
	}

	// Valid names of features with a special meaning elsewhere: the program, file suffixes,
	// variables of tests.
	for _, name := range []string{"hello", "windows", "orders", "client", "first", "fmt", "data"} {
		add(hostile{"feature", input{Name: name, CRUD: true, Fields: []string{"title", name + ":int?", "kind:enum(func,list,2xx)"}}, ""})
	}
	add(hostile{"feature", input{Name: "orders"}, "feature orders already exists"}, hostile{"feature", input{Name: "orders", CRUD: true, Fields: title}, "feature orders already exists"})
	add(hostile{"feature", input{Name: "posts", CRUD: true}, "crud needs the fields"}, hostile{"feature", input{Name: "shelves", Fields: title}, ""}, hostile{"feature", input{Name: "posts", Item: "post"}, "item needs crud"})
	for _, item := range []string{"state", "create", "list-output", "feature", "a b", "../x", "*/", long} {
		add(hostile{"feature", input{Name: "posts", CRUD: true, Fields: title, Item: item}, "*"})
	}

	// Fields.
	for _, field := range []string{"a:string; evil", "a:../../x", "a:func", "a:[]", "a:map[string]", "a:string\n}\n\nfunc init() { panic(1) }\n\ntype Zz struct {\n\tQ string", "a:string`", "_", "", "a b", long, "a \"a\nb\"", "a \"\u202e\"", "check", "apply:int"} {
		add(hostile{"feature", input{Name: "posts", CRUD: true, Fields: []string{field}}, "field"}, hostile{"command", input{Name: "posts/publish", Fields: []string{field}}, "field"})
	}
	for _, field := range []string{"a:string; evil", "a:../../x", "a:func", "a:[]", "a:string`", "_", "", "a b", long} {
		add(hostile{"feature", input{Name: "racks", Fields: []string{field}}, "field"})
	}
	for _, field := range []string{"id", "ID:int", "seq:int", "created_at:time", "updatedAt:time"} {
		add(hostile{"feature", input{Name: "posts", CRUD: true, Fields: []string{field}}, "every item already has"})
	}
	add(hostile{"query", input{Name: "posts/find", Fields: []string{"A:string", "a:int"}}, "field"}, hostile{"query", input{Name: "posts/find", Fields: []string{"answer"}}, "Answer"},
		hostile{"query", input{Name: "posts/find", Fields: []string{"output:enum(a)"}}, "redeclared"})

	// Names that once collided with others, or were excluded from the build.
	add(hostile{"feature", input{Name: "posts", CRUD: true, Fields: []string{"title", "body:string?"}}, ""})
	for _, name := range []string{"search", "find", "count", "request_summary", "set_summary", "create-draft", "get-by-slug", "send-test", "export-windows", "getPost", "posts-gen", "func", "string", "client", "errors"} {
		add(hostile{"command", input{Name: "posts/" + name, Fields: []string{"postID:string", "publishAt:time"}, Description: "`*/` \"x\" %s"}, ""})
		add(hostile{"query", input{Name: "posts/" + name}, "*"}, hostile{"worker", input{Name: "posts/" + name, On: []string{"posts/create"}}, "*"})
	}
	for _, name := range []string{"notification", "backup", "sync", "process", "analyze"} {
		add(hostile{"worker", input{Name: "posts/" + name, On: []string{"posts/create"}}, ""})
	}
	add(hostile{"worker", input{Name: "posts/other", On: []string{"posts/create-draft", "orders/create"}, Every: "1h30m", Fields: []string{"last:time?"}}, ""})
	for _, name := range []string{"create", "Create", "GET", "CreateDraft", "state", "post", "list_output", "list_after_delete"} {
		add(hostile{"command", input{Name: "posts/" + name}, "*"})
	}

	// Names that are equal for clients.
	add(hostile{"tool", input{Name: "posts_create"}, "which Create in features/posts/create.go already has"}, hostile{"tool", input{Name: "posts_archive"}, ""}, hostile{"command", input{Name: "posts/archive"}, "which PostsArchive in tools/posts_archive.go already has"})
	for _, uri := range []string{"app://log", "app://log{?limit}", "app://features", "app://workers"} {
		add(hostile{"resource", input{Name: "log", URI: uri}, "reserved for a server with features"})
	}

	// Events that workers follow.
	add(hostile{"worker", input{Name: "posts/mailer", On: []string{"posts/nothing"}}, "which does not exist; the commands are"},
		hostile{"worker", input{Name: "posts/mailer", On: []string{"posts/get"}}, "which is not a command"})
	for _, on := range []string{"", "nothing/create", "../create", "posts/create\nx", "posts/", "*/", "orders"} {
		add(hostile{"worker", input{Name: "posts/mailer", On: []string{on}}, "on "})
	}
	for _, every := range []string{"x", "5", "-5m", "0s", "1ns", "999ms", "99999999h", "5m\n//petrock:ignore", "5m x"} {
		add(hostile{"worker", input{Name: "posts/mailer", Every: every}, "every "})
	}
	add(hostile{"worker", input{Name: "posts/mailer"}, "a worker needs "}, hostile{"worker", input{Name: "posts/mailer", On: []string{"posts/create", "create"}}, "write FEATURE/COMMAND"})
	return all
}

// Any input for a feature or its components is refused with the reason, or the result is sound.
func TestHostileFeatures(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t)
	w.addApp()
	w.tried(w.takes(hostileFeatures()))
}

// Bodies whose replay would differ, that do not compile, or whose examples fail are refused, and
// the project does not change.
func TestHostileBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.engine()
	e.Limits = trial.Limits{Time: 2 * time.Second}
	w.generate(e, "feature", input{Name: "posts", CRUD: true, Fields: []string{"title"}})
	before, outside := w.tree(), w.outside()
	given := func(texts ...string) (all []json.RawMessage) {
		for _, text := range texts {
			all = append(all, json.RawMessage(text))
		}
		return all
	}
	const fine = "\nreturn BadOutput{}"
	type hostileBody struct {
		kind string
		input
		says string
	}
	all := []hostileBody{
		// Without examples, petrock checks only the source.
		{"command", input{Body: "_ = time.Now()" + fine}, "bad.go:22:11: Bad.Apply → time.Now"},
		{"command", input{Body: "f := time.Since\n_ = f(e.Time)" + fine}, "Bad.Apply → time.Since"},
		{"command", input{Body: "s.IDs = append(s.IDs, rand.Text())" + fine}, "Bad.Apply → rand.Text"},
		{"command", input{Body: "import \"github.com/google/uuid\"\ns.IDs = append(s.IDs, uuid.NewString())" + fine}, "Bad.Apply → uuid.NewString"},
		{"command", input{Body: "_ = os.WriteFile(\"x\", nil, 0o644)" + fine}, "Bad.Apply → os.WriteFile"},
		{"command", input{Body: "s.IDs = append(s.IDs, os.Getenv(\"HOME\"))" + fine}, "Bad.Apply → os.Getenv"},
		{"command", input{Body: "_, _ = http.Get(\"http://localhost\")" + fine}, "Bad.Apply → http.Get"},
		{"command", input{Body: "fmt.Println(\"x\")" + fine}, "Bad.Apply → fmt.Println"},
		{"command", input{Body: "slog.Info(\"x\")" + fine}, "Bad.Apply → slog.Info"},
		{"command", input{Body: "go func() { s.IDs = nil }()" + fine}, "Bad.Apply → go"},
		{"command", input{Body: "time.Sleep(1)" + fine}, "Bad.Apply → time.Sleep"},
		{"command", input{Body: "select {}"}, "Bad.Apply → select"},
		{"command", input{Body: "_, _ = app.Do(context.Background(), Create{})" + fine}, "Bad.Apply → app.Do"},
		{"command", input{Body: "return 1"}, "the change would not compile"},
		{"command", input{Body: "return BadOutput{}, nil"}, "too many return values"},
		{"command", input{Body: "}\nfunc init() {"}, "unmatched }"},
		{"command", input{Check: "}\nfunc init() {", Body: fine}, "unmatched }"},
		{"command", input{Check: "return time.Now()", Body: fine}, "the change would not compile"},
		{"command", input{Check: "return nil"}, "check without body"},
		{"query", input{Body: "return nil"}, "the change would not compile"},
		{"worker", input{Every: "5m", Body: "return 1"}, "the change would not compile"},
		{"worker", input{Every: "5m", On: []string{"posts/create"}, Body: "return nil"}, "a body needs exactly one trigger"},
		{"command", input{Body: fine, Examples: given(`{"tool":"a b"}`)}, "invalid tool name"},

		// With examples, petrock runs the body.
		{"command", input{Body: "panic(1)", Examples: given(`{}`)}, "panic: 1 (bad.go:21)"},
		{"command", input{Check: "panic(1)", Body: fine, Examples: given(`{}`)}, "panic: 1 (bad.go:16)"},
		{"command", input{Body: "for {\n}", Examples: given(`{}`)}, "did not end within 2s"},
		{"command", input{Check: "for {\n}", Body: fine, Examples: given(`{}`)}, "did not end within 2s"},
		{"command", input{Check: "s.IDs = append(s.IDs, \"x\")\nreturn nil", Body: fine, Examples: given(`{}`)}, "the state of posts differs"},
		{"query", input{Body: "panic(1)", Examples: given(`{}`)}, "panic=1 position=posts/bad.go:14"},
		{"query", input{Body: "for {\n}", Examples: given(`{}`)}, "did not end within 2s"},
		{"query", input{Body: "s.IDs = append(s.IDs, \"x\")\nreturn BadOutput{}, nil", Examples: given(`{}`)}, "the state of posts differs"},
		{"worker", input{On: []string{"posts/create"}, Body: "return errors.New(\"never\")", Examples: given(`{"tool":"posts_create","input":{"title":"a"}}`)}, "event 1: never"},
	}
	// Running is slow, so only some of the cases run by default.
	rand.New(rand.NewPCG(*seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	run, bodies := 0, rounds(1, len(all))
	all = slices.DeleteFunc(all, func(b hostileBody) bool {
		if len(b.Examples) > 0 {
			run++
		}
		return len(b.Examples) > 0 && run > bodies
	})
	t.Logf("%d of %d bodies that are run, with seed %d", min(run, bodies), run, *seed)
	for _, test := range all {
		test.Name = "posts/bad"
		result, err := e.Generate(t.Context(), test.kind, test.json(), engine.Options{})
		if err == nil {
			t.Errorf("%s %s is not refused", test.kind, test.json())
			w.undo(e, result.Operation)
			continue
		}
		if !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s %s returned %v; want %q in it", test.kind, test.json(), err, test.says)
		}
		w.clear(err)
		w.unchanged(before, "after "+string(test.json()))
	}
	if how := outside.differences(w.outside()); how != "" {
		t.Errorf("files outside the project differ:\n%s", how)
	}
}
