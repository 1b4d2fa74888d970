package generators

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/petrock/petrock/generators/gen"
)

// WorkerInput is the input of Worker.
type WorkerInput struct {
	Name        string     `json:"name"`                              // Such as posts/digest
	Fields      []string   `json:"fields,omitempty"`                  // Fields of its saved state w, as for a tool
	On          []string   `json:"on,omitempty"`                      // Commands, such as posts/create
	Every       string     `json:"every,omitempty"`                   // Interval, such as 5m
	Description string     `json:"description,omitempty"`             // Such as: Mails new posts.
	Body        string     `json:"body,omitempty" schema:"format=go"` // Go statements that return nil, or an error to retry later. In scope: ctx, w; with on also c (the command) and e (its event). app.Do(ctx, Publish{…}) executes a command
	Examples    []gen.Step `json:"examples,omitempty"`                // As for a command; the worker runs after setup and each call; later advances the clock first, such as 336h
}

// A trigger is a command or an interval that runs a worker.
type trigger struct {
	method  string
	feature string // of the command; empty for an interval
	command string // type of the command
	label   string // posts/create, or 5m
}

// Worker creates a worker of a feature, which commands or a timer trigger. It calls external
// systems and executes commands.
func Worker(p gen.Project, in WorkerInput) (gen.Draft, error) {
	n, err := newComponent(p, "worker", request{name: in.Name, description: in.Description, fields: in.Fields, Implementation: Implementation{in.Body, in.Examples}})
	if err != nil {
		return gen.Draft{}, err
	}
	triggers, err := n.parseTriggers(in)
	if err != nil {
		return gen.Draft{}, err
	}
	if n.isWritten() && len(triggers) > 1 {
		return gen.Draft{}, fmt.Errorf("a body needs exactly one trigger, not %d; send one trigger, and write the other methods by hand", len(triggers))
	}
	file := n.file()
	n.input.about = cmp.Or(n.input.about, n.goName+" is a worker of "+n.feature+". Its exported fields are saved.")
	n.input.write(file)
	for i, t := range triggers {
		n.writeMethod(file, t, i == 0)
	}
	test, err := n.workerTest(triggers)
	return n.draft(file, test, err)
}

func (n component) parseTriggers(in WorkerInput) ([]trigger, error) {
	if len(in.On) == 0 && in.Every == "" {
		return nil, fmt.Errorf("a worker needs %s, a command such as posts/create, or %s, an interval such as 5m", n.project.Option("on"), n.project.Option("every"))
	}
	var all []trigger
	for _, text := range in.On {
		t, err := n.parseCommand(text)
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
func (n component) parseCommand(text string) (trigger, error) {
	feature, rest, _ := strings.Cut(text, "/")
	name, err := gen.ParseName(rest, n.project.Initialisms...)
	if err != nil {
		return trigger{}, fmt.Errorf("on %q: write FEATURE/COMMAND, such as posts/create", text)
	}
	if n.project.Packages[featureDir(feature)] == "" {
		return trigger{}, fmt.Errorf("on %q: the project has no feature %s; create the command %s/%s first", text, feature, feature, rest)
	}
	t := trigger{feature: feature, command: name.Go(), label: feature + "/" + name.Wire()}
	if known := n.knownFeature(feature); known != nil {
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

// writeMethod adds the method of a trigger, such as OnCreate. A comment in the first one names the
// functions that it can call.
func (n component) writeMethod(file gen.GoFile, t trigger, isFirst bool) {
	params := "ctx context.Context"
	if t.feature == "" {
		writeDoc(file, "Every is called at this interval. After an error it is called again later.", []string{"every " + t.label})
	} else {
		writeDoc(file, t.method+" is called for each "+t.label+", in the order of the event log, at least once. After an error it is called again later; after six errors the event is set aside.", nil)
		command := t.command
		if t.feature != n.feature {
			file.ImportName(n.project.Import(featureDir(t.feature)), t.feature)
			command = file.Ref(n.project.Import(featureDir(t.feature)), t.command)
		}
		params += ", c " + command + ", e " + file.Ref(n.project.Import("core/app"), "Event")
	}
	body := ""
	if n.isWritten() {
		body = n.body.text
	} else {
		body = "return " + n.unwrittenError(file)
		if isFirst {
			body = "// app.Do(ctx, …) executes a command, app.Query(ctx, …) runs a query.\n" + body
		}
	}
	file.Text("func (w *"+n.goName+") "+t.method+"("+params+") error {\n"+body+"\n}", "context")
}

// workerTest returns the test of a worker. If the worker is not written yet, the test calls its
// methods and expects that error. Without examples the test does not run a body, which may have
// side effects.
func (n component) workerTest(triggers []trigger) (gen.GoFile, error) {
	for _, t := range triggers {
		n.others = addFeatures(n.others, t.feature)
	}
	err := n.encode(nil)
	work := fmt.Sprintf("client.Work(t.Context(), %q)", n.wire)
	return n.test(func(file gen.GoFile) string {
		switch {
		case !n.isWritten():
			return n.callUnwritten(file, triggers)
		case len(n.given)+len(n.steps) == 0:
			file.Import("slices")
			return fmt.Sprintf(`// The worker may have side effects, so this test does not run it. To do so, execute commands
				// with client.Given, call client.Work(t.Context()), and check the effects.
				if got, want := client.Workers(), %q; !slices.Contains(got, want) {
					t.Errorf("client.Workers() = %%q, want %%q in it", got, want)
				}`, n.wire)
		case len(n.steps) > 0:
			return work + "\n" + n.stepLoop(file, n.project.Import("core/mcptest"), n.steps, checkStepTool, "\n"+work)
		}
		return work
	}), err
}

// callUnwritten returns statements that call each method of the worker.
func (n component) callUnwritten(file gen.GoFile, triggers []trigger) string {
	file.Import("strings")
	app := n.project.Import("core/app")
	text := fmt.Sprintf(`ctx := %s(t.Context(), client.App)
		worker := new(%s)
		// When the worker is written, execute commands with client.Given instead, call
		// client.Work(t.Context(), %q), and check the effects.`,
		file.Ref(app, "With"), file.Ref(n.project.Import(n.dir), n.goName), n.wire)
	for _, t := range triggers {
		arguments := "ctx"
		if t.feature != "" {
			arguments += ", " + file.Ref(n.project.Import(featureDir(t.feature)), t.command) + "{}, " + file.Ref(app, "Event") + "{}"
		}
		text += fmt.Sprintf(`
			if err := worker.%[1]s(%[2]s); err == nil || !strings.Contains(err.Error(), "not written yet") {
				t.Errorf("%[1]s() = %%v, want an error with %%q", err, "not written yet")
			}`, t.method, arguments)
	}
	return text
}
