package scaffold_test

import (
	"go/parser"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"

	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
)

func TestCheckName(t *testing.T) {
	for _, name := range []string{
		"hello", "hello-world", "a", "x2", "My_Server", "weather", "http", "petrock-demo", "toolbox", strings.Repeat("a", 64),
	} {
		if err := scaffold.CheckName(name); err != nil {
			t.Errorf("%v", err)
		}
	}
	for name, say := range map[string]string{
		"":                       "empty",
		".":                      "use only ASCII letters",
		"..":                     "use only ASCII letters",
		"../x":                   "try x",
		"a/b":                    "try a-b",
		`a\b`:                    "try a-b",
		"my server":              "try my-server",
		"hello.go":               "try hello-go",
		"a\x00b":                 "use only ASCII letters",
		"a\nb":                   "use only ASCII letters",
		"über":                   "use only ASCII letters",
		"hello🎉":                 "try hello",
		"🎉":                      "try hello",
		"1st":                    "try st",
		"-x":                     "try x",
		"--help":                 "try help",
		"_x":                     "try x",
		"x-":                     "try x",
		"x_":                     "try x",
		"-":                      "letter",
		"func":                   "keyword",
		"type":                   "keyword",
		"core":                   "reserved as the name of a folder",
		"CORE":                   "reserved as the name of a folder",
		"tools":                  "reserved as the name of a folder",
		"petrock":                "reserved as the name of a folder",
		"internal":               "reserved as the name of a folder",
		"vendor":                 "reserved as the name of a folder",
		"testdata":               "reserved as the name of a folder",
		"cmd":                    "reserved as the name of a folder",
		"main":                   "reserved by Go",
		"std":                    "reserved by Go",
		"go":                     "keyword",
		"toolchain":              "reserved by Go",
		"fmt":                    "reserved by Go",
		"Time":                   "reserved by Go",
		"con":                    "try con-server",
		"NUL":                    "try NUL-server",
		strings.Repeat("a", 65):  "65 characters",
		strings.Repeat("a", 300): "300 characters",
		strings.Repeat("é", 300): "…",
	} {
		err := scaffold.CheckName(name)
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: err = %v, want it to contain %q", name, err, say)
		}
	}
	if err := scaffold.CheckName("über"); err == nil || strings.Contains(err.Error(), "try") {
		t.Errorf(`of a name with an accent got %v; want an error without "try"`, err)
	}
}

func TestCheckModule(t *testing.T) {
	for _, path := range []string{
		"hello", "example.com/hello", "example.com/a/b/c/d/hello", "example.com/hello/v2", "github.com/Me/hello-world",
		"example.com/core", "example.com/main", "corp/hello", "gopkg.in/hello.v1", "example.com/~me/hello",
	} {
		if err := scaffold.CheckModule(path); err != nil {
			t.Errorf("%v", err)
		}
	}
	for path, say := range map[string]string{
		"":                              "empty",
		"/hello":                        "empty path element",
		"hello/":                        "trailing slash",
		"example.com//hello":            "double slash",
		"example.com/../hello":          "..",
		"./hello":                       "invalid path element",
		"example.com/my server":         "invalid char",
		"example.com/héllo":             "invalid char",
		"https://example.com/x.git":     "try example.com/x",
		"example.com/x@v1":              "invalid char",
		"-x":                            "leading dash",
		"example.com/x/v1":              "version",
		"example.com/x/v0":              "version",
		"git@github.com:me/hello.git":   "try github.com/me/hello",
		"toolchain":                     "reserved by Go",
		"gopkg.in/x":                    "version",
		"fmt":                           "standard library",
		"net/hello":                     "standard library",
		"cmd/hello":                     "standard library",
		"std":                           "standard library",
		"main":                          "reserved by Go",
		"core":                          "reserved as the name of a folder",
		"func":                          "keyword",
		"example.com/vendor/x":          "vendor",
		"example.com/con":               "Windows",
		strings.Repeat("a/", 150) + "a": "301 characters",
	} {
		err := scaffold.CheckModule(path)
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: err = %v, want it to contain %q", path, err, say)
		}
	}
}

// The reserved names include the standard library of the installed Go.
func TestStandardNames(t *testing.T) {
	out, err := exec.Command("go", "list", "std", "cmd").Output()
	if err != nil {
		t.Fatal(err)
	}
	var first []string
	for path := range strings.FieldsSeq(string(out)) {
		path, _, _ = strings.Cut(path, "/")
		first = append(first, path)
	}
	slices.Sort(first)
	for _, name := range slices.Compact(first) {
		if err := scaffold.CheckModule(name + "/x"); err == nil {
			t.Errorf("CheckModule(%s/x) = nil, want an error", name)
		}
		if err := scaffold.CheckName(name); err == nil {
			t.Errorf("CheckName(%s) = nil, want an error", name)
		}
	}
}

// An accepted name is valid everywhere it is used.
func FuzzCheckName(f *testing.F) {
	for _, seed := range []string{"hello", "a-b", "a..b", "-", "_", "é", "a b", "CON", "v2", "x.go"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if scaffold.CheckName(name) != nil {
			return
		}
		if err := module.CheckImportPath("example.com/cmd/" + name); err != nil {
			t.Errorf("as a folder: %v", err)
		}
		if _, err := parser.ParseExpr(strings.ReplaceAll(name, "-", "_")); err != nil {
			t.Errorf("as an identifier: %v", err)
		}
		if err := scaffold.CheckModule(name); err != nil {
			t.Errorf("as the default module: %v", err)
		}
	})
}
