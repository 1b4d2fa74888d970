package campaign_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/engine"
)

// A call is an operation: a tool of the dev server and its arguments, or a command of petrock.
type call struct {
	tool      string
	arguments object
	command   []string
}

func (c call) String() string {
	if c.tool == "" {
		return "petrock " + strings.Join(c.command, " ")
	}
	text, err := json.Marshal(c.arguments)
	if err != nil {
		panic(err)
	}
	return c.tool + " " + string(text)
}

// with returns the call with another argument or flag.
func (c call) with(name string, value any) call {
	if c.tool != "" {
		c.arguments = maps.Clone(c.arguments)
		c.arguments[name] = value
		return c
	}
	c.command = append(slices.Clone(c.command), "--"+name)
	if text, ok := value.(string); ok {
		c.command = append(c.command, text)
	}
	return c
}

// list returns an argument that is a list.
func (c call) list(name string) []string {
	list, _ := c.arguments[name].([]string)
	return list
}

// do makes a call, over MCP or in a terminal. It returns the text of the refusal, or "".
func (h *history) do(c call, overMCP bool) string {
	h.Helper()
	switch {
	case c.tool == "":
		out, errOut, status := h.run(c.command...)
		if h.said = out; status != 0 {
			return out + errOut
		}
	case overMCP && c.tool == "plan":
		planned := h.client.CallTool("plan", c.arguments)
		if planned.IsError {
			return planned.Text()
		}
		var result engine.Result
		if err := json.Unmarshal(planned.StructuredContent, &result); err != nil {
			h.Fatal(err)
		}
		return h.do(call{tool: "apply", arguments: object{"plan": result.Plan}}, true)
	case overMCP:
		result := h.client.CallTool(c.tool, c.arguments)
		if h.said = result.Text(); result.IsError {
			return h.said
		}
	default:
		result, err := h.inTerminal(c)
		if err != nil {
			return err.Error()
		}
		if h.said = result.String(); len(result.Refused) > 0 {
			return h.said
		}
	}
	return ""
}

// inTerminal makes a call as petrock's command line does.
func (h *history) inTerminal(c call) (*engine.Result, error) {
	h.Helper()
	var in struct {
		Kind, Name, Plan, Operation string
		Force, Test                 bool
		Edits                       []engine.FileEdit
		Accept                      []string
	}
	h.decode(c.arguments, &in)
	o := engine.Options{Force: in.Force, Test: in.Test, Accept: in.Accept}
	switch c.tool {
	case "generate_component", "plan":
		rest := maps.Clone(c.arguments)
		delete(rest, "kind")
		var text json.RawMessage
		h.decode(rest, &text)
		if c.tool == "generate_component" {
			return h.e.Generate(h.Context(), in.Kind, text, o)
		}
		planned, err := h.e.Generate(h.Context(), in.Kind, text, engine.Options{DryRun: true})
		if err != nil {
			return nil, err
		}
		return h.e.Apply(h.Context(), planned.Plan, o)
	case "change":
		var change engine.Change
		h.decode(c.arguments, &change)
		return h.e.Change(h.Context(), change, o)
	case "edit":
		return h.e.Edit(h.Context(), in.Edits, o)
	case "destroy_component":
		h.decode(c.arguments, &o.Removal)
		return h.e.Destroy(h.Context(), in.Kind, in.Name, o)
	case "undo":
		return h.e.Undo(h.Context(), in.Operation, o)
	case "redo":
		return h.e.Redo(h.Context(), in.Operation, o)
	case "build":
		var in struct{ Skip []string }
		h.decode(c.arguments, &in)
		o.Skip = in.Skip
		return h.e.Sync(h.Context(), o)
	}
	h.Fatalf("%s: no such operation", c.tool)
	return nil, nil
}

// decode stores arguments in the value that v points to.
func (h *history) decode(arguments object, v any) {
	h.Helper()
	text, err := json.Marshal(arguments)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		h.Fatal(err)
	}
}

// operate makes a call. If it is refused because of stored events, it makes one of the calls that
// the refusal names, until petrock accepts one or names none. It reports whether one was accepted.
func (h *history) operate(c call) bool {
	h.Helper()
	overMCP := h.IntN(2) == 0
	asked := map[string]bool{}
	for {
		before := h.source()
		refusal := h.do(c, overMCP)
		asked[c.String()] = true
		if refusal == "" {
			h.Logf("%s: %s", h.now, c)
			h.accepted++
			h.accept(c)
			return true
		}
		h.refused++
		h.Logf("%s: %s is refused:\n%s", h.now, c, refusal)
		after := h.source()
		if c.tool == "build" || len(c.command) > 0 && c.command[0] == "sync" { // what does not compile is derived too, where that is possible
			maps.DeleteFunc(before, isDerived)
			maps.DeleteFunc(after, isDerived)
			h.accept(c)
		}
		if changed := before.differences(after); changed != "" {
			h.Errorf("%s: %s was refused, and has changed the project:\n%s", h.now, c, changed)
			return false
		}
		next := h.advice(c, refusal)
		fresh := slices.DeleteFunc(slices.Clone(next), func(n call) bool { return asked[n.String()] })
		switch {
		case len(next) == 0:
			named := regexp.MustCompile(`--no-data|no_data|choose another name|restore`)
			if strings.Contains(refusal, "stored events would no longer be readable") && !named.MatchString(refusal) {
				h.Errorf("%s: the refusal of %s names no next call:\n%s", h.now, c, refusal)
			}
			return false
		case len(fresh) == 0:
			h.Errorf("%s: the refusals lead in a circle; that of %s is:\n%s", h.now, c, refusal)
			return false
		}
		c = one(h.maker, fresh...)
	}
}

func isDerived(file, _ string) bool {
	return strings.HasSuffix(file, "_gen.go") || file == contract.File
}

// accept notes the effects of an accepted call: an undo may bring back an edit by hand that was
// broken, and a break that is accepted ends the promise of the last commit.
func (h *history) accept(c call) {
	h.isOpen = h.isOpen || (c.tool == "undo" || c.tool == "redo") && strings.Contains(h.said, "; keep old events readable with ")
	accepted, _ := c.arguments["accept"].([]string)
	if list, ok := c.arguments["accept"].([]any); ok {
		accepted = append(accepted, list[0].(string))
	}
	if len(c.command) == 3 && c.command[1] == "--accept" {
		accepted = append(accepted, c.command[2])
	}
	for _, command := range accepted {
		h.committed = h.committed.Clone()
		delete(h.committed.Commands, command)
	}
}

// must makes a call that petrock accepts.
func (h *history) must(c call) {
	h.Helper()
	h.Logf("%s: %s", h.now, c)
	if refusal := h.do(c, h.IntN(2) == 0); refusal != "" {
		h.Fatalf("%s: %s: %s", h.now, c, refusal)
	}
}

// advice returns the calls that a refusal names.
func (h *history) advice(c call, refusal string) (next []call) {
	if strings.Contains(refusal, "With --force") || strings.Contains(refusal, "With force") {
		next = append(next, c.with("force", true))
	}
	add := func(pattern string, make func(found []string) (call, bool)) {
		for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(refusal, -1) {
			if c, ok := make(found); ok {
				next = append(next, c)
			}
		}
	}
	parse := func(tool, text string) call {
		c := call{tool: tool}
		if err := json.Unmarshal([]byte(text), &c.arguments); err != nil {
			h.Errorf("%s: %s %s: %v", h.now, tool, text, err)
		}
		return c
	}
	decide := func(c call, command string) (call, bool) {
		switch h.IntN(3) {
		case 0:
			return c.with("retire", true), true
		case 1:
			return c.with("skip", true), true
		}
		target, _, ok := h.target(command)
		return c.with("map", target), ok
	}
	add(`map [\w/]+ to (\w+)/\w+: the fields of version \d+ differ .* pass (?:--)?body, Go statements that return (\w+)`, func(found []string) (call, bool) {
		return c.with("body", fmt.Sprintf("return convert[%s](old.Data), nil", found[2])), true
	})
	mayAccept := func(command string) bool { return !h.stores[1].has(command) }
	add(`petrock destroy command (\S+) --retire`, func(found []string) (call, bool) {
		return decide(call{command: []string{"destroy", "command", found[1]}}, found[1])
	})
	add(`(destroy_component) (\{"kind":"command".*?),"retire":true\}`, func(found []string) (call, bool) {
		c := parse(found[1], found[2]+"}")
		return decide(c, c.arguments["name"].(string))
	})
	add(`petrock (destroy) (feature) (\S+) (--skip)`, func(found []string) (call, bool) { return call{command: found[1:]}, true })
	add(`(destroy_component) (\{"kind":"feature".*?\})`, func(found []string) (call, bool) { return parse(found[1], found[2]), true })
	add(`petrock (sync) (--skip) ([\w/]+)`, func(found []string) (call, bool) { return call{command: found[1:]}, true })
	add(`(build) (\{"skip":.*?\})`, func(found []string) (call, bool) { return parse(found[1], found[2]), true })
	// With no-data, the server would not start.
	add(`petrock (sync) (--accept) ([\w/]+)( --no-data)?`, func(found []string) (call, bool) {
		return call{command: found[1:4]}, mayAccept(found[3]) && found[4] == ""
	})
	add(`(build) (\{"accept":\["([\w/]+)"\]\})`, func(found []string) (call, bool) { return parse(found[1], found[2]), mayAccept(found[3]) })
	add(`edit again with --accept ([\w/]+)( --no-data)?`, func(found []string) (call, bool) {
		return c.with("accept", found[1:2]), mayAccept(found[1]) && found[2] == ""
	})
	add(`edit again with "accept":\["([\w/]+)"\](,"no_data")?`, func(found []string) (call, bool) {
		return c.with("accept", found[1:2]), mayAccept(found[1]) && found[2] == ""
	})
	add(`petrock (generate) (version) ([\w/]+)(?: (--rename) (\w+=\w+))?`, func(found []string) (call, bool) {
		return call{command: slices.DeleteFunc(found[1:], func(s string) bool { return s == "" })}, true
	})
	add(`(generate_component) (\{"kind":"version".*?\})`, func(found []string) (call, bool) { return parse(found[1], found[2]), true })
	add(`petrock (change) (command) ([\w/]+) (--rename-field) (\w+=\w+)`, func(found []string) (call, bool) { return call{command: found[1:]}, true })
	add(`(change) (\{"kind":"command","name":"[\w/]+","rename_fields".*?\})`, func(found []string) (call, bool) { return parse(found[1], found[2]), true })
	change := func(found []string) (call, bool) {
		c := call{tool: "change", arguments: object{"kind": "command", "name": found[1]}}
		for _, part := range []struct{ argument, pattern, format string }{
			{"fields", `(\w+) was added`, "%s:string"}, {"default", `(\w+) was added`, "%s=some"}, {"remove_fields", `(\w+) was removed`, "%s"},
		} {
			for _, field := range regexp.MustCompile(part.pattern).FindAllStringSubmatch(refusal, -1) {
				c = c.with(part.argument, append(slices.Clone(c.list(part.argument)), fmt.Sprintf(part.format, field[1])))
			}
		}
		if len(c.arguments) == 2 {
			c = c.with("fields", []string{h.newName("a") + ":string?"})
		}
		return c, true
	}
	add(`petrock change command ([\w/]+)(?:;| --field| --remove-field)`, change)
	add(`change \{"kind":"command","name":"([\w/]+)"(?:\}|,"fields"|,"remove_fields")`, change)
	if strings.Contains(refusal, "to the statements of func (old ") {
		command := c.arguments["name"]
		if c.tool == "" {
			command = c.command[2]
		}
		for _, known := range h.components(derive.Command) {
			if known.EventType == command {
				body := "return convert[" + known.Func + "](old)"
				if c.tool == "change" || c.tool == "" && c.command[0] == "change" {
					next = append(next, c.with("upgrade", body))
				} else {
					next = append(next, c.with("body", body))
				}
			}
		}
	}
	return next
}

// has reports whether a store has events of a command.
func (s *store) has(command string) bool {
	for _, e := range s.events {
		if e.Type == command {
			return true
		}
	}
	return false
}

// target returns another command, and a body that reads events as that.
func (h *history) target(command string) (name, body string, ok bool) {
	all := slices.DeleteFunc(h.components(derive.Command), func(c derive.Component) bool { return c.EventType == command || c.Retired })
	if len(all) == 0 {
		return "", "", false
	}
	c := one(h.maker, all...)
	return c.Feature + "/" + strings.TrimPrefix(c.Name, c.Feature+"_"), fmt.Sprintf("return convert[%s](old.Data), nil", c.Func), true
}

// newName returns a name that was not used before.
func (h *history) newName(prefix string) string {
	h.names++
	return fmt.Sprint(prefix, h.names)
}

// newFields returns fields of random types.
func (h *history) newFields(most int) []string {
	fields := []string{}
	for range h.IntN(most + 1) {
		fields = append(fields, h.newField())
	}
	return fields
}

// newField returns a field of a random type.
func (h *history) newField() string {
	return h.newName("a") + ":" + h.fieldType() + one(h.maker, "", "?")
}

// fieldType returns a type without limits. No two enums have the same values, because they would
// share a type.
func (h *history) fieldType() string {
	enum := "enum(" + h.newName("v") + "," + h.newName("v") + ")"
	basic := one(h.maker, "string", "int", "int64", "float", "bool", "time", "duration", "bytes", "any", "number", enum)
	return one(h.maker, "", "", "", "[]", "map[string]") + basic
}

// addFeature adds a feature whose state is the list of its applied commands.
func (h *history) addFeature() {
	h.Helper()
	name := h.newName("f")
	h.must(call{tool: "generate_component", arguments: object{"kind": "feature", "name": name}})
	text := strings.ReplaceAll(stateText, "PACKAGE", name)
	h.must(call{tool: "edit", arguments: object{"edits": []object{{"path": "features/" + name + "/state.go", "text": text}}}})
}

const stateText = `package PACKAGE

import (
	"context"
	"encoding/json"

	"` + module + `/core/app"
)

// A Line is one applied command.
type Line struct {
	Seq  int64           ` + "`json:\"seq\"`" + `
	Data json.RawMessage ` + "`json:\"data\"`" + `
}

// State holds the applied commands.
type State struct {
	Lines []Line ` + "`json:\"lines\"`" + `
}

// NewState returns the state before the first command.
func NewState() *State { return &State{} }

// add adds an applied command.
func (s *State) add(e app.Event, c any) {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	s.Lines = append(s.Lines, Line{e.Seq, text})
}

// convert returns a value with those fields of another one that fit.
func convert[T any](old any) (converted T) {
	text, err := json.Marshal(old)
	if err != nil {
		panic(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		panic(err)
	}
	for name, value := range fields {
		with := converted
		text, err := json.Marshal(map[string]json.RawMessage{name: value})
		if err != nil {
			panic(err)
		}
		if json.Unmarshal(text, &with) == nil {
			converted = with
		}
	}
	return converted
}

// Dump returns the applied commands.
type Dump struct{}

// Answer returns them in order.
func (q Dump) Answer(ctx context.Context, s *State) (*State, error) { return s, nil }
`

// newCommand returns the call that generates a command.
func (h *history) newCommand(feature string) call {
	name, fields := h.newName("c"), h.newFields(4)
	if h.IntN(3) == 0 {
		fields = []string{"text:string"} // events of such commands can be read as each other
	}
	return call{tool: "generate_component", arguments: object{
		"kind": "command", "name": feature + "/" + name, "description": "Does its work.", "fields": fields, "body": "s.add(e, c)\nreturn " + strings.ToUpper(name) + "Output{}",
	}}
}

// An operation is a random call; ok is false if the project has nothing to call it with.
type operation func(h *history) (c call, ok bool)

// operations returns the operations of petrock that a step chooses from.
func operations() map[string]operation {
	one := func(h *history, kind derive.Kind) (derive.Component, bool) {
		all := h.components(kind)
		if len(all) == 0 {
			return derive.Component{}, false
		}
		return one(h.maker, all...), true
	}
	// change returns a change of a command, with one of its fields.
	change := func(make func(h *history, c derive.Component, fields []contract.Field) object) operation {
		return func(h *history) (call, bool) {
			c, ok := one(h, derive.Command)
			if !ok {
				return call{}, false
			}
			arguments := make(h, c, c.Stored().Fields)
			if arguments == nil {
				return call{}, false
			}
			arguments["name"], arguments["kind"] = c.Name, "command"
			return call{tool: "change", arguments: arguments}, true
		}
	}
	pick := func(h *history, fields []contract.Field) (string, bool) {
		if len(fields) == 0 {
			return "", false
		}
		return fields[h.IntN(len(fields))].Name, true
	}
	destroy := func(kind derive.Kind) operation {
		return func(h *history) (call, bool) {
			c, ok := one(h, kind)
			if kind == derive.Feature {
				c.Name, ok = fmt.Sprint("f", 1+h.IntN(h.names)), true
				if _, err := os.Stat(h.path("features/" + c.Name)); err != nil {
					return call{}, false
				}
			}
			made := call{tool: "destroy_component", arguments: object{"kind": string(kind), "name": c.Name}}
			if kind == derive.Feature && h.IntN(2) == 0 {
				made = made.with("skip", true)
			}
			if kind == derive.Command {
				target, _, hasTarget := h.target(c.EventType)
				switch way := h.IntN(5); {
				case way == 0:
					made = made.with("retire", true)
				case way == 1:
					made = made.with("skip", true)
				case way == 2 && hasTarget:
					made = made.with("map", target)
				}
			}
			return made, ok
		}
	}
	return map[string]operation{
		"command": func(h *history) (call, bool) {
			found, err := os.ReadDir(h.path("features"))
			isRetired := func(c derive.Component) bool { return c.Retired }
			if err != nil || len(slices.DeleteFunc(h.components(derive.Command), isRetired)) > 5 || len(found) == 0 {
				return call{}, false
			}
			c := h.newCommand(found[h.IntN(len(found))].Name())
			if h.IntN(4) == 0 {
				c.tool = "plan"
			}
			return c, true
		},
		"command again": func(h *history) (call, bool) {
			for name, recorded := range h.record.Commands {
				feature, command, _ := strings.Cut(name, "/")
				if _, err := os.Stat(h.path("features/" + feature)); recorded.IsGone() && err == nil {
					c := h.newCommand(feature)
					c.arguments["name"] = name
					c.arguments["body"] = "s.add(e, c)\nreturn " + strings.ToUpper(command) + "Output{}"
					return c, true
				}
			}
			return call{}, false
		},
		"query": func(h *history) (call, bool) {
			found, err := os.ReadDir(h.path("features"))
			if err != nil || len(found) == 0 || len(h.components(derive.Query)) > 2 {
				return call{}, false
			}
			name := h.newName("q")
			return call{tool: "generate_component", arguments: object{"kind": "query", "description": "Does its work.", "name": found[h.IntN(len(found))].Name() + "/" + name, "output": []string{"n:int"},
				"body": "return " + strings.ToUpper(name) + "Output{N: len(s.Lines)}, nil"}}, true
		},
		"worker": func(h *history) (call, bool) {
			c, ok := one(h, derive.Command)
			if !ok || len(h.components(derive.Worker)) > 1 {
				return call{}, false
			}
			return call{tool: "generate_component", arguments: object{"kind": "worker", "name": c.Feature + "/" + h.newName("w"), "on": []string{c.EventType}, "body": "return nil"}}, true
		},
		"rename": change(func(h *history, _ derive.Component, _ []contract.Field) object {
			return object{"rename": h.newName("c")}
		}),
		"optional field": change(func(h *history, _ derive.Component, _ []contract.Field) object {
			return object{"fields": []string{h.newName("a") + ":" + h.fieldType() + "?"}}
		}),
		"required field": change(func(h *history, _ derive.Component, _ []contract.Field) object {
			name := h.newName("a")
			return object{"fields": []string{name + ":string"}, "default": []string{name + "=some"}}
		}),
		"undecided field": change(func(h *history, _ derive.Component, _ []contract.Field) object {
			return object{"fields": []string{h.newField()}}
		}),
		"rename field": change(func(h *history, _ derive.Component, fields []contract.Field) object {
			name, ok := pick(h, fields)
			if !ok {
				return nil
			}
			h.renamed = map[string]string{name: h.newName("a")}
			return object{"rename_fields": []string{name + "=" + h.renamed[name]}}
		}),
		"retype field": change(func(h *history, c derive.Component, fields []contract.Field) object {
			name, ok := pick(h, fields)
			if !ok {
				return nil
			}
			return object{"fields": []string{name + ":" + h.fieldType()}, "upgrade": "return convert[" + c.Func + "](old)"}
		}),
		"remove field": change(func(h *history, _ derive.Component, fields []contract.Field) object {
			name, ok := pick(h, fields)
			if !ok {
				return nil
			}
			return object{"remove_fields": []string{name}}
		}),
		"destroy command": destroy(derive.Command),
		"destroy query":   destroy(derive.Query),
		"destroy worker":  destroy(derive.Worker),
		"destroy feature": destroy(derive.Feature),
		"undo":            func(h *history) (call, bool) { return call{tool: "undo", arguments: object{}}, true },
		"redo":            func(h *history) (call, bool) { return call{tool: "redo", arguments: object{}}, true },
		"undo one": func(h *history) (call, bool) {
			done, err := h.e.History(h.Context())
			if err != nil {
				h.Fatal(err)
			}
			last := done.Operations[max(0, len(done.Operations)-8):]
			undo := call{tool: "undo", arguments: object{"operation": last[h.IntN(len(last))].ID}}
			if h.IntN(5) == 0 {
				undo = undo.with("force", true)
			}
			return undo, true
		},
		"sync": func(h *history) (call, bool) { return call{tool: "build", arguments: object{}}, true },
		"edit": func(h *history) (call, bool) {
			edits, _ := h.edit()
			return call{tool: "edit", arguments: object{"edits": edits, "test": true}}, edits != nil
		},
	}
}

// step does one random step, and settles it.
func (h *history) step() {
	h.Helper()
	all := operations()
	kinds := append(slices.Sorted(maps.Keys(all)), "command", "command", "feature", "commit", "commit", "checkout", "stash", "edit by hand", "edit by hand", "edit by hand", "no server", "undo", "undo", "redo", "undo one")
	for {
		h.renamed = nil
		kind := kinds[h.IntN(len(kinds))]
		if h.isOpen && (kind == "commit" || kind == "stash" || kind == "checkout") {
			continue
		}
		if !h.try(kind, all[kind]) {
			continue
		}
		if h.Failed() {
			return
		}
		if h.isOpen && h.IntN(3) > 0 {
			h.mend()
		}
		if !h.isOpen {
			h.execute(h.stores[0])
		}
		return
	}
}

// try does a step of a kind. It returns false if the project has nothing to do it with.
func (h *history) try(kind string, make operation) bool {
	h.Helper()
	switch kind {
	case "feature":
		found, err := os.ReadDir(h.path("features"))
		if h.isOpen || err == nil && len(found) > 2 {
			return false
		}
		h.addFeature()
	case "commit":
		h.commit()
		return true
	case "no server":
		h.Logf("%s: remove %s", h.now, engine.ServerDir)
		if err := os.RemoveAll(h.path(engine.ServerDir)); err != nil {
			h.Fatal(err)
		}
		return true
	case "checkout":
		changed := strings.Fields(h.git("diff", "--name-only", "HEAD"))
		if len(changed) == 0 {
			return false
		}
		file := changed[h.IntN(len(changed))]
		if slices.Contains(changed, contract.File) && h.IntN(3) == 0 {
			file = contract.File
		}
		h.Logf("%s: git checkout %s", h.now, file)
		h.git("checkout", "-q", "HEAD", "--", file)
		h.isOpen = true
		h.operate(call{tool: "build", arguments: object{}})
	case "stash":
		return h.stash()
	case "edit by hand":
		edits, command := h.edit()
		if edits == nil || h.isOpen {
			return false
		}
		h.byHand(edits)
		switch h.IntN(4) {
		case 0:
			h.operate(call{tool: "generate_component", arguments: object{"kind": "version", "name": command}})
		case 1: // the next step follows
		default:
			h.operate(call{tool: "build", arguments: object{}})
		}
	default:
		c, ok := make(h)
		if !ok {
			return false
		}
		h.operate(c)
	}
	if !h.Failed() {
		h.settle()
	}
	return true
}

// byHand changes files, as a user would.
func (h *history) byHand(edits []engine.FileEdit) {
	h.Helper()
	h.isOpen = true
	for _, edit := range edits {
		text, err := json.Marshal(edit)
		if err != nil {
			h.Fatal(err)
		}
		h.Logf("%s: by hand: %s", h.now, text)
		switch {
		case edit.Delete:
			err = os.Remove(h.path(edit.Path))
		case edit.Rename != "":
			err = os.Rename(h.path(edit.Path), h.path(edit.Rename))
		default:
			h.write(edit.Path, *edit.Text)
		}
		if err != nil {
			h.Fatal(err)
		}
	}
}

// mend makes the project sound after edits by hand: it follows what petrock says, or takes the
// edits back.
func (h *history) mend() {
	h.Helper()
	if !h.isOpen {
		return
	}
	if h.IntN(2) == 0 {
		h.operate(call{tool: "build", arguments: object{}})
		h.settle()
	}
	if h.isOpen {
		h.restore()
		h.settle()
	}
}

// stash puts the changes since the last commit aside, and looks at the last commit.
func (h *history) stash() bool {
	h.Helper()
	if h.git("status", "--porcelain") == "" {
		return false
	}
	h.Logf("%s: git stash", h.now)
	h.git("stash", "-q", "-u")
	if checked, err := h.e.Check(h.Context()); err != nil || !checked.OK {
		h.Errorf("%s: the check of the last commit: %v, %s", h.now, err, checked.Stale())
	}
	h.build()
	if _, err := h.runServer("replay", "--data", h.stores[1].dir); err != nil && h.hasFeatures() {
		h.Errorf("%s: the server of the last commit does not start on the data of earlier commits: %v", h.now, err)
	}
	h.git("stash", "pop", "-q")
	h.settle()
	return true
}

// edit returns a random edit of a command, and the command.
func (h *history) edit() (edits []engine.FileEdit, command string) {
	all := h.components(derive.Command)
	if len(all) == 0 {
		return nil, ""
	}
	c := one(h.maker, all...)
	before := h.read(c.File)
	files := append([]string{c.File}, c.OlderFiles()...)
	for _, file := range slices.Clone(files) {
		test := strings.TrimSuffix(file, ".go") + "_test.go"
		if _, err := os.Stat(h.path(test)); err == nil {
			files = append(files, test)
		}
	}
	var remove []engine.FileEdit
	for _, file := range files {
		remove = append(remove, engine.FileEdit{Path: file, Delete: true})
	}
	set := func(file, text string) engine.FileEdit { return engine.FileEdit{Path: file, Text: &text} }
	head := regexp.MustCompile(`(?m)^type ` + c.Func + ` struct ?\{`)
	insert := func(field string) []engine.FileEdit {
		at := head.FindStringIndex(before)
		if at == nil || strings.HasPrefix(before[at[1]:], "}") {
			return nil
		}
		return []engine.FileEdit{set(c.File, before[:at[1]]+"\n"+field+before[at[1]:])}
	}
	// line changes the line of a random field.
	line := func(change func(line []string) string) []engine.FileEdit {
		fields := c.Stored().Fields
		if len(fields) == 0 {
			return nil
		}
		pattern := regexp.MustCompile("(?m)^\t(\\w+) +(\\S+) +`json:\"" + fields[h.IntN(len(fields))].Name + "(,\\w+)?\"`.*\n")
		found := pattern.FindStringSubmatch(before)
		if found == nil {
			return nil
		}
		return []engine.FileEdit{set(c.File, strings.Replace(before, found[0], change(found), 1))}
	}
	name := h.newName("a")
	goName := strings.ToUpper(name)
	switch h.IntN(12) {
	case 0:
		edits = remove
	case 1:
		edits = line(func(line []string) string { return "" })
	case 2:
		edits = line(func(line []string) string {
			return regexp.MustCompile(`json:"\w+`).ReplaceAllString(line[0], `json:"`+name)
		})
	case 3:
		edits = line(func(line []string) string {
			return strings.Replace(line[0], " "+line[2]+" ", " "+one(h.maker, "string", "int", "[]string", "int64", "float64", "*string")+" ", 1)
		})
	case 4:
		edits = insert("\t" + goName + " string `json:\"" + name + "\"`\n")
	case 5:
		edits = insert("\t" + goName + " *string `json:\"" + name + ",omitempty\"`\n")
	case 6:
		if edits = insert("\t" + goName + " []" + c.Func + goName + " `json:\"" + name + ",omitzero\"`\n"); edits != nil {
			text := *edits[0].Text + "\n// " + c.Func + goName + " is nested.\ntype " + c.Func + goName + " struct {\n\tText string `json:\"text\"`\n\tMore []" + c.Func + goName + " `json:\"more,omitempty\"`\n}\n"
			edits[0].Text = &text
		}
	case 7:
		edits = []engine.FileEdit{{Path: c.File, Rename: path.Join(path.Dir(c.File), h.newName("moved")+".go")}}
	case 8:
		edits = append(slices.DeleteFunc(remove, func(edit engine.FileEdit) bool { return !strings.HasSuffix(edit.Path, "_test.go") }),
			set(c.File, head.ReplaceAllString(before, "//\n//petrock:retired\n$0")))
	case 9:
		target, body, ok := h.target(c.EventType)
		if ok {
			feature, command, _ := strings.Cut(target, "/")
			edits = append(remove, set("features/"+feature+"/"+name+".go", fmt.Sprintf("package %s\n\nimport \"%s/core/app\"\n\n// map%s reads old events.\n//\n//petrock:map %s\nfunc map%[3]s(old app.Record) (%[5]s, error) {\n\t%[6]s\n}\n",
				feature, module, goName, c.EventType, strings.ToUpper(command), body)))
		}
	case 10: // another name in the event log
		pattern := regexp.MustCompile(`\b` + c.Func + `(V\d+|Output)?\b`)
		for _, file := range append([]string{c.File}, c.OlderFiles()...) {
			edits = append(edits, set(file, pattern.ReplaceAllString(h.read(file), goName+"$1")))
		}
		for _, edit := range remove {
			if strings.HasSuffix(edit.Path, "_test.go") {
				edits = append(edits, edit)
			}
		}
	case 11:
		if older := c.OlderFiles(); len(older) > 0 {
			edits = slices.DeleteFunc(remove, func(edit engine.FileEdit) bool {
				return !strings.HasPrefix(edit.Path, strings.TrimSuffix(older[0], ".go"))
			})
		}
	}
	return edits, c.EventType
}
