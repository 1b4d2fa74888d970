package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petrock/petrock/generators/engine"
)

// refuse ends a call with an error, and returns the id of its draft.
func (b *bench) refuse(tool, arguments string) string {
	b.Helper()
	d, err := b.Draft(tool, "", b.members(arguments))
	if err != nil {
		b.Fatal(err)
	}
	fault := engine.FaultOf(d.End(nil, errors.New("it failed")))
	if fault.Draft == "" || fault.Message != "it failed" || !strings.Contains(fault.Error(), "it failed\nDraft "+fault.Draft+" keeps this call") {
		b.Fatalf("End returned %+v; want the error, and the id of a draft", fault)
	}
	return fault.Draft
}

// members returns the members of a JSON object.
func (b *bench) members(object string) (members map[string]json.RawMessage) {
	b.Helper()
	if err := json.Unmarshal([]byte(object), &members); err != nil {
		b.Fatal(err)
	}
	return members
}

func (b *bench) drafts() []string {
	return slices.DeleteFunc(b.files("."), func(name string) bool { return !strings.HasPrefix(name, ".petrock/drafts/") })
}

// The arguments of the next call replace, remove and add to those of the draft.
func TestDraftMerges(t *testing.T) {
	b := open(t)
	for _, test := range []struct{ name, draft, given, want string }{
		{"members", `{"name":"a","body":"x","test":true}`, `{"body":"y","detail":true}`, `{"body":"y","detail":true,"name":"a","test":true}`},
		{"nothing", `{"name":"a","dir":"x","detail":true}`, `{}`, `{"name":"a"}`},
		{"null", `{"name":"a","body":"x","fields":["a"]}`, `{"body":null,"fields":null,"other":null}`, `{"name":"a"}`},
		{"fields", `{"fields":["a:string \"A: one\"","b?","c.d:int"],"output":["n"]}`, `{"fields":["b:int? \"B\"","c:string","a"],"output":["n:int","m"]}`,
			`{"fields":["a","b:int? \"B\"","c.d:int","c:string"],"output":["n:int","m"]}`},
		{"other lists", `{"rename_fields":["a=b"],"on":["x"]}`, `{"rename_fields":["a=c"]}`, `{"on":["x"],"rename_fields":["a=c"]}`},
		{"no list", `{"fields":"a","output":["a"]}`, `{"fields":["b"],"output":"c"}`, `{"fields":["b"],"output":"c"}`},
		{"examples", `{"examples":[{"input":1},{"input":2},{"name":"third","input":3},4]}`, `{"examples":[{"name":"example 2","input":5},{"name":"third","error":"e"},{"input":6}]}`,
			`{"examples":[{"input":1},{"name":"example 2","input":5},{"name":"third","error":"e"},4,{"input":6}]}`},
		{"repeated examples", `{"examples":[{"input":1},{"input":2}]}`, `{"examples":[{"input":1},{"input":3}]}`, `{"examples":[{"input":1},{"input":2},{"input":3}]}`},
		{"removed examples", `{"examples":[{"input":1},{"name":"b","input":2}]}`, `{"examples":[{"name":"example 1"},{"name":"b"}]}`, `{"examples":[]}`},
		{"replacement in a new file", `{"edits":[{"path":"a","text":"1"},{"path":"b","replace":[]},{"symbol":"c","rename":"d"}]}`, `{"edits":[{"path":"a","replace":[]},{"path":"b","replace":[1]},{"symbol":"c","rename":"e"}],"dry_run":true}`,
			`{"dry_run":true,"edits":[{"path":"a","text":"1"},{"path":"b","replace":[1]},{"symbol":"c","rename":"e"},{"path":"a","replace":[]}]}`},
		{"edits", `{"edits":[{"path":"a","text":"1"},{"path":"b","text":"2"},{"path":"./a","rename":"c"},{"glob":"*"}]}`,
			`{"edits":[{"path":"a","text":"3"},{"path":"a","delete":true},{"path":"d","text":"4"},{"path":"b"}]}`,
			`{"edits":[{"path":"a","text":"3"},{"path":"a","delete":true},{"glob":"*"},{"path":"d","text":"4"}]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			id := b.refuse("edit", test.draft)
			d, err := b.Draft("edit", id, b.members(test.given))
			if err != nil {
				t.Fatal(err)
			}
			if text, err := json.Marshal(d.Arguments); err != nil || string(text) != test.want {
				t.Errorf("got %s, %v; want %s", text, err, test.want)
			}
		})
	}
}

// A draft keeps its id until a call succeeds. A dry run and a cancelled call do not end it.
func TestDraftEnds(t *testing.T) {
	b := open(t)
	id := b.refuse("edit", `{"test":true}`)
	if mode, err := os.Stat(filepath.Join(b.dir, ".petrock/drafts", id+".json")); err != nil || mode.Mode().Perm()&0o077 != 0 && filepath.Separator == '/' {
		t.Errorf("the draft has the mode %v, %v; want one that only the owner may read", mode.Mode(), err)
	}
	for _, step := range []struct {
		given  string
		result *engine.Result
		err    error
		keeps  bool
	}{
		{`"test":false`, nil, context.Canceled, true},
		{`"accept":["x"]`, nil, errors.New("it failed"), true},
		{`"dry_run":true`, &engine.Result{DryRun: true}, nil, true},
		{`"dry_run":false`, &engine.Result{}, nil, false},
	} {
		d, err := b.Draft("edit", id, b.members(`{`+step.given+`}`))
		if err != nil {
			t.Fatal(err)
		}
		if !step.keeps && (string(d.Arguments["accept"]) != `["x"]` || string(d.Arguments["test"]) != "true" || len(d.Arguments) != 3) {
			t.Errorf("the arguments are %s, want those of the draft and of the refused call", d.Arguments)
		}
		if fault, ok := errors.AsType[*engine.Fault](d.End(step.result, step.err)); ok && fault.Draft != id {
			t.Errorf("%s: the draft is now %q, want %q", step.given, fault.Draft, id)
		}
		if got := len(b.drafts()) == 1; got != step.keeps {
			t.Errorf("%s: the drafts are %v, want one: %t", step.given, b.drafts(), step.keeps)
		}
	}
}

func TestDraftErrors(t *testing.T) {
	b := open(t)
	id := b.refuse("edit", `{}`)
	old := b.refuse("edit", `{}`)
	longAgo := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(filepath.Join(b.dir, ".petrock/drafts", old+".json"), longAgo, longAgo); err != nil {
		t.Fatal(err)
	}
	b.write(".petrock/drafts/aaaaaa.json", "{")
	b.write(".petrock/drafts/bbbbbb.json", `{"tool":"edit"}`)
	for _, test := range []struct{ tool, id, want string }{
		{"change", id, "draft " + id + " is of edit, not of change; pass it to edit"},
		{"edit", old, `draft "` + old + `" does not exist: its call has succeeded since, it is older than a day`},
		{"edit", "zzzzzz", `draft "zzzzzz" does not exist`},
		{"edit", "../../../petrock", `does not exist`},
		{"edit", "aaaaaa", "does not exist"},
		{"edit", "bbbbbb", "does not exist"},
	} {
		_, err := b.Draft(test.tool, test.id, nil)
		b.checkError(err, test.want)
	}
}

// At most 20 drafts are kept, for a day, also if several processes write them. A file that a killed
// process has left is removed with the old ones.
func TestDraftsAreFew(t *testing.T) {
	b := open(t)
	b.write(".petrock/drafts/LEFT", "{")
	longAgo := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(filepath.Join(b.dir, ".petrock/drafts/LEFT"), longAgo, longAgo); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 4 {
		e, err := engine.Open(b.dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		other := &bench{t, e, b.dir}
		wait.Go(func() {
			for range 15 {
				other.refuse("edit", `{"test":true}`)
			}
		})
	}
	wait.Wait()
	last := b.refuse("edit", `{}`)
	if n := len(b.drafts()); n > 20 || n < 15 || slices.Contains(b.drafts(), ".petrock/drafts/LEFT") {
		t.Errorf("there are %d drafts: %v; want at most 20, and none of yesterday", n, b.drafts())
	}
	if _, err := b.Draft("edit", last, nil); err != nil {
		t.Errorf("the last draft: %v", err)
	}
}
