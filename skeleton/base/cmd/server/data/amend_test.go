package data

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/terminal"
)

// What would make a log worse is refused, and recorded only by force.
func TestAmendmentIsTried(t *testing.T) {
	for _, line := range []string{
		"log skip 1 --reason x", // which entry 2 needs
		"log map 3 --type posts/writ --reason x",
		"log map 1 --type posts/creat --reason x",
		"log map 3 --type posts/create --version 7 --reason x",
		"log map 3 --type posts/create --input {\"title\":1} --reason x",
	} {
		t.Run(line, func(t *testing.T) {
			dir := filled(t, "a")
			add(t, dir, app.Record{Type: "posts/drop", Data: json.RawMessage(`{}`)}, app.Record{Type: "posts/write", Data: json.RawMessage(`{"title":"b"}`)})
			before := must(t, dir, "log")
			_, err := run(t, dir, strings.Fields(line)...)
			if terminal.Status(err) != terminal.Failed || !strings.Contains(err.Error(), "cannot be applied") || !strings.Contains(err.Error(), "with --force it is recorded all the same") {
				t.Errorf("it says %v", err)
			}
			if after := must(t, dir, "log"); after != before {
				t.Errorf("the log is\n%s", after)
			}
			if out := must(t, dir, append(strings.Fields(line), "--force")...); !strings.Contains(out, "weather replay") {
				t.Errorf("by force it says\n%s", out)
			}
			if out := must(t, dir, "log", "--type", "app/amended"); out == "" {
				t.Error("by force nothing is recorded")
			}
		})
	}
}
