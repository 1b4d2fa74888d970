package live

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// Lines of a reason that a client sees.
const (
	buildLines = 6 // of the go command
	startLines = 2 // the others are commands for a terminal
	maxReason  = 1000
)

// readOnlyReason returns why the last good build runs, for the server and for results of petrock's
// tools: the first lines of an error, and what to do.
func (s *Supervisor) readOnlyReason(err error, lines int) string {
	reason := "it runs the last good build, because " + firstLines(err, lines)
	if !s.o.NoPetrock {
		reason += fmt.Sprintf("\nNext: fix the code with %[1]sedit or %[1]sundo, or the stored events with %[1]slog. %[1]sproject_status has all errors, and %[1]sbuild restarts the server.", Prefix)
	}
	return reason
}

// firstLines returns the first lines of an error.
func firstLines(err error, lines int) string {
	text := strings.SplitN(strings.TrimSpace(err.Error()), "\n", lines+1)
	return strictjson.Clip(strings.Join(text[:min(len(text), lines)], "\n"), maxReason)
}

// condition returns what the project's server does instead of serving the source on disk, and why.
// The state is empty if it serves it.
func (sl *slot) condition() (state, reason string) {
	sl.s.sup.mu.Lock()
	defer sl.s.sup.mu.Unlock()
	want := sl.wanted()
	switch p := sl.current.Load(); {
	case sl.late.is(want) && (p == nil || p.launch != want):
		return "starting", sl.late.err.Error() + ". Meanwhile the last good build, if there is one, answers read-only"
	case p != nil && p.launch.readOnly != "":
		return "read-only", p.launch.readOnly
	case p == nil && sl.down != nil:
		return "stopped", strictjson.Clip(sl.down.Error(), 2*maxReason)
	}
	return "", ""
}

// restarts reports whether the server is restarted after a call of petrock's tools: log, if it has
// changed how events are read, and build.
func restarts(call, answer *jsonrpc.Message) bool {
	if answer.Result() == nil || isTrue(answer.Result(), "isError") {
		return false
	}
	switch text(param(call, "name")) {
	case Prefix + "build":
		return !isTrue(call.Params(), "arguments", "no_compile")
	case Prefix + "log":
		return slices.Contains([]string{"skip", "map", "restore"}, text(param(call, "arguments", "action")))
	}
	return false
}

// warn adds the condition of the project's server to the result of a call of petrock's tools: the
// text and the structured content begin with it, and ok is false. Results of tools that only read
// stay as they are, except of project_status, and errors.
func warn(call, answer *jsonrpc.Message, state, reason string) *jsonrpc.Message {
	name := text(param(call, "name"))
	isReader := slices.ContainsFunc(elements(member(manifest(), "tools")), func(tool []byte) bool {
		return text(member(tool, "name")) == name && isTrue(tool, "annotations", "readOnlyHint")
	})
	isError := answer.Result() == nil || isTrue(answer.Result(), "isError")
	if isError || isReader && name != Prefix+"project_status" {
		return answer
	}
	warning := object(nil).with("type", quote("text")).with("text", quote("Warning: the project's server is "+state+": "+reason)).json()
	content := append([][]byte{warning}, elements(member(answer.Result(), "content"))...)
	result := without(answer.Result(), "content", "structuredContent").with("content", array(content))
	if structured := member(answer.Result(), "structuredContent"); strictjson.First(structured) == '{' {
		server := object(nil).with("state", quote(state)).with("reason", quote(reason)).json()
		marked := object(nil).with("server", server)
		_ = strictjson.Object(structured, func(key, value []byte) error { // it is an object
			if string(key) == "ok" {
				value = []byte("false")
			}
			marked = marked.with(string(key), value)
			return nil
		})
		result = result.with("structuredContent", marked.json())
	}
	return parse(response(answer.ID(), result.json()))
}

// stamp returns a response of the server with its build in the _meta of the result. A result
// without members stays as it is: in revisions before 2026-07-28, some clients accept only {}.
func (p *peer) stamp(raw []byte) []byte {
	isCurrent := p.s.sup.isCurrent(p.slot.kind, p.launch.program)
	build := object(nil).with("id", quote(fmt.Sprintf("%x", p.launch.program.id))).with("current", strconv.AppendBool(nil, isCurrent))
	if p.launch.readOnly != "" {
		build = build.with("readOnly", []byte("true"))
	}
	return withMeta(raw, object(nil).with("petrock/build", build.json()))
}

// withMeta returns a response with one more member in the _meta of its result.
func withMeta(raw, added []byte) []byte {
	result := strictjson.Member(raw, "result")
	if strictjson.First(result) != '{' {
		return raw
	}
	into := strictjson.Member(result, "_meta")
	if strictjson.First(into) != '{' {
		into, added = result, slices.Concat([]byte(`"_meta":{`), added, []byte("}"))
	}
	end := cap(raw) - cap(into) + len(into) - 1 // into is a part of raw
	isEmpty := bytes.HasSuffix(bytes.TrimRight(raw[:end], " \t\r\n"), []byte("{"))
	switch {
	case isEmpty && len(into) == len(result):
		return raw
	case !isEmpty:
		added = slices.Concat([]byte(","), added)
	}
	return slices.Concat(raw[:end], added, raw[end:])
}
