package gen_test

import (
	"go/build"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/gen"
)

func TestFile(t *testing.T) {
	for text, file := range map[string]string{
		"send_mail":           "send_mail.go",
		"SendMail":            "send_mail.go",
		"send_test":           "send_test_tool.go",
		"sendTest":            "send_test_tool.go",
		"export_windows":      "export_windows_tool.go",
		"run_arm64":           "run_arm64_tool.go",
		"x_linux_amd64":       "x_linux_amd64_tool.go",
		"x_linux_test":        "x_linux_test_tool.go",
		"go_386":              "go_386_tool.go",
		"code_gen":            "code_gen_tool.go",
		"build_js":            "build_js_tool.go",
		"con":                 "con_tool.go",
		"com1":                "com1_tool.go",
		"lpt9":                "lpt9_tool.go",
		"console":             "console.go",
		"com10":               "com10.go",
		"list_con":            "list_con.go",
		"test":                "test.go",
		"gen":                 "gen.go",
		"windows":             "windows.go",
		"linux":               "linux.go",
		"arm64":               "arm64.go",
		"run_unix":            "run_unix.go",
		"linux_run":           "linux_run.go",
		"test_run":            "test_run.go",
		"send_tool":           "send_tool.go",
		"send_test_tool":      "send_test_tool_tool.go", // send_test is in the other one
		"send_test_tool_tool": "send_test_tool_tool_tool.go",
		"con_tool":            "con_tool_tool.go",
	} {
		name, err := gen.ParseName(text)
		if err != nil {
			t.Errorf("%v", err)
		} else if got := name.File("tool"); got != file {
			t.Errorf("%s: got %q, want %q", text, got, file)
		}
	}
}

// A kind that is special in file names does not exclude a file from a build or make two names share
// one.
func TestFileOfSpecialKind(t *testing.T) {
	for _, test := range []struct{ text, kind, file string }{
		{"send_test", "http_handler", "send_test_http_handler.go"},
		{"send_test", "test", "send_test_component.go"},
		{"send_test_component", "test", "send_test_component_component.go"},
		{"for_linux", "unit_test", "for_linux_component.go"},
		{"for_windows", "windows", "for_windows_component.go"},
		{"code_gen", "gen", "code_gen_component.go"},
		{"send_mail", "test", "send_mail.go"},
		{"con", "test", "con_component.go"},
		{"con", "con", "con_con.go"},
	} {
		name, err := gen.ParseName(test.text)
		if err != nil {
			t.Errorf("%v", err)
		} else if got := name.File(test.kind); got != test.file || !isPlainFile(t, got) {
			t.Errorf("the %s %s is in %s, want %s, which every build includes", test.kind, test.text, got, test.file)
		}
	}
}

// The known systems and processors are those of this version of Go.
func TestFileOfEverySystem(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "src/internal/syslist/syslist.go"))
	if err != nil {
		t.Skipf("this Go has no sources: %v", err)
	}
	words := regexp.MustCompile(`"(\w+)":\s+true`).FindAllStringSubmatch(string(source), -1)
	if len(words) < 40 {
		t.Fatalf("Go knows %d systems and processors, want at least 40", len(words))
	}
	for _, word := range words {
		name, err := gen.ParseName("run_" + word[1])
		if err != nil {
			t.Errorf("%v", err)
		} else if file := name.File("tool"); file != "run_"+word[1]+"_tool.go" || !isPlainFile(t, file) {
			t.Errorf("run_%[1]s is in %[2]s, want run_%[1]s_tool.go, which every build includes", word[1], file)
		}
		if bare := word[1] + ".go"; !isPlainFile(t, bare) {
			t.Errorf("%s is not in every build", bare)
		}
	}
}

// isPlainFile reports whether every build includes a file. It asks for a system that does not
// exist.
func isPlainFile(t *testing.T, name string) bool {
	t.Helper()
	context := build.Default
	context.GOOS, context.GOARCH = "none", "none"
	context.OpenFile = func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package x\n")), nil
	}
	matches, err := context.MatchFile("/", name)
	if err != nil {
		t.Fatal(err)
	}
	return matches && !strings.HasSuffix(name, "_test.go")
}
