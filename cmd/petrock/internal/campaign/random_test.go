package campaign_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A maker creates random inputs of generators.
type maker struct {
	*rand.Rand
	used map[string]bool // names without separators
}

func newMaker(seed uint64) *maker {
	return &maker{Rand: rand.New(rand.NewPCG(seed, 0)), used: map[string]bool{"add": true}}
}

// one returns a random element.
func one[T any](m *maker, of ...T) T { return of[m.IntN(len(of))] }

// words are parts of names: plain words, identifiers of Go, and words with a meaning in file names.
func words() []string {
	return []string{
		"send", "mail", "user", "id", "url", "http", "json", "list", "a", "b2", "x", "get", "note", "io", "ids",
		"func", "type", "go", "import", "range", "map", "string", "error", "nil", "int", "any", "len", "true", "context", "time", "errors",
		"test", "gen", "linux", "windows", "arm64", "js", "unix", "con", "aux", "tool", "prompt", "resource", "tools", "main", "init",
		"input", "output", "result", "in", "ctx", "err", "testing", "strings", "client", "schema", "mcp", "server",
	}
}

// input returns a valid input, given the components generated so far.
func (m *maker) input(kind string, there ...made) input {
	switch kind {
	case "feature", "command", "query", "worker":
		return m.inFeature(kind, there)
	}
	in := input{Name: m.name(), Description: m.description()}
	switch kind {
	case "tool":
		in.Fields, in.Output = m.fields(6, m.field), m.fields(4, m.field)
	case "prompt":
		in.Fields = m.fields(4, m.argument)
	case "resource":
		in.URI = m.uri(len(m.used))
	}
	return in
}

// name returns a new name in a random style.
func (m *maker) name() string {
	for {
		// The types of a component have its name as a prefix, followed by Input, Output or a field,
		// so each name begins with a different word.
		parts := []string{fmt.Sprintf("q%dq", len(m.used))}
		for range 1 + m.IntN(3) {
			parts = append(parts, one(m, words()...))
		}
		if m.IntN(4) == 0 {
			parts = append(parts, fmt.Sprintf("n%d", m.IntN(1000)))
		}
		plain := strings.Join(parts, "")
		if m.used[plain] || len(plain) > 30 {
			continue
		}
		m.used[plain] = true
		switch m.IntN(4) {
		case 0:
			return strings.Join(parts, "-")
		case 1:
			for i, part := range parts {
				parts[i] = strings.ToUpper(part[:1]) + part[1:]
			}
			return strings.Join(parts, "")
		}
		return strings.Join(parts, "_")
	}
}

// fields returns fields with different names.
func (m *maker) fields(most int, make func(name string) string) []string {
	var all []string
	used := map[string]bool{}
	for range m.IntN(most + 1) {
		name := one(m, words()...)
		for range m.IntN(3) {
			name += one(m, "_", "", "9", "__") + one(m, words()...)
		}
		if name == "input" || name == "output" || strings.HasPrefix(name, "output_") {
			name = "the_" + name // the type of an enumeration would collide with that of the input or output
		}
		plain := strings.ToLower(strings.ReplaceAll(name, "_", ""))
		if len(name) > 60 || used[plain] {
			continue
		}
		used[plain] = true
		all = append(all, make(name))
	}
	return all
}

// field returns a field, which may use all of the grammar.
func (m *maker) field(name string) string {
	if m.IntN(8) == 0 {
		return name + m.described()
	}
	kind := m.kind(0)
	text := name + ":" + kind
	if m.IntN(3) == 0 {
		text += "?"
	}
	if m.IntN(2) == 0 {
		text += m.limits(kind)
	}
	return text + m.described()
}

// argument returns a text field.
func (m *maker) argument(name string) string {
	text := name + ":" + one(m, "string", m.enum(), "time")
	if m.IntN(2) == 0 {
		text += "?"
	}
	return text + m.described()
}

// kind returns a type that is nested in depth others.
func (m *maker) kind(depth int) string {
	if depth < 4 && m.IntN(4) == 0 {
		return one(m, "[]", "map[string]") + m.kind(depth+1)
	}
	return one(m, "string", "int", "int64", "float", "bool", "time", "duration", "bytes", "any", "number", m.enum())
}

// enum returns an enumeration.
func (m *maker) enum() string {
	var values []string
	for i := range 1 + m.IntN(5) {
		values = append(values, fmt.Sprintf("%s%s%d", one(m, "open", "in-progress", "2xx", "5 GHz", "a/b", "v1.2", "me@x", "func", "a:b"), one(m, "-", " ", "_", "+"), i))
	}
	return "enum(" + strings.Join(values, ",") + ")"
}

// limits returns limits that fit a type, or "".
func (m *maker) limits(kind string) string {
	low := m.IntN(20)
	high := low + m.IntN(50)
	switch {
	case strings.HasPrefix(kind, "[]"), strings.HasPrefix(kind, "map"), kind == "string":
		return one(m, fmt.Sprintf(":%d..%d", low, high), fmt.Sprintf(":%d..", low), fmt.Sprintf(":..%d", high), fmt.Sprintf(":%d", low), ":0..0", ":1000..2147483647")
	case kind == "int", kind == "int64":
		return one(m, fmt.Sprintf(":%d..%d", low, high), fmt.Sprintf(":-%d..%d", low+1, high), ":..-5", ":-9223372036854775808..9223372036854775807", ":9223372036854775807..", ":7..7")
	case kind == "float", kind == "number":
		return one(m, fmt.Sprintf(":%d.5..%d.75", low, high), ":-1e300..1e300", ":0.1..0.1", ":..-0.000001", ":1e-9..", ":-0..0")
	}
	return ""
}

// odd are texts that have caused errors.
func odd() []string {
	return []string{
		`*/`, "`", `'`, `%s %d %v`, `\n`, `\`, `//`, `/*`, `{{.}}`, `${x}`, `<b>&amp;</b>`, "ß Ä 漢字 🎉", "e\u0301", "a\u00a0b", `//go:build ignore`, `petrock:ignore`, `+build`,
		`json:"x"`, `"quoted"`, `Deprecated: no.`, `https://example.com/?a=b&c=d#e`, "nolint", `:`, `;`, `-`, `1. one`, "# head", "	", "TODO(me): it",
	}
}

// described returns the description of a field, or "".
func (m *maker) described() string {
	if m.IntN(2) == 0 {
		return ""
	}
	text := one(m, "How many at most", "")
	for range m.IntN(3) {
		text += " " + one(m, odd()...)
	}
	text = strings.ReplaceAll(text, "\t", " ")
	if strings.HasPrefix(strings.TrimSpace(text), "+build") {
		text = "It is " + text // gofmt moves a comment that begins with it
	}
	return one(m, " ", ":", " : ") + `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// description returns a description of a component.
func (m *maker) description() string {
	if m.IntN(3) == 0 {
		return ""
	}
	text := one(m, "Does it.", "URL of it.", "does: it", "")
	for range m.IntN(4) {
		text += " " + one(m, odd()...)
	}
	return strings.ReplaceAll(text, "\t", " ")
}

// uri returns a new URI.
func (m *maker) uri(number int) string {
	return fmt.Sprintf(one(m, "note%d://{id}", "config%d://app", "a%d://{user_id}/b/{note}", "file%d:///{+path}", "s%d://x{?q,limit}", "s%d://{id}/x{?q}", "urn:a%d:b", "s%d://a/%%20b", "h%d://{func}/{type}"), number)
}
