package engine_test

import (
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/engine"
)

// Fields have types of other packages; a name that does not exist is refused with those that do.
func TestFieldsOfOtherPackages(t *testing.T) {
	b := open(t)
	const source = "package money\n\n// A Currency is one.\ntype Currency string\n\n// The currencies.\nconst (\n\tEUR Currency = \"eur\"\n\tUSD Currency = \"usd\"\n)\n\n// An Amount is one.\ntype Amount struct {\n\tCents int `json:\"cents\"`\n}\n\ntype secret int\n"
	b.write("internal/money/money.go", source)
	b.write("a/coins/coins.go", "package coins\n\n// A Coin is one.\ntype Coin int\n")
	b.write("b/coins/coins.go", "package coins\n\n// A Coin is one.\ntype Coin int\n")
	for field, want := range map[string]string{
		"x:money.Amout":        `money.Amout is not a type; ./internal/money declares Amount, Currency; did you mean Amount?`,
		"x:mony.Amount":        `the project has no package mony; its packages are coins, money, posts, tools, users; did you mean money?`,
		"x:[]money.Secret":     `money.Secret is not a type; ./internal/money declares Amount, Currency`,
		"x:AddInpt":            `AddInpt is not a type; ./tools declares AddInput; did you mean AddInput?`,
		"x:coins.Coin":         "./a/coins and ./b/coins are packages named coins; write one of the folders: ./a/coins.Coin",
		"x:money.Currency=gbp": `default gbp: must be one of "eur", "usd", got "gbp"`,
	} {
		_, err := b.Change(t.Context(), engine.Change{Name: "add", Fields: []string{field}}, engine.Options{})
		if b.checkError(err, want); err != nil && strings.HasPrefix(want, "the project") && !strings.Contains(err.Error(), field) {
			t.Errorf("%v: want the field %s in it", err, field)
		}
	}
	fields := []string{"x:money.Currency=usd", "y:[]money.Amount", "z:map[string]./b/coins.Coin?"}
	if _, err := b.Change(t.Context(), engine.Change{Name: "add", Fields: fields}, engine.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"hello/internal/money"`, `"hello/b/coins"`, "money.Currency", "[]money.Amount", "map[string]coins.Coin", `schema:"default=usd"`} {
		if text := b.read("tools/add.go"); !strings.Contains(text, part) {
			t.Errorf("tools/add.go is\n%s\nwant %q in it", text, part)
		}
	}
	for _, part := range []string{`"x":{"type":"string","enum":["eur","usd"],"default":"usd"}`, `"y":{"type":"array","items":{"type":"object","properties":{"cents":`} {
		if text := b.read("tools/tools_gen.go"); !strings.Contains(text, part) {
			t.Errorf("tools/tools_gen.go is\n%s\nwant %q in it", text, part)
		}
	}
}

// A field that is declared as time.Duration keeps its type, and a changed field what its text does
// not mention.
func TestChangeKeepsDurations(t *testing.T) {
	b := open(t)
	old := b.read("tools/add.go")
	b.write("tools/add.go", strings.Replace(strings.Replace(old, "import \"context\"", "import (\n\t\"context\"\n\t\"time\"\n)", 1), "type AddInput struct {",
		"type AddInput struct {\n\tWait time.Duration `json:\"wait\" schema:\"default=5\"`\n\tMail string `json:\"mail\" schema:\"format=email,pattern='a,  b',min=1\"`", 1))
	fields := []string{`wait:duration "How long"`, "mail:string:..9=\"a,  b\""}
	if _, err := b.Change(t.Context(), engine.Change{Name: "add", Fields: fields}, engine.Options{}); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(b.read("tools/add.go")), " ")
	for _, part := range []string{"Wait time.Duration `json:\"wait\" schema:\"default=5\"` // How long", `Mail string`} {
		if !strings.Contains(text, part) {
			t.Errorf("tools/add.go is %s, want %q in it", text, part)
		}
	}
	if !strings.Contains(b.read("tools/add.go"), "schema:\"max=9,default='a,  b',pattern='a,  b'\"") {
		t.Errorf("tools/add.go is\n%s\nwant the pattern, and no format", b.read("tools/add.go"))
	}
}
