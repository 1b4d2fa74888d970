package campaign_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/engine"
)

// A call is an operation: a tool of the dev server and its arguments, or a petrock command.
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
	case overMCP && c.arguments["dry_run"] == true:
		planned := h.client.CallTool(c.tool, c.arguments)
		if planned.IsError {
			return planned.Text()
		}
		var result engine.Result
		if err := json.Unmarshal(planned.StructuredContent, &result); err != nil {
			h.Fatal(err)
		}
		if result.Plan == "" { // nothing would change
			return ""
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

// inTerminal makes a call as petrock's command line does. It applies the plan of a dry run.
func (h *history) inTerminal(c call) (*engine.Result, error) {
	h.Helper()
	if c.arguments["dry_run"] == true {
		planned, err := h.inTerminal(c.with("dry_run", "plan"))
		if err != nil || planned.Plan == "" {
			return planned, err
		}
		return h.e.Apply(h.Context(), planned.Plan, engine.Options{})
	}
	var in struct {
		Kind, Name, Plan, Operation string
		Force, Test, Redo           bool
		Edits                       []engine.FileEdit
		Accept                      []string
	}
	h.decode(c.arguments, &in)
	o := engine.Options{Force: in.Force, Test: in.Test, Accept: in.Accept, DryRun: c.arguments["dry_run"] == "plan"}
	switch c.tool {
	case "generate_component":
		rest := maps.Clone(c.arguments)
		delete(rest, "kind")
		delete(rest, "dry_run")
		var text json.RawMessage
		h.decode(rest, &text)
		return h.e.Generate(h.Context(), in.Kind, text, o)
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
		if in.Redo {
			return h.e.Redo(h.Context(), in.Operation, o)
		}
		return h.e.Undo(h.Context(), in.Operation, o)
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
	if c.tool != "" && c.tool != "build" && h.IntN(3) == 0 { // build may update other packages although it is refused
		c = c.with("dry_run", true)
	}
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

// accept records the effects of an accepted call: an undo may restore a broken edit by hand, and an
// accepted incompatible change ends the promise of the last commit to read older events.
func (h *history) accept(c call) {
	h.isOpen = h.isOpen || c.tool == "undo" && strings.Contains(h.said, "; keep old events readable with ")
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

// must makes a call. It fails the test if petrock refuses it.
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

// target returns a random other command, and a body that converts events to it.
func (h *history) target(command string) (name, body string, ok bool) {
	all := slices.DeleteFunc(h.components(derive.Command), func(c derive.Component) bool { return c.EventType == command || c.Retired })
	if len(all) == 0 {
		return "", "", false
	}
	c := one(h.maker, all...)
	return c.Feature + "/" + strings.TrimPrefix(c.Name, c.Feature+"_"), fmt.Sprintf("return convert[%s](old.Data), nil", c.Func), true
}
