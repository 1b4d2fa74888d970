package engine_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
)

// store makes the project's server report stored events, such as "posts/create 1 3 24": three
// events of version 1, the first of which is event 24. A script takes the place of the built
// server.
func (b *bench) store(events ...string) {
	b.Helper()
	if runtime.GOOS == "windows" {
		b.Skip("the server is a shell script")
	}
	var types []string
	for _, text := range events {
		var name string
		var version, count, first int
		if _, err := fmt.Sscan(text, &name, &version, &count, &first); err != nil {
			b.Fatal(err)
		}
		types = append(types, fmt.Sprintf(`{"type":%q,"version":%d,"count":%d,"first":%d}`, name, version, count, first))
	}
	b.write("data/log.db", "")
	b.serve(`echo '{"data":"data","types":[` + strings.Join(types, ",") + `]}'`)
}

// serve makes a script the built server.
func (b *bench) serve(script string) {
	b.Helper()
	b.write(".petrock/bin/hello", "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(filepath.Join(b.dir, ".petrock/bin/hello"), 0o755); err != nil {
		b.Fatal(err)
	}
}

// commit makes the project a git repository, and commits all files but those that petrock does not
// track.
func (b *bench) commit() {
	b.Helper()
	b.write(".gitignore", ".petrock/\ndata/\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "all"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = b.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
}

// recorded returns a command of the contract.
func (b *bench) recorded(command string) (contract.Command, bool) {
	b.Helper()
	c, err := contract.Parse([]byte(b.read(contract.File)))
	if err != nil {
		b.Fatal(err)
	}
	found, ok := c.Commands[command]
	return found, ok
}

// addMark adds the command posts/mark.
func (b *bench) addMark() *engine.Result {
	b.Helper()
	made, err := b.generate("features/posts/mark.go", command("Mark", "return e.Time"))
	if err != nil {
		b.Fatal(err)
	}
	return made
}

// Errors in another package do not let a command with stored events go.
func TestRemovedCommandsBesideErrors(t *testing.T) {
	b := open(t)
	made := b.addMark()
	b.store("posts/mark 1 3 24")
	b.write("tools/broken.go", "// No package clause.\n")
	const want = "posts/mark: the command was removed (3 events are stored, the first is event 24)"
	_, err := b.Destroy(t.Context(), "command", "posts/mark", engine.Options{Force: true})
	b.checkError(err, want)
	_, err = b.Undo(t.Context(), made.Operation, engine.Options{})
	b.checkError(err, want)
}

// A command that the last commit has, or of which events are stored, is not removed without a
// decision, in whichever way it is removed. Other commands go freely.
func TestRemovedCommands(t *testing.T) {
	const file, name = "features/posts/mark.go", "posts/mark"
	ways := map[string]func(b *bench, made *engine.Result, o engine.Options) error{
		"destroy": func(b *bench, _ *engine.Result, o engine.Options) error {
			o.Force = true
			_, err := b.Destroy(b.Context(), "command", name, o)
			return err
		},
		"edit": func(b *bench, _ *engine.Result, o engine.Options) error {
			_, err := b.Edit(b.Context(), []engine.FileEdit{{Path: file, Delete: true}}, o)
			return err
		},
		"undo": func(b *bench, made *engine.Result, o engine.Options) error {
			_, err := b.Undo(b.Context(), made.Operation, o)
			return err
		},
		"sync": func(b *bench, _ *engine.Result, o engine.Options) error {
			if err := os.Remove(filepath.Join(b.dir, file)); err != nil {
				b.Fatal(err)
			}
			_, err := b.Sync(b.Context(), o)
			return err
		},
	}
	b := open(t)
	made := b.addMark()
	text, before := b.read(file), b.files("features")
	for _, test := range []struct {
		name    string
		prepare func()
		o       engine.Options
		refused string
	}{
		{"stored", func() { b.store("posts/mark 1 3 24", "posts/create 1 2 1") }, engine.Options{}, " (3 events are stored, the first is event 24)"},
		{"no git, not looked at", func() {}, engine.Options{NoExec: true}, ""},
		{"committed", func() { b.commit(); b.store(); b.FormatCall = devserver.FormatCall("") }, engine.Options{}, ""},
	} {
		test.prepare()
		for way, remove := range ways {
			err := remove(b, made, test.o)
			b.checkError(err, "posts/mark: the command was removed"+test.refused+"; decide about its events: ")
			switch {
			case way != "sync" && b.FormatCall != nil:
				b.checkError(err, `destroy_component {"kind":"command","name":"posts/mark","retire":true} (replay them), or with "skip":true (ignore them) or "map":"FEATURE/COMMAND" (read them as another command) instead`)
			case way != "sync":
				b.checkError(err, "petrock destroy command posts/mark --retire (replay them), or with --skip (ignore them) or --map FEATURE/COMMAND (read them as another command) instead")
			case b.FormatCall != nil:
				b.checkError(err, `to ignore them, build {"skip":["posts/mark"]}`)
			default:
				b.checkError(err, "restore its type and put //petrock:retired into the doc comment; to read them as another command, write a function with //petrock:map posts/mark; if you renamed its type, put //petrock:event mark into the doc comment of the new one; to ignore them, petrock sync --skip posts/mark")
			}
			if way == "sync" {
				if checked, err := b.Check(t.Context()); err != nil || checked.OK || !strings.Contains(checked.Stale(), "posts/mark: the command was removed") {
					t.Errorf(`the project's test returned %s, %v; want no error, OK false and Stale containing "posts/mark: the command was removed"`, checked.Stale(), err)
				}
				b.write(file, text)
			}
			if _, isRecorded := b.recorded(name); !isRecorded || len(b.files("features")) != len(before) {
				t.Errorf("%s, %s: after a refused removal the command is recorded: %t, and the files are %q; want true, and %q", test.name, way, isRecorded, b.files("features"), before)
			}
		}
	}
	for way, remove := range ways {
		b := open(t)
		o := engine.Options{}
		if b.commit(); way == "edit" {
			o.NoData = true
		}
		made := b.addMark()
		b.store("posts/create 1 2 1")
		err := remove(b, made, o)
		if _, isRecorded := b.recorded(name); err != nil || isRecorded {
			t.Errorf("not committed and not stored, %s: got %v, recorded %t; want no error, and false", way, err, isRecorded)
		}
	}
}

// Each decision about the events of a command lets it go, is recorded, passes the project's test,
// and can be undone.
func TestDecisionsAboutEvents(t *testing.T) {
	for _, test := range []struct {
		name    string
		removal engine.Removal
		want    func(*bench, contract.Command)
	}{
		{"retire", engine.Removal{Retire: true}, func(b *bench, c contract.Command) {
			text := b.read("features/posts/mark.go")
			if !c.Retired || c.IsGone() || !strings.Contains(text, "//petrock:retired\ntype Mark struct{}") || strings.Contains(text, "Check") || strings.Contains(text, `"context"`) {
				b.Errorf("recorded %+v, the file is\n%s", c, text)
			}
			if derived := b.read("features/posts/posts_gen.go"); !strings.Contains(derived, `app.RetiredTypeOf[Mark]("mark", 1)`) || strings.Contains(derived, "posts_mark") {
				b.Errorf("derived:\n%s", derived)
			}
		}},
		{"skip", engine.Removal{Skip: true}, func(b *bench, c contract.Command) {
			if wiring := b.read("cmd/hello/wire_gen.go"); !c.Skipped || !strings.Contains(wiring, `.Skip("posts/mark")`) {
				b.Errorf("recorded %+v, the wiring is\n%s", c, wiring)
			}
		}},
		{"map", engine.Removal{Map: "posts/create", Body: `return Create{Title: old.ID}, nil`}, func(b *bench, c contract.Command) {
			text := b.read("features/posts/map_posts_mark.go")
			if !c.Mapped || !strings.Contains(text, "//petrock:map posts/mark\nfunc MapPostsMark(old eventlog.Record) (Create, error) {\n\treturn Create{Title: old.ID}, nil\n}") {
				b.Errorf("recorded %+v, the file is\n%s", c, text)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := open(t)
			b.addMark()
			b.commit()
			o := engine.Options{Removal: test.removal}
			done, err := b.Destroy(t.Context(), "command", "posts/mark", o)
			if err != nil {
				t.Fatal(err)
			}
			recorded, _ := b.recorded("posts/mark")
			test.want(b, recorded)
			if checked, err := b.Check(t.Context()); err != nil || !checked.OK {
				t.Errorf("the project's test returned %s%s, %v; want no error and OK true", checked.Stale(), checked, err)
			}
			if test.removal.Retire {
				_, err := b.Destroy(t.Context(), "command", "posts/mark", o)
				b.checkError(err, "command posts/mark is already retired")
			}
			b.commit()
			if _, err := b.Undo(t.Context(), done.Operation, engine.Options{}); err != nil {
				t.Errorf("undo: %v", err)
			}
			if recorded, _ := b.recorded("posts/mark"); recorded.Retired || recorded.IsGone() {
				t.Errorf("after undo, the contract records %+v, want neither retired nor gone", recorded)
			}
		})
	}
	b := open(t)
	b.addMark()
	for _, test := range []struct {
		kind, name string
		removal    engine.Removal
		want       string
	}{
		{"command", "posts/mark", engine.Removal{Retire: true, Skip: true}, "--retire, --skip and --map cannot be combined"},
		{"command", "posts/mark", engine.Removal{Body: "return"}, "--body needs --map"},
		{"query", "posts/get", engine.Removal{Skip: true}, "only commands have stored events"},
		{"command", "posts/mark", engine.Removal{Map: "posts/mark"}, "it is the command that is removed"},
		{"command", "posts/mark", engine.Removal{Map: "posts/nothing"}, `command "posts/nothing" does not exist`},
		{"command", "posts/mark", engine.Removal{Map: "posts/create"}, "the fields of version 1 differ (field title was added); pass --body"},
		{"command", "posts/mark", engine.Removal{Map: "posts/create", Body: "return Create{}"}, "not enough return values"},
	} {
		_, err := b.Destroy(t.Context(), test.kind, test.name, engine.Options{Removal: test.removal, Force: true})
		b.checkError(err, test.want)
	}
	_, err := b.Sync(t.Context(), engine.Options{Skip: []string{"posts/mark"}})
	b.checkError(err, "skip posts/mark: the source still has the command")

	// A feature goes with the decision to skip.
	b.commit()
	_, err = b.Destroy(t.Context(), "worker", "posts/digest", engine.Options{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Destroy(t.Context(), "feature", "posts", engine.Options{Force: true})
	b.checkError(err, "posts/mark: the command was removed; decide about the events of the feature: to ignore them, petrock destroy feature posts --skip")
	if _, err := b.Destroy(t.Context(), "feature", "posts", engine.Options{Force: true, Removal: engine.Removal{Skip: true}}); err != nil {
		t.Error(err)
	}
	if recorded, _ := b.recorded("posts/mark"); !recorded.Skipped {
		t.Errorf("the contract records %+v, want it skipped", recorded)
	}
}

// An undo of a sync does not record a command that the source lacks: it goes again, or is refused.
func TestUndoOfSync(t *testing.T) {
	for _, stored := range []bool{false, true} {
		b := open(t)
		b.commit()
		b.addMark()
		o, events := engine.Options{}, []string{"posts/create 1 2 1"}
		if stored {
			o.Skip, events = []string{"posts/mark"}, append(events, "posts/mark 1 3 24")
		}
		b.store(events...)
		if err := os.Remove(filepath.Join(b.dir, "features/posts/mark.go")); err != nil {
			t.Fatal(err)
		}
		synced, err := b.Sync(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Undo(t.Context(), synced.Operation, engine.Options{})
		if stored {
			b.checkError(err, "posts/mark: the command was removed (3 events are stored, the first is event 24)")
		} else if err != nil {
			t.Errorf("not stored: %v", err)
		}
		if checked, err := b.Check(t.Context()); err != nil || !checked.OK {
			t.Errorf("stored %t: the project's test returned %s, %v; want no error and OK true", stored, checked.Stale(), err)
		}
	}
}

// A break that is accepted does not hide stored events: those of a skipped command, and those of a
// version whose type was removed by hand.
func TestAcceptedBreaksOfStoredEvents(t *testing.T) {
	b := open(t)
	b.addMark()
	b.store("posts/mark 1 3 24")
	if _, err := b.Destroy(t.Context(), "command", "posts/mark", engine.Options{Removal: engine.Removal{Skip: true}}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Sync(t.Context(), engine.Options{Accept: []string{"posts/mark"}})
	b.checkError(err, "posts/mark: the command was removed (3 events are stored, the first is event 24); to accept that although they are stored, pass --no-data too")

	const create = "features/posts/create.go"
	v1 := b.read(create)
	v2 := strings.Replace(v1, "type Create struct {", "//petrock:version 2\ntype Create struct {", 1)
	both := v2 + "\n// CreateV1 is version 1.\ntype CreateV1 struct {\n\tTitle string `json:\"title\"`\n}\n\n// Upgrade converts it.\nfunc (c CreateV1) Upgrade() Create { return Create{Title: c.Title} }\n"
	if _, err := b.Edit(t.Context(), []engine.FileEdit{{Path: create, Text: &both}}, engine.Options{}); err != nil {
		t.Fatal(err)
	}
	b.store("posts/create 1 5 7")
	b.write(create, v2)
	_, err = b.Sync(t.Context(), engine.Options{Accept: []string{"posts/create"}})
	b.checkError(err, "posts/create: version 1 of its events is stored, and the source has version 2 (5 events are stored, the first is event 7); to accept that although they are stored, pass --no-data too")
}

// A map function that goes leaves its events without a reader.
func TestMapFunctionIsRemoved(t *testing.T) {
	b := open(t)
	b.addMark()
	b.commit()
	removal := engine.Removal{Map: "posts/create", Body: `return Create{Title: old.ID}, nil`}
	if _, err := b.Destroy(t.Context(), "command", "posts/mark", engine.Options{Removal: removal}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Edit(t.Context(), []engine.FileEdit{{Path: "features/posts/map_posts_mark.go", Delete: true}}, engine.Options{})
	b.checkError(err, "posts/mark: the command was removed; decide about its events: ")
}

// An undo does not take away the version or the fields that stored events have.
func TestUndoKeepsStoredVersions(t *testing.T) {
	b := open(t)
	b.commit()
	b.store("posts/create 2 5 7")
	v2 := strings.Replace(b.read("features/posts/create.go"), "type Create struct {", "//petrock:version 2\ntype Create struct {", 1) +
		"\n// CreateV1 is version 1.\ntype CreateV1 struct {\n\tTitle string `json:\"title\"`\n}\n\n// Upgrade converts it.\nfunc (c CreateV1) Upgrade() Create { return Create{Title: c.Title} }\n"
	made, err := b.Edit(t.Context(), []engine.FileEdit{{Path: "features/posts/create.go", Text: &v2}}, engine.Options{NoData: true})
	if err != nil {
		t.Fatal(err)
	}
	if made.Stored == nil || made.Stored.Looked || made.Stored.Why != "--no-data is set" {
		t.Errorf(`without data, the result returned %v; want Stored.Looked false and Stored.Why "--no-data is set"`, made.Stored)
	}
	_, err = b.Undo(t.Context(), made.Operation, engine.Options{})
	b.checkError(err, "posts/create: version 2 of its events is stored, and the source has version 1 (5 events are stored, the first is event 7); keep the type and its version")
	b.store("posts/create 1 5 7")
	if _, err = b.Undo(t.Context(), made.Operation, engine.Options{NoExec: true}); err != nil {
		t.Errorf("version 2 is neither committed nor stored: %v", err)
	}
}

// An undo of the version that a hand edit of a type needed restores the edit, which is refused as
// before, unless the last commit has the type as it was before the edit.
func TestUndoRestoresEditedTypes(t *testing.T) {
	const file = "features/posts/create.go"
	b := open(t)
	edited := strings.Replace(b.read(file), `json:"title"`, `json:"name"`, 1)
	v2 := strings.Replace(edited, "type Create struct {", "//petrock:version 2\ntype Create struct {", 1) +
		"\n// CreateV1 is version 1.\ntype CreateV1 struct {\n\tTitle string `json:\"title\"`\n}\n\n// Upgrade converts it.\nfunc (c CreateV1) Upgrade() Create { return Create{Title: c.Title} }\n"
	b.write(file, edited)
	version := func() *engine.Result {
		t.Helper()
		made, err := b.Edit(t.Context(), []engine.FileEdit{{Path: file, Text: &v2}}, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	undone, err := b.Undo(t.Context(), version().Operation, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "posts/create: field title was removed, name was added; keep old events readable with petrock generate version posts/create --rename title=name; or, if no stored data matters, petrock sync --accept posts/create"
	if text := undone.String(); b.read(file) != edited || !strings.Contains(text, want) {
		t.Errorf("undo returned %s, want %q; the file is\n%s", text, want, b.read(file))
	}
	_, err = b.Sync(t.Context(), engine.Options{})
	b.checkError(err, want)

	b.commit()
	made := version()
	_, err = b.Undo(t.Context(), made.Operation, engine.Options{})
	b.checkError(err, "posts/create: field title was removed, name was added; keep the type and its version; or, if no stored data matters, edit the type (petrock edit) with --accept posts/create\n")
	b.store("posts/create 2 5 7")
	_, err = b.Undo(t.Context(), made.Operation, engine.Options{})
	b.checkError(err, "(5 events are stored, the first is event 7); keep the type and its version; or, if no stored data matters, edit the type (petrock edit) with --accept posts/create --no-data\n")
	if _, err := b.Edit(t.Context(), []engine.FileEdit{{Path: file, Text: &edited}}, engine.Options{Accept: []string{"posts/create"}, NoData: true}); err != nil {
		t.Errorf("the advice is refused: %v", err)
	}
}

// The result says why stored events could not be looked at. A server that does not answer is not
// waited for.
func TestStoredEventsCannotBeRead(t *testing.T) {
	b := open(t)
	b.store()
	for _, test := range []struct{ script, want string }{
		{"echo nonsense", "read its answer"},
		{"echo 'error: connect to the database: refused' >&2; exit 1", "connect to the database: refused"},
	} {
		b.serve(test.script)
		made := b.addMark()
		if made.Stored == nil || made.Stored.Looked || !strings.Contains(made.Stored.Why, test.want) || !strings.Contains(made.String(), "contract.json alone decided") {
			t.Errorf("%s: the result returned %v, want %q", test.script, made.Stored, test.want)
		}
		if _, err := b.Undo(t.Context(), made.Operation, engine.Options{NoData: true}); err == nil {
			t.Fatal("without git and data, the contract decides: got no error, want a refusal")
		}
		if err := os.Remove(filepath.Join(b.dir, "features/posts/mark.go")); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Sync(t.Context(), engine.Options{Accept: []string{"posts/mark"}, NoData: true}); err != nil {
			t.Fatal(err)
		}
	}
}
