package generators

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// WorkerInput is the input of Worker.
type WorkerInput struct {
	Name        string   `json:"name"`                              // Such as posts/digest
	Fields      []string `json:"fields,omitempty"`                  // Fields of its saved state w, as for a tool
	On          []string `json:"on,omitempty"`                      // Commands, such as posts/create
	Every       string   `json:"every,omitempty"`                   // Interval, such as 5m
	Description string   `json:"description,omitempty"`             // Such as: Mails new posts.
	Body        string   `json:"body,omitempty" schema:"format=go"` // Go statements that return nil, or an error to retry later. In scope: ctx, w; with on also c (the command) and e (its event). app.Do(ctx, Publish{…}) executes a command
	Examples    []Step   `json:"examples,omitempty"`                // Test cases, as for a command, with a run of the worker after each call; later advances the clock first, such as 336h
}

// A trigger is a command or an interval that runs a worker.
type trigger struct {
	method  string
	feature string // of the command; empty for an interval
	command string // type of the command
	label   string // posts/create, or 5m
}

// Worker creates a worker of a feature, which commands or a timer trigger. It calls external systems and
// executes commands.
func Worker(p gen.Project, in WorkerInput) (gen.Draft, error) {
	n, err := newComponent(p, "worker", derive.Features, in.Name, in.Description, Implementation{in.Body, in.Examples})
	if err != nil {
		return gen.Draft{}, err
	}
	triggers, err := n.parseTriggers(p, in)
	if err != nil {
		return gen.Draft{}, err
	}
	if n.isWritten() && len(triggers) > 1 {
		return gen.Draft{}, fmt.Errorf("a body needs exactly one trigger, not %d; send one trigger, and write the other methods by hand", len(triggers))
	}
	fields, err := gen.ParseFields(in.Fields)
	if err != nil {
		return gen.Draft{}, err
	}
	file := n.file(p)
	file.ImportName(p.Import("core/app"), "app")
	state := structure{name: n.goName, prefix: n.goName, about: n.about(), fields: fields, logged: true}
	state.write(file)
	for _, t := range triggers {
		n.writeMethod(p, file, t)
	}
	test, err := n.workerTest(p, triggers)
	return n.draft(p, file, test, err)
}

func (n component) parseTriggers(p gen.Project, in WorkerInput) ([]trigger, error) {
	if len(in.On) == 0 && in.Every == "" {
		return nil, errors.New("a worker needs on (--on), a command such as posts/create, or every (--every), an interval such as 5m")
	}
	var all []trigger
	for _, text := range in.On {
		t, err := n.parseCommand(p, text)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	if in.Every == "" {
		return all, nil
	}
	if interval, err := time.ParseDuration(in.Every); err != nil || interval < time.Second {
		return nil, fmt.Errorf("every %q: not a duration of at least 1s; write 30s, 5m or 1h30m", in.Every)
	}
	return append(all, trigger{method: "Every", label: in.Every}), nil
}

// parseCommand parses the name of a command, such as posts/create.
func (n component) parseCommand(p gen.Project, text string) (trigger, error) {
	feature, rest, _ := strings.Cut(text, "/")
	name, err := gen.ParseName(rest)
	if err != nil {
		return trigger{}, fmt.Errorf("on %q: write FEATURE/COMMAND, such as posts/create", text)
	}
	if p.Packages[featureDir(feature)] == "" {
		return trigger{}, fmt.Errorf("on %q: the project has no feature %s; create the command %s/%s first", text, feature, feature, rest)
	}
	t := trigger{feature: feature, command: name.Go(), label: feature + "/" + name.Wire()}
	if known := n.knownFeature(p, feature); known != nil {
		for _, c := range known.Commands {
			if c.EventType == t.label {
				t.command = c.Type
			}
		}
	}
	t.method = "On" + t.command
	if feature != n.feature {
		t.method = "On" + gen.Capitalize(feature) + t.command
	}
	return t, nil
}

// writeMethod adds the method of a trigger, such as OnCreate.
func (n component) writeMethod(p gen.Project, file gen.GoFile, t trigger) {
	params := "ctx context.Context"
	if t.feature == "" {
		file.Comment("// Every is called at the interval in the directive below. After an error it is called again later.")
		writeDirectives(file, []string{"every " + t.label})
	} else {
		file.Commentf("// %s is called for each %s, in the order of the event log, at least once. After an error it is called again.", t.method, t.label)
		command := t.command
		if t.feature != n.feature {
			file.ImportName(p.Import(featureDir(t.feature)), t.feature)
			command = file.Ref(p.Import(featureDir(t.feature)), t.command)
		}
		params += ", c " + command + ", e " + file.Ref(p.Import("core/app"), "Event")
	}
	body := `// Do the work here. app.Do(ctx, …) executes a command, app.Query(ctx, …) runs a query.
		// Exported fields of w are saved.
		return nil`
	if n.isWritten() {
		body = n.body.text
	}
	file.Text("func (w *"+n.goName+") "+t.method+"("+params+") error {\n"+body+"\n}", "context")
}

// workerTest returns the test of a worker. Without examples the test does not run a body, which may
// have side effects.
func (n component) workerTest(p gen.Project, triggers []trigger) (gen.GoFile, error) {
	for _, t := range triggers {
		n.others = addFeature(n.others, t.feature)
	}
	err := n.encode(p, nil)
	const work = "client.Work(t.Context())"
	return n.test(p, func(file gen.GoFile) string {
		switch {
		case !n.isWritten():
			return "// " + n.wire + " is not written yet. Once it is, execute commands with client.Given, and check the effects here.\n" + work
		case len(n.given)+len(n.steps) == 0:
			file.Use("strings")
			return fmt.Sprintf(`// Execute commands with client.Given, run the worker with client.Work(t.Context()), and check the effects here.
				if offered := client.ReadResource("app://features")[0].Text; !strings.Contains(offered, %q) {
					t.Errorf("worker %s is not listed: %%s", offered)
				}`, n.name.Wire(), n.wire)
		case len(n.steps) > 0:
			return work + "\n" + stepLoop(file, p.Import("core/mcptest"), n.steps, checkStepTool, "\n"+work)
		}
		return work
	}), err
}
