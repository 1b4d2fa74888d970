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
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
)

// An Asker asks the user questions on a terminal.
type Asker struct {
	in       *bufio.Reader
	out      io.Writer
	progress *terminal.Progress // hidden while a question is asked
}

// NewAsker returns an asker on standard input and standard error, or nil if one of them is not a
// terminal.
func NewAsker(env Env, progress *terminal.Progress) *Asker {
	if !terminal.IsTerminal(env.In) || !terminal.IsTerminal(env.Err) {
		return nil
	}
	return newAsker(env.In, env.Err, progress)
}

func newAsker(in io.Reader, out io.Writer, progress *terminal.Progress) *Asker {
	return &Asker{bufio.NewReader(in), out, progress}
}

// printf prints text that may quote a server.
func (a *Asker) printf(format string, args ...any) {
	a.progress.End()
	fmt.Fprint(a.out, terminal.Plain(fmt.Sprintf(format, args...)))
}

const maxMessage = 10 << 10 // bytes of a server's message that are shown

// Line asks a question, and returns the line that the user types, or defaultAnswer for an empty
// line.
func (a *Asker) Line(ctx context.Context, question, defaultAnswer string) (string, error) {
	if defaultAnswer != "" {
		question += " [" + defaultAnswer + "]"
	}
	text, err := a.line(ctx, question+": ")
	return cmp.Or(text, defaultAnswer), err
}

func (a *Asker) line(ctx context.Context, question string) (string, error) {
	a.printf("%s", question)
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

// consent asks whether to continue. The end of input cancels.
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

func (a *Asker) visit(ctx context.Context, e *mcp.URLElicitation) (err error) {
	a.printf("The server asks you to open a web page: %s\n  %s\n", strictjson.Clip(e.Message, maxMessage), strictjson.Clip(e.URL, maxMessage))
	e.Action, err = a.consent(ctx, "Check the address before you open it. Have you opened it?")
	return err
}

func (a *Asker) form(ctx context.Context, e *mcp.Elicitation) (err error) {
	a.printf("The server asks: %s\n", strictjson.Clip(e.Message, maxMessage))
	in := readInput(e.Schema)
	if e.Action, err = a.consent(ctx, "Do you want to answer?"); err != nil || e.Action != mcp.ActionAccept {
		return err
	}
	filled := map[string]json.RawMessage{}
	for _, p := range in.properties {
		value, err := a.askField(ctx, p)
		if errors.Is(err, io.EOF) {
			e.Action = mcp.ActionCancel
			return nil
		}
		if err != nil {
			return err
		}
		if value != nil {
			filled[p.Name] = value
		}
	}
	e.Content, err = strictjson.Marshal(filled)
	return err
}

// askField asks for a field until the answer is valid. It returns nil if the user leaves it out.
func (a *Asker) askField(ctx context.Context, p *Property) (json.RawMessage, error) {
	a.showChoices(p)
	question := p.Name
	if about := cmp.Or(terminal.Line(p.Description), terminal.Line(p.Title)); about != "" {
		question += ", " + about
	}
	question += " (" + typeText(p) + ")"
	if p.Default != nil {
		question += " [" + shownValue(p.Default) + "]"
	} else if !p.Required {
		question += " [none]"
	}
	for {
		text, err := a.line(ctx, question+": ")
		if err != nil {
			return nil, err
		}
		if text == "" && (p.Default != nil || !p.Required) {
			return p.Default, nil
		}
		answers := []string{text}
		if p.IsList() {
			answers = strings.Split(strings.ReplaceAll(text, ", ", ","), ",")
		}
		value, err := p.Parse(answers...)
		if err == nil {
			return value, nil
		}
		a.printf("  %v\n", err)
	}
}

func (a *Asker) showChoices(p *Property) {
	choices := cmp.Or(p.Items, p)
	for i, title := range choices.EnumTitles {
		if i >= len(choices.Enum) {
			return
		}
		if value := shownValue(choices.Enum[i]); title != "" && title != value {
			a.printf("  %s: %s\n", value, terminal.Line(title))
		}
	}
}

// answers answer the questions of a server with the flag --answer, and otherwise on the terminal.
type answers struct {
	asker *Asker   // nil without a terminal
	flags []string // FIELD=VALUE, KEY.FIELD=VALUE or KEY=ACTION
	open  string   // questions without an answer
}

// read returns the action that the flags have for a question, and the texts for its fields.
func (a *answers) read(key string, in input) (action mcp.Action, texts map[string][]string) {
	texts = map[string][]string{}
	for _, flag := range a.flags {
		name, value, _ := strings.Cut(flag, "=")
		if p := in.find(strings.TrimPrefix(name, key+".")); p != nil {
			action, texts[p.Name] = cmp.Or(action, mcp.ActionAccept), append(texts[p.Name], value)
		} else if name == key && slices.Contains([]mcp.Action{mcp.ActionAccept, mcp.ActionDecline, mcp.ActionCancel}, mcp.Action(value)) {
			action = mcp.Action(value)
		}
	}
	return action, texts
}

func (a *answers) form(ctx context.Context, e *mcp.Elicitation) (err error) {
	in := readInput(e.Schema)
	var texts map[string][]string
	switch e.Action, texts = a.read(e.Key, in); {
	case e.Action == "" && a.asker != nil:
		return a.asker.form(ctx, e)
	case e.Action == "":
		return a.leaveOpen(e.Key, e.Message, in)
	}
	filled := map[string]json.RawMessage{}
	for name, texts := range texts {
		filled[name], _ = in.find(name).Parse(texts...) // the server validates the form
	}
	e.Content, err = strictjson.Marshal(filled)
	return err
}

func (a *answers) visit(ctx context.Context, e *mcp.URLElicitation) error {
	switch e.Action, _ = a.read(e.Key, input{}); {
	case e.Action != "":
		return nil
	case a.asker != nil:
		return a.asker.visit(ctx, e)
	}
	return a.leaveOpen(e.Key, e.Message+" "+e.URL, input{})
}

// leaveOpen returns an error for a question without an answer, which [answers.check] explains.
func (a *answers) leaveOpen(key, message string, in input) error {
	a.open += fmt.Sprintf("\n  %s: %s", key, strictjson.Clip(terminal.Line(message), maxMessage))
	for _, p := range in.properties {
		a.open += strings.TrimRight(fmt.Sprintf("\n    --answer %s=%s  %s", terminal.Line(p.Name), typeText(p), terminal.Line(p.Description)), " ")
	}
	a.open += "\n    --answer " + cmp.Or(key, "KEY") + "=decline"
	return errors.New("a question has no answer")
}

// check returns the error of a call: if questions are open, one that lists them.
func (a *answers) check(name string, err error) error {
	if a.open == "" {
		return err
	}
	return terminal.Usagef("%s asks the user; answer with --answer, or run this command in a terminal:%s", terminal.Line(name), a.open)
}
