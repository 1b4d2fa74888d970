package campaign_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
)

// version generates a new version of a command.
func (w *world) version(e *engine.Engine, in object) (*engine.Result, error) {
	w.Helper()
	text, err := json.Marshal(in)
	if err != nil {
		w.Fatal(err)
	}
	return e.Generate(w.Context(), "version", text, engine.Options{})
}

// source returns the tree of the project without its data.
func (w *world) source() tree {
	all := w.tree()
	for path := range all {
		if path == "data" || strings.HasPrefix(path, "data/") {
			delete(all, path)
		}
	}
	return all
}

// says fails the test unless an error contains all parts.
func (w *world) says(err error, parts ...string) {
	w.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			w.Errorf("the error is %v, want %q in it", err, part)
		}
	}
}

// One call renames a field with stored events, and old events can still be read. It can be repeated
// and undone.
func TestRenamedFieldsKeepTheirData(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	client := w.serve(devserver.Options{})
	call := w.caller(client)
	mustCall[engine.Result](w, client, "generate_feature", object{"name": "links", "crud": true, "fields": []string{"url:string:1..80", "tags:[]string?"}})
	call("links_create", object{"url": "https://go.dev", "tags": []string{"go"}}, `"seq":1`)

	before := w.source()
	first := mustCall[engine.Result](w, client, "generate_component", object{"kind": "version", "name": "links/create", "rename": []string{"url=href"}})
	if first.Trial == nil || !first.Trial.Ran {
		t.Errorf("the test was not run: %+v; want Trial.Ran true", first.Trial)
	}
	if text := w.read("features/links/create_v1_test.go"); !strings.Contains(text, `"tags":["example"]`) || !strings.Contains(text, `Tags: []string{"example"}`) {
		t.Errorf("features/links/create_v1_test.go is\n%s\nwant %q and %q in it", text, `"tags":["example"]`, `Tags: []string{"example"}`)
	}
	if text := w.read("features/links/create.go"); !strings.Contains(text, `json:"href"`) || strings.Contains(text, "// Url") {
		t.Errorf("create.go = %s, want the field href, without the old name in its comment", text)
	}
	mustCall[engine.Result](w, client, "generate_component", object{"kind": "version", "name": "links/create", "rename": []string{"href=link"}})
	mustCall[engine.Result](w, client, "undo", nil)
	mustCall[engine.Result](w, client, "undo", nil)
	if changed := before.differences(w.source()); changed != "" {
		t.Errorf("after undoing the versions the source differs:\n%s", changed)
	}
	for range 2 {
		mustCall[engine.Result](w, client, "undo", object{"redo": true})
	}
	call("links_list", object{}, `"url":"https://go.dev","tags":["go"]`)
	call("links_create", object{"link": "https://pkg.go.dev"}, `"seq":2`)
	w.goCommand("test", "./features/...")
	for _, part := range []string{"// Upgrade converts version 1 to version 2.\nfunc (old CreateV1) Upgrade() CreateV2", "CreateV2{Href: old.URL, Tags: old.Tags}"} {
		if text := w.read("features/links/create_v1.go"); !strings.Contains(text, part) {
			t.Errorf("the first version: got %q, want it to contain %q", text, part)
		}
	}

	// Events of version 3 are stored now, so that undo keeps its type.
	said := client.CallTool("undo", nil)
	const want = `version 3 of its events is stored, and the source has version 2 (2 events are stored, the first is event 1); keep the type and its version; or, if no stored data matters, edit the type (edit) with "accept":["links/create"],"no_data":true`
	if !said.IsError || !strings.Contains(said.Text(), want) {
		t.Errorf("undo returned %s, want %q", said.Text(), want)
	}
	call("links_list", object{}, `"url":"https://pkg.go.dev"`)

	// Files that are restored by hand make the build older than the event log, and the server
	// reports that.
	for file := range w.source() {
		if _, existed := before[file]; !existed {
			if err := os.Remove(w.path(file)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for file, text := range before {
		if _, text, isFile := strings.Cut(text, "\n"); isFile {
			w.write(file, text)
		}
	}
	call("links_list", object{}, "is newer than this build, which knows links/create up to version 1")
}

// All commands refuse an incompatible change to the fields of a recorded command until it is made
// explicit.
func TestIncompatibleChangesAreRefused(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	e := w.engine()
	w.generate(e, "feature", input{Name: "links", CRUD: true, Fields: []string{"url"}})
	w.replace("features/links/create.go", `json:"url"`, `json:"href"`)
	const changed = "links/create: field url was removed, href was added"
	ways := []string{changed, "petrock generate version links/create --rename url=href", "petrock sync --accept links/create"}

	_, err := e.Sync(t.Context(), engine.Options{})
	w.says(err, ways...)
	_, err = e.Generate(t.Context(), "tool", input{Name: "shout"}.json(), engine.Options{})
	w.says(err, ways...)
	checked, err := e.Check(t.Context())
	if err != nil || checked.OK || !strings.Contains(checked.Stale(), changed) {
		t.Errorf("the check returned %+v, %v; want no error, OK false and Stale containing %q", checked, err, changed)
	}
	client := w.serve(devserver.Options{})
	for tool, arguments := range map[string]object{"build": {}, "call": {"name": "links_list"}} {
		if said := client.CallTool(tool, arguments); !said.IsError || !strings.Contains(said.Text(), changed) {
			t.Errorf("%s returned %s; want IsError true and Text containing %q", tool, said.Text(), changed)
		}
	}

	// The change can be accepted, and that can be undone.
	_, err = e.Sync(t.Context(), engine.Options{Accept: []string{"links/nosuch"}})
	w.says(err, `"links/nosuch" is not a command; the commands are links/create, links/delete, links/update`)
	accepted, err := e.Sync(t.Context(), engine.Options{Accept: []string{"links/create"}})
	if err != nil || accepted.Operation == "" {
		t.Fatalf("accepting: %v, %v; want no error and Operation set", accepted, err)
	}
	w.fresh(e)
	w.undo(e, accepted.Operation)
	_, err = e.Sync(t.Context(), engine.Options{})
	w.says(err, changed)

	// A new version can be generated after the edit, even if another command is broken.
	w.replace("features/links/update.go", `json:"url,omitempty"`, `json:"href,omitempty"`)
	_, err = w.version(e, object{"name": "links/create"})
	w.says(err, "url: no such field now", "rename url=NEW", "href: new required field", "default href=VALUE")
	if _, err := w.version(e, object{"name": "links/create", "rename": []string{"url=href"}}); err != nil {
		t.Fatal(err)
	}
	_, err = e.Sync(t.Context(), engine.Options{})
	w.says(err, "links/update: field url was removed, href was added")
	if _, err := w.version(e, object{"name": "links/update", "drop": []string{"url"}}); err != nil {
		t.Fatal(err)
	}
	w.fresh(e)

	// Before the next version, the Go name is edited everywhere, too.
	w.replace("features/links/create.go", "URL string `json:\"href\"", "Address string `json:\"addr\"")
	w.replace("features/links/create.go", "c.URL", "c.Address")
	for _, file := range []string{"create_v1.go", "create_v1_test.go", "create_test.go", "update_test.go", "delete_test.go", "get_test.go", "list_test.go"} {
		text := w.read("features/links/" + file)
		for _, head := range []string{"Create{", "return Create{"} {
			text = strings.ReplaceAll(text, head+"URL: ", head+"Address: ")
		}
		w.write("features/links/"+file, text)
	}
	third, err := w.version(e, object{"name": "links/create", "rename": []string{"href=addr"}})
	if err != nil {
		t.Fatal(err)
	}
	if text := w.read("features/links/create_v1.go"); !strings.Contains(text, "return CreateV2{URL: old.URL}") {
		t.Errorf(`the first version: got %q, want it to contain "return CreateV2{URL: old.URL}"`, text)
	}
	w.goCommand("test", "./features/...")
	w.undo(e, third.Operation)
	w.replace("features/links/create.go", "Address string `json:\"addr\"", "Address string `json:\"href\"")
	if _, err := e.Sync(t.Context(), engine.Options{}); err != nil {
		t.Fatal(err)
	}

	// Swapped names change the meaning of old events, which a deleted contract would hide.
	contractText := w.read("contract.json")
	if err := os.Remove(w.path("contract.json")); err != nil {
		t.Fatal(err)
	}
	_, err = e.Sync(t.Context(), engine.Options{})
	w.says(err, "contract.json is missing", "restore it from version control")
	w.write("contract.json", contractText)

	// Compatible changes are recorded, and can be undone. Changes that break only clients are
	// warnings.
	w.replace("features/links/delete.go", "ID string", "Why string `json:\"why,omitempty\"` // Reason\n\tID string")
	synced, err := e.Sync(t.Context(), engine.Options{})
	if err != nil || len(synced.Warnings) > 0 || synced.Operation == "" {
		t.Errorf("a new optional field: %v, %v; want no error, no warnings and Operation set", synced, err)
	}
	w.replace("features/links/get.go", `json:"id"`, `json:"key"`)
	synced, err = e.Sync(t.Context(), engine.Options{})
	if err != nil || !strings.Contains(synced.String(), "this breaks clients: tool links_get: input property id was removed") {
		t.Errorf(`sync after a query lost a field: %v, %v; want no error and "this breaks clients: tool links_get: input property id was removed" in it`, synced, err)
	}
	w.fresh(e)
}

// A destroyed command of which events may be stored cannot be generated again with incompatible
// fields, which would misread its events.
func TestRegeneratedCommands(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	e := w.engine()
	w.generate(e, "feature", input{Name: "notes", CRUD: true, Fields: []string{"title:string:1..50"}})
	w.generate(e, "command", input{Name: "notes/tag", Fields: []string{"tag"}, Body: "return TagOutput{}"})
	w.commit()
	_, err := e.Destroy(t.Context(), "command", "notes/tag", engine.Options{})
	w.says(err, "notes/tag: the command was removed; decide about its events: petrock destroy command notes/tag --retire")
	if _, err := e.Destroy(t.Context(), "command", "notes/tag", engine.Options{Removal: engine.Removal{Skip: true}}); err != nil {
		t.Fatal(err)
	}
	_, err = e.Generate(t.Context(), "command", input{Name: "notes/tag", Fields: []string{"label"}, Body: "return TagOutput{}"}.json(), engine.Options{})
	w.says(err, "notes/tag: field tag was removed, label was added", "generate it with its recorded fields first", "petrock change command notes/tag --rename-field tag=label", "petrock sync --accept notes/tag")
	w.generate(e, "command", input{Name: "notes/tag", Fields: []string{"tag"}, Body: "return TagOutput{}"})
	if _, err := w.version(e, object{"name": "notes/tag", "rename": []string{"tag=label"}}); err != nil {
		t.Fatal(err)
	}
	w.fresh(e)

	// A command that no server of a commit had is forgotten.
	w.generate(e, "command", input{Name: "notes/pin", Fields: []string{"place"}, Body: "return PinOutput{}"})
	if _, err := e.Destroy(t.Context(), "command", "notes/pin", engine.Options{}); err != nil {
		t.Fatal(err)
	}
	w.generate(e, "command", input{Name: "notes/pin", Fields: []string{"label"}, Body: "return PinOutput{}"})
	w.fresh(e)
}

// commit commits all files of the project in a new git repository.
func (w *world) commit() {
	w.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "all"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = w.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			w.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
}

// Old versions of nested types are kept and converted. Conversions that need a decision are named.
func TestVersionsOfNestedTypes(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	e := w.engine()
	w.generate(e, "feature", input{Name: "orders"})
	const head = `package orders

import (
	"context"
	"time"

	"` + module + `/core/app"
)

// A Level is how urgent something is.
type Level string

// The levels.
const (
	Low  Level = "low"
	High Level = "high"
)

`
	const tail = `
// Check refuses nothing.
func (c Place) Check(ctx context.Context, s *State) error { return nil }

// Apply does nothing.
func (c Place) Apply(s *State, e app.Event) int { return len(c.Items) }
`
	w.write("features/orders/place.go", head+`// An Item is what is ordered.
type Item struct {
	URL    string `+"`json:\"url\"`"+` // Where it is
	Number int32  `+"`json:\"number\"`"+` // How many
	Parts  []Item `+"`json:\"parts,omitempty\"`"+` // What it is made of
}

// A Base is what all have.
type Base struct {
	By string `+"`json:\"by\"`"+` // Who
}

// Place places an order.
type Place struct {
	Base
	Items []Item            `+"`json:\"items\"`"+` // What is ordered
	ByKey map[string]*Item  `+"`json:\"by_key\"`"+` // The same
	Level Level             `+"`json:\"level\"`"+` // How urgent
	Due   *time.Time        `+"`json:\"due,omitempty\"`"+` // When
	Note  *string           `+"`json:\"note,omitempty\"`"+` // What else
	Old   bool              `+"`json:\"old\"`"+` // Is ignored
}
`+tail)
	if _, err := e.Sync(t.Context(), engine.Options{}); err != nil {
		t.Fatal(err)
	}
	// Edited by hand: a renamed field in a nested type, wider numbers, a field that becomes
	// required, a new field.
	w.replace("features/orders/place.go", "URL    string `json:\"url\"`", "Href   string `json:\"href\"`")
	w.replace("features/orders/place.go", "Number int32 ", "Number int64 ")
	w.replace("features/orders/place.go", "Note  *string           `json:\"note,omitempty\"`", "Note  string `json:\"note\"`")
	w.replace("features/orders/place.go", "Old   bool              `json:\"old\"`", "Status string `json:\"status\" schema:\"default=open\"`")
	w.replace("features/orders/place.go", "Level Level             `json:\"level\"`", "Level Level             `json:\"urgency\"`")
	_, err := w.version(e, object{"name": "orders/place"})
	w.says(err, "items.url: no such field now", "items.href: new required field", "note: was optional, is required now", "default note=VALUE", "old: no such field now", "level: no such field now")
	_, err = w.version(e, object{"name": "orders/place", "drop": []string{"nosuch"}})
	w.says(err, "drop nosuch: version 1 of orders/place has no such field; it has by, items, by_key, level, due, note, old")
	result, err := w.version(e, object{"name": "orders/place", "rename": []string{"items.url=href", "level=urgency"}, "drop": []string{"old"}, "default": []string{"note=none"}})
	if err != nil {
		t.Fatal(err)
	}
	text := w.read("features/orders/place_v1.go")
	for _, part := range []string{
		"type PlaceV1 struct { PlaceV1Base Items", "type PlaceV1Item struct", "Parts  []PlaceV1Item `json:\"parts,omitzero\"`", "Level PlaceV1Level", "Due   *time.Time",
		"Base: old.PlaceV1Base.upgrade()", "Items: app.UpgradeList(old.Items, PlaceV1Item.upgrade)", "Level: Level(old.Level)",
		`Status: "open"`, "app.UpgradeOr(old.Note, \"none\"", "Number: int64(old.Number)",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(part), " ")) {
			t.Errorf("got\n%s\nwant it to contain (apart from space)\n%s", text, part)
		}
	}
	// The next version changes the nested types again, before the Go code is edited.
	second, err := w.version(e, object{"name": "orders/place", "rename": []string{"items.href=link"}, "drop": []string{"due"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"func (old PlaceV1Item) upgrade() PlaceV2Item", "PlaceV2Item{", "Href: old.URL", "return PlaceV2{", "PlaceV2Base: old.PlaceV1Base.upgrade()"} {
		if text := w.read("features/orders/place_v1.go"); !strings.Contains(text, part) {
			t.Errorf("features/orders/place_v1.go is %q, want it to contain %q", text, part)
		}
	}
	w.goCommand("test", "-vet=all", "./features/...")
	w.fresh(e)
	w.undo(e, second.Operation)
	w.undo(e, result.Operation)
	if _, err := e.Sync(t.Context(), engine.Options{}); err == nil {
		t.Error("after the undo the change is no longer refused")
	}
	// A body provides all conversions.
	if _, err := w.version(e, object{"name": "orders/place", "body": "return Place{Base: Base{By: strings.ToUpper(old.By)}}"}); err != nil {
		t.Fatal(err)
	}
	w.goCommand("test", "./features/...")
}

// A change to a type makes a version of every stored command that contains it, in all features.
// Their events are replayed with the one conversion of the type, and the inputs in their tests
// follow.
func TestVersionsOfSharedTypes(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	client := w.serve(devserver.Options{})
	call := w.caller(client)
	book := object{"title": "Emma", "authors": "Jane Austen, Nobody"}
	mustCall[engine.Result](w, client, "generate_feature", object{"name": "desk"})
	mustCall[engine.Result](w, client, "edit", object{"edits": []object{{"path": "features/desk/state.go", "replace": []object{{"old": "type State struct{}", "new": "type State struct {\n\tAuthors []string `json:\"authors\"` // Of all books\n}"}}}}})
	commands := []object{
		{"name": "desk/acquire", "description": "Does its work.", "fields": []string{"title:string", "authors:string"}, "body": "s.Authors = append(s.Authors, c.Authors)\nreturn AcquireOutput{}", "examples": []object{{"name": "one", "input": book, "output": object{}}}},
		{"name": "desk/stock", "description": "Does its work.", "fields": []string{"items:[]Acquire"}, "body": "for _, item := range c.Items {\n\ts.Authors = append(s.Authors, item.Authors)\n}\nreturn StockOutput{}", "examples": []object{{"name": "some", "input": object{"items": []object{book}}, "output": object{}}}},
		{"name": "desk/label", "description": "Does its work.", "fields": []string{"by:map[string]Acquire", "first:Acquire?"}, "body": "s.Authors = append(s.Authors, c.By[\"a\"].Authors, c.First.Authors)\nreturn LabelOutput{}", "examples": []object{{"name": "all", "input": object{"by": object{"a": book}, "first": book}, "output": object{}}}},
	}
	inputs := map[string]object{}
	for _, command := range commands {
		mustCall[engine.Result](w, client, "generate_command", command)
		input := command["examples"].([]object)[0]["input"].(object)
		inputs[strings.ReplaceAll(command["name"].(string), "/", "_")] = input
	}
	mustCall[engine.Result](w, client, "generate_feature", object{"name": "store"})
	mustCall[engine.Result](w, client, "edit", object{"edits": []object{{"path": "features/store/order.go", "text": `package store

import (
	"context"

	"hello/core/app"
	"hello/features/desk"
)

// Order orders a book.
type Order struct {
	desk.Acquire
	Count int ` + "`json:\"count\"`" + ` // How many
}

// Check refuses nothing.
func (c Order) Check(ctx context.Context, s *State) error { return nil }

// Apply counts.
func (c Order) Apply(s *State, e app.Event) int { return c.Count }
`}}})
	mustCall[engine.Result](w, client, "generate_query", object{"description": "Does its work.", "name": "desk/authors", "output": []string{"authors:[]string"}, "body": "return AuthorsOutput{Authors: s.Authors}, nil"})
	for _, tool := range []string{"desk_acquire", "desk_stock", "desk_label"} {
		call(tool, inputs[tool], `{}`)
	}
	call("store_order", object{"title": "Emma", "authors": "x", "count": 2}, `2`)
	call("desk_authors", object{}, `"authors":["Jane Austen, Nobody","Jane Austen, Nobody","Jane Austen, Nobody","Jane Austen, Nobody"]`)

	before := w.source()
	change := object{"name": "desk/acquire", "description": "Does its work.", "fields": []string{"authors:[]string"}}
	refused := func(parts ...string) {
		t.Helper()
		said := client.CallTool("change", change)
		for _, part := range parts {
			if !said.IsError || !strings.Contains(said.Text(), part) {
				t.Errorf("%v: got %s (error: %t), want an error with %q in it", change, said.Text(), said.IsError, part)
			}
		}
	}
	refused("authors: type changed from string to []string", "set upgrade to the statements of func (old AcquireV1) Upgrade() Acquire:", "The new versions of desk/label, desk/stock, store/order get them too")
	change["upgrade"] = `return Acquire{Title: old.Title, Authors: strings.Split(old.Authors, ", ")}`
	refused("the change would not compile", "To change other code or tests in the same call, set edits.")
	change["body"] = "s.Authors = append(s.Authors, c.Authors...)\nreturn AcquireOutput{}"
	change["edits"] = []object{
		{"path": "features/desk/stock.go", "replace": []object{{"old": "item.Authors", "new": "item.Authors..."}}},
		{"path": "features/desk/label.go", "replace": []object{{"old": "append(s.Authors, c.By[\"a\"].Authors, c.First.Authors)", "new": "append(append(s.Authors, c.By[\"a\"].Authors...), c.First.Authors...)"}}},
	}
	done := mustCall[engine.Result](w, client, "change", change)
	w.goCommand("vet", "./features/...")
	w.goCommand("test", "./features/...")
	call("desk_authors", object{}, `"authors":["Jane Austen","Nobody","Jane Austen","Nobody","Jane Austen","Nobody","Jane Austen","Nobody"]`)
	mustCall[engine.Result](w, client, "undo", object{"operation": done.Operation})
	if changed := before.differences(w.source()); changed != "" {
		t.Errorf("after undo the source differs:\n%s", changed)
	}
	mustCall[engine.Result](w, client, "undo", object{"redo": true})
	call("desk_stock", object{"items": []object{{"title": "Persuasion", "authors": []string{"J. A."}}}}, `{}`)
	call("desk_authors", object{}, `"Nobody","J. A."]`)
}
