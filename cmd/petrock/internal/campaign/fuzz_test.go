package campaign_test

import (
	"bytes"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/journal"
)

// For any input, a dry run writes nothing, and its planned files are formatted Go in the folders of
// components. Text is a field, or the URI of a resource.
func FuzzGenerate(f *testing.F) {
	kinds := []string{"tool", "resource", "prompt"}
	add := func(h hostile) {
		for i, kind := range kinds {
			if kind == h.kind {
				f.Add(uint8(i), h.Name, strings.Join(h.Fields, "\n")+h.URI, h.Description)
			}
		}
	}
	for i, h := range hostiles() {
		if len(h.Fields) < 2 && (i%15 == 0 || h.refused == "" && i%6 == 0) && len(h.json()) < 1_000 {
			add(h)
		}
	}
	m := newMaker(*seed)
	for range 3 {
		for _, kind := range kinds {
			in := m.input(kind)
			in.Fields = in.Fields[:min(1, len(in.Fields))]
			add(hostile{kind: kind, input: in})
		}
	}
	w := newWorld(f)
	e := w.engine()
	before := w.touched()
	f.Fuzz(func(t *testing.T, which uint8, name, text, description string) {
		w := &world{TB: t, base: w.base, dir: w.dir}
		kind := kinds[int(which)%len(kinds)]
		in := input{Name: name, Description: description}
		if kind == "resource" {
			in.URI = text
		} else if text != "" {
			in.Fields = []string{text}
		}
		result, err := e.Generate(t.Context(), kind, in.json(), engine.Options{DryRun: true})
		if how := before.differences(w.touched()); how != "" {
			t.Fatalf("a dry run has changed the project:\n%s", how)
		}
		if _, err := os.Lstat(w.path(".petrock/pending.json")); err == nil {
			t.Fatal("a dry run has begun an operation: .petrock/pending.json exists")
		}
		if err != nil {
			w.clear(err)
			for _, bad := range []string{"cannot derive from", "deriving from", "writing Go", "write Go", "would not compile"} {
				if strings.Contains(err.Error(), bad) {
					t.Errorf("%s %s passes the generator and fails later: %v; want an error without %q", kind, in.json(), err, bad)
				}
			}
			return
		}
		if !result.DryRun || result.Operation != "" || len(result.Components) != 1 || string(result.Components[0].Kind) != kind || len(result.Diagnostics)+len(result.Refused) > 0 {
			t.Errorf("%s %s: the result is %+v", kind, in.json(), result)
		}
		for _, file := range result.Files {
			w.planned(file)
		}
	})
}

// planned fails the test if a planned file is invalid.
func (w *world) planned(file engine.FileChange) {
	w.Helper()
	if file.Path == contract.File {
		return // other tests check its format
	}
	dir, _, _ := strings.Cut(file.Path, "/")
	if !strings.Contains(" tools resources prompts cmd ", " "+dir+" ") || path.Clean(file.Path) != file.Path || strings.Contains(file.Path, "..") || strings.ContainsAny(file.Path, "\\:\n") {
		w.Errorf("the dry run plans to write %q", file.Path)
		return
	}
	var was []byte
	if file.Action != journal.Create {
		was = []byte(w.read(file.Path))
	}
	text, err := patch(was, file.Diff)
	if err != nil || journal.Hash(text) != file.After {
		w.Errorf("the diff of %s does not produce the planned file: %v\n%s", file.Path, err, file.Diff)
		return
	}
	if _, err := parser.ParseFile(token.NewFileSet(), file.Path, text, parser.SkipObjectResolution); err != nil {
		w.Errorf("the planned file is not valid Go: %v\n%s", err, text)
		return
	}
	if formatted, err := format.Source(text); err != nil || !bytes.Equal(formatted, text) {
		w.Errorf("%s is not formatted: %v\n%s", file.Path, err, text)
	}
}

// patch applies a unified diff.
func patch(text []byte, diff string) ([]byte, error) {
	before := strings.SplitAfter(string(text), "\n")
	var out strings.Builder
	at := 0 // in before
	lines := strings.SplitAfter(diff, "\n")
	for _, line := range lines[2:] {
		switch {
		case strings.HasPrefix(line, "@@"):
			words := strings.Fields(line)
			number, _, _ := strings.Cut(words[1], ",")
			begin, err := strconv.Atoi(strings.TrimPrefix(number, "-"))
			if err != nil {
				return nil, err
			}
			for ; at < begin-1; at++ {
				out.WriteString(before[at])
			}
		case strings.HasPrefix(line, "+"):
			out.WriteString(line[1:])
		case strings.HasPrefix(line, "-"), strings.HasPrefix(line, " "):
			if at >= len(before) || before[at] != line[1:] {
				return nil, fmt.Errorf("line %d is not %q", at+1, line[1:])
			}
			if line[0] == ' ' {
				out.WriteString(line[1:])
			}
			at++
		case line == "":
		default:
			return nil, fmt.Errorf("unexpected line %q", line)
		}
	}
	for ; at < len(before); at++ {
		out.WriteString(before[at])
	}
	return []byte(out.String()), nil
}
