package appserve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// fakeServer prints its arguments for log map, workers and the like, its arguments and its input
// for try, an error for log skip, one long event for log show, and otherwise 40 events.
func fakeServer(_ context.Context, stdin []byte, args ...string) (stdout, stderr []byte, err error) {
	var out bytes.Buffer
	all := strings.Join(args, "|")
	switch {
	case len(args) > 1 && (args[1] == "map" || args[1] == "erase"):
		fmt.Fprintf(&out, "%s\n\nNext:\n  hello replay\n", all)
	case len(args) > 1 && args[1] == "skip":
		return nil, []byte("hello: event 10 of the log (posts/create, version 2, 2026-01-02 03:04:05) is newer than this build, which knows posts/create up to version 1\nrun the newer build\n" +
			"amended before it: [4]; if that is the cause, see hello log show 4 and hello log restore\nshow it:   hello log show 10\nnothing was recorded; to record the change anyway, add --force\n"), errors.New("exit status 1")
	case len(args) > 1 && args[1] == "show":
		fmt.Fprintf(&out, "{\n  \"seq\": 7,\n  \"data\": %q\n}\n", strings.Repeat("ä", 2000))
	case args[0] == "try" && strings.Contains(string(stdin), "wrong"):
		return nil, []byte("hello: worker wrong does not exist\nRun 'hello try --help' for usage.\n"), errors.New("exit status 2")
	case args[0] == "try":
		fmt.Fprintf(&out, "%s|%s\n%s", all, stdin, strings.Repeat("x", 5000))
	case args[0] != "log" && args[0] != "replay":
		fmt.Fprintf(&out, "%s\n\nNext:\n  hello workers\n", all)
	case args[0] == "replay":
		fmt.Fprintln(&out, "40 events")
	case strings.Contains(all, "|--actor="):
		fmt.Fprintln(&out, all)
	case strings.HasSuffix(all, "=users"): // without events
	default:
		for i := range 40 {
			fmt.Fprintf(&out, "%8d  2026-01-02 03:04:05  posts/create              {\"title\":\"%s\"}\n", i+1, strings.Repeat("x", i*20))
		}
	}
	return out.Bytes(), nil, nil
}

// The tools of the dev server run commands of the server, and return short texts that say how to
// get more.
func TestAgent(t *testing.T) {
	for _, test := range []struct {
		tool, input, want, next string
		isError                 bool
	}{
		{"log", `{}`, "x…\n40 2026-01-02 03:04:05 posts/create {\"title\":\"xxx", "Next: earlier events with before 34, a whole event", false},
		{"log", `{"limit":2}`, "39 2026", "Next: earlier events with before 39", false},
		{"log", `{"after":1}`, "1 2026-01-02 03:04:05 posts/create {\"title\":\"\"}\n2 ", "Next: later events with after ", false},
		{"log", `{"after":1,"limit":2}`, "xxx\"}\nNext: ", "later events with after 2", false},
		{"log", `{"cause":"posts/digest","text":"a b","since":"2h","until":"1h","before":9,"after":3,"actor":"x","type":"a,b*"}`,
			"log|--after=3|--before=9|--limit=21|--type=a,b*|--actor=x|--cause=posts/digest|--text=a b|--since=2h|--until=1h", "", false},
		{"log", `{"type":"users"}`, "no events", "", false},
		{"log", `{"type":"posts","actor":"local:ada"}`, "log|--after=0|--before=0|--last=21|--type=posts|--actor=local:ada", "", false},
		{"log", `{"seq":7}`, `{"seq":7,"data":"ää`, "pass detail for the whole event", false},
		{"log", `{"action":"erase","seq":3,"reason":"x"}`, "log|erase|3|--reason=x|--yes", "", false},
		{"log", `{"action":"erase","actor":"ada"}`, "log: action erase requires seq", "", true},
		{"log", `{"action":"replay"}`, `40 events`, "", false},
		{"log", `{"action":"map","seq":3,"type":"posts/create","input":{"title":"<a>"},"reason":"--wrong","force":true}`,
			`log|map|3|--type=posts/create|--reason=--wrong|--force=true|--input={"title":"<a>"}`, "restore reverts", false},
		{"log", `{"action":"skip","seq":3,"reason":"x"}`, "anyway, add --force\nIf a stored event is the cause, use the tool log with seq", "redo restores it", true},
		{"log", `{"action":"skip","type":"posts/create","reason":"x"}`, "log: action skip requires seq", "", true},
		{"log", `{"seq":-1}`, "must not be negative", "", true},
		{"data", `{}`, "workers|--all=false", "", false},
		{"data", `{"detail":true}`, "workers|--all=true", "", false},
		{"data", `{"action":"retry","worker":"posts/digest"}`, "workers|retry|--all|--|posts/digest", "", false},
		{"data", `{"action":"retry","worker":"posts/digest","seq":7}`, "workers|retry|--|posts/digest|7", "", false},
		{"data", `{"action":"reset","worker":"-x"}`, "workers|reset|--|-x", "", false},
		{"data", `{"action":"reset"}`, "data: action reset requires worker, such as posts/digest", "", true},
		{"data", `{"action":"restore","file":"a.gz"}`, "restore|--replace|./a.gz", "", false},
		{"data", `{"action":"restore"}`, "data: action restore requires file, a path in the project such as .petrock/backup-NAME.jsonl.gz", "", true},
		{"data", `{"action":"backup","file":"../a.gz"}`, "data: action backup requires file, a path in the project such as .petrock/backup-NAME.jsonl.gz", "", true},
		{"data", `{"action":"backup"}`, "backup|./.petrock/backup-2", "", false},
		{"try", `{"steps":[{"advance":"48h"}]}`, `try|-|--all=false|[{"advance":"48h"}]`, "Next: pass fewer steps, or detail for everything.", false},
		{"try", `{"steps":[{"run":"wrong"}]}`, "worker wrong does not exist", "", true},
		{"undo", `{}`, `tool "undo" does not exist`, "", true},
		{"log", `[]`, "log: json: cannot unmarshal array", "", true},
	} {
		text, err := agent{run: fakeServer, program: "hello"}.call(t.Context(), test.tool, []byte(test.input))
		if err != nil {
			text = err.Error()
		}
		if (err != nil) != test.isError || !strings.Contains(text, test.want) || !strings.Contains(text, test.next) || len(text) > 4200 || strings.Contains(text, "hello: ") || strings.Contains(text, "--help") {
			t.Errorf("%s %s returned %d bytes (error: %t), want %s and %s:\n%.2000s", test.tool, test.input, len(text), err != nil, test.want, test.next, text)
		}
	}
	for tool, want := range map[string]string{"log": strings.Repeat("x", 780), "try": strings.Repeat("x", 5000)} {
		if text, err := (agent{run: fakeServer}).call(t.Context(), tool, []byte(`{"detail":true,"limit":100}`)); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s with detail returned %d bytes, %v; want everything", tool, len(text), err)
		}
	}
}
