package live

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/process"
)

// whyEnded describes why the server is gone.
func (p *peer) whyEnded() error {
	state := p.process.ExitState()
	if cause := panicOf(p.process.Stderr(), p.s.sup.o.Root); cause != "" {
		return fmt.Errorf("%s crashed: %s", p.slot.folder(), cause)
	}
	said := p.process.Stderr()
	if prefix := p.s.sup.o.Name + ": "; strings.Contains("\n"+said, "\n"+prefix) { // the error of its command line
		said = said[strings.LastIndex("\n"+said, "\n"+prefix)+len(prefix):]
	} else if lines := strings.Split(said, "\n"); len(lines) > 5 {
		said = strings.Join(lines[len(lines)-5:], "\n")
	}
	if said != "" {
		said = ": " + said
	}
	return fmt.Errorf("%s exited (%s)%s", p.slot.folder(), state, said)
}

// panicOf returns the panic or fatal error in the standard error of a Go program, with the
// position in the project, or "".
func panicOf(stderr, root string) string {
	at := max(strings.LastIndex("\n"+stderr, "\npanic: "), strings.LastIndex("\n"+stderr, "\nfatal error: "))
	if at < 0 {
		return ""
	}
	cause, trace, _ := strings.Cut(stderr[at:], "\n")
	if file, line := process.PanicPosition(root, trace); file != "" {
		cause = fmt.Sprintf("%s at %s:%d", cause, file, line)
	}
	return cause
}

// loggedPanic returns the panic of a call that the server caught and logged, like panicOf.
func loggedPanic(stderr string, call *jsonrpc.Message, root string) string {
	id := call.ID().String()
	if id[0] == '"' {
		id = strconv.Quote(id)
	}
	key := " method=" + call.Method() + " id=" + id + " panic="
	at := strings.LastIndex(stderr, key)
	if at < 0 {
		return ""
	}
	value, trace, _ := strings.Cut(stderr[at+len(key):], " stack=")
	if unquoted, err := strconv.Unquote(value); err == nil {
		value = unquoted
	}
	trace, err := strconv.QuotedPrefix(trace)
	if err != nil {
		return "" // the rest of the line follows
	}
	trace, _ = strconv.Unquote(trace) // it is quoted
	return panicOf("panic: "+value+"\n"+trace, root)
}
