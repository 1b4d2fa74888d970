package campaign_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/engine"
)

// A hostile is an input that caused an error once, or could.
type hostile struct {
	kind string
	input
	refused string // part of the error; "" if it succeeds
}

// named returns tools that differ only in their names.
func named(refused string, names ...string) []hostile {
	var all []hostile
	for _, name := range names {
		all = append(all, hostile{"tool", input{Name: name, Fields: []string{"a"}}, refused})
	}
	return all
}

// fields returns tools with different fields.
func fields(prefix, refused string, lists ...[]string) []hostile {
	var all []hostile
	for i, list := range lists {
		all = append(all, hostile{"tool", input{Name: fmt.Sprintf("%s_%d", prefix, i), Fields: list}, refused})
	}
	return all
}

// hostiles is the table.
func hostiles() []hostile {
	long := strings.Repeat("a", 10_000)
	var all []hostile
	add := func(more ...hostile) { all = append(all, more...) }

	// Names that are invalid for files, functions or clients.
	add(named("a tool needs a name", "")...)
	add(named("invalid name", " ", "a b", `"`, "`", "'", "*/", "//", "a\nb", "a\x00b", "a\tb", "\xff", "../x", "../../etc/passwd", "/etc/passwd", `C:\x`, `..\x`,
		"a/b", ".", "..", ".git", ".petrock", "_", "-", "_a", "-x", "--force", "a_", "a__b", "a--b", "1a", "a.b", "a;b", "a(b)", "a{b}", "${a}", "$(a)", "%s", "a,b",
		"аdd", "ａdd", "ädd", "add\u200b", "\u202eadd", "İ", "ſend", "\u212a", long, strings.Repeat("a-", 100)+"a")...)
	add(named("clients reject the name", strings.Repeat("a", 64))...)
	add(named("is reserved in tools; choose another name", "new", "register", "tools", "New")...)

	// Names with a special meaning in Go, its build rules, Windows or petrock, which are valid
	// here.
	add(named("", "prompts", "resources", "func", "type", "go", "import", "range", "select", "string", "error", "nil", "true", "any", "len", "append", "make", "iota",
		"send-test", "export-windows", "run_arm64", "linux", "send_linux_amd64", "unix", "js", "x_js", "wasm", "test", "a_test", "test_test", "con", "aux_nul", "com1",
		"gen", "tools_gen", "x_gen", "init", "main", "hello", "petrock", "vendor", "testdata", "internal", "context", "errors", "testing", "mcp", "schema", "json",
		"ctx", "in", "t", "client", "result", "wrong", "err", "s", "id", "ids", "http_url", "a_b_c", "abc2", "x1_y2", "tool", "prompt", "resource", "input", "output", "close", "server")...)

	// The same name in different letter case, and names of other declarations.
	add(named("already exists", "send-test", "SendTest", "sendTest", "add", "Add", "ADD", "func", "Func")...)
	add(named("redeclared in this block", "add_input", "add-output", "AddInput")...)
	add(hostile{"prompt", input{Name: "add"}, ""}, hostile{"prompt", input{Name: "add_input"}, "AddInput"}, hostile{"resource", input{Name: "add_input", URI: "add://input"}, ""})
	// The types of enumerations are named after the component and the field.
	add(fields("clash", "redeclared", []string{"input:enum(a,b)"}, []string{"output:[]enum(a,b)"}, []string{"order:enum(by,up)", "order_by:enum(x)"}, []string{"order_by:enum(x)", "order:enum(up,by)"})...)
	add(hostile{"tool", input{Name: "clash", Fields: []string{"output_mode:enum(a)"}, Output: []string{"mode:enum(b)"}}, "redeclared"})
	add(hostile{"prompt", input{Name: "clash", Fields: []string{"input:enum(a)"}}, "redeclared"}, hostile{"prompt", input{Name: "clash", Fields: []string{"output:enum(a)"}}, ""})

	// Invalid types.
	add(fields("type", "field", []string{"a:string; evil"}, []string{"a:../../x"}, []string{"a:func"}, []string{"a:func()"}, []string{"a:[]"}, []string{"a:map[string]"},
		[]string{"a:map[int]string"}, []string{"a:struct{}"}, []string{"a:*int"}, []string{"a:chan int"}, []string{"a:interface{}"}, []string{"a:os.File"}, []string{"a:time.Time"},
		[]string{"a:string\n}\n\nfunc init() { panic(1) }\n\ntype Zz struct {\n\tQ string"}, []string{"a:string`"}, []string{"a:string `json:\"b\"`"}, []string{"a:[]" + long}, []string{"a:" + strings.Repeat("[]", 5) + "int"},
		[]string{"a:enum()"}, []string{"a:enum(a"}, []string{"a:enum(a,a)"}, []string{"a:enum(a,,b)"}, []string{"a:enum(\"a\")"}, []string{"a:enum(`)"}, []string{"a:enum(a-b,a_b)"}, []string{"a:enum(ä)"}, []string{"a:enum(-)"}, []string{"a:enum(a\nb)"},
		[]string{"a:int:9..1"}, []string{"a:int:1"}, []string{"a:int:1;2"}, []string{"a:string:-1.."}, []string{"a:string:..99999999999"}, []string{"a:int:NaN.."}, []string{"a:float:1e999.."}, []string{"a:bool:1..2"}, []string{"a:int:0x1..0x2"},
		[]string{"a:string", "a:int"}, []string{"A:string", "a:int"}, []string{"user_id", "userId"}, []string{"a_b", "aB"}, []string{"_"}, []string{"_a"}, []string{""}, []string{" "}, []string{":"}, []string{"a-b"}, []string{"ä"}, []string{"а"}, []string{long}, []string{"a b"},
		[]string{`a "open`}, []string{`a "x" y`}, []string{`a "a\nb"`}, []string{"a \"a\nb\""}, []string{"a \"\u202e\""}, []string{"a \"x\u2028y\""}, []string{"a \"\x00\""}, []string{`a"b"`}, []string{`a "+build ignore"`}, []string{`a:int : " +build linux"`}, []string{`a "` + long + `"`},
		make([]string, 101))...)

	// Fields whose names or texts have a special meaning elsewhere.
	add(fields("odd", "", []string{"func", "type", "go", "import", "string", "error", "nil", "int:string", "range:int"},
		[]string{"ctx", "in", "context:time", "json:any", "result", "err", "t", "wrong", "client"}, []string{"a " + `"*/ ` + "`" + ` ' // /* \\ \" %s {{.}} <b>"`},
		[]string{`a "//go:build ignore"`, `b "x +build ignore"`, `c "petrock:ignore"`, `d "nolint"`, `e "Deprecated: no"`, `f ":"`, `g ""`},
		[]string{"a:enum(func,type,nil,2xx,5 GHz,a/b,me@example.com)"}, []string{"String", "Error:int", "MarshalJSON:int", "UnmarshalJSON:bool"}, []string{"a:map[string]map[string][][]enum(x,y)"},
		[]string{"a:string:1000", "b:[]int:1000", "c:map[string]bool:1..1"}, []string{"a:int:-9223372036854775808..9223372036854775807", "b:float:-1e308..1e308"},
		[]string{"a:duration", "b:time?", "c:bytes?", "d:any", "e:[]any", "f:[]bytes"}, []string{"a___b", "x_", "y__1"}, []string{"a " + `"漢字 🎉 é"`}, []string{`a "` + strings.Repeat("x", 1000) + `"`})...)
	for i, fields := range [][]string{{"a:int"}, {"a:[]string"}, {"a:bool?"}, {"a:any"}, {"a:bytes"}} {
		add(hostile{"prompt", input{Name: fmt.Sprintf("argument_%d", i), Fields: fields}, "prompts do not support type"})
	}
	add(hostile{"prompt", input{Name: "texts", Fields: []string{"func", `type:enum(a,b)? "*/"`, "at:time?"}, Description: "`*/` \"x\" %s"}, ""})

	// Descriptions become comments and texts.
	for i, text := range []string{"a\nb", "a\n\nfunc init() { panic(1) }\n//", "a\rb", "a\x00", "a\u2028b", "a\u0085b", "\ufeff", long} {
		add(hostile{"tool", input{Name: fmt.Sprintf("bad_text_%d", i), Description: text}, "description"})
	}
	for i, text := range []string{`"`, "`", "*/", "/*", "//", "```go", `\`, `\n`, "%s%d%!", "ß", "漢字", "🎉", "e\u0301", "//go:build ignore", "go:embed x", "go:generate rm -rf /", "petrock:ignore", "//petrock:name other", "petrock:uri x://y",
		"Deprecated: it is.", "TODO", "A B", "1. x", "- x", "# x", "Package x", "+build ignore", "<script>", "{{.}}", "$x", "'", ".", "line directive //line x.go:1", "Code generated by petrock. DO NOT EDIT.", strings.Repeat("x", 1000)} {
		add(hostile{"tool", input{Name: fmt.Sprintf("text_%d", i), Description: text}, ""})
		if i%4 == 0 {
			add(hostile{"resource", input{Name: fmt.Sprintf("text_%d", i), URI: fmt.Sprintf("text://%d", i), Description: text}, ""},
				hostile{"prompt", input{Name: fmt.Sprintf("text_%d", i), Description: text}, ""})
		}
	}

	// URIs.
	for i, uri := range []string{"", " ", "x", "/etc/passwd", "../x", "note://{", "note://}", "note://{}", "note://{a", "note://{a}{a}", "note://{a b}", "note://{a-b}", "note://{ä}", "note://{?a}/b", "note://{#a}", "note://{a*}", "note://{a:3}",
		"note://a b", "note://\"", "note://`", "note://\n", "note://a\n//petrock:ignore", "note://ä", "note://%", "note://{_}", "note://{1}", "note://{a}/{A}", "note://{user_id}/{userId}", "://x", "note://\x00", "note://{" + long + "}", "note://{{a}}"} {
		add(hostile{"resource", input{Name: fmt.Sprintf("bad_uri_%d", i), URI: uri}, "*"})
	}
	for i, uri := range []string{"*/:x", "a:b", "a:", "note://'", "note://*/", "note:///*", "note:////", "any://{+path}", "note://x{?a,b}", "note://y/{func}/{type}", "note://a/%20", "file:///etc/passwd", "file:///../x", "urn:x:y", "note://$x", "note://%25s", "note://a;b", "note://x/" + strings.Repeat("y", 1000)} {
		refused := ""
		if i == 0 {
			refused = "*"
		}
		add(hostile{"resource", input{Name: fmt.Sprintf("uri_%d", i), URI: uri}, refused})
	}
	// Duplicate URIs.
	add(hostile{"resource", input{Name: "one", URI: "same://{id}"}, ""}, hostile{"resource", input{Name: "two", URI: "same://{id}"}, "which One in resources/one.go already has"},
		hostile{"resource", input{Name: "two", URI: "same://{name}"}, "which One in resources/one.go already has"}, hostile{"resource", input{Name: "two", URI: "same://{id}/x"}, ""})
	return all
}

// clear fails the test unless an error is one short paragraph of plain text.
func (w *world) clear(err error) {
	w.Helper()
	said := err.Error()
	bad := strings.ContainsFunc(said, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) && r != '\t' })
	if bad || !utf8.ValidString(said) || strings.Contains(said, "\n\n") || len(said) > 2_000 && strings.Count(said, "\n") < 5 || len(said) > 20_000 || strings.Contains(said, "goroutine") {
		w.Errorf("unreadable message: %q", said)
	}
}

// Any input is refused with the reason, and nothing changes, or it is generated, and the project is
// sound.
func TestHostileInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := hostiles()
	if !*long { // later cases depend on earlier ones
		all = pick(t, 30, slices.DeleteFunc(all, func(h hostile) bool { return h.refused != "*" }))
	}
	w.tried(w.takes(all))
}

// takes generates from inputs one after another. Each is refused with the reason, and nothing
// changes, or it is generated, and no other file changes.
func (w *world) takes(all []hostile) *engine.Engine {
	t := w.TB
	t.Helper()
	e := w.engine()
	outside, start := w.outside(), w.tree()
	now := w.touched()
	made := 0
	for _, h := range all {
		_, err := e.Generate(t.Context(), h.kind, h.json(), engine.Options{})
		shown := fmt.Sprintf("%s %.200s", h.kind, h.json())
		switch {
		case err == nil && h.refused != "":
			t.Errorf("%s is not refused", shown)
		case err != nil && h.refused == "":
			t.Errorf("%s is refused: %v", shown, err)
		case err != nil && !strings.Contains(err.Error(), strings.TrimPrefix(h.refused, "*")):
			t.Errorf("%s is refused, want %q in the error: %v", shown, h.refused, err)
		}
		if err == nil {
			made++
			now = w.touched()
			continue
		}
		w.clear(err)
		if how := now.differences(w.touched()); how != "" {
			t.Fatalf("%s: the refused command has changed the project, want it unchanged:\n%s", shown, how)
		}
	}
	t.Logf("%d of %d inputs were generated", made, len(all))
	if how := outside.differences(w.outside()); how != "" {
		t.Errorf("files outside the project differ:\n%s", how)
	}
	after := w.tree()
	for _, dir := range []string{"resources", "prompts", "features"} {
		delete(after, dir)
	}
	for file := range w.touched() {
		delete(start, file)
		delete(after, file)
	}
	if how := start.differences(after); how != "" {
		t.Errorf("other files of the project differ:\n%s", how)
	}
	return e
}

// touched holds the mode, size and modification time of every file that generations may change.
func (w *world) touched() tree {
	w.Helper()
	all := tree{}
	for _, dir := range []string{contract.File, "tools", "resources", "prompts", "features", "cmd"} {
		err := fs.WalkDir(os.DirFS(w.dir), dir, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil {
				all[file] = fmt.Sprint(info.Mode(), info.Size(), info.ModTime())
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.Fatal(err)
		}
	}
	return all
}

// Existing files block a generation, in any letter case.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	type hostileFile struct {
		what    string
		prepare func(w *world)
		kind    string
		refused string // part of the error; "" if it succeeds
	}
	tests := []hostileFile{
		{"a file in other letters", func(w *world) { w.write("tools/Send_Mail.go", "package tools\n") }, "tool", "letter case"},
		{"a test in other letters", func(w *world) { w.write("tools/SEND_MAIL_test.go", "package tools_test\n") }, "tool", "letter case"},
		{"a file", func(w *world) { w.write("tools/send_mail.go", "package tools\n") }, "tool", "tools/send_mail.go already exists"},
		{"a test", func(w *world) { w.write("tools/send_mail_test.go", "package tools_test\n") }, "tool", "tools/send_mail_test.go already exists"},
		{"a file in a project that does not build", func(w *world) {
			w.write("tools/send_mail.go", "package tools\n\n// What a user has written.\n")
			w.write("cmd/hello/broken.go", "package main\n\nfunc broken( {\n")
		}, "tool", "tools/send_mail.go already exists"},
		{"a folder", func(w *world) { w.write("tools/send_mail.go/x.txt", "") }, "tool", "tools/send_mail.go already exists"},
		{"a name that is taken", func(w *world) { w.write("tools/x.go", "package tools\n\ntype SendMailInput int\n") }, "tool", "SendMailInput"},
		{"a test's name that is taken", func(w *world) {
			w.write("tools/x_test.go", "package tools_test\n\nimport \"testing\"\n\nfunc TestSendMail(t *testing.T) {}\n")
		}, "tool", "TestSendMail"},
		{"a derived file without the mark", func(w *world) { w.write("prompts/prompts_gen.go", "package prompts\n") }, "prompt", "so it is not a derived file"},
		{"a derived file of another tool", func(w *world) {
			w.replace("tools/tools_gen.go", "// Code generated by petrock", "// Code generated by another tool")
		}, "tool", "tools/tools_gen.go"},
		{"a wiring without the mark", func(w *world) { w.replace("cmd/hello/wire_gen.go", "// Code generated by petrock", "// Mine") }, "prompt", "so it is not a derived file"},
		{"a folder that is a file", func(w *world) { w.write("prompts", "") }, "prompt", "prompts"},
		{"a folder with another package", func(w *world) { w.write("prompts/doc.go", "// Package speech has prompts.\npackage speech\n") }, "prompt", ""},
		{"a folder that holds a program", func(w *world) { w.write("prompts/a.go", "package main\n\nfunc main() {}\n") }, "prompt", "*"},
		{"a folder that is another module", func(w *world) { w.write("prompts/go.mod", "module example.com/other\n") }, "prompt", "another module"},
		{"tools that are a link out", func(w *world) { w.link("../outside/tools", "prompts") }, "prompt", "*"},
		{"a file that is a link out", func(w *world) { w.link("../../outside/keep.txt", "tools/send_mail.go") }, "tool", "tools/send_mail.go already exists"},
		{"a file that is a link to nowhere", func(w *world) { w.link("nowhere", "tools/send_mail.go") }, "tool", "tools/send_mail.go already exists"},
		{"a derived file that is a link out", func(w *world) {
			w.writeAt(filepath.Join(w.base, "outside", "tools_gen.go"), w.read("tools/tools_gen.go"))
			w.link("../../outside/tools_gen.go", "tools/tools_gen.go")
		}, "tool", "*"},
		{"a journal that is a link out", func(w *world) { w.link("../outside", ".petrock") }, "tool", "*"},
		{"a journal that is a file", func(w *world) {
			os.RemoveAll(w.path(".petrock"))
			w.write(".petrock", "")
		}, "tool", ".petrock"},
		{"a journal whose objects are a link out", func(w *world) { w.link("../../outside", ".petrock/objects") }, "tool", "*"},
		{"a journal whose operations are a link out", func(w *world) { w.link("../../outside", ".petrock/operations") }, "tool", "*"},
		{"a lock that is a link out", func(w *world) { w.link("../../outside/new.txt", ".petrock/lock") }, "tool", "*"},
		{"a cache that is a link out", func(w *world) { w.link("../../outside", ".petrock/cache") }, "tool", ""},
		{"no folder", func(w *world) {
			if err := removeAll(w.path("tools"), w.path("cmd/hello/wire_gen.go")); err != nil {
				w.Fatal(err)
			}
		}, "tool", ""},
		{"no go.mod", func(w *world) { os.Remove(w.path("go.mod")) }, "tool", "go.mod"},
		{"a go.mod of nonsense", func(w *world) { w.write("go.mod", "nonsense(\n") }, "tool", "go.mod"},
		{"no petrock.json", func(w *world) { os.Remove(w.path("petrock.json")) }, "tool", "petrock new"},
		{"a petrock.json of nonsense", func(w *world) { w.write("petrock.json", "{") }, "tool", "petrock.json"},
		{"a folder that may not be written to", func(w *world) { w.readOnly("tools") }, "tool", "*"},
		{"features that are a link out", func(w *world) { w.link("../outside", "features") }, "command", "*"},
		{"a feature that is a link out", func(w *world) { w.link("../../outside/tools", "features/send") }, "command", "*"},
		{"features that are a file", func(w *world) { w.write("features", "") }, "command", "features"},
		{"a feature that is a file", func(w *world) { w.write("features/send", "") }, "command", "features/send"},
		{"a feature without a state", func(w *world) { w.write("features/send/doc.go", "package send\n") }, "command", "State"},
		{"a feature with another package", func(w *world) { w.write("features/send/doc.go", "package other\n") }, "command", "other"},
		{"a feature that is another module", func(w *world) { w.write("features/send/go.mod", "module example.com/other\n") }, "command", "another module"},
		{"a feature in other letters", func(w *world) { w.write("features/Send/mail.go", "package send\n") }, "command", "*"},
		{"a feature with a derived file of the user", func(w *world) { w.write("features/send/send_gen.go", "package send\n") }, "command", "send_gen.go"},
		{"a file of a feature", func(w *world) { w.write("features/send/mail.go", "package send\n\n// What a user has written.\n") }, "command", "features/send/mail.go already exists"},
		{"a state that is a folder", func(w *world) { w.write("features/send/state.go/x.txt", "") }, "command", "features/send/state.go already exists"},
		{"a feature that is empty", func(w *world) { w.write("features/send/notes.txt", "Mine.\n") }, "command", ""},
		{"a program that has the name of a feature", func(w *world) { w.write("cmd/hello/send.go", "package main\n\nvar send = 1\n") }, "command", "send"},
		{"a project without appserve", func(w *world) {
			w.addApp()
			os.RemoveAll(w.path("core/app/appserve"))
		}, "command", "core/app/appserve"},
		{"a folder of a part that is a file", func(w *world) { w.write("core/app", "") }, "command", "core/app"},
		{"an existing file of a part", func(w *world) { w.write("core/app/app.go", "") }, "command", "*"},
		{"an archive that is a link out", func(w *world) {
			os.Remove(w.path("generators/parts/app.txtar"))
			w.link("../../../outside/keep.txt", "generators/parts/app.txtar")
		}, "command", "*"},
		{"an archive that unpacks elsewhere", func(w *world) {
			w.write("generators/parts/app.txtar", "module hello\n-- core/mcp/evil.go --\npackage mcp\n")
		}, "command", "core/mcp/evil.go does not belong to the part"},
		{"no petrock.sum", func(w *world) { os.Remove(w.path("petrock.sum")) }, "command", "petrock.sum"},
	}
	if !*long { // features compile SQLite
		tests = slices.DeleteFunc(tests, func(test hostileFile) bool { return test.kind == "command" })
	}
	for _, test := range pick(t, 2, tests) {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			test.prepare(w)
			before, outside := w.tree(), w.outside()
			args := []string{"generate", test.kind, "send-mail"}
			if test.kind == "command" {
				args[2] = "send/mail"
			}
			out, errOut, status := w.run(args...)
			if how := outside.differences(w.outside()); how != "" {
				t.Errorf("files outside the project differ:\n%s", how)
			}
			if test.refused == "" {
				if status != 0 {
					t.Fatalf("exit code %d, want 0: %s", status, errOut)
				}
				w.soundQuickly(w.engine())
				return
			}
			if status == 0 || !strings.Contains(errOut, strings.TrimPrefix(test.refused, "*")) {
				t.Errorf("exit code %d, want %q in the output: %s%s", status, test.refused, out, errOut)
			}
			t.Log(errOut)
			if line, _, _ := strings.Cut(strings.TrimPrefix(errOut, "petrock: "), "\n"); strings.Count(errOut, line) > 1 {
				t.Errorf("standard error has the line %q %d times, want once:\n%s", line, strings.Count(errOut, line), errOut)
			}
			w.unchanged(before, "after the refusal,")
		})
	}
}

// link replaces a file or folder by a symbolic link.
func (w *world) link(target, file string) {
	w.Helper()
	if err := os.RemoveAll(w.path(file)); err != nil {
		w.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(w.path(file)), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.Symlink(filepath.FromSlash(target), w.path(file)); err != nil {
		w.Skip(err) // Windows may not allow it
	}
}

// readOnly makes a folder read-only. It skips the test if the user can write it nevertheless.
func (w *world) readOnly(dir string) {
	w.Helper()
	if err := os.Chmod(w.path(dir), 0o555); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { os.Chmod(w.path(dir), 0o755) })
	probe := filepath.Join(w.path(dir), "probe")
	if os.WriteFile(probe, nil, 0o644) == nil {
		os.Remove(probe)
		w.Skip("this user can write to read-only folders")
	}
}
