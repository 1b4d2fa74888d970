package mcpcli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/petrock/petrock/core/internal/form"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/schema"
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

// answers answer the questions of a server from the flag --answer, and otherwise on the terminal.
type answers struct {
	asker *Asker // nil without a terminal
	given []*givenAnswer
	open  []string // questions without a valid answer, as text
}

// A givenAnswer is a value of the flag --answer.
type givenAnswer struct {
	name, value string
	used        bool
}

func newAnswers(asker *Asker, flags []string) (*answers, error) {
	a := &answers{asker: asker}
	for _, flag := range flags {
		name, value, ok := strings.Cut(flag, "=")
		if !ok || name == "" {
			return nil, terminal.Usagef("--answer %s: write FIELD=VALUE, or KEY=decline", flag)
		}
		a.given = append(a.given, &givenAnswer{name: name, value: value})
	}
	return a, nil
}

var errUnanswered = errors.New("a question has no answer")

// action returns the action that is given for a question, or "".
func (a *answers) action(key string) (action mcp.Action) {
	for _, g := range a.given {
		switch given := mcp.Action(g.value); given {
		case mcp.ActionAccept, mcp.ActionDecline, mcp.ActionCancel:
			if g.name == key {
				action, g.used = given, true
			}
		}
	}
	return action
}

func (a *answers) form(ctx context.Context, e *mcp.Elicitation) error {
	in, texts := readInput(e.Schema), map[string][]string{}
	for _, g := range a.given {
		for _, p := range in.properties {
			if g.name == p.Name || g.name == e.Key+"."+p.Name {
				texts[p.Name] = append(texts[p.Name], g.value)
				g.used = true
			}
		}
	}
	if e.Action = a.action(e.Key); len(texts) == 0 && e.Action == "" {
		if a.asker != nil {
			return a.asker.form(ctx, e)
		}
		return a.leaveOpen(e.Key, e.Message, "", in)
	}
	if e.Action != "" && e.Action != mcp.ActionAccept {
		return nil
	}
	filled := map[string]json.RawMessage{}
	for name, texts := range texts {
		filled[name], _ = in.find(name).Parse(texts...) // the whole form is validated below
	}
	raw, err := strictjson.Marshal(filled)
	if err == nil {
		e.Action = mcp.ActionAccept
		e.Content, err = form.FillDefaults(e.Schema, raw)
	}
	if err != nil {
		return err
	}
	compiled, err := schema.Compile(e.Schema)
	if err == nil {
		err = compiled.Validate(e.Content)
	}
	if err != nil {
		return a.leaveOpen(e.Key, e.Message, err.Error(), in)
	}
	return nil
}

func (a *answers) visit(ctx context.Context, e *mcp.URLElicitation) error {
	if e.Action = a.action(e.Key); e.Action != "" {
		return nil
	}
	if a.asker != nil {
		return a.asker.visit(ctx, e)
	}
	return a.leaveOpen(e.Key, e.Message, "open "+e.URL+" and pass --answer "+e.Key+"=accept", input{})
}

// leaveOpen keeps a question without a valid answer, with the reason, for [answers.check].
func (a *answers) leaveOpen(key, message, reason string, in input) error {
	text := fmt.Sprintf("\n  %s: %s", key, strictjson.Clip(terminal.Line(message), maxMessage))
	if reason != "" {
		text += "\n    " + strings.ReplaceAll(reason, "\n", "\n    ")
	}
	for _, p := range in.properties {
		flag := "--answer " + terminal.Line(p.Name) + "=" + typeText(p)
		if !p.Required || p.Default != nil {
			flag = "[" + flag + "]"
		}
		text += strings.TrimRight("\n    "+flag+"  "+terminal.Line(p.Description), " ")
	}
	a.open = append(a.open, text)
	return errUnanswered
}

// check returns the error of a call: if questions are open, one that lists them.
func (a *answers) check(name string, err error) error {
	if len(a.open) == 0 {
		return err
	}
	return terminal.Usagef("%s asks the user; answer with --answer, or run this command in a terminal:%s", terminal.Line(name), strings.Join(a.open, ""))
}

// reportUnused prints the flags that answered no question.
func (a *answers) reportUnused(out io.Writer) {
	for _, g := range a.given {
		if !g.used {
			fmt.Fprintf(out, "notice: --answer %s is not used: no question has this field or key\n", terminal.Line(g.name))
		}
	}
}
