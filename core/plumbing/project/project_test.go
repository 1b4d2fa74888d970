package project_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/plumbing/project"
)

func TestFind(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "features", "posts")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := project.Find(deep); !errors.Is(err, project.ErrNone) || !strings.Contains(err.Error(), deep) {
		t.Fatalf("without a project: %v; want %v, naming %s", err, project.ErrNone, deep)
	}
	want := project.Manifest{Petrock: "1.2.3", Name: "weather", Module: "example.com/weather"}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, project.FileName)
	write(t, file, string(text))
	for _, dir := range []string{root, deep} {
		got, err := project.Find(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got.Root != root || got.Name != want.Name || got.Module != want.Module {
			t.Errorf("from %s: %+v; want Root %q, Name %q and Module %q", dir, got, root, want.Name, want.Module)
		}
	}
	for _, bad := range []string{"", "{", "[]", `{"module":"x"}`} {
		write(t, file, bad)
		if _, err := project.Find(deep); err == nil || errors.Is(err, project.ErrNone) || !strings.Contains(err.Error(), file) {
			t.Errorf("%q as %s: %v", bad, project.FileName, err)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A program finds its source around the working directory, or reports the project that it found.
func TestSource(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(root, "features", "posts")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	if _, err := project.Source("weather"); !errors.Is(err, project.ErrNone) {
		t.Errorf("outside of any project: got %v, want %v", err, project.ErrNone)
	}
	file := filepath.Join(root, project.FileName)
	write(t, file, `{"name":"weather"}`)
	if found, err := project.Source("weather"); err != nil || found != root {
		t.Errorf("in the project: got %q, %v; want %q and no error", found, err, root)
	}
	if _, err := project.Source("other"); !errors.Is(err, project.ErrNone) || !strings.Contains(err.Error(), root+" is the project weather") {
		t.Errorf("in another project: %v; want %v, naming %s as the project weather", err, project.ErrNone, root)
	}
	write(t, file, `{`)
	if _, err := project.Source("weather"); err == nil || errors.Is(err, project.ErrNone) || !strings.Contains(err.Error(), file) {
		t.Errorf("in a broken project: %v", err)
	}
}

func TestVariable(t *testing.T) {
	for program, want := range map[string]string{"hello": "HELLO_DATA", "my-Server.2": "MY_SERVER_2_DATA"} {
		if got := project.Variable(program, "data"); got != want {
			t.Errorf("variable of %s is %s, want %s", program, got, want)
		}
	}
}

func TestIsDevice(t *testing.T) {
	for name, want := range map[string]bool{
		"con": true, "NUL": true, "Aux.txt": true, "prn.tar.gz": true, "com1": true, "COM9": true, "lpt1.txt": true,
		"": false, "console": false, "com": false, "com10": false, "list_con": false, "x.con": false,
	} {
		if got := project.IsDevice(name); got != want {
			t.Errorf("IsDevice(%q) = %t, want %t", name, got, want)
		}
	}
}

// The error of a manifest with conflict markers names them.
func TestFindConflicted(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, project.FileName)
	if err := os.WriteFile(file, []byte("{\n<<<<<<< HEAD\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := project.Find(dir); err == nil || err.Error() != file+" has conflict markers; resolve the merge" {
		t.Errorf("got %v, want %s has conflict markers; resolve the merge", err, file)
	}
}

// A setting comes from its variable, or from the file that another variable names.
func TestLookupSetting(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "secret")
	if err := os.WriteFile(file, []byte(" two words\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ value, file, want string }{
		{"-", "-", `"" false`},
		{"", "-", `"" true`},
		{"x\n", "-", `"x\n" true`},
		{"-", file, `" two words" true`},
		{"", file, `" two words" true`}, // the variable of an image, emptied
		{"x", file, "HELLO_API_KEY and HELLO_API_KEY_FILE are both set"},
		{"-", filepath.Join(dir, "missing"), "read HELLO_API_KEY_FILE: open "},
		{"-", "", "read HELLO_API_KEY_FILE: open "},
	} {
		for name, value := range map[string]string{"HELLO_API_KEY": test.value, "HELLO_API_KEY_FILE": test.file} {
			t.Setenv(name, value)
			if value == "-" {
				os.Unsetenv(name)
			}
		}
		value, ok, err := project.LookupSetting("hello", "api_key")
		got := fmt.Sprintf("%q %t", value, ok)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%+v: got %q, want the prefix %q", test, got, test.want)
		}
	}
}
