package core_test

import (
	"strings"
	"testing"
	"testing/fstest"
)

// ruleCases show that each rule can fail. A case is a small repository with the violations that one
// rule must find in it: parts of the messages, in order. If want is empty, the rule must find none.
var ruleCases = []struct {
	rule, name string
	files      map[string]string // go.mod is added if missing
	want       []string
}{
	{
		rule: "imports point down", name: "up and sideways",
		files: map[string]string{
			"core/jsonrpc/a.go":                      "package jsonrpc\n\nimport (\n\t_ \"bufio\"\n\t_ \"example.com/m/core/mcp\"\n)\n",
			"core/schema/a.go":                       `package schema; import _ "example.com/m/core/jsonrpc"`,
			"core/strictjson/a.go":                   `package strictjson; import _ "example.com/m"`,
			"core/mcp/a.go":                          `package mcp; import _ "example.com/m/generators"`,
			"generators/plan/a.go":                   `package plan; import _ "example.com/m/cmd/petrock"`,
			"skeleton/base/cmd/weather/main.go":      `package main; import _ "example.com/m/generators"`,
			"skeleton/base/cmd/petrock/main.go":      `package main; import _ "example.com/m/skeleton/base/tools"`,
			"skeleton/example/a/cmd/petrock/main.go": `package main; import _ "example.com/m/cmd/petrock"`,
		},
		want: []string{
			"core/jsonrpc/a.go:5: core/jsonrpc must not import core/mcp",
			"core/mcp/a.go:1: core/mcp must not import generators",
			"core/schema/a.go:1: core/schema must not import core/jsonrpc",
			"core/strictjson/a.go:1: core/strictjson must not import .;",
			"generators/plan/a.go:1: generators/plan must not import cmd/petrock",
			"skeleton/base/cmd/petrock/main.go:1: skeleton/base/cmd/petrock must not import skeleton/base/tools",
			"skeleton/base/cmd/weather/main.go:1: skeleton/base/cmd/weather must not import generators",
			"skeleton/example/a/cmd/petrock/main.go:1: skeleton/example/a/cmd/petrock must not import cmd/petrock",
		},
	},
	{
		rule: "imports point down", name: "package without a row",
		files: map[string]string{
			"core/extra/a.go":        `package extra`,
			"core/extra/b.go":        `package extra`,
			"core/jsonrpc/wire/a.go": `package wire`,
			"tool/a.go":              `package tool`,
		},
		want: []string{
			"core/extra/a.go: package core/extra has no row in mayImport",
			"core/jsonrpc/wire/a.go: package core/jsonrpc/wire has no row",
			"tool/a.go: package tool has no row",
		},
	},
	{
		rule: "doc links resolve", name: "names that do not exist",
		files: map[string]string{
			"core/mcp/a.go":  "package mcp\n\nimport \"example.com/m/core/auth\"\n\n// A tool is a [Tool] or [*Tool.Name], see [auth.Key], [auth.None], [auth] and [Gone].\n//\n//\tlist[Gone] = [Gone]\ntype Tool struct{ Name string }\n\n// Call returns [os.ErrExist], [jsonrpc.Error] and, (see [Tool.Call]), nothing; b[Gone].\nfunc (t *Tool) Call() auth.Key { return \"\" }\n",
			"core/auth/a.go": "package auth\n\n// A Key is a key.\ntype Key string\n",
			"cmd/a/main.go":  "package main\n\n// See [Gone].\nfunc main() {}\n",
		},
		want: []string{
			"core/mcp/a.go:5: the link [Tool.Name] leads nowhere",
			"core/mcp/a.go:5: the link [auth.None] leads nowhere",
			"core/mcp/a.go:5: the link [Gone] leads nowhere",
			"core/mcp/a.go:10: the link [jsonrpc.Error] leads nowhere",
		},
	},
	{
		rule: "package comments list the packages", name: "another list",
		files: map[string]string{
			"core/doc.go":              "// Package core holds these:\n//\n//   - web: HTTP\n//   - mcp: MCP\n//   - schema: schemas\npackage core\n",
			"core/mcp/a.go":            `package mcp; import _ "example.com/m/core/schema"`,
			"core/schema/a.go":         `package schema`,
			"core/auth/key/a.go":       `package key`,
			"generators/generators.go": "// Package generators holds these:\n//\n//   - docs: documents\npackage generators\n",
			"generators/docs/a.go":     `package docs`,
			"generators/gen/a.go":      `package gen`,
		},
		want: []string{
			"core/doc.go lists core/web, which does not exist",
			"core/doc.go lists core/mcp above core/schema, which it imports",
			"core/doc.go does not list core/auth/key",
			"generators/generators.go does not list generators/gen",
		},
	},
	{
		rule: "package comments name existing paths", name: "a folder and a file that are gone",
		files: map[string]string{
			"core/mcp/a.go":   "// Package mcp is like core/mcp/a.go, generators/gone and (core/none.go).\n//\n// It writes generators/parts/app.txtar.\npackage mcp\n",
			"core/mcp/b.go":   "// A comment about core/gone.\n\npackage mcp\n",
			"generators/a.go": "// Package generators uses core/mcp.\npackage generators\n",
			"core/a_test.go":  "// Package core_test tests core/gone.\npackage core_test\n",
		},
		want: []string{"core/mcp/a.go:1: the package comment names generators/gone, which does not exist", "core/mcp/a.go:1: the package comment names core/none.go,"},
	},
	{
		rule: "imports point down", name: "good",
		files: map[string]string{
			"core/mcp/a.go":                     `package mcp; import _ "example.com/m/core/jsonrpc"`,
			"core/jsonrpc/a_test.go":            `package jsonrpc; import _ "example.com/m/core/mcp"`,
			"core/jsonrpc/testdata/a.go":        `package a; import _ "example.com/m/cmd/petrock"`,
			"core/strictjson/a.go":              `package strictjson; import _ "example.com/more/cmd"`,
			"skeleton/base/cmd/petrock/main.go": `package main; import _ "example.com/m/generators/launch"`,
			"cmd/petrock/main.go":               `package main; import _ "example.com/m/skeleton"`,
		},
	},
	{
		rule: "tests of core stay in core", name: "up",
		files: map[string]string{
			"core/mcp/a_test.go":      `package mcp; import _ "example.com/m/generators/plan"`,
			"core/jsonrpc/a_test.go":  `package jsonrpc; import _ "example.com/m/core/mcp"`,
			"generators/plan_test.go": `package generators; import _ "example.com/m/cmd/petrock"`,
		},
		want: []string{"core/mcp/a_test.go:1: a test of core must not import generators/plan"},
	},
	{
		rule: "core imports only the standard library", name: "a module, and cgo",
		files: map[string]string{
			"core/mcp/a.go":      `package mcp; import ("encoding/json"; _ "golang.org/x/tools/txtar"; "C"; _ "example.com/m/core/jsonrpc")`,
			"core/mcp/a_test.go": `package mcp; import _ "golang.org/x/tools/txtar"`,
			"generators/a.go":    `package generators; import _ "golang.org/x/tools/txtar"`,
		},
		want: []string{
			"core/mcp/a.go:1: core imports only the standard library, not golang.org/x/tools/txtar",
			"not C;",
		},
	},
	{
		rule: "cobra stays in command lines", name: "in generators, in a test",
		files: map[string]string{
			"generators/cli/a.go":            `package cli; import _ "github.com/spf13/cobra"`,
			"generators/a.go":                `package generators; import _ "github.com/spf13/cobra"`,
			"core/cmdline/a_test.go":         `package cmdline; import _ "github.com/spf13/cobra/doc"`,
			"cmd/petrock/a.go":               `package main; import _ "github.com/spf13/cobra"`,
			"skeleton/base/cmd/weather/a.go": `package main; import _ "github.com/spf13/cobra"`,
		},
		want: []string{"generators/a.go:1: cobra stays", "core/cmdline/a_test.go:1: cobra stays"},
	},
	{
		rule: "our module path stays in imports", name: "in a comment, in a string",
		files: map[string]string{
			"core/mcp/a.go":      "package mcp\n\nimport _ \"example.com/m/core/schema\"\n\n// See example.com/m/core.\nconst a = 1\n",
			"generators/a.go":    "package generators\n\nconst a = \"example.com/m/core\"\n",
			"skeleton/b/a.go":    "package b\n\nimport (\n\t\"fmt\"\n\n\tx \"example.com/m/core/schema\"\n)\n",
			"core/mcp/a_test.go": "package mcp\n\nconst b = \"example.com/m/core\"\n",
			"cmd/petrock/a.go":   "package main\n\nconst b = \"example.com/m/core\"\n",
		},
		want: []string{"core/mcp/a.go:5: here stands example.com/m", "generators/a.go:3: here stands example.com/m"},
	},
	{
		rule: "refused imports", name: "framing in mcp",
		files: map[string]string{
			"core/mcp/a.go":      `package mcp; import _ "bufio"`,
			"core/mcp/a_test.go": `package mcp; import _ "bufio"`,
			"core/jsonrpc/a.go":  `package jsonrpc; import _ "bufio"`,
		},
		want: []string{"core/mcp/a.go:1: core/mcp must not import bufio: mcp holds no byte framing"},
	},
	{
		rule: "jsonrpc does not mention MCP", name: "in comments, names and strings",
		files: map[string]string{
			"core/jsonrpc/a.go": `package jsonrpc

// As the MCP wants it.
const mcpVersion = 1

const isMCP = "tools/list"
const a, b = "notifications/cancelled", "initialize"
`,
			"core/jsonrpc/b.go":      "package jsonrpc\n\n// We initialize it with a memcpy; a tool or a notification may follow.\n",
			"core/jsonrpc/a_test.go": "package jsonrpc\n\n// MCP\n",
			"core/mcp/a.go":          "package mcp\n\n// MCP\n",
		},
		want: []string{`a.go:3: jsonrpc knows nothing of MCP, and here stands "MCP"`, `a.go:4: `, `a.go:6: `, `a.go:7: `},
	},
	{
		rule: "comments do not mention .bench", name: "in comments, not in strings",
		files: map[string]string{
			"core/mcp/a.go":            "package mcp\n\n// 3 % faster (cd .bench && go run .).\nconst a = \".bench\"\n",
			"generators/gen/a.go":      "package gen\n\n// A benchmark.\n",
			"generators/gen/b_test.go": "package gen\n\n// See .bench.\n",
			"cmd/petrock/a.go":         "package main\n\n// See .bench.\n",
		},
		want: []string{"core/mcp/a.go:3: a project has no folder .bench", "generators/gen/b_test.go:3: a project"},
	},
	{
		rule: "no init", name: "function and method",
		files: map[string]string{
			"core/mcp/a.go":      "package mcp\n\nfunc init() {}\n\ntype T struct{}\n\nfunc (T) init() {}\n",
			"core/mcp/a_test.go": "package mcp\n\nfunc init() {}\n",
		},
		want: []string{"core/mcp/a.go:3: func init"},
	},
	{
		rule: "no package state", name: "every kind of change",
		files: map[string]string{
			"core/mcp/bad.go": `package mcp

import (
	"sync"
	"sync/atomic"
)

var count int
var table = map[string]int{}
var seen = make(map[string]bool)
var pool = &sync.Pool{}
var total atomic.Int64
var once sync.Once
var _ = sideEffect()
var (
	level   = 1
	names   = []string{"a"}
	config  = Config{Limit: 1}
	escaped = 1
	erased  = map[string]int{"a": 1}
	cursor  = 0
	shared  = 1
	faked   = 1
	Public  = 1
)
`,
			"core/mcp/other.go": `package mcp

func f() {
	level++
	names[0] = "b"
	config.Limit = 2
	_ = &escaped
	delete(erased, "a")
	for cursor = range 3 {
	}
	(shared), _ = 2, 3
}
`,
			"core/mcp/a_test.go":   "package mcp\n\nvar update = false\n\nfunc g() { faked = 2; update = true }\n",
			"generators/a_test.go": "package generators\n\nimport \"example.com/m/core/mcp\"\n\nfunc g() { mcp.Public = 2 }\n",
		},
		want: []string{
			"bad.go:8: package-level variable count is made to change", "bad.go:9: package-level variable table is made",
			"bad.go:10: package-level variable seen is made", "bad.go:11: package-level variable pool is made",
			"bad.go:12: package-level variable total is made", "bad.go:13: package-level variable once is made",
			"bad.go:14: package-level variable _ runs code unasked",
			"bad.go:16: package-level variable level changes at core/mcp/other.go:4;", "bad.go:17: package-level variable names changes at core/mcp/other.go:5;",
			"bad.go:18: package-level variable config changes at core/mcp/other.go:6;", "bad.go:19: package-level variable escaped changes at core/mcp/other.go:7;",
			"bad.go:20: package-level variable erased changes at core/mcp/other.go:8;", "bad.go:21: package-level variable cursor changes at core/mcp/other.go:9;",
			"bad.go:22: package-level variable shared changes at core/mcp/other.go:11;", "bad.go:23: package-level variable faked changes at core/mcp/a_test.go:5;",
			"bad.go:24: package-level variable Public changes at generators/a_test.go:5;",
		},
	},
	{
		rule: "no package state", name: "variables that never change",
		files: map[string]string{
			"core/mcp/good.go": `package mcp

var _ io.Reader = (*T)(nil)
var ErrGone = errors.New("gone")
var (
	errA, errB = errors.New("a"), fmt.Errorf("b: %w", errA)
	//go:embed a.txt
	text string
)

//go:embed all:base
var files embed.FS

var word = regexp.MustCompile("[a-z]+")
var sizes = map[string]int{"small": 1}
var rows = []*Row{{Name: "a"}, &Row{Name: "b"}}
var names = sync.OnceValue(load)
var first, second = two()

const limit = 1

func f() {
	sizes := map[string]int{}
	sizes["local"] = 1
	var word int
	word++
	for rows := range 3 {
		rows++
	}
	t := T{names: 1}
	t.names = &limit
}
`,
			"core/mcp/testdata/in.go": "package in\n\nvar x int\n",
		},
	},
	{
		rule: "top level", name: "a folder and a file too many",
		files: map[string]string{"docs/a.md": "", "main.go": "package main\n", "README.md": "", "LICENSE": "", ".ci/run": "", ".gitignore": "", "core/docs/a.md": ""},
		want:  []string{"docs: the root holds only cmd, core", "main.go: "},
	},
	{
		rule: "go.mod", name: "replace, SDKs, an old Go",
		files: map[string]string{"go.mod": `module example.com/m

go 1.25.1

require (
	github.com/modelcontextprotocol/go-sdk v1.0.0 // indirect
	example.com/replace v1.0.0
	github.com/mark3labs/mcp-go v0.1.0
)

replace example.com/x => ../x

replace (
	example.com/y => ../y
)
`},
		want: []string{"go.mod: wants the line go 1.26", "go.mod:6: github.com/modelcontextprotocol/go-sdk", "go.mod:8: github.com/mark3labs/mcp-go", "go.mod:11: a replace directive", "go.mod:13: a replace directive"},
	},
	{
		rule: "go.mod", name: "good",
		files: map[string]string{"go.mod": "module example.com/m\n\ngo 1.26.8\n\n// replace nothing; github.com/mark3labs/mcp-go is not used\n"},
	},
}

func TestRules(t *testing.T) {
	for _, test := range ruleCases {
		t.Run(test.rule+"/"+test.name, func(t *testing.T) {
			got := findIn(t, test.rule, test.files)
			ok := len(got) == len(test.want)
			for i := 0; ok && i < len(got); i++ {
				ok = strings.Contains(got[i], test.want[i])
			}
			if !ok {
				t.Errorf("found:\n\t%s\nwant messages that hold:\n\t%s", strings.Join(got, "\n\t"), strings.Join(test.want, "\n\t"))
			}
		})
	}
}

func TestEveryRuleHasABadExample(t *testing.T) {
	canFail := map[string]bool{}
	for _, test := range ruleCases {
		canFail[test.rule] = canFail[test.rule] || len(test.want) > 0
	}
	for _, rule := range rules {
		if !canFail[rule.name] {
			t.Errorf("no case shows that the rule %q can fail; add one to ruleCases", rule.name)
		}
	}
}

// findIn applies the rule of that name to a repository made of files.
func findIn(t *testing.T, name string, files map[string]string) []string {
	t.Helper()
	repo := fstest.MapFS{"go.mod": {Data: []byte("module example.com/m\n\ngo 1.26\n")}}
	for path, text := range files {
		repo[path] = &fstest.MapFile{Data: []byte(text)}
	}
	read, err := readTree(repo)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		if rule.name == name {
			return rule.find(read)
		}
	}
	t.Fatalf("there is no rule %q", name)
	return nil
}
