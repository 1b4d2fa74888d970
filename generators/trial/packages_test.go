package trial_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/generators/trial"
)

// tested is a module with tests that pass and fail.
func tested(t *testing.T) string {
	t.Helper()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module weather\n\ngo 1.26.0\n",
		"sun/sun.go":         "package sun\n\nfunc Rise() int { return 6 }\n",
		"sun/testdata/a.txt": "6",
		"sun/sun_test.go": `package sun

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestRise(t *testing.T) {
	t.Log("a note")
	text, err := os.ReadFile("testdata/a.txt")
	if err != nil || string(text) != fmt.Sprint(Rise()) {
		t.Errorf("it rises at %d,\nnot at %s", Rise(), text)
	}
}

func TestTable(t *testing.T) {
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) {
			if Rise() > 6 && name == "two" {
				fmt.Println("printed by", strings.ToUpper(name))
				t.Fatal("late")
			}
		})
	}
}

func TestSkipped(t *testing.T) { t.Skip("not today") }
`,
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// describe returns a summary as text.
func describe(s *trial.Summary) string {
	text := fmt.Sprintf("%d packages, %d passed, %d skipped\n", s.Packages, s.Passed, s.Skipped)
	for _, f := range s.Failures {
		text += fmt.Sprintf("%s %s %s:%d %q %q\n", f.Package, f.Test, f.File, f.Line, f.Message, f.Output)
	}
	for _, d := range s.Diagnostics {
		text += d.String() + "\n"
	}
	return text
}

// Tests of planned files run in a temporary folder with any name that go test -exec supports.
func TestTemporaryFolder(t *testing.T) {
	for name, wantErr := range map[string]string{"o'neill": "", `the "fast" disk`: "", `o'neill's "fast" disk`: "contains both kinds of quotes"} {
		if runtime.GOOS == "windows" && strings.Contains(name, `"`) {
			continue // it is not a valid name
		}
		folder := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		root := tested(t)
		t.Setenv("GOTMPDIR", folder)
		o := trial.Options{Root: root, Planned: map[string][]byte{"sun/sun.go": []byte("package sun\n\nfunc Rise() int { return 6 }\n")}}
		s, err := trial.Packages(t.Context(), o, trial.Selection{Dirs: map[string]string{"weather/sun": "sun"}}, trial.Limits{})
		switch {
		case wantErr != "" && (err == nil || !strings.Contains(err.Error(), wantErr)):
			t.Errorf("Packages in the folder %s: got the error %v, want one with %q", name, err, wantErr)
		case wantErr == "" && (err != nil || s.Passed != 3):
			t.Errorf("Packages in the folder %s = %+v, %v, want 3 passed", name, s, err)
		}
	}
}

func TestPackages(t *testing.T) {
	root := tested(t)
	test := func(body string) string {
		return "package sun\n\nimport \"testing\"\n\nfunc TestMore(t *testing.T) {\n" + body + "\n}\n"
	}
	for name, c := range map[string]struct {
		planned map[string]string
		run     string
		limits  trial.Limits
		want    string
	}{
		"on disk": {want: "1 packages, 3 passed, 1 skipped\n"},
		"chosen":  {run: "TestTable/one", want: "1 packages, 1 passed, 0 skipped\n"},
		"failures": {
			planned: map[string]string{"sun/sun.go": "package sun\n\nfunc Rise() int { return 7 }\n"},
			want: "1 packages, 1 passed, 1 skipped\n" +
				`sun TestRise sun/sun_test.go:14 "a note\nit rises at 7,\nnot at 6" ""` + "\n" +
				`sun TestTable/two sun/sun_test.go:23 "late" "printed by TWO"` + "\n",
		},
		"planned data": {
			planned: map[string]string{"sun/sun.go": "package sun\n\nfunc Rise() int { return 5 }\n", "sun/testdata/a.txt": "5"},
			want:    "1 packages, 3 passed, 1 skipped\n",
		},
		"new package": {
			planned: map[string]string{"far/moon/moon_test.go": "package moon\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMoon(t *testing.T) {\n\tif _, err := os.Stat(\"../../sun/sun.go\"); err != nil {\n\t\tt.Error(err)\n\t}\n}\n"},
			want:    "2 packages, 4 passed, 1 skipped\n",
		},
		"panic": {
			planned: map[string]string{"sun/more_test.go": test("\tvar m map[int]int\n\tm[1] = 1")},
			run:     "TestMore", want: "1 packages, 0 passed, 0 skipped\nsun TestMore sun/more_test.go:7 \"panicked: assignment to entry in nil map\" \"\"\n",
		},
		"exit": {
			planned: map[string]string{"sun/more_test.go": strings.Replace(test("\tos.Exit(3)"), `"testing"`, "(\n\t\"os\"\n\t\"testing\"\n)", 1)},
			run:     "TestMore", want: "1 packages, 0 passed, 0 skipped\nsun TestMore :0 \"the process ended early (os.Exit), or failed outside of a test (TestMain)\" \"\"\n",
		},
		"endless": {
			planned: map[string]string{"sun/more_test.go": test("\tselect {}")},
			run:     "TestMore", limits: trial.Limits{Time: time.Second},
			want: "1 packages, 0 passed, 0 skipped\nsun TestMore sun/more_test.go:6 \"did not end within 1s\" \"\"\n",
		},
		"loud": {
			planned: map[string]string{"sun/more_test.go": test("\tfor {\n\t\tt.Log(\"again and again\")\n\t}")},
			run:     "TestMore", limits: trial.Limits{Output: 1 << 10},
			want: "1 packages, 0 passed, 0 skipped\nsun TestMore :0 \"printed more than 16 KiB\" \"\"\n",
		},
		"does not compile": {
			planned: map[string]string{"sun/more_test.go": test("\tgone()")},
			want:    "0 packages, 0 passed, 0 skipped\nsun/more_test.go:6:2: undefined: gone\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := trial.Options{Root: root, Planned: map[string][]byte{}}
			dirs := map[string]string{"weather/sun": "sun"}
			for file, text := range c.planned {
				o.Planned[file] = []byte(text)
				if dir := filepath.ToSlash(filepath.Dir(file)); strings.HasSuffix(file, ".go") {
					dirs["weather/"+dir] = dir
				}
			}
			s, err := trial.Packages(t.Context(), o, trial.Selection{Dirs: dirs, Run: c.run}, c.limits)
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(s); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(root, "far")); err == nil {
			t.Error("the folder of a planned package is left in the project")
		}
	})
}

// Examples run first, confined. If one fails, or the packages that are not tested first take too
// long, the rest is killed and named.
func TestPackagesWithExamples(t *testing.T) {
	const example = "package sun\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestExample(t *testing.T) {\n\tfiles, err := os.ReadDir(\".\")\n\tif Rise() != 6 || len(files) > 0 || err != nil {\n\t\tt.Errorf(\"%d %v %v\", Rise(), files, err)\n\t}\n}\n"
	const endless = "package moon\n\nimport (\n\t\"testing\"\n\n\t_ \"weather/sun\"\n)\n\nfunc TestMoon(t *testing.T) { select {} }\n"
	for name, c := range map[string]struct {
		sun    string
		later  time.Duration
		passed bool
		want   string
		killed string
	}{
		"passes":      {"package sun\n\nfunc Rise() int { return 6 }\n", time.Millisecond, true, " packages, 3 passed, 1 skipped\n", "the tests did not end within 1ms"},
		"fails":       {"package sun\n\nfunc Rise() int { return 7 }\n", time.Minute, false, "", "the tests have failed examples"},
		"no compiler": {"package sun\n\nfunc Rise() int { return six }\n", time.Minute, false, "sun/sun.go:3:26: undefined: six\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := trial.Options{Root: tested(t), Planned: map[string][]byte{"sun/example_test.go": []byte(example), "sun/sun.go": []byte(c.sun), "moon/moon_test.go": []byte(endless)}}
			s, err := trial.Packages(t.Context(), o, trial.Selection{
				Dirs: map[string]string{"weather/sun": "sun", "weather/moon": "moon"}, First: []string{"sun"}, LaterTime: c.later,
				Examples: trial.Examples{Dir: "sun", Test: "TestExample"},
			}, trial.Limits{Time: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			if c.killed == "" {
				if got := describe(s); s.Examples != nil || !strings.HasSuffix(got, c.want) {
					t.Errorf("got %s%+v, want %s", got, s.Examples, c.want)
				}
				return
			}
			if s.Examples == nil || s.Examples.Passed != c.passed || s.Killed != c.killed || fmt.Sprint(s.NotRun) != "[moon]" {
				t.Errorf("got %+v, examples %+v; want examples passed: %t, killed %q and moon not run", s, s.Examples, c.passed, c.killed)
			}
			if got := describe(s); c.passed && !strings.HasSuffix(got, c.want) {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestPackagesAreCancelled(t *testing.T) {
	root := tested(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := trial.Packages(ctx, trial.Options{Root: root}, trial.Selection{Dirs: map[string]string{"weather/sun": "sun"}}, trial.Limits{}); err != context.Canceled {
		t.Errorf("%v: got %v, want %v", s, err, context.Canceled)
	}
}
