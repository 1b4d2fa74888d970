package engine_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
)

// notes is hand-written Go that uses components, by name and in Go.
const notes = `package notes

import (
	"context"

	"hello/features/posts"
	"hello/tools"
)

// Names are tools.
var Names = []string{"posts_create", "add"}

// Post makes a post. Create is a word here.
func Post(ctx context.Context) (posts.Create, float64) {
	sum, _ := tools.Add(ctx, tools.AddInput{A: 1})
	// No CreateOutput is needed.
	return posts.Create{Title: "x"}, sum
}

type wrapped struct{ posts.Create }

func (w wrapped) title() string { return w.Create.Title + w.Title }
`

// A change renames references in all packages, keeps the names under which data is stored, and can
// be undone.
func TestChange(t *testing.T) {
	b := open(t)
	b.write("notes/notes.go", notes)
	for _, test := range []struct {
		change engine.Change
		file   string   // to look at
		has    []string // parts of it
		says   string   // part of the result
	}{
		{
			change: engine.Change{Name: "add", Rename: "sum_up", Alias: true, Description: "A sum of numbers."},
			file:   "tools/sum_up.go",
			has:    []string{"// SumUpInput is what add takes.\ntype SumUpInput struct", "// SumUp is a sum of numbers.\n//\n//petrock:alias add\nfunc SumUp(_ context.Context, in SumUpInput) (float64, error) { return in.A, nil }"},
			says:   `notes/notes.go:11 has the text "add"; change it if it means the tool.`,
		},
		{
			change: engine.Change{Name: "posts/create", Rename: "publish"},
			file:   "features/posts/publish.go",
			has:    []string{"// Publish writes a post.\n//\n//petrock:event create\ntype Publish struct", "type PublishOutput struct", "return PublishOutput{e.ID}"},
			says:   "The event log keeps the name posts/create",
		},
		{
			change: engine.Change{Name: "posts_create", Rename: "posts/publish", RenameFields: []string{"title=name"}, Kind: "command"},
			says:   `generator "version" does not exist`, // stored events need a version
		},
		{
			change: engine.Change{Name: "posts_create", Rename: "make", Fields: []string{`tags:[]string?:1..5 "Its tags"`, `due:time?`, `title "Its title"`}},
			file:   "features/posts/make.go",
			has: []string{
				"\tTitle string     `json:\"title\" schema:\"default=New\"`         // Its title\n",
				"\tTags  []string   `json:\"tags,omitzero\" schema:\"min=1,max=5\"` // Its tags\n",
				"\tDue   *time.Time `json:\"due,omitempty\"`",
				"\t\"time\"\n",
			},
			says: "Use Make.Tags, Make.Due in features/posts/make.go.",
		},
		{
			change: engine.Change{Name: "posts/digest", Rename: "count"},
			file:   "features/posts/count.go",
			has:    []string{"// Count counts.\n//\n//petrock:from start\n//petrock:name digest\ntype Count struct{ N int }", "func (w *Count) OnCreate("},
			says:   "The worker keeps the name posts/digest",
		},
		{
			change: engine.Change{Name: "add", Fields: []string{"a:float:0..10", "mode:enum(exact,rough)"}},
			file:   "tools/add.go",
			has:    []string{"A    float64 `json:\"a\" schema:\"min=0,max=10\"` // First number\n", "Mode AddMode `json:\"mode\"`", "AddModeExact AddMode = \"exact\"\n"},
			says:   "Set the required field Mode in notes/notes.go:15.",
		},
		{
			change: engine.Change{Name: "add", RenameFields: []string{"a=first"}, Body: "return in.First * math.Pi, nil"},
			file:   "tools/add.go",
			has:    []string{"First float64 `json:\"first\"`", "\treturn in.First * math.Pi, nil\n", "\t\"math\"\n"},
		},
		{
			change: engine.Change{Name: "posts/get", Body: "return strings.ToUpper(s.Titles[q.ID]), nil"},
			file:   "features/posts/get.go",
			has:    []string{"\treturn strings.ToUpper(s.Titles[q.ID]), nil\n", "\t\"strings\"\n"},
		},
		{
			change: engine.Change{Name: "posts", Kind: "feature", Description: "All posts."},
			file:   "features/posts/state.go",
			has:    []string{"// State is all posts.\ntype State struct"},
		},
	} {
		before := b.snapshot()
		done, err := b.Change(t.Context(), test.change, engine.Options{})
		if test.file == "" {
			b.checkError(err, test.says)
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", test.change, err)
			continue
		}
		for _, part := range test.has {
			if text := b.read(test.file); !strings.Contains(text, part) {
				t.Errorf("%+v: %s: got %q, want it to contain %q", test.change, test.file, text, part)
			}
		}
		if !strings.Contains(done.String(), test.says) {
			t.Errorf("%+v: got %s, want %q in it", test.change, done, test.says)
		}
		if len(done.Diagnostics)+len(done.Refused) > 0 {
			t.Errorf("%+v: got %+v, want no diagnostics and nothing refused", test.change, done)
		}
		if _, err := b.Undo(t.Context(), done.Operation, engine.Options{}); err != nil {
			t.Errorf("%+v: undo: %v", test.change, err)
		}
		for file, text := range b.snapshot() {
			if before[file] != text {
				t.Errorf("%+v: after undo, %s is\n%s\nwant\n%s", test.change, file, text, before[file])
			}
		}
	}
}

// A rename follows references of other packages, embedded fields and string literals of several
// words.
func TestChangeRenamesReferences(t *testing.T) {
	b := open(t)
	b.write("notes/notes.go", notes)
	if _, err := b.Change(t.Context(), engine.Change{Name: "posts/create", Rename: "publish"}, engine.Options{}); err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(`"posts_create"`, `"posts_publish"`, "posts.Create", "posts.Publish", "w.Create", "w.Publish", "CreateOutput", "PublishOutput").Replace(notes)
	if text := b.read("notes/notes.go"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if text := b.read("features/posts/digest.go"); !strings.Contains(text, "// OnPublish counts posts.\nfunc (w *Digest) OnPublish(ctx context.Context, c Publish,") {
		t.Errorf(`the worker: got %q, want it to contain "// OnPublish counts posts.\nfunc (w *Digest) OnPublish(ctx context.Context, c Publish,"`, text)
	}
	if text := b.read("features/posts/posts_gen.go"); !strings.Contains(text, `app.CommandTypeOf[Publish]("create", 1)`) {
		t.Errorf(`the derived file: got %q, want it to contain "app.CommandTypeOf[Publish](\"create\", 1)"`, text)
	}
	if files := b.files("features/posts"); slices.Contains(files, "features/posts/create.go") || !slices.Contains(files, "features/posts/publish_test.go") {
		t.Errorf(`the files are %s; want files without "features/posts/create.go" and files containing "features/posts/publish_test.go"`, files)
	}
	again, err := b.Change(t.Context(), engine.Change{Name: "posts/create", Rename: "create"}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := b.read("features/posts/create.go"); strings.Contains(text, "petrock:event") || strings.Contains(again.String(), "The event log keeps") {
		t.Errorf("after renaming it back:\n%s\n%s; want no \"petrock:event\" and no \"The event log keeps\"", again, text)
	}
}

// Removing a value of an enum removes its constant with both comments, and adding one declares it
// after the last, whether the constants are declared in parentheses or not.
func TestChangeRemovesEnumValues(t *testing.T) {
	const source = `package tools

import "context"

// PaintInput is what paint takes.
type PaintInput struct {
	Status PaintStatus ` + "`json:\"status\"`" + `
}

// PaintStatus is a status.
type PaintStatus string

CONSTANTS
// Paint paints.
func Paint(context.Context, PaintInput) (int, error) { return 1, nil }
`
	for name, test := range map[string]struct{ constants, want string }{
		"in parentheses": {`const (
	// PaintStatusOpen means open.
	PaintStatusOpen PaintStatus = "open"
	// PaintStatusDone means done.
	// It is final.
	PaintStatusDone PaintStatus = "done" // the end
)
`, `const (
	// PaintStatusOpen means open.
	PaintStatusOpen PaintStatus = "open"
	PaintStatusLate PaintStatus = "late"
)
`},
		"on their own": {`// PaintStatusOpen means open.
const PaintStatusOpen PaintStatus = "open"

// PaintStatusDone means done.
// It is final.
const PaintStatusDone PaintStatus = "done" // the end
`, `// PaintStatusOpen means open.
const PaintStatusOpen PaintStatus = "open"

const PaintStatusLate PaintStatus = "late"
`},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			b.write("tools/paint.go", strings.Replace(source, "CONSTANTS", test.constants, 1))
			change := engine.Change{Name: "paint", Fields: []string{"status:enum(open,late)"}}
			if _, err := b.Change(t.Context(), change, engine.Options{}); err != nil {
				t.Fatal(err)
			}
			if text := b.read("tools/paint.go"); !strings.Contains(text, test.want) {
				t.Errorf("the source is\n%s\nwant it to contain\n%s", text, test.want)
			}
		})
	}
}

// A change that is not possible is refused with the way out.
func TestChangeRefuses(t *testing.T) {
	b := open(t)
	b.write("tools/other.go", "package tools\n\n// SumInput is taken.\ntype SumInput struct{}\n")
	before := b.snapshot()
	for want, change := range map[string]engine.Change{
		`"gadget" is not a kind of component`:                  {Kind: "gadget", Name: "add"},
		"nothing to change; set --rename":                      {Name: "add"},
		"tools/other.go already declares it; choose another":   {Name: "add", Rename: "sum"},
		"it already has this name":                             {Name: "add", Rename: "Add"},
		"invalid name":                                         {Name: "add", Rename: "a b"},
		"alias needs rename":                                   {Name: "add", Alias: true, Description: "Adds."},
		"stored under the name of their feature":               {Name: "posts", Kind: "feature", Rename: "items"},
		"a feature has no fields":                              {Name: "posts", Kind: "feature", Fields: []string{"a"}},
		"does not return a struct of the project":              {Name: "add", Output: []string{"sum:float"}},
		"default sets values in stored events":                 {Name: "add", RenameFields: []string{"a=b"}, Default: []string{"b=1"}},
		"only a command has a check":                           {Name: "posts/get", Check: "return nil"},
		"rename x=y: AddInput has neither field":               {Name: "add", RenameFields: []string{"x=y"}},
		`rename "a": write it as OLD=NEW`:                      {Name: "add", RenameFields: []string{"a"}},
		"remove x: AddInput has no such field; it has a":       {Name: "add", RemoveFields: []string{"x"}},
		"cannot use in.A (variable of type string) as float64": {Name: "add", Fields: []string{"a:string"}},
		"unmatched }; send only the statements":                {Name: "add", Body: "}\nfunc init() {"},
		"body:1:9: syntax error: expected operand":             {Name: "add", Body: "return ("},
		"several methods; edit them in features/posts/digest":  {Name: "posts/digest", Body: "return nil"},
		"time.Now":                            {Name: "posts/create", Body: "s.Titles[time.Now().String()] = c.Title\nreturn CreateOutput{}"},
		"the source already has these values": {Name: "add", Description: "Adds two numbers."},
	} {
		_, err := b.Change(t.Context(), change, engine.Options{})
		b.checkError(err, want)
	}
	for file, text := range b.snapshot() {
		if before[file] != text {
			t.Errorf("%s is %q, want %q as before", file, text, before[file])
		}
	}
}

// Literals and JSON in tests follow the fields of a component.
func TestChangeEditsTests(t *testing.T) {
	civil, err := os.ReadFile("../../core/civil/civil.go")
	if err != nil {
		t.Fatal(err)
	}
	const source = `package tools

var calls = []any{
	AddInput{A: 1},
	&AddInput{},
	[]*AddInput{{A: 2}},
}

func example(call func(string, any)) {
	call("add", ` + "`" + `{"a":1}` + "`" + `)
	call("add", map[string]any{"a": 1})
	call("other", ` + "`" + `{"a":1}` + "`" + `)
}
`
	for _, test := range []struct {
		change engine.Change
		want   []string
	}{
		{
			engine.Change{Name: "add", RenameFields: []string{"a=first"}},
			[]string{"AddInput{First: 1},", "&AddInput{},", "{{First: 2}}", "call(\"add\", `{\"first\":1}`)", `map[string]any{"first": 1}`, "call(\"other\", `{\"a\":1}`)"},
		},
		{
			engine.Change{Name: "add", RemoveFields: []string{"a"}, Body: "return 0, nil"},
			[]string{"AddInput{},\n\t&AddInput{},\n\t[]*AddInput{{}},", "call(\"add\", `{}`)", `map[string]any{}`},
		},
		{
			engine.Change{Name: "add", Fields: []string{"a:float?"}, Body: "return *in.A, nil"},
			[]string{"AddInput{A: new(float64(1))},", "{{A: new(float64(2))}}"},
		},
		{
			engine.Change{Name: "add", Fields: []string{"a:string:3..3", "b:int:5..9"}, Body: "return float64(len(in.A)), nil"},
			[]string{`AddInput{A: "exa", B: 5},`, "&AddInput{B: 5},", "call(\"add\", `{\"a\":\"exa\",\"b\":5}`)", `map[string]any{"a": "exa", "b": 5}`, "call(\"other\", `{\"a\":1}`)"},
		},
		{ // valid values stay
			engine.Change{Name: "add", Fields: []string{"a:int64:..1"}, Body: "return float64(in.A), nil"},
			[]string{`AddInput{A: 1},`, "{{A: 1}}", "call(\"add\", `{\"a\":1}`)", `map[string]any{"a": 1}`},
		},
		{
			engine.Change{Name: "add", Fields: []string{"a:enum(x,y)?", "b:bytes", "c:map[string][]enum(x,z)"}, Body: "return 0, nil"},
			[]string{
				`AddInput{A: new(AddA("x")), B: []byte("example"), C: map[string][]AddC{"key1": []AddC{"x"}}},`, "{{A: new(AddA(\"x\")), B:",
				`{"a":"x","b":"ZXhhbXBsZQ==","c":{"key1":["x"]}}`,
				`map[string]any{"a": "x", "b": []byte("example"), "c": map[string][]string{"key1": []string{"x"}}}`,
			},
		},
		{
			engine.Change{Name: "add", Fields: []string{"a:time", "b:duration", "c:[]any"}, Body: "return 0, nil"},
			[]string{
				"import \"time\"\n", `AddInput{A: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), B: 5400000000000},`,
				`{"a":"2026-01-02T15:04:05Z","b":"1h30m","c":["example"]}`,
				`map[string]any{"a": time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), "b": 5400000000000}`,
			},
		},
		{
			engine.Change{Name: "add", Fields: []string{"a:date", "b:email", "c:string:/^[a-z]+$/=x", "d:civil.Date?"}, Body: "return 0, nil"},
			[]string{
				"core/civil\"\n", `AddInput{A: civil.NewDate(2026, 1, 2), B: "ada@example.com", C: "x"},`,
				`{"a":"2026-01-02","b":"ada@example.com","c":"x"}`,
				`map[string]any{"a": civil.NewDate(2026, 1, 2), "b": "ada@example.com", "c": "x"}`,
			},
		},
		{
			engine.Change{Name: "add", Fields: []string{"a:any"}, Body: "return 0, nil"},
			[]string{"AddInput{},", "[]*AddInput{{}},", `{"a":"example"}`},
		},
		{
			engine.Change{Name: "add", Fields: []string{"b:int", "c:bool"}, RemoveFields: []string{"a"}, Body: "return 0, nil"},
			[]string{"AddInput{B: 1, C: true},\n\t&AddInput{B: 1, C: true},\n\t[]*AddInput{{B: 1, C: true}},", `{"b":1,"c":true}`, `map[string]any{"b": 1, "c": true}`},
		},
	} {
		b := open(t)
		b.write("tools/add_test.go", source)
		b.write("core/civil/civil.go", string(civil))
		if _, err := b.Change(t.Context(), test.change, engine.Options{}); err != nil {
			t.Errorf("%+v: %v", test.change, err)
			continue
		}
		for _, part := range test.want {
			if text := b.read("tools/add_test.go"); !strings.Contains(text, part) {
				t.Errorf("%+v: got %q, want it to contain %q", test.change, text, part)
			}
		}
	}
}

// JSON outputs in tests follow nested fields, also in tests of other components. Other JSON stays.
func TestChangeEditsNestedJSON(t *testing.T) {
	b := open(t)
	b.write("tools/find.go", `package tools

import "context"

// FindInput is what find takes.
type FindInput struct{}

// FindOutput is what find returns.
type FindOutput struct {
	Items []Item `+"`json:\"items\"`"+`
	Total int    `+"`json:\"total\"`"+`
}

// Item is one of them.
type Item struct {
	Owner string `+"`json:\"owner\"`"+`
	Note  string `+"`json:\"note\"`"+`
	Rank  int    `+"`json:\"rank\"`"+`
}

// Find finds items.
func Find(context.Context, FindInput) (FindOutput, error) { return FindOutput{}, nil }
`)
	const source = `package tools

type example struct{ Input, Output string }

func NAME() any {
	given := func(string, string) {}
	given("other", ` + "`" + `{"total":1,"owner":"a"}` + "`" + `)
	return []struct {
		tool string
		example
	}{
		{"other", example{Output: ` + "`" + `{"owner":"a","items":[{"owner":"a"}]}` + "`" + `}},
		{"find", example{Output: ` + "`" + `{"total": 1, "items": [{"rank":2,"owner":"<a>","note":"b"}, {}]}` + "`" + `}},
		{"find", example{Output: ` + "`" + `{"total": 0, "items": []}` + "`" + `}},
	}
}
`
	replaced := strings.NewReplacer(
		`{"total": 1, "items": [{"rank":2,"owner":"<a>","note":"b"}, {}]}`, `{"sum":1,"items":[{"rank":2,"agent":"<a>"},{}]}`,
		`{"total": 0, "items": []}`, `{"sum":0,"items":[]}`)
	for _, file := range []string{"find", "add"} {
		b.write("tools/"+file+"_test.go", strings.Replace(source, "NAME", file+"Examples", 1))
	}
	change := engine.Change{
		Name: "find", RenameFields: []string{"output.items.owner=output.items.agent", "output.total=sum"},
		RemoveFields: []string{"output.items.note"},
	}
	if _, err := b.Change(t.Context(), change, engine.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"find", "add"} {
		want := replaced.Replace(strings.Replace(source, "NAME", file+"Examples", 1))
		if got := b.read("tools/" + file + "_test.go"); got != want {
			t.Errorf("tools/%s_test.go is\n%s\nwant\n%s", file, got, want)
		}
	}
}

// testCalls is a test that calls tools in many ways: NAME is the tool to change, and other has the
// same fields. INPUT and MAP are inputs, OUTPUT is an output.
const testCalls = `package tools

import "testing"

type Example struct {
	Name          string
	Input, Output any
}

type client struct{}

func (client) CheckTool(t *testing.T, tool string, e ...Example) {}
func (client) CallTool(tool string, input any) client            { return client{} }
func (client) Text() string                                      { return "" }

const tool = "NAME"

var examples = []Example{{Input: INPUT, Output: OUTPUT}, {Input: MAP}}

func TestTools(t *testing.T) {
	var c client
	c.CheckTool(t, "NAME", Example{Input: INPUT, Output: OUTPUT}, Example{Input: MAP})
	c.CheckTool(t, tool, examples...)
	c.CallTool("NAME", MAP)
	single := Example{Input: INPUT}
	c.CheckTool(t, "NAME", single)
	for _, e := range []Example{{Name: "one", Input: INPUT}, {"two", INPUT, OUTPUT}} {
		t.Run(e.Name, func(t *testing.T) { c.CheckTool(t, "NAME", e) })
	}
	for _, step := range []struct {
		tool string
		Example
	}{{"NAME", Example{Input: INPUT}}, {tool: "NAME", Example: Example{Input: MAP}}} {
		c.CheckTool(t, step.tool, step.Example)
	}
	for name, e := range map[string]Example{"NAME": {Input: INPUT}} {
		c.CheckTool(t, name, e)
	}
	for _, test := range []struct{ in, want string }{{INPUT, OUTPUT}} {
		if got := c.CallTool("NAME", test.in).Text(); got == test.want {
			t.Error(got)
		}
	}
}
`

// Inputs and outputs of other tools stay, even in the test of the tool that changes.
func TestChangeEditsOnlyItsTests(t *testing.T) {
	calls := func(name, input, fields, output string) string {
		return strings.NewReplacer("NAME", name, "INPUT", "`"+input+"`", "MAP", fields, "OUTPUT", "`"+output+"`").Replace(testCalls)
	}
	// Both tools are called in one function.
	both := func(own, other string) string {
		start := strings.Index(other, "\tc.CheckTool")
		return strings.Replace(own, "\tvar c client\n", "\tvar c client\n"+strings.ReplaceAll(other[start:len(other)-2], "examples", "others"), 1) + "\n" +
			strings.Replace(other[strings.Index(other, "var examples"):strings.Index(other, "\nfunc Test")], "examples", "others", 1)
	}
	const tool = "package tools\n\nimport \"context\"\n\n// NAMEInput is an input.\ntype NAMEInput struct {\n\tA int `json:\"a\"`\n\tZ int `json:\"z\"`\n}\n\n// NAMEOutput is an output.\ntype NAMEOutput struct {\n\tSum int `json:\"sum\"`\n}\n\n// NAME is a tool.\nfunc NAME(context.Context, NAMEInput) (NAMEOutput, error) { return NAMEOutput{}, nil }\n"
	before, unchanged := calls("near", `{"a":1,"z":2}`, `map[string]any{"a": 1, "z": 2}`, `{"sum":1}`), calls("far", `{"a":1,"z":2}`, `map[string]any{"a": 1, "z": 2}`, `{"sum":1}`)
	unchanged = strings.Replace(strings.ReplaceAll(unchanged, "t, tool,", `t, "far",`), "single", "alone", 2)
	for _, test := range []struct {
		change engine.Change
		after  string
	}{
		{engine.Change{RenameFields: []string{"a=b", "output.sum=total"}}, calls("near", `{"b":1,"z":2}`, `map[string]any{"b": 1, "z": 2}`, `{"total":1}`)},
		{engine.Change{Fields: []string{"c:int"}}, calls("near", `{"a":1,"z":2,"c":1}`, `map[string]any{"a": 1, "z": 2, "c": 1}`, `{"sum":1}`)},
		{engine.Change{RemoveFields: []string{"z"}, Fields: []string{"a:[]int"}}, calls("near", `{"a":[1]}`, `map[string]any{"a": []int{1}}`, `{"sum":1}`)},
		{engine.Change{RemoveFields: []string{"z"}, Fields: []string{"a:string"}}, calls("near", `{"a":"example"}`, `map[string]any{"a": "example"}`, `{"sum":1}`)},
	} {
		b := open(t)
		for _, name := range []string{"Near", "Far"} {
			b.write("tools/"+strings.ToLower(name)+".go", strings.ReplaceAll(tool, "NAME", name))
		}
		b.write("tools/near_test.go", both(before, unchanged))
		test.change.Name = "near"
		if _, err := b.Change(t.Context(), test.change, engine.Options{}); err != nil {
			t.Errorf("%+v: %v", test.change, err)
			continue
		}
		if got, want := b.read("tools/near_test.go"), both(test.after, unchanged); got != want {
			t.Errorf("%+v: got\n%s\nwant\n%s", test.change, got, want)
		}
	}
}

// A rename warns of files that use an old name but are not built on this system.
func TestChangeWarnsOfUnbuiltFiles(t *testing.T) {
	b := open(t)
	const source = "package notes\n\nimport \"hello/tools\"\n\nvar input = tools.AddInput{A: 1}\n"
	b.write("notes/notes_plan9.go", source)
	b.write("notes/other_plan9.go", "package notes\n\nimport _ \"hello/tools\"\n")
	for _, test := range []struct {
		change engine.Change
		old    string
	}{
		{engine.Change{Name: "add", RenameFields: []string{"a=first"}}, "A"},
		{engine.Change{Name: "add", Rename: "sum"}, "AddInput"},
	} {
		done, err := b.Change(t.Context(), test.change, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := "warning: notes/notes_plan9.go is not built on this system and may use the old name " + test.old + "; rename it there by hand"
		if text := done.String(); !strings.Contains(text, want) || strings.Contains(text, "other_plan9.go") {
			t.Errorf("%+v: got %s, want %q in it, and no other_plan9.go", test.change, text, want)
		}
		if text := b.read("notes/notes_plan9.go"); text != source {
			t.Errorf("%+v: notes/notes_plan9.go is now %q, want %q as before", test.change, text, source)
		}
	}
}

// A new version of a command must not make another one unreadable. Commands that were unreadable
// before stay so, to be repaired one by one.
func TestNewVersionKeepsOtherCommands(t *testing.T) {
	b := open(t)
	const author = "package posts\n\n// Author wrote a post.\ntype Author struct {\n\tName string `json:\"name\"`\n}\n"
	renamed := strings.Replace(author, `"name"`, `"full_name"`, 1)
	b.write("features/posts/author.go", author)
	for _, name := range []string{"First", "Second"} {
		text := command(name, "return e.Time")
		b.write("features/posts/"+strings.ToLower(name)+".go", strings.Replace(text, "struct{}", "struct {\n\tAuthor Author `json:\"author\"`\n}", 1))
	}
	if _, err := b.Sync(t.Context(), engine.Options{}); err != nil {
		t.Fatal(err)
	}
	first := b.read("features/posts/first.go")
	upgraded := strings.Replace(first, "// First is one.\n", "// First is one.\n//\n//petrock:version 2\n", 1) + `
// FirstV1 is version 1 of First.
type FirstV1 struct {
	Author FirstV1Author ` + "`json:\"author\"`" + `
}

// FirstV1Author is an author of version 1.
type FirstV1Author struct {
	Name string ` + "`json:\"name\"`" + `
}

// Upgrade converts version 1 to version 2.
func (old FirstV1) Upgrade() First { return First{Author{old.Author.Name}} }
`
	e, err := engine.Open(b.dir, []gen.Generator{
		gen.New("version", "", `{}`, func(gen.Project, struct{}) (gen.Draft, error) {
			return gen.Draft{Name: "posts/first", NewVersionsOf: []string{"posts/first"}, Changes: []gen.File{
				{Path: "features/posts/author.go", Text: []byte(renamed)},
				{Path: "features/posts/first.go", Text: []byte(upgraded)},
			}}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = e.Generate(t.Context(), "version", []byte(`{}`), engine.Options{})
	b.checkError(err, "posts/second: field author.name was removed, author.full_name was added; keep old events readable")
	if b.read("features/posts/first.go") != first {
		t.Errorf("features/posts/first.go is now %q, want %q as before the refusal", b.read("features/posts/first.go"), first)
	}

	b.write("features/posts/author.go", renamed)
	done, err := e.Generate(t.Context(), "version", []byte(`{}`), engine.Options{})
	if err != nil || !strings.Contains(done.String(), "keep old events readable with petrock generate version posts/second") {
		t.Errorf(`change of a type that was edited before: %s (%v); want no error and "keep old events readable with petrock generate version posts/second" in it`, done, err)
	}
}
