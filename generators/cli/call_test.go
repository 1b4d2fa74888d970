package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Completion knows the project's server by contract.json, and starts nothing.
func TestCompletionStartsNothing(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	contract := `{"format":1,"tools":{"add":{"name":"add","description":"Adds.` + "\u202e" + `","inputSchema":{"type":"object","properties":{"a":{"type":"number"}}}},"b\u001b":{"name":"b\u001b"}},
		"resources":{"note://1":{"uri":"note://1","name":"one"}},"prompts":{"greet":{"name":"greet","arguments":[{"name":"who"}]}}}`
	started := filepath.Join(dir, "started")
	for file, text := range map[string]string{
		filepath.Join(dir, "petrock.json"): `{"name":"hello"}`, filepath.Join(dir, "contract.json"): contract, filepath.Join(bin, "go"): "#!/bin/sh\ntouch " + started + "\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	for args, want := range map[string]string{
		"call|":         "add\tAdds.\\u202e\n:4\n",
		"call|add|":     "a=\n:6\n",
		"read|":         "note://1\n:4\n",
		"prompt|greet|": "who=\n:6\n",
		"prompt|nobody": ":4\n",
	} {
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		status := Run(t.Context(), newProjectRoot, append([]string{"__complete"}, strings.Split(args, "|")...), Env{Out: out, Err: io.Discard, Dir: dir})
		text, err := os.ReadFile(out.Name())
		if err != nil || status != 0 || string(text) != want {
			t.Errorf("%s: %d, %v, %q, want %q", args, status, err, text, want)
		}
		out.Close()
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("completion has started a program")
	}
}
