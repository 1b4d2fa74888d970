package campaign_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
)

var steps = flag.Int("steps", 20, "steps of TestStoredEventsStayReadable")

// After each accepted step of random operations, undos, edits by hand and commits, a server that is
// built from the source starts on the project's data, and on data that servers of earlier commits
// have written. Replay returns the state before the step, except for the decisions of the step. A
// refusal changes nothing, and the calls that it names do not lead in a circle.
func TestStoredEventsStayReadable(t *testing.T) {
	takesLong(t)
	t.Parallel()
	t.Logf("%d steps with seed %d", *steps, *seed)
	h := newHistory(t)
	begin := time.Now()
	for step := range *steps {
		h.now = fmt.Sprintf("step %d", step+1)
		h.step()
		if t.Failed() {
			t.Fatalf("%s failed; the project is in %s", h.now, h.keep())
		}
		const often = 10
		if step%often == often-1 || step == *steps-1 {
			h.mend()
			if failed := h.tested("./features/...", "./cmd/petrock"); failed != "" {
				t.Fatalf(`%s: got %q, want "" (keep %q)`, h.now, failed, h.keep())
			}
		}
	}
	t.Logf("%d accepted and %d refused operations, %d events, in %v", h.accepted, h.refused, len(h.stores[0].events)+len(h.stores[1].events), time.Since(begin).Round(time.Second))
}

// A history is a project with data, on which random steps are performed.
type history struct {
	*world
	*maker
	t      *testing.T
	e      *engine.Engine
	client *mcptest.Client // of the dev server
	stores []*store        // the project's data, and the data of servers of earlier commits
	sound  tree            // the source after the last step that left it sound
	isOpen bool            // whether edits by hand have left it unsound

	committed *contract.Contract // of the last commit
	record    *contract.Contract // of the last sound source
	now       string             // the step, for messages
	names     int                // number of names used
	renamed   map[string]string  // fields that the step renames
	said      string             // the result of the last operation

	accepted, refused int
}

// A store is data of the project's server.
type store struct {
	what   string
	dir    string
	events []eventlog.Record
	state  map[int64]string // the applied commands, by the numbers of their events
}

// newHistory returns a project with git, a feature, and a command.
func newHistory(t *testing.T) *history {
	t.Helper()
	w := newWorld(t)
	h := &history{
		world: w, maker: newMaker(*seed), t: t, e: w.engine(), client: w.serve(devserver.Options{}),
		stores:    []*store{{what: "the project's data", dir: w.path("data")}, {what: "the data of earlier commits", dir: filepath.Join(w.base, "production")}},
		committed: contract.New(), record: contract.New(),
	}
	h.now = "at the start"
	h.git("init", "-q")
	h.addFeature()
	for range 3 {
		h.must(h.newCommand("f1"))
	}
	h.settle()
	h.commit()
	return h
}

// keep moves the project out of the folder that the test removes, and returns its new folder.
func (h *history) keep() string {
	dir, err := os.MkdirTemp("", "stored")
	if err == nil {
		err = os.Rename(h.base, filepath.Join(dir, "kept"))
	}
	if err != nil {
		return fmt.Sprintf("%s (%v)", h.base, err)
	}
	return dir
}

// git runs git in the project.
func (h *history) git(args ...string) string {
	h.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = h.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.Fatalf("%s: git %s: %v\n%s", h.now, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// commit commits the source, which is sound, and executes commands with its server elsewhere.
func (h *history) commit() {
	h.Helper()
	h.Logf("%s: commit", h.now)
	h.git("add", "-A")
	h.git("commit", "-q", "--allow-empty", "-m", h.now)
	h.committed = h.record
	h.execute(h.stores[1])
}

// contract reads the contract.
func (h *history) contract() *contract.Contract {
	h.Helper()
	c, err := contract.Parse([]byte(h.read(contract.File)))
	if err != nil {
		h.Fatal(err)
	}
	return c
}

// components returns the components of a kind in features.
func (h *history) components(kind derive.Kind) []derive.Component {
	h.Helper()
	list, err := h.e.List(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	return slices.DeleteFunc(list.Components, func(c derive.Component) bool { return c.Kind != kind || c.Feature == "" || c.Func == "Dump" })
}

// settle checks the project after a step. If petrock's check passes, the server must start on all
// data, with the state before the step. If not, edits by hand must be the reason.
func (h *history) settle() {
	h.Helper()
	checked, err := h.e.Check(h.Context())
	if err != nil {
		h.Fatalf("%s: check: %v", h.now, err)
	}
	if !checked.OK {
		if !h.isOpen {
			h.Errorf("%s: an accepted step leaves a project whose check fails:\n%s%s", h.now, checked.Stale(), checked.Impurities())
		}
		return
	}
	if h.isOpen && h.tested("./features/...") != "" { // the user goes back
		h.restore()
	}
	record := h.contract()
	for name, promised := range h.committed.Commands {
		now, exists := record.Commands[name]
		if _, broken := promised.Update(now, false); !exists || len(broken) > 0 && !now.IsGone() {
			h.Errorf("%s: the last commit promises to read %s; the contract has %+v: %s", h.now, name, now, contract.Describe(broken))
		}
	}
	h.build()
	for _, s := range h.stores {
		h.start(s, record)
	}
	h.record, h.sound, h.isOpen = record, h.source(), false
}

// program is the server that the test builds. It is not the one that petrock asks for stored
// events.
const program = ".petrock/program/" + name

// build builds the server from the source.
func (h *history) build() {
	h.Helper()
	h.goCommand("build", "-buildvcs=false", "-o", h.path(program), "./cmd/"+name)
}

// runServer runs the server in the project, and returns its output.
func (h *history) runServer(args ...string) (string, error) {
	cmd := exec.Command(h.path(program), args...)
	cmd.Dir = h.dir
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return string(out), err
}

// start replays a store with the server, and compares its state with the state before.
func (h *history) start(s *store, record *contract.Contract) {
	h.Helper()
	before := s.state
	s.state = map[int64]string{}
	if _, err := os.Stat(s.dir); err == nil && h.hasFeatures() {
		if _, err := h.runServer("replay", "--data", s.dir); err != nil {
			h.Errorf("%s: the check passes, and the server does not start on %s: %v", h.now, s.what, err)
			return
		}
		h.connect(s, func(server *server) { s.state = h.dump(server) })
	}
	for _, e := range s.events {
		state, exists := s.state[e.Seq]
		command := record.Commands[e.Type]
		was, existed := before[e.Seq]
		wasRecorded := h.record.Commands[e.Type]
		switch {
		case command.Skipped && exists:
			h.Errorf("%s: event %d of %s is applied, although %s is skipped", h.now, e.Seq, s.what, e.Type)
		case command.Skipped:
		case !exists:
			h.Errorf("%s: event %d of %s, %s, is not applied; the contract has %+v", h.now, e.Seq, s.what, e.Type, command)
		case command.Mapped:
			if existed && reflect.DeepEqual(record.Commands, h.record.Commands) && was != state {
				h.Errorf("%s: event %d of %s, a mapped %s, was %s and is %s", h.now, e.Seq, s.what, e.Type, was, state)
			}
		case e.Version == command.Version && state != canonical(h, e.Data):
			h.Errorf("%s: event %d of %s, %s, has %s and is applied as %s", h.now, e.Seq, s.what, e.Type, e.Data, state)
		case !existed || wasRecorded.IsGone():
		case reflect.DeepEqual(command.Versions, wasRecorded.Versions) && was != state:
			h.Errorf("%s: event %d of %s, %s, was %s and is %s", h.now, e.Seq, s.what, e.Type, was, state)
		default:
			h.compareFields(fmt.Sprintf("event %d of %s, %s", e.Seq, s.what, e.Type), was, state, wasRecorded.Versions[wasRecorded.Version], command.Versions[command.Version])
		}
	}
	if len(s.state) > len(s.events) {
		h.Errorf("%s: %s has %d events, and %d commands are applied", h.now, s.what, len(s.events), len(s.state))
	}
}

// compareFields compares the fields of an applied command that two versions have, and those that
// the step has renamed.
func (h *history) compareFields(what, was, state string, before, after contract.Shape) {
	h.Helper()
	var old, new map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal([]byte(was), &old), json.Unmarshal([]byte(state), &new)); err != nil {
		h.Fatal(err)
	}
	for _, field := range before.Fields {
		name := cmp.Or(h.renamed[field.Name], field.Name)
		at := slices.IndexFunc(after.Fields, func(f contract.Field) bool {
			return f.Name == name && f.Type == field.Type && f.Optional == field.Optional && f.Quoted == field.Quoted
		})
		isNested := func(t string) bool { return strings.Contains(field.Type, t) }
		if at < 0 || !reflect.DeepEqual(before.Types, after.Types) && slices.ContainsFunc(slices.Collect(maps.Keys(before.Types)), isNested) {
			continue
		}
		if string(old[field.Name]) != string(new[name]) {
			h.Errorf("%s: field %s of %s was %s, and %s is %s now", h.now, field.Name, what, old[field.Name], name, new[name])
		}
	}
}

// canonical returns JSON text with sorted keys.
func canonical(t testing.TB, text []byte) string {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(sorted)
}

// connect starts the built server on a store, as clients do.
func (h *history) connect(s *store, do func(*server)) {
	h.Helper()
	server := startServer(h.t, h.path(program), h.dir, "--data", s.dir)
	do(server)
	server.end()
}

// ask calls a tool of a server, and decodes its result.
func (s *server) ask(tool string, arguments object, result any) error {
	s.t.Helper()
	var answer struct {
		Error  json.RawMessage
		Result struct {
			IsError           bool
			StructuredContent json.RawMessage
		}
	}
	text := s.request("tools/call", object{"name": tool, "arguments": arguments})
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return err
	}
	if answer.Error != nil || answer.Result.IsError {
		return fmt.Errorf("%s %v: %s", tool, arguments, text)
	}
	if err := json.Unmarshal(answer.Result.StructuredContent, result); err != nil {
		return fmt.Errorf("%s %v: %w: %s", tool, arguments, err, text)
	}
	return nil
}

// A listedTool is an entry of tools/list.
type listedTool struct {
	Name        string
	InputSchema schema
}

// tools returns the tools of features.
func (s *server) tools() []listedTool {
	s.t.Helper()
	var answer struct{ Result struct{ Tools []listedTool } }
	if err := json.Unmarshal([]byte(s.request("tools/list", object{})), &answer); err != nil {
		s.t.Fatal(err)
	}
	return slices.DeleteFunc(answer.Result.Tools, func(tool listedTool) bool { return !strings.HasPrefix(tool.Name, "f") })
}

// dump returns the commands that were applied, by the numbers of their events.
func (h *history) dump(s *server) map[int64]string {
	h.Helper()
	state := map[int64]string{}
	for _, tool := range s.tools() {
		if !strings.HasSuffix(tool.Name, "_dump") {
			continue
		}
		var dumped struct {
			Lines []struct {
				Seq  int64
				Data json.RawMessage
			}
		}
		if err := s.ask(tool.Name, object{}, &dumped); err != nil {
			h.Fatalf("%s: %v", h.now, err)
		}
		for _, line := range dumped.Lines {
			if _, twice := state[line.Seq]; twice {
				h.Errorf("%s: event %d is applied twice", h.now, line.Seq)
			}
			state[line.Seq] = canonical(h, line.Data)
		}
	}
	return state
}

// execute calls random commands and queries of the built server, and records the events and the
// state.
func (h *history) execute(s *store) {
	h.Helper()
	if !h.hasFeatures() {
		return
	}
	h.connect(s, func(server *server) {
		for _, tool := range server.tools() {
			if strings.HasSuffix(tool.Name, "_dump") || h.IntN(2) == 0 {
				continue
			}
			in := tool.InputSchema.value(h.maker, &tool.InputSchema).(object)
			var out any
			if err := server.ask(tool.Name, in, &out); err != nil {
				h.Errorf("%s: %v", h.now, err)
			}
		}
		s.state = h.dump(server)
	})
	last := int64(0)
	if n := len(s.events); n > 0 {
		last = s.events[n-1].Seq
	}
	out, err := h.runServer("log", "--json", "--data", s.dir, "--after", fmt.Sprint(last))
	if err != nil {
		h.Fatalf("%s: log: %v", h.now, err)
	}
	for line := range strings.Lines(out) {
		var e eventlog.Record
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			h.Fatal(err)
		}
		s.events = append(s.events, e)
	}
}

// A schema is the part of JSON Schema that fields of commands have.
type schema struct {
	Type            any // one type, or a list
	Format          string
	ContentEncoding string
	Enum            []any
	Items           *schema
	Properties      map[string]*schema
	Required        []string
	Additional      json.RawMessage    `json:"additionalProperties"`
	Ref             string             `json:"$ref"`
	Defs            map[string]*schema `json:"$defs"`
}

// value returns a random value that fits a schema. Definitions are in root.
func (s *schema) value(m *maker, root *schema) any {
	switch {
	case s.Ref != "":
		return root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")].value(m, root)
	case len(s.Enum) > 0:
		return one(m, s.Enum...)
	case s.Format == "date-time":
		return time.Unix(m.Int64N(2e9), m.Int64N(1e9)).UTC().Format(time.RFC3339Nano)
	case s.ContentEncoding == "base64":
		return []byte(fmt.Sprint(m.IntN(1e6)))
	}
	kind := s.Type
	if kinds, ok := kind.([]any); ok {
		kind = one(m, kinds...)
	}
	switch kind {
	case "null":
		return nil
	case "string":
		return fmt.Sprintf("%s %d", one(m, odd()...), m.IntN(1e6))
	case "integer":
		return m.IntN(1e6) - 1000
	case "number":
		return float64(m.IntN(1e6)) / 8
	case "boolean":
		return m.IntN(2) == 0
	case "array":
		all := []any{}
		for range m.IntN(3) {
			all = append(all, s.Items.value(m, root))
		}
		return all
	case "object":
		all := object{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if slices.Contains(s.Required, name) || m.IntN(2) == 0 {
				all[name] = s.Properties[name].value(m, root)
			}
		}
		var rest schema
		if json.Unmarshal(s.Additional, &rest) == nil { // not false
			for i := range m.IntN(3) {
				all[fmt.Sprint("k", i)] = rest.value(m, root)
			}
		}
		return all
	}
	return one[any](m, "any", 7, true, nil, []any{1, "x"}, object{"a": object{"b": nil}})
}

// tested runs tests of the project, and returns their output if they fail.
func (h *history) tested(packages ...string) string {
	h.Helper()
	cmd := exec.Command("go", append([]string{"test", "-vet=off"}, packages...)...)
	cmd.Dir = h.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Sprintf("go test %s: %v\n%s", strings.Join(packages, " "), err, out)
	}
	return ""
}

// source returns the tree of the project without its data and its repository.
func (h *history) source() tree {
	all := h.world.source()
	maps.DeleteFunc(all, func(file, _ string) bool { return file == ".git" || strings.HasPrefix(file, ".git/") })
	return all
}

// restore writes the last sound source back, as a user would.
func (h *history) restore() {
	h.Helper()
	h.Logf("%s: restore the files", h.now)
	now := h.source()
	for _, file := range slices.Backward(slices.Sorted(maps.Keys(now))) {
		if _, ok := h.sound[file]; !ok {
			if err := os.RemoveAll(h.path(file)); err != nil {
				h.Fatal(err)
			}
		}
	}
	for file, text := range h.sound {
		if mode, text, isFile := strings.Cut(text, "\n"); isFile && now[file] != mode+"\n"+text {
			h.write(file, text)
		}
	}
	h.isOpen = false
}
