package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// Lines of a reason that a client sees.
const (
	buildLines = 6 // of the go command
	startLines = 2 // the others are commands for a terminal
	maxReason  = 1000
)

// readOnlyReason returns why the last good build runs, for the server and for results of petrock's tools:
// the first lines of an error, and what to do.
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

// condition returns what the project's server does instead of serving the source on disk, and why. The
// state is empty if it serves it.
func (sl *slot) condition() (state, reason string) {
	b, _ := sl.s.sup.build(sl.kind)
	want := sl.wanted(b)
	sl.mu.Lock()
	defer sl.mu.Unlock()
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
func restarts(call, answer message) bool {
	if answer.result == nil || string(member(answer.result, "isError")) == "true" {
		return false
	}
	switch text(call.param("name")) {
	case Prefix + "build":
		return string(call.param("arguments", "no_compile")) != "true"
	case Prefix + "log":
		return slices.Contains([]string{"skip", "map", "restore"}, text(call.param("arguments", "action")))
	}
	return false
}

// warn adds the condition of the project's server to the result of a call of petrock's tools: the text
// and the structured content begin with it, and ok is false. Results of tools that only read stay as
// they are, except of project_status, and errors.
func warn(call, answer message, state, reason string) message {
	name := text(call.param("name"))
	isReader := slices.ContainsFunc(elements(member(manifest(), "tools")), func(tool json.RawMessage) bool {
		return text(member(tool, "name")) == name && string(member(tool, "annotations", "readOnlyHint")) == "true"
	})
	isError := answer.result == nil || string(member(answer.result, "isError")) == "true"
	if isError || isReader && name != Prefix+"project_status" {
		return answer
	}
	warning := object(nil).with("type", quote("text")).with("text", quote("Warning: the project's server is "+state+": "+reason)).json()
	content := append([]json.RawMessage{warning}, elements(member(answer.result, "content"))...)
	result := without(answer.result, "content", "structuredContent").with("content", array(content))
	if structured := member(answer.result, "structuredContent"); strictjson.First(structured) == '{' {
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
	warned, _ := parse(response(answer.id, result.json())) // it is valid
	return warned
}

// buildMeta returns the member of _meta that names a build: if the build is outdated, and if it is the
// source on disk.
func buildMeta(l launch) (meta [2][]byte) {
	for i := range meta {
		build := object(nil).with("id", quote(fmt.Sprintf("%x", l.program.id.sum))).with("current", fmt.Append(nil, i == 1))
		if l.readOnly != "" {
			build = build.with("readOnly", []byte("true"))
		}
		meta[i] = object(nil).with("petrock/build", build.json())
	}
	return meta
}

// stamp returns a response of the server with its build in the _meta of the result. A result without
// members stays as it is: in revisions before 2026-07-28, some clients accept only {}.
func (p *peer) stamp(m message) []byte {
	meta := p.meta[0]
	if p.s.sup.isCurrent(p.slot.kind, p.launch.program) {
		meta = p.meta[1]
	}
	return m.withMeta(meta)
}

// withMeta returns a response with one more member in the _meta of its result.
func (m message) withMeta(added []byte) []byte {
	into := m.result
	if strictjson.First(into) != '{' {
		return m.raw
	}
	if meta := strictjson.Member(into, "_meta"); strictjson.First(meta) == '{' {
		into = meta
	} else {
		added = slices.Concat([]byte(`"_meta":{`), added, []byte("}"))
	}
	end := cap(m.raw) - cap(into) + len(into) - 1 // into is a part of m.raw
	isEmpty := bytes.HasSuffix(bytes.TrimRight(m.raw[:end], " \t\r\n"), []byte("{"))
	switch {
	case isEmpty && len(into) == len(m.result):
		return m.raw
	case isEmpty:
		return slices.Concat(m.raw[:end], added, m.raw[end:])
	}
	return slices.Concat(m.raw[:end], []byte(","), added, m.raw[end:])
}
