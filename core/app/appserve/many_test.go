package appserve

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/sqlite"
)

var long = flag.Bool("long", false, "amend, downgrade and erase 1,000,000 events instead of 3,000")

// A tally is the state of a feature with many events.
type tally struct{ Events, Sum int }

// mark has version 2; markV1 is version 1.
type (
	mark struct {
		Title string `json:"title"`
		Size  int    `json:"size"`
	}
	markV1 struct {
		Name string `json:"name"`
	}
)

func (m mark) Check(context.Context, *tally) error { return nil }
func (m mark) Apply(s *tally, _ app.Event) int {
	s.Events, s.Sum = s.Events+1, s.Sum+m.Size
	return s.Sum
}
func (m mark) Downgrade() markV1                     { return markV1{m.Title} }
func (m markV1) Check(context.Context, *tally) error { return nil }
func (m markV1) Apply(s *tally, _ app.Event) int     { s.Events++; return s.Events }
func (m markV1) Upgrade() mark                       { return mark{m.Name, 1} }

// tallying returns the data of a build with a version of the command.
func tallying(c app.CommandType) *Data {
	return New("weather", appmcp.Feature{Feature: app.Feature{Name: "tally", State: app.StateOf(func() *tally { return &tally{} }), Commands: []app.CommandType{c}}})
}

// Many events can be amended, downgraded and erased.
func TestManyEvents(t *testing.T) {
	n := int64(3000)
	if *long {
		n = 1_000_000
	}
	dir := t.TempDir()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	for last := int64(0); last < n; {
		var records []eventlog.Record
		for range min(n-last, 10_000) {
			last++
			records = append(records, eventlog.Record{Seq: last, ID: fmt.Sprint(last), Time: time.Now(), Actor: []string{"ada", "bob"}[last%2],
				Type: "tally/mark", Version: 2, Data: json.RawMessage(fmt.Sprintf(`{"title":"secret %d","size":1}`, last))})
		}
		if err := store.Write(t.Context(), func(tx eventlog.Tx) error { return tx.Append(records...) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	newer, older := app.CommandTypeOf[mark]("mark", 2, app.OlderOf[markV1](1, mark.Downgrade)), app.CommandTypeOf[markV1]("mark", 1)
	for _, test := range []struct {
		build app.CommandType
		line  string
		want  string
	}{
		{newer, "log downgrade tally/mark --to 1", fmt.Sprintf("Stored %d of %[1]d events", n)},
		{newer, "log downgrade tally/mark --to 1", fmt.Sprintf("Stored 0 of %d events", n)},
		{older, "replay", fmt.Sprintf("%d events", n+1)},
		{newer, "log map --of tally/mark --set size=2 --reason x", fmt.Sprintf("%d events from 1 to %[1]d are changed", n)},
		{newer, "log types", fmt.Sprintf("tally/mark  2        %d", n)},
		{newer, "log restore 1- --reason x", fmt.Sprintf("%d events from 1 to %[1]d are read as they were recorded", n)},
		{newer, "log erase --actor ada --yes", fmt.Sprintf("Erased %d events from 2 to %d.", n/2, n)},
		{newer, "log types", fmt.Sprintf("tally/mark  2        %d", n/2)},
		{newer, "log erase 1- --yes", fmt.Sprintf("Erased %d events from 1 to %d.", n/2, n-1)},
		{older, "replay", fmt.Sprintf("%d events", n+5)},
	} {
		var out bytes.Buffer
		begin := time.Now()
		cmd := command(tallying(test.build), append(strings.Fields(test.line), "--data", dir)...)
		cmd.SetOut(&out)
		cmd.SetErr(t.Output())
		if err := cmd.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: got output\n%s%v, want %q in it", test.line, &out, err, test.want)
		}
		t.Logf("%s: %v", test.line, time.Since(begin).Round(time.Millisecond))
	}
	if found := filesWith(t, dir, "secret"); len(found) > 0 {
		t.Errorf("the content is in %q, want none", found)
	}
}
