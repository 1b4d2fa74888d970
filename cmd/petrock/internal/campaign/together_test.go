package campaign_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// together runs all commands in parallel, and returns their output.
func (w *world) together(commands ...*exec.Cmd) []string {
	w.Helper()
	outs := make([]bytes.Buffer, len(commands))
	for i, cmd := range commands {
		cmd.Stdout, cmd.Stderr = &outs[i], &outs[i]
		if err := cmd.Start(); err != nil {
			w.Fatal(err)
		}
	}
	var said []string
	for i, cmd := range commands {
		cmd.Wait() // the caller checks the exit code
		said = append(said, outs[i].String())
	}
	return said
}

// Parallel processes in one project wait for each other, and no change is lost.
func TestTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.tree()
	var commands []*exec.Cmd
	for i := range rounds(3, 6) {
		kind := []string{"tool", "prompt", "tool"}[i%3]
		commands = append(commands, w.petrock("generate", kind, fmt.Sprintf("made-%d", i), "a"))
	}
	for i, said := range w.together(commands...) {
		if commands[i].ProcessState.ExitCode() != 0 {
			t.Errorf("%q: exit code %d, want 0: %s", commands[i].Args[1:], commands[i].ProcessState.ExitCode(), said)
		}
	}
	w.registers("tools/tools_gen.go", "add", "made_0", "made_2")
	w.registers("prompts/prompts_gen.go", "made_1")
	e := w.engine()
	w.soundQuickly(e)
	history, err := e.History(t.Context())
	if err != nil || len(history.Operations) != len(commands) {
		t.Errorf("the history has %d operations, %v; want %d and no error", len(history.Operations), err, len(commands))
	}

	// Parallel undos wait for each other, too.
	commands = nil
	for _, op := range history.Operations {
		commands = append(commands, w.petrock("undo", op.ID))
	}
	for i, said := range w.together(commands...) {
		if commands[i].ProcessState.ExitCode() != 0 {
			t.Errorf("%q: exit code %d, want 0: %s", commands[i].Args[1:], commands[i].ProcessState.ExitCode(), said)
		}
	}
	w.unchanged(before, "when all is undone,")
}

// If several processes generate the same name, one succeeds.
func TestTogetherSame(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t)
	var commands []*exec.Cmd
	for i := range 4 {
		commands = append(commands, w.petrock("generate", "tool", "same", fmt.Sprintf("field%d", i)))
	}
	made := 0
	for i, said := range w.together(commands...) {
		switch status := commands[i].ProcessState.ExitCode(); {
		case status == 0:
			made++
		case status != 1 || !strings.Contains(said, "tools/same.go already exists"):
			t.Errorf("exit code %d: %s", status, said)
		}
	}
	if made != 1 {
		t.Errorf("made = %v, want 1", made)
	}
	e := w.engine()
	w.soundQuickly(e)
	if history, err := e.History(t.Context()); err != nil || len(history.Operations) != 1 {
		t.Errorf("the history is %+v: %v; want one operation and no error", history, err)
	}
}
