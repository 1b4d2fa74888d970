// Package terminal has helpers for command lines: usage errors, exit codes, text that is safe to
// print, colors, progress, and replacing this process with another program. It is plumbing for
// package serve and petrock's own commands; a server needs it only for commands that it adds to its
// command line, and then mostly [Usagef] and [PrintJSON].
package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Exit codes.
const (
	ExitSuccess     = 0
	ExitFailure     = 1
	ExitUsage       = 2 // a usage error
	ExitUnreachable = 3 // the server could not be reached, refused the client, or did not speak MCP
	ExitNoData      = 4 // a command needs the event log, which does not exist yet
)

// A UsageError reports that the command line is wrong.
type UsageError struct{ Err error }

func (e *UsageError) Error() string   { return e.Err.Error() }
func (e *UsageError) Unwrap() error   { return e.Err }
func (e *UsageError) ExitStatus() int { return ExitUsage }

// Usagef is [fmt.Errorf] for a [UsageError].
func Usagef(format string, args ...any) error {
	return &UsageError{Err: fmt.Errorf(format, args...)}
}

// An UnreachableError reports that a server could not be reached, or did not speak MCP.
type UnreachableError struct{ Err error }

func (e *UnreachableError) Error() string   { return e.Err.Error() }
func (e *UnreachableError) Unwrap() error   { return e.Err }
func (e *UnreachableError) ExitStatus() int { return ExitUnreachable }

// A ReportedError is an error that a command has already printed as part of its result.
type ReportedError struct{ Err error }

func (e *ReportedError) Error() string { return e.Err.Error() }
func (e *ReportedError) Unwrap() error { return e.Err }

// A PrintedError is an error whose text a command has already printed. It has no text of its own.
type PrintedError struct{ Err error }

func (e *PrintedError) Error() string { return "" }
func (e *PrintedError) Unwrap() error { return e.Err }

// ExitCode returns the exit code for err: [ExitSuccess] for nil, the result of its method
// ExitStatus if it has one, such as [ExitUsage] for a [UsageError], and [ExitFailure] for any other
// error.
func ExitCode(err error) int {
	if err == nil {
		return ExitSuccess
	}
	type statusError interface {
		error
		ExitStatus() int
	}
	if e, ok := errors.AsType[statusError](err); ok {
		return e.ExitStatus()
	}
	return ExitFailure
}

// IsTerminal reports whether stream is an [os.File] that is a terminal. The null device is not one.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// A Progress shows what takes long: on a terminal the current step and its duration, and elsewhere,
// or if TERM is dumb, one line after a second. Its methods are safe for concurrent use.
type Progress struct {
	Out   io.Writer // usually standard error; nil shows nothing
	Quiet bool      // show nothing

	mu   sync.Mutex
	stop chan struct{} // closed to end the current step; nil without one
	done chan struct{} // closed when the step has ended

	began   time.Time // of the first step since End
	printed bool      // the line is printed
}

// Begin ends the current step and shows the next one. It shows the first line of its title.
func (p *Progress) Begin(title string) {
	if p.Quiet || p.Out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop == nil {
		p.began = time.Now()
	}
	p.end()
	p.stop, p.done = make(chan struct{}), make(chan struct{})
	if !IsTerminal(p.Out) || os.Getenv("TERM") == "dumb" {
		go p.printLate(Line(title), p.stop, p.done)
	} else {
		go p.show(Line(title), p.stop, p.done)
	}
}

// printLate prints a step once a second has passed since the first one.
func (p *Progress) printLate(title string, stop, done chan struct{}) {
	defer close(done)
	select {
	case <-stop:
	case <-time.After(time.Until(p.began.Add(time.Second))):
		if !p.printed {
			fmt.Fprintf(p.Out, "%s …\n", title)
			p.printed = true
		}
	}
}

// End erases the current step.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
}

func (p *Progress) end() {
	if p.stop == nil {
		return
	}
	close(p.stop)
	<-p.done
	p.stop = nil
}

func (p *Progress) show(title string, stop, done chan struct{}) {
	const eraseLine = "\r\x1b[K"
	defer close(done)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	begin := time.Now()
	for {
		fmt.Fprintf(p.Out, "%s%s … %.1f s", eraseLine, title, time.Since(begin).Seconds())
		select {
		case <-stop:
			fmt.Fprint(p.Out, eraseLine)
			return
		case <-tick.C:
		}
	}
}

// Plain returns text that is safe to show on a terminal. It escapes control, bidirectional and
// other invisible characters like JSON, such as \u001b, and replaces invalid UTF-8 with \ufffd. It
// keeps line breaks and tabs.
func Plain(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\n")
	return string(escape([]byte(text)))
}

// Line returns the first line of a text, escaped by [Plain].
func Line(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return Plain(strings.TrimSpace(first))
}

// isInvisible reports whether a character must be escaped. Prepended marks are visible, and the
// variation selectors FE0E and FE0F choose between text and emoji.
func isInvisible(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == 0xFE0E || r == 0xFE0F:
		return false
	case r < 0x7F:
		return r < ' '
	}
	return !unicode.Is(unicode.Prepended_Concatenation_Mark, r) &&
		unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// escape replaces invisible characters with JSON escapes. If there are none, it returns text
// itself.
func escape(text []byte) []byte {
	if !bytes.ContainsFunc(text, isInvisible) {
		return text
	}
	var out []byte
	for _, r := range string(text) {
		if !isInvisible(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

// maxIndented is the maximum size of JSON that is indented, because indenting deep JSON can make it
// much larger.
const maxIndented = 1 << 20

// PrintJSON prints a value as JSON, indented up to a size of 1 MiB. It escapes the same characters
// as [Plain], which does not change the value.
func PrintJSON(out io.Writer, value any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	text := IndentJSON(b.Bytes())
	_, err := out.Write(escape(text))
	return err
}

// IndentJSON indents JSON. It returns text itself if that is invalid or larger than 1 MiB.
func IndentJSON(text []byte) []byte {
	var b bytes.Buffer
	if len(text) > maxIndented || json.Indent(&b, text, "", "  ") != nil {
		return text
	}
	return b.Bytes()
}

// A Style is how a terminal shows text: the parameter of an ANSI escape sequence.
type Style string

// The styles.
const (
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// On returns text in the style, or unchanged if out does not show colors.
func (s Style) On(out any, text string) string {
	if !HasColor(out) {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// HasColor reports whether out is a terminal that shows colors. NO_COLOR, if it is not empty, and
// TERM=dumb turn them off.
func HasColor(out any) bool {
	return IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
