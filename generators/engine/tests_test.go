package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
)

// loans are tools whose outputs share a type, and loansTest is a test of them. Its function check
// compares the output of a tool with JSON.
const loans = `package tools

import "context"

// Loan is a loan.
type Loan struct {
	Member string ` + "`json:\"member\"`" + `
}

// LoanOutput has one.
type LoanOutput struct {
	Loan Loan ` + "`json:\"loan\"`" + `
}

// Checkout lends.
func Checkout(context.Context, AddInput) (LoanOutput, error) { return LoanOutput{Loan{"m1"}}, nil }

// LoansOutput has all.
type LoansOutput struct {
	Loans  []Loan          ` + "`json:\"loans\"`" + `
	ByName map[string]Loan ` + "`json:\"by_name\"`" + `
	Member string          ` + "`json:\"member\"`" + `
}

// Loans lists them.
func Loans(context.Context, AddInput) (LoansOutput, error) {
	return LoansOutput{Loans: []Loan{{Member: "m1"}}, ByName: map[string]Loan{"member": {Member: "m2"}}, Member: "m3"}, nil
}
`

const loansTest = `package tools_test

import (
	"encoding/json"
	"testing"

	"hello/tools"
)

func check(t *testing.T, tool string, output any, want string) {
	if got, err := json.Marshal(output); err != nil || string(got) != want {
		t.Errorf("%s returns %s, want %s", tool, got, want)
	}
}

type Example struct {
	Input  tools.AddInput
	Output string
}

func checkTool(t *testing.T, tool string, e Example) {
	var output any
	switch tool {
	case "checkout":
		output, _ = tools.Checkout(t.Context(), e.Input)
	case "loans":
		output, _ = tools.Loans(t.Context(), e.Input)
	}
	check(t, "the tool", output, e.Output)
}

func TestLoans(t *testing.T) {
	for _, step := range []struct {
		tool string
		Example
	}{
		{"checkout", Example{Output: ` + "`" + `{"loan":{"member":"m1"}}` + "`" + `}},
		{"loans", Example{Output: ` + "`" + `{"loans":[{"member":"m1"}],"by_name":{"member":{"member":"m2"}},"member":"m3"}` + "`" + `}},
	} {
		checkTool(t, step.tool, step.Example)
	}
}
`

// A renamed field of a type is renamed in the outputs of all tools that use the type. If a test
// would still fail, nothing is changed.
func TestChangeOfSharedType(t *testing.T) {
	b := open(t)
	b.write("tools/loans.go", loans)
	b.write("tools/loans_test.go", loansTest)
	b.write("shop/shop_test.go", "package shop\n\nimport (\n\t\"encoding/json\"\n\t\"strings\"\n\t\"testing\"\n\n\t\"hello/tools\"\n)\n\nfunc TestText(t *testing.T) {\n\toutput, _ := tools.Checkout(t.Context(), tools.AddInput{})\n\ttext, _ := json.Marshal(output)\n\tif !strings.Contains(string(text), \"\\\"member\\\"\") {\n\t\tt.Error(string(text))\n\t}\n}\n\nfunc TestOld(t *testing.T) { t.Error(\"always\") }\n")
	before := b.snapshot()
	change := engine.Change{Name: "checkout", RenameFields: []string{"output.loan.member=output.loan.member_id"}}
	_, err := b.Change(t.Context(), change, engine.Options{})
	b.checkError(err, "tests would fail:\n  shop TestText (shop/shop_test.go:15: t.Error(string(text))):\n    {\"loan\":{\"member_id\":\"m1\"}}\nNothing was changed. If these tests expect the old tool, change it and the tests in one operation (petrock edit).")
	if names := differing(before, b.snapshot()); len(names) > 0 {
		t.Errorf("the refused change has changed %q, want nothing changed", names)
	}

	b.write("shop/shop_test.go", strings.Replace(b.read("shop/shop_test.go"), `\"member\"`, "member", 1))
	changed, err := b.Change(t.Context(), change, engine.Options{})
	if err != nil || !strings.Contains(changed.String(), "No new failures: 2 passed, 1 failed in 2 packages. These failed before, and still fail.\n  shop TestOld") {
		t.Fatalf("got %s (%v)", changed, err)
	}
	want := strings.NewReplacer(`{"member":"m1"}`, `{"member_id":"m1"}`, `{"member":"m2"}`, `{"member_id":"m2"}`).Replace(loansTest)
	if got := b.read("tools/loans_test.go"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Generators with a body and destroy run the tests of changed packages and of those that import
// them. Only new failures refuse a plan.
func TestGenerateAndDestroyRunTests(t *testing.T) {
	b := open(t)
	b.write("money/money.go", "package money\n\n// Coins are known.\nvar Coins []string\n")
	b.write("shop/shop_test.go", "package shop\n\nimport (\n\t\"testing\"\n\n\t\"hello/money\"\n)\n\nfunc TestCoins(t *testing.T) {\n\tif len(money.Coins) > 0 {\n\t\tt.Error(money.Coins)\n\t}\n}\n")
	e, err := engine.Open(b.dir, []gen.Generator{gen.New("coin", "", `{}`, func(_ gen.Project, in struct {
		Body bool
		Test string
	}) (gen.Draft, error) {
		draft := gen.Draft{Kind: "coin", Name: "cent", Files: []gen.File{
			{Path: "money/cent.go", Text: []byte("package money\n\nfunc init() { Coins = append(Coins, strings.ToLower(\"CENT\")) }\n"), AddImports: in.Body},
		}}
		if in.Test != "" {
			draft.Files = append(draft.Files, gen.File{Path: "money/cent_test.go", Text: []byte("package money\n\nimport \"testing\"\n\nfunc TestCent(t *testing.T) { " + in.Test + " }\n")})
			draft.Trial.Test = "TestCent"
		}
		if !in.Body {
			draft.Files[0].Text = []byte(strings.NewReplacer("strings.ToLower(\"CENT\")", "\"cent\"").Replace(string(draft.Files[0].Text)))
		}
		return draft, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	generate := func(input string, o engine.Options) (*engine.Result, error) {
		return e.Generate(t.Context(), "coin", json.RawMessage(input), o)
	}
	before := b.snapshot()
	_, err = generate(`{"Body": true}`, engine.Options{})
	b.checkError(err, "tests would fail:\n  shop TestCoins (shop/shop_test.go:11: t.Error(money.Coins)):\n    [cent]\nNothing was changed. Correct the input of coin")
	_, err = generate(`{"Test": "t.Log(1)"}`, engine.Options{})
	b.checkError(err, "tests would fail:\n  shop TestCoins")
	_, err = generate(`{"Test": "t.Error(1)"}`, engine.Options{})
	b.checkError(err, "the generated test failed:\n  TestCent:\n    1\nNothing was changed. Correct the input of coin")
	if names := differing(before, b.snapshot()); len(names) > 0 {
		t.Errorf("the refused generations have changed %q, want nothing changed", names)
	}
	planned, err := generate(`{"Body": true, "Test": "t.Error(1)"}`, engine.Options{NoExec: true, DryRun: true})
	if err != nil || !strings.Contains(planned.String(), "Examples were not run.\nTests were not run. Not run: money, shop, because running code of the project is disabled (--no-exec).") {
		t.Errorf("with no-exec: %s (%v)", planned, err)
	}
	planned, err = generate(`{}`, engine.Options{DryRun: true})
	if err != nil || planned.Tests != nil || planned.Trial != nil {
		t.Errorf("without body and examples: %s (%v); want no error, no Tests and no Trial", planned, err)
	}

	b.write("shop/shop_test.go", strings.Replace(b.read("shop/shop_test.go"), "> 0", ">= 0", 1))
	made, err := generate(`{"Body": true, "Test": "t.Log(1)"}`, engine.Options{})
	if err != nil || made.Trial == nil || made.Tests == nil || !made.Tests.Older || made.Tests.Failed != 1 {
		t.Fatalf("with a test that failed before: %s (%v)", made, err)
	}
	b.write("tools/tools_test.go", "package tools_test\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestFiles(t *testing.T) {\n\tif _, err := os.Stat(\"add.go\"); err != nil {\n\t\tt.Error(err)\n\t}\n}\n")
	_, err = b.Destroy(t.Context(), "tool", "add", engine.Options{Force: true})
	b.checkError(err, "tests would fail:\n  tools TestFiles (tools/tools_test.go:10: t.Error(err)):\n    stat add.go: no such file or directory\nNothing was changed. Remove from these tests what needs tool add (petrock edit), and retry.")
}
