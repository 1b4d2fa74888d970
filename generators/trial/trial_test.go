package trial_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/generators/trial"
)

// Test goes from planned files to a report, in a project behind a symbolic link.
func TestWhole(t *testing.T) {
	s := newStage(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(s.Root, link); err == nil { // may be forbidden on Windows
		s.Root = link
	}
	var steps []string
	s.Step = func(what string) { steps = append(steps, what) }
	r, _, err := trial.RunTest(t.Context(), s.Options, "tools", "TestAdd", trial.Limits{Time: time.Minute})
	if err != nil || !r.Passed || summary(r) != "one and two: true\nnone: true\n" {
		t.Errorf(`got %+v, %v; want no error, and the cases "one and two" and "none" passed`, r, err)
	}
	if want := []string{"testing tools, 1 in all", "tested tools"}; !slices.Equal(steps, want) {
		t.Errorf("steps: got %q, want %q", steps, want)
	}

	new := maps.Clone(s.Planned) // a package whose folder does not exist
	new["features/sums/sums_test.go"] = []byte("package sums\n\nimport (\n\t\"testing\"\n\n\t\"weather/tools\"\n)\n\nfunc TestSums(t *testing.T) {\n\tif tools.Add(1, 2) != 3 {\n\t\tt.Fatal(\"the old file counts\")\n\t}\n}\n")
	r, _, err = trial.RunTest(t.Context(), trial.Options{Root: s.Root, Planned: new}, "features/sums", "TestSums", trial.Limits{Time: time.Minute})
	if err != nil || !r.Passed || summary(r) != "TestSums: true\n" {
		t.Errorf("got %+v, %v; want no error, and TestSums passed", r, err)
	}
}

func TestDoesNotCompile(t *testing.T) {
	s := newStage(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(s.Root, link); err == nil {
		s.Root = link
	}
	for name, c := range map[string]struct{ file, text, want string }{
		"types":  {"tools/add.go", "package tools\n\nfunc Add(a, b int) int {\n\treturn \"three\"\n}\n", `weather/tools: tools/add.go:4:9: cannot use "three"`},
		"syntax": {"tools/add.go", "package tools\n\nfunc Add(a, b int) int {\n\treturn )\n}\n", "weather/tools: tools/add.go:4:9: syntax error"},
		"test":   {"tools/add_test.go", "package tools\n\nfunc second() { gone() }\n", "weather/tools: tools/add_test.go:3:17: undefined: gone"},
		"import": {"tools/add.go", "package tools\n\nimport \"weather/gone\"\n", "weather/tools: tools/add.go:3:8: package weather/gone is not in std"},
		"disk":   {"tools/old_test.go", "", "weather/tools: tools/old_test.go:5:30: undefined: gone"},
	} {
		t.Run(name, func(t *testing.T) {
			o := trial.Options{Root: s.Root, Planned: maps.Clone(s.Planned)}
			if o.Planned[c.file] = []byte(c.text); c.text == "" {
				delete(o.Planned, c.file) // the file in the project has the error
			}
			r, found, err := trial.RunTest(t.Context(), o, "tools", "TestAdd", trial.Limits{})
			if err != nil || r != nil || len(found) == 0 {
				t.Fatalf("got %+v, %v, %v; want no report, some diagnostics and no error", r, found, err)
			}
			var got []string
			for _, d := range found {
				got = append(got, d.Package+": "+d.String())
			}
			if !slices.ContainsFunc(got, func(d string) bool { return strings.HasPrefix(d, c.want) }) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), c.want)
			}
		})
	}
}

func TestNothingToRun(t *testing.T) {
	s := newStage(t)
	for _, c := range []struct{ dir, test, want string }{
		{"tools", "TestGone", "the package has no test TestGone"},
		{"tools", "Test|.*", `"Test|.*" is not a test name`},
		{"cmd/weather", "TestAdd", "package cmd/weather has no tests"},
		{"../tools", "TestAdd", `"../tools" is not a path from the root`},
	} {
		r, _, err := trial.RunTest(t.Context(), s.Options, c.dir, c.test, trial.Limits{Time: time.Minute})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s in %s: %+v %v; want an error containing %q", c.test, c.dir, r, err, c.want)
		}
	}
	s.Planned["../x.go"] = []byte("package x\n")
	if _, _, err := trial.RunTest(t.Context(), s.Options, "tools", "TestAdd", trial.Limits{}); err == nil || !strings.Contains(err.Error(), `"../x.go" is not a path`) {
		t.Errorf(`a file outside: %v; want an error containing "\"../x.go\" is not a path"`, err)
	}
}
