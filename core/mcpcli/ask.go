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

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/core/terminal"
)

// An Asker asks the user at a terminal.
type Asker struct {
	in       *bufio.Reader
	out      io.Writer
	progress *terminal.Progress // is hidden while a question is asked
}

// NewAsker returns an asker on standard input and standard error, or nil if one of them is not a terminal.
func NewAsker(env Env, progress *terminal.Progress) *Asker {
	if !terminal.Watched(env.In) || !terminal.Watched(env.Err) {
		return nil
	}
	return &Asker{bufio.NewReader(env.In), env.Err, progress}
}

// suggested shows a default.
func suggested(text string) string {
	if text == "" {
		return ""
	}
	return " [" + terminal.Plain(text) + "]"
}

// Line asks a question, and returns the line that the user types. fallback is shown as the default, and returned for an empty line.
func (a *Asker) Line(ctx context.Context, question, fallback string) (string, error) {
	text, err := a.line(ctx, terminal.Plain(question)+suggested(fallback)+": ")
	return cmp.Or(text, fallback), err
}

// line prints a prompt and reads a line.
func (a *Asker) line(ctx context.Context, question string) (string, error) {
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

// consent asks whether to go on. The end of input cancels.
func (a *Asker) consent(ctx context.Context, question string) (mcp.Action, error) {
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

// visit asks the user to open a page.
func (a *Asker) visit(ctx context.Context, e *mcp.URLElicitation) error {
	a.progress.End()
	fmt.Fprintf(a.out, "The server asks you to open a page: %s\n  %s\n", terminal.Plain(e.Message), terminal.Plain(e.URL))
	var err error
	e.Action, err = a.consent(ctx, "Look at where it leads. Have you opened it?")
	return err
}

// form asks for the fields of a form.
func (a *Asker) form(ctx context.Context, e *mcp.Elicitation) error {
	a.progress.End()
	fmt.Fprintf(a.out, "The server asks: %s\n", terminal.Plain(e.Message))
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

// field asks for one field until the answer is valid. It returns nil if the field is left out.
func (a *Asker) field(ctx context.Context, p *property, form json.RawMessage) (json.RawMessage, error) {
	a.choices(p)
	question := terminal.Plain(p.name)
	if about := cmp.Or(terminal.Line(p.description), terminal.Line(p.title)); about != "" {
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
		fmt.Fprintf(a.out, "  %s\n", terminal.Plain(err.Error()))
	}
}

// choices prints the titles of the values of an enum.
func (a *Asker) choices(p *property) {
	if p.items != nil {
		p = p.items
	}
	for i, title := range p.titles {
		if i >= len(p.enum) {
			return
		}
		if value := shownValue(p.enum[i]); title != "" && title != value {
			fmt.Fprintf(a.out, "  %s: %s\n", value, terminal.Line(title))
		}
	}
}

// answer parses what the user typed. The elements of a list are separated by commas.
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

// fits validates one field of a form against its schema.
func fits(form json.RawMessage, name string, value json.RawMessage) error {
	var parts struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if strictjson.Unmarshal(form, &parts) != nil {
		return nil
	}
	compiled, err := schema.Compile(string(parts.Properties[name]))
	if err != nil {
		return nil // the server validates it
	}
	return compiled.Validate(value)
}

// question asks whether the user wants to answer.
func question(n int) string {
	if n == 1 {
		return "Answer one question?"
	}
	return fmt.Sprintf("Answer %d questions?", n)
}
