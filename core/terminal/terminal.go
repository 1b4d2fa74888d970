// Package terminal holds what command lines share, whatever they are made with: what wrong
// usage is, which status a program ends with, and whether anyone is looking.
package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
)

// The statuses that a program ends with.
const (
	Done      = 0 // it was done
	Failed    = 1 // it could not be done
	Misuse    = 2 // it was asked for in a way that cannot be understood
	Unreached = 3 // whoever was to do it was not reached, or not understood
)

// A UsageError says that what was typed is wrong: to try again makes no sense before
// it is corrected.
type UsageError struct{ Err error }

// Error is the text of the error inside.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap is the error inside.
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef is [fmt.Errorf] for wrong usage.
func Usagef(format string, args ...any) error {
	return &UsageError{Err: fmt.Errorf(format, args...)}
}

// An UnreachedError says that a server was not reached, or is not to be understood: that it has not answered.
type UnreachedError struct{ Err error }

// Error is the text of the error inside.
func (e *UnreachedError) Error() string { return e.Err.Error() }

// Unwrap is the error inside.
func (e *UnreachedError) Unwrap() error { return e.Err }

// A SaidError is an error whose facts have been printed already, as the result of a command.
type SaidError struct{ Err error }

// Error is the text of the error inside.
func (e *SaidError) Error() string { return e.Err.Error() }

// Unwrap is the error inside.
func (e *SaidError) Unwrap() error { return e.Err }

// Status is what a program that ends with err tells its caller: [Done] for nil, [Misuse]
// for a [UsageError], [Unreached] for an [UnreachedError], [Failed] for any other error.
func Status(err error) int {
	var usage *UsageError
	var unreached *UnreachedError
	switch {
	case err == nil:
		return Done
	case errors.As(err, &usage):
		return Misuse
	case errors.As(err, &unreached):
		return Unreached
	}
	return Failed
}

// Plain returns text without control characters, except line breaks and tabs, so that it cannot change the state of a terminal.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) {
			return r
		}
		return -1
	}, text)
}

// Line returns the first line of a text, without control characters.
func Line(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(Plain(text)), "\n")
	return strings.TrimSpace(first)
}

// PrintJSON prints a value as indented JSON.
func PrintJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// Watched reports whether a stream leads to a terminal, where somebody looks on. A pipe,
// a file, the null device and anything that is no [os.File] are not.
func Watched(stream any) bool {
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

// A Progress shows on a terminal what is being done and for how long. Anywhere else
// it shows nothing. Its methods may be called by several goroutines.
type Progress struct {
	out io.Writer // nil if nobody looks on

	mu   sync.Mutex
	stop chan struct{} // ends the step that is shown
	done chan struct{} // it has ended
}

// NewProgress shows on out what is being done, unless it is to be quiet.
func NewProgress(out io.Writer, quiet bool) *Progress {
	if quiet || !Watched(out) {
		return &Progress{}
	}
	return &Progress{out: out}
}

// Begin shows the next step.
func (p *Progress) Begin(what string) {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	if os.Getenv("TERM") == "dumb" {
		fmt.Fprintf(p.out, "%s …\n", what)
		return
	}
	p.stop, p.done = make(chan struct{}), make(chan struct{})
	go p.show(what, p.stop, p.done)
}

// End takes the step away.
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

func (p *Progress) show(what string, stop, done chan struct{}) {
	const eraseLine = "\r\x1b[K"
	defer close(done)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	begin := time.Now()
	for {
		fmt.Fprintf(p.out, "%s%s … %.1f s", eraseLine, what, time.Since(begin).Seconds())
		select {
		case <-stop:
			fmt.Fprint(p.out, eraseLine)
			return
		case <-tick.C:
		}
	}
}
