package mcpcli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/petrock/petrock/cmd/petrock/internal/mcpconfig"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/core/terminal"
)

// An asker asks somebody at a terminal what a server wants to know.
type asker struct {
	in       *bufio.Reader
	out      io.Writer
	progress *terminal.Progress // is in the way
}

// askerFor is nil if there is nobody to ask.
func askerFor(env Env, progress *terminal.Progress) *asker {
	if !terminal.Watched(env.In) || !terminal.Watched(env.Err) {
		return nil
	}
	return &asker{bufio.NewReader(env.In), env.Err, progress}
}

// inputFrom asks for the inputs of .vscode/mcp.json; it is nil if there is nobody to ask, and secrets are not asked for: they would be seen.
func inputFrom(env Env) func(mcpconfig.Input) (string, error) {
	a := askerFor(env, &terminal.Progress{})
	if a == nil {
		return nil
	}
	return func(in mcpconfig.Input) (string, error) {
		if in.Password {
			return "", fmt.Errorf("%w unseen; set %s in the environment", mcpconfig.ErrUnasked, in.Variable())
		}
		text := in.Description
		if text == "" {
			text = in.ID
		}
		for _, option := range in.Options {
			text += "\n  " + option.Value
			if option.Label != option.Value {
				text += "  " + option.Label
			}
		}
		answer, err := a.line(context.Background(), plain(text)+suggested(in.Default)+": ")
		if answer == "" {
			answer = in.Default
		}
		return answer, err
	}
}

// suggested is how a default is shown.
func suggested(text string) string {
	if text == "" {
		return ""
	}
	return " [" + plain(text) + "]"
}

// line asks for a line. It ends with the context.
func (a *asker) line(ctx context.Context, question string) (string, error) {
	a.progress.End()
	fmt.Fprint(a.out, question)
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := a.in.ReadString('\n')
		if text != "" {
			err = nil
		}
		answers <- answer{strings.TrimSpace(text), err}
	}()
	select {
	case got := <-answers:
		return got.text, got.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// consent asks whether to go on; answered with the end of input, it is turned away from.
func (a *asker) consent(ctx context.Context, question string) (mcp.Action, error) {
	for {
		text, err := a.line(ctx, question+" [Y/n] ")
		switch strings.ToLower(text) {
		case "n", "no":
			return mcp.ActionDecline, nil
		case "y", "yes":
			return mcp.ActionAccept, nil
		case "":
			if errors.Is(err, io.EOF) {
				return mcp.ActionCancel, nil
			}
			if err != nil {
				return "", err
			}
			return mcp.ActionAccept, nil
		}
	}
}

// visit has a page opened.
func (a *asker) visit(ctx context.Context, e *mcp.URLElicitation) error {
	a.progress.End()
	fmt.Fprintf(a.out, "The server asks you to open a page: %s\n  %s\n", plain(e.Message), plain(e.URL))
	var err error
	e.Action, err = a.consent(ctx, "Look at where it leads. Have you opened it?")
	return err
}

// form has a form filled in.
func (a *asker) form(ctx context.Context, e *mcp.Elicitation) error {
	a.progress.End()
	fmt.Fprintf(a.out, "The server asks: %s\n", plain(e.Message))
	in := readInput(e.Schema)
	var err error
	if e.Action, err = a.consent(ctx, question(len(in.properties))); err != nil || e.Action != mcp.ActionAccept {
		return err
	}
	filled := map[string]json.RawMessage{}
	for _, p := range in.properties {
		value, err := a.field(ctx, &p, e.Schema)
		if errors.Is(err, io.EOF) {
			e.Action = mcp.ActionCancel
			return nil
		}
		if err != nil {
			return err
		}
		if value != nil {
			filled[p.name] = value
		}
	}
	e.Content, err = strictjson.Marshal(filled)
	return err
}

// field asks for one field until the answer is good. It is nil if it is left out.
func (a *asker) field(ctx context.Context, p *property, form json.RawMessage) (json.RawMessage, error) {
	a.choices(p)
	question := plain(p.name)
	if about := cmp.Or(line(p.description), line(p.title)); about != "" {
		question += ", " + about
	}
	question += " (" + p.what() + ")"
	if p.fallback != nil {
		question += suggested(shownValue(p.fallback))
	} else if !p.required {
		question += " [none]"
	}
	for {
		text, err := a.line(ctx, question+": ")
		if err != nil {
			return nil, err
		}
		if text == "" && (p.fallback != nil || !p.required) {
			return p.fallback, nil
		}
		value, err := p.answer(text)
		if err == nil {
			err = fits(form, p.name, value)
		}
		if err == nil {
			return value, nil
		}
		fmt.Fprintf(a.out, "  %s\n", plain(err.Error()))
	}
}

// choices says what the values of a choice mean, if that is said.
func (a *asker) choices(p *property) {
	if p.items != nil {
		p = p.items
	}
	for i, title := range p.titles {
		if i >= len(p.enum) {
			return
		}
		if value := shownValue(p.enum[i]); title != "" && title != value {
			fmt.Fprintf(a.out, "  %s: %s\n", value, line(title))
		}
	}
}

// answer reads what somebody typed; several of a list have commas between them.
func (p *property) answer(text string) (json.RawMessage, error) {
	if !slices.Contains(p.kinds, "array") {
		return p.parse(text)
	}
	item := p.items
	if item == nil {
		item = &property{}
	}
	all := []json.RawMessage{}
	for _, part := range strings.Split(text, ",") {
		value, err := item.parse(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return strictjson.Marshal(all)
}

// fits checks one field of a form against its schema.
func fits(form json.RawMessage, name string, value json.RawMessage) error {
	var parts struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if strictjson.Unmarshal(form, &parts) != nil {
		return nil
	}
	compiled, err := schema.Compile(string(parts.Properties[name]))
	if err != nil {
		return nil // the server checks it
	}
	return compiled.Validate(value)
}

// question asks whether to be asked.
func question(n int) string {
	if n == 1 {
		return "Answer one question?"
	}
	return fmt.Sprintf("Answer %d questions?", n)
}
