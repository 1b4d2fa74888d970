package devserver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/trial"
	"github.com/petrock/petrock/generators/typecheck"
)

// A result has at most 2,000 bytes, text and structured content together. It says what it leaves
// out, and keeps what matters most. With detail it is whole.
func TestAnswerIsShort(t *testing.T) {
	long := strings.Repeat("a long text ", 1000)
	var files []engine.FileChange
	var found []typecheck.Diagnostic
	listing, wide, history := &engine.Listing{}, &engine.Listing{}, &engine.History{}
	var failed []trial.TestFailure
	for i := range 100 {
		got := fmt.Sprintf(`{"items":[%s],"n":`, strings.Repeat(`"item",`, 100))
		failed = append(failed, trial.TestFailure{Package: "tools", Test: fmt.Sprintf("TestAdd%d", i), Message: fmt.Sprintf("add({}):\ngot  %s1}\nwant %[1]s2}", got)})
		files = append(files, engine.FileChange{Path: fmt.Sprintf("features/tickets/file%d.go", i), Action: journal.Create, After: "hash", Diff: long})
		source := strings.Repeat(strings.Repeat("x", 300)+"\n", 20)
		found = append(found, typecheck.Diagnostic{Package: "hello/tools", File: "tools/add.go", Line: 5 + i, Message: fmt.Sprintf("error %d %s", i, long), Lines: typecheck.LinesAround(source, 10)})
		listing.Components = append(listing.Components, derive.Component{Kind: derive.Tool, Name: fmt.Sprintf("tool%d", i), File: "tools/add.go", Description: "Adds.\nIt " + long, Input: []byte(`{"secret":1}`)})
		wide.Components = append(wide.Components, derive.Component{Kind: derive.Tool, Name: "wide", File: "tools/wide.go", Description: long[:200], Input: []byte(`{"secret":1}`)})
		history.Operations = append(history.Operations, engine.Operation{Operation: journal.Operation{ID: fmt.Sprintf("%04d-abcdef", i), Title: "generate tool x"}})
	}
	for _, test := range []struct {
		name   string
		result any
		err    error
		keeps  []string
	}{
		{"operation", &engine.Result{OK: true, Action: "generate", Kind: "feature", Name: "tickets", Operation: "0001-abcdef", Files: files, Warnings: found, Next: []string{"go test ./..."}}, nil,
			[]string{"0001-abcdef", "features/tickets/file0.go", "tools/add.go:5: error 0", "go test ./...", "Left out: 9"}},
		{"plan", &engine.Result{OK: true, DryRun: true, Action: "generate", Plan: "abc", Files: files[:1]}, nil, []string{"features/tickets/file0.go"}},
		{"refusal", nil, &engine.Refusal{Reason: "the change would not compile:", Diagnostics: found, Declares: long, Remedy: "Correct the body."},
			[]string{"the change would not compile:", "tools/add.go:5: error 0", "Correct the body.", "Left out: 9"}},
		{"edited", nil, &engine.Refusal{Reason: "files have been edited:", Files: files[:2], Remedy: "With keep they stay."}, []string{"features/tickets/file1.go", "With keep", "Left out: diffs. Set detail"}},
		{"failures", nil, &engine.Refusal{Reason: "examples failed:", Failures: []engine.Failure{{Message: "returns " + long}}, Printed: long}, []string{"examples failed:", "returns a long"}},
		{"failed tests", &engine.TestResult{Failures: failed}, nil, []string{"got  … ", "want … ", "Left out: ", "TestAdd79"}},
		{"error", nil, errors.New("read go.mod: " + long), []string{"read go.mod: a long"}},
		{"listing", listing.Page("", 0, 50), nil, []string{"tool tool0, tools/add.go:0: Adds.\n", " of 100 components; pass offset: "}},
		{"cut listing", wide.Page("", 0, 50), nil, []string{" of 100 components; pass offset: "}},
		{"end of the listing", listing.Page("tool", 97, 50), nil, []string{"tool tool99", "98 to 100 of 100 components.\n"}},
		{"history", history.Page(0, 20), nil, []string{"0099-abcdef", "1 to 20 of 100 operations; pass offset: 20"}},
		{"status", devserver.ProjectStatusOutput{Name: "hello", Diagnostics: found, Stale: []string{"a"}}, nil, []string{"The project does not compile:\ntools/add.go:5: error 0"}},
		{"build", &devserver.BuildOutput{OK: true, Derived: files, Warnings: found}, nil, []string{"file0.go", "Left out: "}},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer, err := devserver.Answer(t.Context(), test.result, test.err)
			if err != nil {
				t.Fatal(err)
			}
			if size := len(answer.Text()) + len(answer.StructuredContent); size > 2000 {
				t.Errorf("the result has %d bytes, want at most 2000:\n%s\n%s", size, answer.Text(), answer.StructuredContent)
			}
			for _, keeps := range test.keeps {
				if !strings.Contains(answer.Text(), keeps) {
					t.Errorf("the text: got %q, want it to contain %q", answer.Text(), keeps)
				}
			}
			whole, err := devserver.Answer(devserver.WithDetail(t.Context(), true), test.result, test.err)
			if err != nil {
				t.Fatal(err)
			}
			if test.name != "history" && test.name != "end of the listing" && len(whole.StructuredContent) < 10000 {
				t.Errorf("%s with detail has %d bytes, want at least 10000: %s", test.name, len(whole.StructuredContent), whole.StructuredContent)
			}
			if answer.IsError != (test.err != nil) || whole.IsError != answer.IsError {
				t.Errorf("isError is %t, with detail %t; want %t", answer.IsError, whole.IsError, test.err != nil)
			}
		})
	}
}
