package campaign_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/engine"
)

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

// An operation returns a random call; ok is false if the call is not possible in this project.
type operation func(h *history) (c call, ok bool)

// operations returns petrock's operations that a step chooses from, by name.
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
		"redo":            func(h *history) (call, bool) { return call{tool: "undo", arguments: object{"redo": true}}, true },
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

// step performs one random step and checks the project after it.
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

// try performs a step of a kind. It returns false if the step is not possible in this project.
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

// mend makes the project sound after edits by hand: it follows petrock's advice, or reverts the
// edits.
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

// stash stashes the changes since the last commit, checks the last commit, and restores the
// changes.
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
