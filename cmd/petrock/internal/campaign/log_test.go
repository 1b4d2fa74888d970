package campaign_test

import (
	"os"
	"testing"

	"github.com/petrock/petrock/generators/engine"
)

// logTest is a test in the project. It creates the event log unless it exists, replays it, and
// appends to it.
const logTest = `package posts_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"hello/core/app"
	"hello/core/app/apptest"
	"hello/core/app/eventlog"
	"hello/features/posts"
)

func TestLog(t *testing.T) {
	const file = "../../log.json"
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		client := apptest.Serve(t, posts.Feature())
		client.Given("posts_create", ` + "`" + `{"title":"first"}` + "`" + `)
		client.Given("posts_create", ` + "`" + `{"title":"second"}` + "`" + `)
		client.Given("posts_update", ` + "`" + `{"id":"id1","title":"changed"}` + "`" + `)
		client.Given("posts_delete", ` + "`" + `{"id":"id2"}` + "`" + `)
		var records []eventlog.Record
		for record, err := range client.Store.Records(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, record)
		}
		if text, err = json.Marshal(records); err == nil {
			err = os.WriteFile(file, text, 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	var records []eventlog.Record
	if err := json.Unmarshal(text, &records); err != nil {
		t.Fatal(err)
	}
	store := eventlog.NewMemory()
	if err := store.Write(t.Context(), func(tx eventlog.Tx) error { return tx.Append(records...) }); err != nil {
		t.Fatal(err)
	}
	a, err := app.Open(t.Context(), store, app.Options{Partial: true}, posts.Feature().Feature)
	if err != nil {
		t.Fatal(err)
	}
	got, err := app.QueryRaw(t.Context(), a, posts.Get{ID: "id1"})
	if err != nil || len(records) != 4 || !strings.Contains(string(got), "changed") {
		t.Errorf("with %d records, the first post is %s, %v", len(records), got, err)
	}
	got, err = app.QueryRaw(t.Context(), a, posts.List{})
	if err != nil || strings.Contains(string(got), "second") {
		t.Errorf("the posts are %s, %v", got, err)
	}
	if _, err := app.DoRaw(t.Context(), a, posts.Create{Title: "third"}); err != nil {
		t.Error(err)
	}
}
`

// Generating into a feature keeps its components, and old event logs can be replayed.
func TestLogStays(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t)
	e := w.engine()
	w.generate(e, "feature", input{Name: "posts", CRUD: true, Fields: []string{"title"}})
	w.write("features/posts/log_test.go", logTest)
	w.goCommand("test", "./features/posts")
	if _, err := os.Stat(w.path("log.json")); err != nil {
		t.Fatal(err)
	}
	w.generate(e, "command", input{Name: "posts/publish", Fields: []string{"id"}})
	w.generate(e, "command", input{Name: "posts/archive"})
	w.generate(e, "query", input{Name: "posts/count"})
	w.generate(e, "worker", input{Name: "posts/digest", On: []string{"posts/create"}})
	w.generate(e, "command", input{Name: "users/create", Fields: []string{"name"}})
	w.registers("features/posts/posts_gen.go", `CommandTypeOf[Create]("create", 1)`, `CommandTypeOf[Update]("update", 1)`, `CommandTypeOf[Delete]("delete", 1)`, `CommandTypeOf[Publish]("publish", 1)`, `CommandTypeOf[Archive]("archive", 1)`,
		`QueryTypeOf[Get]("get")`, `QueryTypeOf[List]("list")`, `QueryTypeOf[Count]("count")`, `WorkerOf("digest"`)
	w.registers("cmd/hello/wire_gen.go", "posts.Feature()", "users.Feature()")
	w.goCommand("test", "./features/...")

	// Components without events can be destroyed.
	if _, err := e.Destroy(t.Context(), "command", "posts/archive", engine.Options{}); err != nil {
		t.Fatal(err)
	}
	w.registers("features/posts/posts_gen.go", `CommandTypeOf[Create]("create", 1)`, `CommandTypeOf[Publish]("publish", 1)`)
	w.goCommand("test", "./features/posts")
}
