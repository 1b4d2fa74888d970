package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
)

// loans writes a type of the feature desk, and one of a package, which commands of two features and
// a tool use.
func (b *bench) loans() {
	b.write("features/desk/loan.go", "package desk\n\n// Loan is a loan.\ntype Loan struct {\n\tItem string `json:\"item\"` // Item\n\tDue string `json:\"due\"` // Due\n\tState LoanState `json:\"state\"` // State\n}\n\n// LoanState is a state.\ntype LoanState string\n\n// States.\nconst LoanStateOpen LoanState = \"open\"\n")
	b.write("internal/money/currency.go", "package money\n\n// Currency is a currency.\ntype Currency string\n\n// Currencies.\nconst (\n\tCurrencyEUR Currency = \"eur\"\n\tCurrencyUSD Currency = \"usd\"\n)\n")
	b.write("features/desk/lend.go", strings.Replace(stored("desk", "\t\"hello/internal/money\"\n", "", [2]string{"Lent", "\tWith struct {\n\t\tLoan Loan `json:\"loan\"` // Loan\n\t} `json:\"with\"` // With\n\tPaid money.Currency `json:\"paid\"` // Paid\n"}), "// State is what desk knows.\ntype State struct{}\n\n// NewState returns an empty state.\nfunc NewState() *State { return &State{} }\n", "", 1))
	b.write("features/store/returned.go", strings.Replace(stored("store", "\t\"hello/features/desk\"\n", "", [2]string{"Returned", "\tLoans []desk.Loan `json:\"loans\"` // Loans\n"}), "// State is what store knows.\ntype State struct{}\n\n// NewState returns an empty state.\nfunc NewState() *State { return &State{} }\n", "", 1))
	b.write("tools/pay.go", "package tools\n\nimport (\n\t\"context\"\n\n\t\"hello/internal/money\"\n)\n\n// PayInput is the input of pay.\ntype PayInput struct {\n\tIn money.Currency `json:\"in\"` // Currency\n}\n\n// Pay pays.\nfunc Pay(ctx context.Context, in PayInput) (string, error) { return string(money.CurrencyEUR), nil }\n")
	if _, err := b.Sync(b.Context(), engine.Options{}); err != nil {
		b.Fatal(err)
	}
}

// A change of a type renames it everywhere, and makes new versions of all commands that store it.
func TestChangeType(t *testing.T) {
	b := openLibrary(t)
	b.loans()
	result, err := b.Change(t.Context(), engine.Change{
		Kind: "type", Name: "desk/Loan", Rename: "Lending", RenameFields: []string{"due=until"},
		Fields: []string{"fee:int"}, Default: []string{"fee=3"}, Description: "A lending of an item.",
	}, engine.Options{NoExec: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := result.Kind+" "+result.Name, "type desk/Lending"; got != want {
		t.Errorf("changed %q, want %q", got, want)
	}
	b.has("features/desk/lending.go", "// Lending is a lending of an item.\ntype Lending struct", "Until string `json:\"until\"`", "Fee int `json:\"fee\"`", "const LendingStateOpen LendingState")
	b.has("features/desk/lend.go", "//petrock:version 2", "Loan Lending `json:\"loan\"`")
	b.has("features/desk/lent_v1.go", "Until: old.Due, ", "Fee: 3")
	b.has("features/store/returned.go", "//petrock:version 2", "Loans []desk.Lending")
	b.has("features/store/returned_v1.go", "desk.Lending{", "Until: old.Due, ", "Fee: 3")

	for _, change := range []engine.Change{
		{Name: "money/Currency", Rename: "Coin", Values: []string{"eur,gbp"}},
		{Name: "internal/money/Coin", Values: []string{"eur"}},
		{Name: "desk/Lending", Rename: "desk/Loan", RenameFields: []string{"until=due"}},
		{Name: "desk/Box", Fields: []string{"note:string?"}}, // hand-written, in a file with others
	} {
		if _, err := b.Change(t.Context(), change, engine.Options{NoExec: true}); err != nil {
			t.Fatalf("%+v: %v", change, err)
		}
	}
	b.has("internal/money/coin.go", "type Coin string", "CoinEUR Coin = \"eur\"")
	b.has("tools/pay.go", "In money.Coin `json", "money.CoinEUR")
	b.has("features/desk/lend.go", "//petrock:version 3", "Paid money.Coin")
	b.has("features/desk/desk.go", "Note *string `json:\"note,omitempty\"`")
}

func TestChangeTypeRefuses(t *testing.T) {
	b := openLibrary(t)
	b.loans()
	for _, test := range []struct {
		change engine.Change
		want   string
	}{
		{engine.Change{Name: "desk/Laon", Rename: "Loan"}, `component "desk/Laon" does not exist; did you mean desk/Loan?`},
		{engine.Change{Kind: "type", Name: "desk/Acquire", Rename: "Get"}, `type "desk/Acquire" does not exist; the project has desk/Loan, money/Currency`},
		{engine.Change{Kind: "typ", Name: "desk/Loan", Rename: "Get"}, `"typ" is not a kind of component; did you mean type?`},
		{engine.Change{Name: "desk/Loan", Rename: "store/Loan"}, "cannot move it to another package"},
		{engine.Change{Name: "desk/Loan", Rename: "Box"}, "desk.go already declares it"},
		{engine.Change{Name: "desk/Loan", Body: "return nil"}, "a type has a name, a description, and fields or values"},
		{engine.Change{Name: "desk/Loan", Values: []string{"a"}}, "only an enum type has values"},
		{engine.Change{Name: "money/Currency", Fields: []string{"a"}}, "money/Currency is not a struct; set --value"},
		{engine.Change{Name: "desk/Loan", Fields: []string{"due:time"}}, "func (old LentV1Loan) upgrade() Loan"},
		{engine.Change{Name: "desk/Loan", RenameFields: []string{"due=until"}, ReadFirst: true}, "change the field in a command that contains the type"},
		{engine.Change{Name: "desk/Loan", Fields: []string{"note:string?"}, Default: []string{"note=a"}}, "stored events stay readable, so default has no effect"},
		{engine.Change{Name: "money/Currency", Values: []string{"usd"}}, "undefined: money.CurrencyEUR"},
		{engine.Change{Name: "pay", Fields: []string{"in:enum(eur)"}}, "change it there (petrock change type money/Currency --value …)"},
	} {
		_, err := b.Change(t.Context(), test.change, engine.Options{NoExec: true})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got error %v, want %q", test.change, err, test.want)
		}
	}
}

// Lists have the types in files of their own. All types can be inspected, but only those in files of
// their own destroyed.
func TestTypes(t *testing.T) {
	b := openLibrary(t)
	b.loans()
	listing, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, c := range listing.Components {
		if c.Kind == "type" {
			listed = append(listed, c.Name+" "+c.File+" "+c.Description)
		}
	}
	if got, want := strings.Join(listed, "\n"), "desk/Loan features/desk/loan.go Loan is a loan.\nmoney/Currency internal/money/currency.go Currency is a currency."; got != want {
		t.Errorf("the list has the types\n%s\nwant\n%s", got, want)
	}
	if shown, err := b.Inspect(t.Context(), "type", "desk/Box"); err != nil || shown.Component.File != "features/desk/desk.go" {
		t.Errorf("Inspect(desk/Box) = %+v, %v, want it in features/desk/desk.go", shown, err)
	}
	_, err = b.Destroy(t.Context(), "type", "desk/Box", engine.Options{NoExec: true})
	b.checkError(err, "features/desk/desk.go also contains other declarations")
	_, err = b.Destroy(t.Context(), "type", "desk/Loan", engine.Options{NoExec: true, Force: true})
	b.checkError(err, "other code uses it")

	_, err = b.Generate(t.Context(), "type", json.RawMessage(`{"name":"desk/Shelf","fields":["row:int","kind:enum(high,low)"]}`), engine.Options{NoExec: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Destroy(t.Context(), "type", "desk/Shelf", engine.Options{NoExec: true}); err != nil {
		t.Error(err)
	}
	if files := strings.Join(b.files("features/desk"), " "); strings.Contains(files, "shelf") {
		t.Errorf("features/desk has the files %s, want no shelf.go", files)
	}
}

// Directives are set and removed in doc comments.
func TestChangeDirectives(t *testing.T) {
	b := openLibrary(t)
	b.loans()
	change := func(d gen.Directives, want string) {
		t.Helper()
		if _, err := b.Change(t.Context(), engine.Change{Name: "desk/close", Directives: d}, engine.Options{NoExec: true}); err != nil {
			t.Fatal(err)
		}
		b.has("features/desk/desk.go", want)
	}
	change(gen.Directives{Title: new("Close it"), Hints: new("additive idempotent"), Internal: new(true)},
		"// Close is a command.\n//\n//petrock:title Close it\n//petrock:hints additive idempotent\n//petrock:internal\ntype Close")
	listing, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := listing.String(), "command desk/close (internal), "; !strings.Contains(got, want) {
		t.Errorf("the list is\n%s\nwant %q in it", got, want)
	}
	change(gen.Directives{Title: new(""), Hints: new("destructive"), Internal: new(false), Scopes: new("desk:close")},
		"// Close is a command.\n//\n//petrock:hints destructive\n//petrock:scopes desk:close\ntype Close")
	_, err = b.Change(t.Context(), engine.Change{Name: "desk/close", Directives: gen.Directives{Hints: new("quick")}}, engine.Options{NoExec: true})
	b.checkError(err, `"quick" is not a hint`)
	_, err = b.Change(t.Context(), engine.Change{Name: "desk/close", Directives: gen.Directives{Title: new("a\nb")}}, engine.Options{NoExec: true})
	b.checkError(err, "title: the description contains the character U+000A")
}

// Examples replace those of the same name and the call of a function that is not written, and are
// added to the table of examples, or after it.
func TestChangeExamples(t *testing.T) {
	b := openLibrary(t)
	b.loans()
	for name, test := range map[string]string{
		"close": "func TestClose(t *testing.T) {\n\tclient := apptest.Serve(t, desk.Feature())\n\t// When Close is written, replace Error with the expected Output.\n\tclient.CheckTool(t, \"desk_close\", mcptest.Example{Input: `{}`, Error: \"not written yet\"})\n}\n",
		"stock": "func TestStock(t *testing.T) {\n\tclient := apptest.Serve(t, desk.Feature())\n\tfor _, example := range []mcptest.Example{\n\t\t{Name: \"one\", Input: `{\"items\":[]}`, Output: `{}`},\n\t} {\n\t\tt.Run(example.Name, func(t *testing.T) { client.CheckTool(t, \"desk_stock\", example) })\n\t}\n}\n",
	} {
		b.write("features/desk/"+name+"_test.go", "package desk_test\n\nimport (\n\t\"testing\"\n\n\t\"hello/core/app/apptest\"\n\t\"hello/core/mcptest\"\n\t\"hello/features/desk\"\n)\n\n"+test)
	}
	b.write("features/desk/close.go", "package desk\n")
	b.write("features/desk/stock.go", "package desk\n")
	split := func(from, to string) {
		text := b.read("features/desk/desk.go")
		at := strings.Index(text, "\n// "+from+" is a command")
		end := strings.Index(text[at+1:], "\nfunc (c "+from+") Apply")
		end = at + 1 + end + 1 + strings.Index(text[at+1+end+1:], "\n") + 1
		b.write(to, "package desk\n\nimport (\n\t\"context\"\n\n\t\"hello/core/app\"\n)\n"+text[at:end])
		b.write("features/desk/desk.go", text[:at]+text[end:])
	}
	split("Close", "features/desk/close.go")
	split("Stock", "features/desk/stock.go")
	change := func(name, examples string) error {
		in := engine.Change{Name: name}
		if err := json.Unmarshal([]byte(examples), &in.Examples); err != nil {
			t.Fatal(err)
		}
		_, err := b.Change(t.Context(), in, engine.Options{NoExec: true})
		return err
	}
	for _, test := range []struct{ name, examples, file, want string }{
		{"desk/close", `[{"name":"a","input":{"reason":"x"}},{"name":"b","input":{},"error":"reason"},{"name":"c","tool":"desk_stock","later":"24h","input":{"items":[]},"output":{}}]`, "close",
			"client := apptest.Serve(t, desk.Feature())\n\tclient.CheckTool(t, \"desk_close\", mcptest.Example{Name: \"a\", Input: `{\"reason\":\"x\"}`, Output: mcptest.AnyOutput{}})\n\tt.Run(\"b\", func(t *testing.T) {\n\t\tclient.CheckTool(t, \"desk_close\", mcptest.Example{Name: \"b\", Input: `{}`, Error: \"reason\"})\n\t})\n\tt.Run(\"c\", func(t *testing.T) {\n\t\tclient.Advance(24 * time.Hour)\n\t\tclient.CheckTool(t, \"desk_stock\", mcptest.Example{Name: \"c\", Input: `{\"items\":[]}`, Output: `{}`})\n\t})\n}"},
		{"desk/stock", `[{"name":"two","input":{"items":[{}]},"error":"title"},{"name":"one","input":{"items":[],"note":"n"},"output":{}}]`, "stock",
			"{Name: \"one\", Input: `{\"items\":[],\"note\":\"n\"}`, Output: `{}`},\n\t\t{Name: \"two\", Input: `{\"items\":[{}]}`, Error: \"title\"},\n\t} {"},
		{"desk/stock", `[{"name":"closed","tool":"desk_close","input":{"reason":"x"}},{"name":"three","input":{"items":[]}}]`, "stock",
			"Output: mcptest.AnyOutput{}})\n\t})\n\tt.Run(\"three\", func(t *testing.T) {\n\t\tclient.CheckTool(t, \"desk_stock\", mcptest.Example{Name: \"three\""},
	} {
		if err := change(test.name, test.examples); err != nil {
			t.Fatal(err)
		}
		b.has("features/desk/"+test.file+"_test.go", test.want)
	}
	for examples, want := range map[string]string{
		`[{"input":{}}]`:                              "an example for change needs a name",
		`[{"name":"one","tool":"desk_close"}]`:        `example "one" exists, and keeps its tool`,
		`[{"name":"x","output":1,"error":"e"}]`:       "an output and an error",
		`[{"name":"x","later":"soon","output":true}]`: "is not a duration",
	} {
		b.checkError(change("desk/stock", examples), want)
	}
	b.checkError(change("desk/label", `[{"name":"x"}]`), "func TestLabel in features/desk/desk_test.go")
}

// A misspelled name gets a suggestion.
func TestDidYouMean(t *testing.T) {
	b := openLibrary(t)
	for name, test := range map[string]struct {
		do   func() error
		want string
	}{
		"inspect":   {func() error { _, err := b.Inspect(t.Context(), "command", "desk/stok"); return err }, "did you mean desk_stock?"},
		"destroy":   {func() error { _, err := b.Destroy(t.Context(), "comand", "x", engine.Options{}); return err }, "did you mean command?"},
		"generator": {func() error { _, err := b.Generate(t.Context(), "tol", nil, engine.Options{}); return err }, "did you mean tool?"},
		"test": {func() error {
			_, err := b.Test(t.Context(), engine.TestOptions{Packages: []string{"features/pots"}})
			return err
		}, "did you mean features/posts?"},
		"accept": {func() error { _, err := b.Sync(t.Context(), engine.Options{Accept: []string{"desk/stok"}}); return err }, "did you mean desk/stock?"},
		"part":   {func() error { _, err := b.AddPart(t.Context(), "oath", engine.Options{}); return err }, "did you mean oauth?"},
		"feature": {func() error {
			_, err := b.Generate(t.Context(), "command", json.RawMessage(`{"name":"dsek/lend"}`), engine.Options{NoExec: true})
			return err
		}, "did you mean desk/lend? If not, first run petrock generate feature dsek"},
	} {
		t.Run(name, func(t *testing.T) { b.checkError(test.do(), test.want) })
	}
}
