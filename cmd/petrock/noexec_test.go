//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/cmd/petrock/internal/create"
	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/generators/cli"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/launch"
	"github.com/petrock/petrock/generators/linked"
)

// hostileProject creates a project that names programs wherever it can. Each appends its name to
// the file that is returned: those that git's configuration names, and all code of the project.
func hostileProject(t *testing.T) (dir, ran string) {
	t.Helper()
	base := t.TempDir()
	dir, ran = filepath.Join(base, "hello"), filepath.Join(base, "ran")
	_, err := create.Run(t.Context(), scaffold.Embedded(), create.Options{Answers: scaffold.Answers{Name: "hello", Module: "hello"}, Dir: "hello", Base: base, NoGit: true})
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for pkg, name := range map[string]string{"tools": "tools", "cmd/petrock": "main", "generators/petrock": "main"} {
		write(pkg+"/ran.go", fmt.Sprintf("package %s\n\nimport \"os\"\n\nfunc init() {\n\tfile, _ := os.OpenFile(%q, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)\n\tfile.WriteString(\"code of %s\\n\")\n\tfile.Close()\n}\n", name, ran, pkg), 0o644)
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}, {"-c", "user.name=x", "-c", "user.email=x@x", "commit", "--quiet", "-m", "x"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Skipf("git: %v\n%s", err, out)
		}
	}
	program := func(name string) string { return fmt.Sprintf("\"sh -c 'echo %s >> %s' #\"", name, ran) }
	config := "[core]\n\thooksPath = " + filepath.Join(dir, "hooks") + "\n"
	for _, name := range []string{"fsmonitor", "pager", "editor", "sshCommand", "askPass"} {
		config += "\t" + name + " = " + program(name) + "\n"
	}
	config += "[diff]\n\texternal = " + program("diff") + "\n[credential]\n\thelper = " + program("credential") + "\n[gpg]\n\tprogram = " + program("gpg") +
		"\n[filter \"x\"]\n\tclean = " + program("clean") + "\n\tsmudge = " + program("smudge") + "\n[diff \"x\"]\n\ttextconv = " + program("textconv") + "\n"
	known, err := os.ReadFile(filepath.Join(dir, ".git", "config"))
	if err != nil {
		t.Fatal(err)
	}
	write(".git/config", string(known)+config, 0o644)
	write(".gitattributes", "* filter=x diff=x\n", 0o644)
	for _, hook := range []string{"post-index-change", "pre-commit", "reference-transaction", "post-checkout"} {
		write("hooks/"+hook, "#!/bin/sh\necho "+hook+" >> "+ran+"\n", 0o755)
	}
	if out, err := exec.Command("git", "-C", dir, "status").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if text, _ := os.ReadFile(ran); !strings.Contains(string(text), "fsmonitor") {
		t.Fatalf("git ran %q, want fsmonitor", text)
	}
	os.Remove(ran)
	return dir, ran
}

// projectRoot returns the commands that a project's own petrock shares with the installed one.
func projectRoot(env cli.Env) *cobra.Command {
	root := &cobra.Command{Use: "petrock"}
	cli.AddCommands(root, env)
	root.AddCommand(cli.NewDev(env, launch.ServeStdio), cli.NewMCP(env, devserver.New))
	return root
}

// With --no-exec, no command runs a program that the project's folder names.
func TestNoExecRunsNoProgramOfTheFolder(t *testing.T) {
	warm(t)
	const edit = `{"edits":[{"path":"tools/loud.go","text":"package tools\n\nimport _ \"embed\"\n\n//go:embed add.go\nvar source string\n\nfunc loud() string { return source }\n"}]}`
	lines := []string{ // in order; the last word may be an exit code
		"generate tool greet name", "generate resource motd motd://today", "generate prompt review", "generate generator note", "generate type money/Currency --values eur", "search add",
		"generate tool later name --dry-run", "apply PLAN", "undo", "redo", "change tool greet --description Greets.",
		"edit --input EDIT", "destroy tool later", "add client", "remove client", "sync", "list", "status", "history",
		"test 2", "generate nosuch 2", "generate feature 2", "generate command 2", "generate query 2",
		"generate worker 2", "generate version 2", "mcp", "dev --no-petrock",
	}
	if *long { // these compile SQLite
		lines = append([]string{
			"generate feature posts", "generate command posts/write text", "generate query posts/count", "generate worker posts/mail --on posts/write", "generate version posts/write 2",
		}, lines...)
	}
	for _, c := range []struct {
		name    string
		newRoot func(cli.Env) *cobra.Command
		env     cli.Env
	}{
		{"installed", newRoot, cli.Env{Program: "petrock", Installed: true}},
		{"project", projectRoot, cli.Env{Program: "go run ./cmd/petrock"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if names := untested(t, c.newRoot(c.env), lines); len(names) > 0 {
				t.Fatalf("these commands accept --no-exec and are not tested: %s", strings.Join(names, ", "))
			}
			if !c.env.Installed && !*long {
				t.Skip("the code is the same; -long runs it")
			}
			dir, ran := hostileProject(t)
			editFile := filepath.Join(t.TempDir(), "edit.json")
			if err := os.WriteFile(editFile, []byte(edit), 0o644); err != nil {
				t.Fatal(err)
			}
			plan := ""
			for _, line := range lines {
				args, want := splitLine(strings.NewReplacer("PLAN", plan, "EDIT", editFile).Replace(line))
				out, err := os.Create(filepath.Join(t.TempDir(), "out"))
				if err != nil {
					t.Fatal(err)
				}
				var printed strings.Builder
				c.env.Dir, c.env.Out, c.env.Err = dir, out, &printed
				cmd, _, err := c.newRoot(c.env).Find(args)
				if err != nil {
					t.Fatal(err)
				}
				code := cli.Run(t.Context(), c.newRoot, append(args, "--no-exec"), c.env)
				out.Close()
				text, _ := os.ReadFile(out.Name())
				if found := regexp.MustCompile(`apply ([0-9a-f]{16})`).FindStringSubmatch(string(text) + printed.String()); found != nil {
					plan = found[1]
				}
				if code != want {
					t.Errorf("%s: exit code %d, want %d\n%s%s", line, code, want, printed.String(), text)
				}
				programs, _ := os.ReadFile(ran)
				if cmd.Name() == "dev" { // it runs the project's server
					programs = []byte(strings.ReplaceAll(string(programs), "code of tools\n", ""))
				}
				if len(programs) > 0 {
					t.Errorf("%s --no-exec ran %s, want nothing run", line, programs)
				}
				os.Remove(ran)
			}
			callTools(t, dir)
			if programs, _ := os.ReadFile(ran); len(programs) > 0 {
				t.Errorf("a tool of mcp --no-exec ran %s, want nothing run", programs)
			}
		})
	}
}

// splitLine returns the arguments of a line, and the exit code that ends it, if any.
func splitLine(line string) (args []string, exit int) {
	args = strings.Fields(line)
	if code, err := strconv.Atoi(args[len(args)-1]); err == nil {
		return args[:len(args)-1], code
	}
	return args, 0
}

// untested returns the commands that accept --no-exec and are not in lines.
func untested(t *testing.T, root *cobra.Command, lines []string) (names []string) {
	t.Helper()
	tested := map[*cobra.Command]bool{}
	for _, line := range lines {
		args, _ := splitLine(line)
		cmd, _, err := root.Find(args)
		if err != nil {
			t.Fatal(err)
		}
		tested[cmd] = true
	}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Flags().Lookup("no-exec") != nil && !tested[cmd] {
			names = append(names, cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
	return names
}

// callTools calls the tools of petrock mcp --no-exec, except new_project.
func callTools(t *testing.T, dir string) {
	t.Helper()
	tools, err := devserver.New(devserver.Options{Dir: dir, Generators: linked.All(), NoExec: true})
	if err != nil {
		t.Fatal(err)
	}
	defer tools.Close()
	client := mcptest.Connect(t, tools.Server)
	for _, tool := range client.Tools() {
		var schema struct{ Properties map[string]json.RawMessage }
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
			t.Fatal(err)
		}
		arguments := map[string]any{"kind": "tool", "name": "other", "build": true, "uri": "x://y", "edits": []any{map[string]any{"path": "notes.txt", "text": "x"}}}
		maps.DeleteFunc(arguments, func(name string, _ any) bool { return schema.Properties[name] == nil })
		var result json.RawMessage
		if err := client.Call("tools/call", map[string]any{"name": tool.Name, "arguments": arguments}, &result); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
	}
}
