package generators

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/generators/gen"
)

// WorkerInput is what the generator of workers takes.
type WorkerInput struct {
	Name        string   `json:"name"`                              // Feature and name, such as posts/digest
	Fields      []string `json:"fields,omitempty"`                  // What it remembers, in w, as of generate_tool
	On          []string `json:"on,omitempty"`                      // Commands that it follows, such as posts/create
	Every       string   `json:"every,omitempty"`                   // How often it runs by the clock, such as 5m
	Description string   `json:"description,omitempty"`             // What it does, such as: Mails new posts.
	Body        string   `json:"body,omitempty" schema:"format=go"` // Go statements that do the work and return an error, if it is to be done again. ctx, w and, of a command, c and e are there; app.Do(ctx, Publish{…}) executes a command
	Examples    []Step   `json:"examples,omitempty"`                // Its test: calls of tools, after each of which it works
}

type duty struct {
	method  string
	feature string // of the command that it follows; empty if it follows the clock
	command string // its type
	label   string // what it follows: posts/create, 5m
}

// Worker makes a worker of a feature: it follows commands, or the clock, does work outside, and answers with commands. After a
// crash it goes on where it was.
func Worker(p gen.Project, in WorkerInput) (gen.Draft, error) {
	n, err := inFeature(p, "worker", in.Name, in.Description)
	if err != nil {
		return gen.Draft{}, err
	}
	duties, err := n.duties(p, in)
	if err != nil {
		return gen.Draft{}, err
	}
	if err := n.tried(in.Body, in.Examples); err != nil {
		return gen.Draft{}, err
	}
	if n.isWritten() && len(duties) > 1 {
		return gen.Draft{}, fmt.Errorf("the body is for one of the %d things that the worker follows; ask for one of them, and write the other methods by hand", len(duties))
	}
	fields, err := gen.ParseFields(in.Fields)
	if err != nil {
		return gen.Draft{}, err
	}
	var methods []string
	for _, d := range duties {
		methods = append(methods, d.method)
	}
	if err := n.apartFrom(fields, methods...); err != nil {
		return gen.Draft{}, err
	}
	if !n.isWritten() {
		if fields, err = counted(fields); err != nil {
			return gen.Draft{}, err
		}
	}

	file := n.file(p)
	file.ImportName(p.Import("core/app"), "app")
	kept := structure{name: n.goName, prefix: n.goName, about: n.about(), fields: fields, logged: true}
	if err := n.apart(kept); err != nil {
		return gen.Draft{}, err
	}
	kept.write(file)
	for _, d := range duties {
		n.duty(p, file, d)
	}
	test, err := n.workerTest(p, duties)
	return n.draft(p, file, test, err)
}

// counted adds to the fields of a worker that is left to be written how often it was called.
func counted(fields []gen.Field) ([]gen.Field, error) {
	for _, f := range fields {
		if strings.EqualFold(f.Name, "runs") {
			return nil, fmt.Errorf("field %q: as long as there is no body, the worker has a field Runs that counts how often it was called; give yours another name, or send a body", f.Name)
		}
	}
	return append(fields, gen.Field{Name: "runs", Go: "Runs", Type: gen.FieldType{Kind: gen.KindInt}, Description: "How often it was called; what is here is kept with how far in the log it is"}), nil
}

func (n named) duties(p gen.Project, in WorkerInput) ([]duty, error) {
	if len(in.On) == 0 && in.Every == "" {
		return nil, errors.New("a worker needs \"on\", a command such as posts/create, or \"every\", an interval such as 5m")
	}
	var all []duty
	for _, text := range in.On {
		d, err := n.follows(p, text)
		if err != nil {
			return nil, err
		}
		for _, other := range all {
			if other.method == d.method {
				return nil, fmt.Errorf("the worker is to follow %s and %s, which is too much of one; name each command once", other.label, d.label)
			}
		}
		all = append(all, d)
	}
	if in.Every == "" {
		return all, nil
	}
	interval, err := time.ParseDuration(in.Every)
	switch {
	case err != nil:
		return nil, fmt.Errorf("every %q is no length of time; write it as 30s, 5m or 1h30m", in.Every)
	case interval < time.Second:
		return nil, fmt.Errorf("every %q is less than a second; give it at least 1s", in.Every)
	}
	return append(all, duty{method: "Every", label: in.Every}), nil
}

// follows is the duty to follow a command: posts/create, or create of the worker's own feature.
func (n named) follows(p gen.Project, text string) (duty, error) {
	feature, rest, ok := strings.Cut(text, "/")
	if !ok {
		feature, rest = n.feature, text
	}
	name, err := gen.ParseName(rest)
	if err != nil {
		return duty{}, fmt.Errorf("on %q: a command is named by its feature, a slash and its own name, such as posts/create", text)
	}
	if p.Packages[featureDir(feature)] == "" {
		return duty{}, fmt.Errorf("on %q: there is no feature %s; make it and its command first: command %s", text, feature, feature+"/"+rest)
	}
	d := duty{feature: feature, command: name.Go(), label: feature + "/" + name.Wire()}
	if p.Feature != nil {
		if d.command, err = commandOf(p.Feature(feature), d); err != nil {
			return duty{}, fmt.Errorf("on %q: %w", text, err)
		}
	}
	d.method = "On" + d.command
	if feature != n.feature {
		owner, err := gen.ParseName(feature)
		if err != nil {
			return duty{}, err
		}
		d.method = "On" + owner.Go() + d.command
	}
	return d, nil
}

// commandOf is the type of the command of a feature that is to be followed.
func commandOf(f *gen.Feature, d duty) (string, error) {
	if f == nil {
		return d.command, nil
	}
	var names []string
	for _, c := range f.Commands {
		if c.EventType == d.label || c.Type == d.command {
			return c.Type, nil
		}
		names = append(names, c.EventType)
	}
	if slices.Contains(f.Declared, d.command) && len(names) == 0 { // nothing more is known, and the compiler will tell
		return d.command, nil
	}
	if len(names) == 0 {
		return "", fmt.Errorf("the feature %s has no commands yet; make one first: command %s", d.feature, d.label)
	}
	return "", fmt.Errorf("the feature %s has no such command; it has %s", d.feature, strings.Join(names, ", "))
}

// duty adds a method, such as OnCreate.
func (n named) duty(p gen.Project, file gen.GoFile, d duty) {
	params := "ctx context.Context"
	if d.feature == "" {
		file.Comment("// Every is called by the clock. After an error it is called again, later.")
		direct(file, []string{"every " + d.label})
	} else {
		file.Paragraph(
			fmt.Sprintf("%s is called with each %s, in the order of the log: at least once, and again if it returns an error.", d.method, d.label),
		)
		command := d.command
		if d.feature != n.feature {
			file.ImportName(p.Import(featureDir(d.feature)), d.feature)
			command = file.Ref(p.Import(featureDir(d.feature)), d.command)
		}
		params += ", c " + command + ", e " + file.Ref(p.Import("core/app"), "Event")
	}
	body := `// Do the work here. app.Do(ctx, …) executes a command, app.Ask(ctx, …) answers a query.
		w.Runs++
		return nil`
	if n.isWritten() {
		body = n.body.text
	}
	file.Text("func (w *"+n.goName+") "+d.method+"("+params+") error {\n"+body+"\n}", "context")
}

// workerTest is the test of a worker. It never runs work that nobody has given an example of: that may do anything.
func (n named) workerTest(p gen.Project, duties []duty) (gen.GoFile, error) {
	for _, d := range duties {
		n.others = add(n.others, d.feature)
	}
	all, err := n.steps(p)
	const work = "client.Work(t.Context())"
	return n.test(p, func(file gen.GoFile) string {
		switch {
		case !n.isWritten():
			return "// It does nothing yet. Execute here what it follows, with client.Given, and say what comes of it.\n" + work
		case len(n.given)+len(all) == 0:
			file.Use("strings")
			return fmt.Sprintf(`// client.Given executes what it follows, client.Work(t.Context()) has it work. Say here what comes of it.
				if offered := client.ReadResource("app://features")[0].Text; !strings.Contains(offered, %q) {
					t.Errorf("there is no worker %s: %%s", offered)
				}`, n.name.Wire(), n.wire)
		case len(all) > 0:
			return work + "\n" + calls(file, p.Import("core/mcptest"), all, "\n"+work)
		}
		return work
	}), err
}
