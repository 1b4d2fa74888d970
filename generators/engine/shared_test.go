package engine_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/linked"
)

// stored returns the source of a feature with commands, by their names with their fields.
func stored(feature, imports, types string, commands ...[2]string) string {
	text := fmt.Sprintf("package %s\n\nimport (\n\t\"context\"\n\n\t\"hello/core/app\"\n%s)\n\n// State is what %[1]s knows.\ntype State struct{}\n\n// NewState returns an empty state.\nfunc NewState() *State { return &State{} }\n\n%[3]s", feature, imports, types)
	for _, c := range commands {
		text += fmt.Sprintf(`
// %s is a command.
type %[1]s struct {
%s}

// Check lets everything pass.
func (c %[1]s) Check(ctx context.Context, s *State) error { return nil }

// Apply does nothing.
func (c %[1]s) Apply(s *State, e app.Event) struct{} { return struct{}{} }
`, c[0], c[1])
	}
	return text
}

// library writes two features whose commands share the type of one of them, in all ways.
func (b *bench) library() {
	b.write("features/desk/desk.go", stored("desk", "", "// Box has things in it.\ntype Box struct {\n\tFirst Acquire `json:\"first\"` // One\n\tLabel string `json:\"label\"` // Its label\n}\n",
		[2]string{"Acquire", "\tTitle   string `json:\"title\"`   // Title\n\tAuthors string `json:\"authors\"` // Authors\n"},
		[2]string{"Stock", "\tItems []Acquire `json:\"items\"` // Items\n\tNote  string    `json:\"note\"`  // Note\n"},
		[2]string{"Label", "\tBy map[string]Acquire `json:\"by\"` // By label\n"},
		[2]string{"Lend", "\tFirst *Acquire `json:\"first,omitempty\"` // First\n"},
		[2]string{"Donate", "\tAcquire\n\tDonor string `json:\"donor\"` // Donor\n"},
		[2]string{"Move", "\tBoxes []Box `json:\"boxes\"` // Boxes\n"},
		[2]string{"Close", "\tReason string `json:\"reason\"` // Reason\n"},
	))
	b.write("features/store/store.go", stored("store", "\t\"hello/features/desk\"\n", "",
		[2]string{"Order", "\tLines []desk.Acquire `json:\"lines\"` // Lines\n\tBox *desk.Box `json:\"box,omitempty\"` // Box\n"},
	))
	if _, err := b.Sync(b.Context(), engine.Options{}); err != nil {
		b.Fatal(err)
	}
}

// openLibrary returns a project with the library and the generators of petrock.
func openLibrary(t *testing.T) *bench {
	b := open(t)
	b.Engine.Close()
	var err error
	if b.Engine, err = engine.Open(b.dir, linked.All()); err != nil {
		t.Fatal(err)
	}
	b.library()
	return b
}

func (b *bench) version(input string) (*engine.Result, error) {
	return b.Generate(b.Context(), "version", json.RawMessage(input), engine.Options{NoExec: true})
}

// replace replaces a text in a file. A space matches any space.
func (b *bench) replace(file, old, new string) {
	b.Helper()
	text := b.read(file)
	pattern := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(old), " ", `\s+`))
	if !pattern.MatchString(text) {
		b.Fatalf("%s has no %q:\n%s", file, old, text)
	}
	b.write(file, pattern.ReplaceAllLiteralString(text, new))
}

// has fails unless a file contains all parts, up to spaces.
func (b *bench) has(file string, parts ...string) {
	b.Helper()
	text := strings.Join(strings.Fields(b.read(file)), " ")
	for _, part := range parts {
		if !strings.Contains(text, strings.Join(strings.Fields(part), " ")) {
			b.Errorf("%s has no %q:\n%s", file, part, b.read(file))
		}
	}
}

// A function that maps events of a removed command to another command maps them to its older
// version when that gets a new one.
func TestMapToChangedCommand(t *testing.T) {
	b := openLibrary(t)
	b.write("features/desk/old.go", `package desk

import "hello/core/app/eventlog"

// mapBuy reads old events.
//
//petrock:map desk/buy
func mapBuy(old eventlog.Record) (Acquire, error) {
	var fields Acquire
	err := old.Decode(&fields)
	return Acquire{Title: fields.Title, Authors: fields.Authors}, err
}

// mapShut reads old events.
//
//petrock:map desk/shut
func mapShut(old eventlog.Record) (Close, error) { return Close{Reason: old.ID}, nil }
`)
	changes := []engine.Change{
		{Name: "desk/acquire", RenameFields: []string{"title=name"}, RemoveFields: []string{"authors"}},
		{Name: "desk/acquire", Fields: []string{"year:int"}, Default: []string{"year=1999"}},
		{Name: "desk/acquire", Rename: "get"},
	}
	for _, change := range changes {
		if _, err := b.Change(t.Context(), change, engine.Options{NoExec: true}); err != nil {
			t.Fatal(err)
		}
		b.isClean()
	}
	b.has("features/desk/old.go", `func mapBuy(old eventlog.Record) (GetV1, error) {
	var fields GetV1
	err := old.Decode(&fields)
	return GetV1{Title: fields.Title, Authors: fields.Authors}, err
}`, "func mapShut(old eventlog.Record) (Close, error) { return Close{Reason: old.ID}, nil }")
}

// A default is written into tests as Go, times too.
func TestChangeWritesDefaults(t *testing.T) {
	b := openLibrary(t)
	b.write("features/desk/example_test.go", "package desk\n\nvar example = Acquire{Title: \"x\"}\n")
	change := engine.Change{Name: "desk/acquire", Fields: []string{"at:time"}, Default: []string{"at=2026-01-02T08:09:05.5Z"}}
	if _, err := b.Change(t.Context(), change, engine.Options{NoExec: true}); err != nil {
		t.Fatal(err)
	}
	want := `Acquire{Title: "x", At: time.Date(2026, 1, 2, 8, 9, 5, 500000000, time.UTC)}`
	if text := b.read("features/desk/example_test.go"); !strings.Contains(text, want) {
		t.Errorf("the test is\n%s\nwant it to contain %s", text, want)
	}
}

// A command is only read as another one without a body if that has the fields of all of its
// versions.
func TestMapOfVersions(t *testing.T) {
	b := openLibrary(t)
	text := stored("desk", "", "", [2]string{"Stop", "\tReason string `json:\"reason\"` // Why\n"})
	text, methods, _ := strings.Cut(text, "// State is")
	text += methods[strings.Index(methods, "// Stop is"):]
	b.write("features/desk/stop.go", text)
	b.write("features/desk/end.go", strings.NewReplacer("Stop", "End", "Reason", "Why", "reason", "why").Replace(text))
	if _, err := b.Sync(t.Context(), engine.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Change(t.Context(), engine.Change{Name: "desk/stop", RenameFields: []string{"reason=why"}}, engine.Options{NoExec: true}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Destroy(t.Context(), "command", "desk/stop", engine.Options{Removal: engine.Removal{Map: "desk/end"}, NoExec: true, Force: true})
	b.checkError(err, "map desk/stop to desk/end: the fields of version 1 differ (field reason was removed, why was added); pass --body")
}

// A change to a type makes a version of every stored command that contains it, with one conversion.
func TestSharedType(t *testing.T) {
	const body = "return Acquire{Title: old.Title, Authors: strings.Split(old.Authors, \", \")}"
	for way, change := range map[string]func(b *bench) (*engine.Result, error){
		"change": func(b *bench) (*engine.Result, error) {
			return b.Change(t.Context(), engine.Change{Name: "desk/acquire", Fields: []string{"authors:[]string"}, Upgrade: body}, engine.Options{NoExec: true})
		},
		"version": func(b *bench) (*engine.Result, error) {
			b.replace("features/desk/desk.go", "Authors string", "Authors []string")
			input, _ := json.Marshal(map[string]string{"name": "desk/acquire", "body": body})
			return b.version(string(input))
		},
		"another command": func(b *bench) (*engine.Result, error) {
			b.replace("features/desk/desk.go", "Authors string", "Authors []string")
			input, _ := json.Marshal(map[string]string{"name": "store/order", "body": body})
			return b.version(string(input))
		},
	} {
		t.Run(way, func(t *testing.T) {
			b := openLibrary(t)
			if _, err := change(b); err != nil {
				t.Fatal(err)
			}
			text := b.read("features/desk/desk.go")
			if n := strings.Count(text, "//petrock:version 2"); n != 6 {
				t.Errorf("//petrock:version 2 occurs %d times, want 6:\n%s", n, text)
			}
			b.has("features/desk/acquire_v1.go", "func (old AcquireV1) Upgrade() Acquire { "+body+" }")
			b.has("features/desk/stock_v1.go", "Items []StockV1Acquire", "Stock{Items: app.UpgradeList(old.Items, StockV1Acquire.upgrade), Note: old.Note}",
				"func (old StockV1Acquire) upgrade() Acquire { "+body+" }")
			b.has("features/desk/label_v1.go", "By map[string]LabelV1Acquire", "app.UpgradeMap(old.By, LabelV1Acquire.upgrade)")
			b.has("features/desk/lend_v1.go", "First *LendV1Acquire", "app.UpgradePointer(old.First, LendV1Acquire.upgrade)")
			b.has("features/desk/donate_v1.go", "type DonateV1 struct { DonateV1Acquire Donor string", "Donate{Acquire: old.DonateV1Acquire.upgrade(), Donor: old.Donor}")
			b.has("features/desk/move_v1.go", "Boxes []MoveV1Box", "app.UpgradeList(old.Boxes, MoveV1Box.upgrade)",
				"type MoveV1Box struct { First MoveV1Acquire", "Box{First: old.First.upgrade(), Label: old.Label}")
			b.has("features/store/order_v1.go", "Lines []OrderV1DeskAcquire", "Box *OrderV1DeskBox", "app.UpgradeList(old.Lines, OrderV1DeskAcquire.upgrade)",
				"func (old OrderV1DeskAcquire) upgrade() desk.Acquire { "+strings.Replace(body, "Acquire", "desk.Acquire", 1)+" }")
			b.isClean()

			// Later versions of one of them, and of all.
			later := []engine.Change{
				{Name: "desk/stock", RenameFields: []string{"note=remark"}},
				{Name: "desk/acquire", RenameFields: []string{"title=name"}},
				{Name: "desk/stock", RemoveFields: []string{"items"}},
				{Name: "desk/acquire", Fields: []string{"isbn"}, Default: []string{"isbn=unknown"}},
				{Name: "store/order", RenameFields: []string{"box.label=box.mark"}},
			}
			for _, change := range later {
				if _, err := b.Change(t.Context(), change, engine.Options{NoExec: true}); err != nil {
					t.Fatalf("%+v: %v", change, err)
				}
				b.isClean()
			}
			b.has("features/desk/stock_v1.go", "func (old StockV1) Upgrade() StockV2 { return StockV2{Items: app.UpgradeList(old.Items, StockV1Acquire.upgrade), Note: old.Note} }", "func (old StockV1Acquire) upgrade() StockV2Acquire { return StockV2Acquire{Title: old.Title")
			b.has("features/desk/stock_v2.go", "Items []StockV2Acquire", "StockV3{Items: app.UpgradeList(old.Items, StockV2Acquire.upgrade), Remark: old.Note}")
		})
	}
}

// isClean fails unless the project compiles and nothing is out of date.
func (b *bench) isClean() {
	b.Helper()
	checked, err := b.Check(b.Context())
	if err != nil || !checked.OK {
		b.Errorf("check: %s (%v)", checked, err)
	}
}

// A plain struct of a package that has no command, an embedded struct, a generic one and a pointer
// are shared too.
func TestSharedStructs(t *testing.T) {
	b := openLibrary(t)
	b.write("books/books.go", "// Package books has books.\npackage books\n\n// Item is a book.\ntype Item struct {\n\tURL string `json:\"url\"` // Where\n\tParts []Item `json:\"parts,omitempty\"` // Parts\n}\n\n// Pair is two.\ntype Pair[T any] struct {\n\tA T `json:\"a\"` // One\n\tB T `json:\"b\"` // Other\n}\n")
	b.write("features/shop/shop.go", stored("shop", "\t\"hello/books\"\n", "// Base is in all.\ntype Base struct {\n\tBy string `json:\"by\"` // Who\n}\n",
		[2]string{"Buy", "\tBase\n\tItem books.Item `json:\"item\"` // Item\n"},
		[2]string{"Sell", "\t*Base\n\tPair books.Pair[books.Item] `json:\"pair\"` // Pair\n"},
	))
	b.write("features/fair/fair.go", stored("fair", "\t\"hello/books\"\n", "",
		[2]string{"Show", "\tAll map[string][]books.Item `json:\"all\"` // All\n"},
	))
	if _, err := b.Sync(t.Context(), engine.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		change engine.Change
		file   string
		has    []string
	}{
		{engine.Change{Name: "shop/buy", RenameFields: []string{"item.url=item.href"}}, "features/shop/buy_v1.go", []string{
			"type BuyV1BooksItem struct { URL string `json:\"url\"` Parts []BuyV1BooksItem", "func (old BuyV1BooksItem) upgrade() books.Item { return books.Item{Href: old.URL, Parts: app.UpgradeList(old.Parts, BuyV1BooksItem.upgrade)} }",
		}},
		{engine.Change{Name: "fair/show", Fields: []string{"all.href:[]string"}, Upgrade: "return Item{Href: []string{old.Href}}"}, "features/fair/show_v2.go", []string{"func (old ShowV2BooksItem) upgrade() books.Item { return books.Item{Href: []string{old.Href}} }"}},
		{engine.Change{Name: "shop/sell", Fields: []string{"by:[]string"}, Upgrade: "return Base{By: []string{old.By}}"}, "features/shop/sell_v3.go", []string{
			"type SellV3 struct { *SellV3Base", "Sell{Base: app.UpgradePointer(old.SellV3Base, SellV3Base.upgrade), Pair: old.Pair.upgrade()}",
			"func (old SellV3BooksPairBooksItem) upgrade() books.Pair[books.Item] { return books.Pair[books.Item]{A: old.A.upgrade(), B: old.B.upgrade()} }",
		}},
		{engine.Change{Name: "fair/show", Fields: []string{"all.pages:int"}, Default: []string{"all.pages=1"}}, "features/fair/show_v2.go", []string{"func (old ShowV2BooksItem) upgrade() ShowV3BooksItem { return ShowV3BooksItem{Href: []string{old.Href}} }"}},
	} {
		if _, err := b.Change(t.Context(), step.change, engine.Options{NoExec: true}); err != nil {
			t.Fatalf("%+v: %v", step.change, err)
		}
		b.isClean()
		b.has(step.file, step.has...)
	}
	for _, change := range []engine.Change{ // until no command contains the type
		{Name: "shop/buy", RemoveFields: []string{"item"}},
		{Name: "shop/sell", RemoveFields: []string{"pair"}},
		{Name: "fair/show", RemoveFields: []string{"all"}},
	} {
		if _, err := b.Change(t.Context(), change, engine.Options{NoExec: true}); err != nil {
			t.Fatalf("%+v: %v", change, err)
		}
		b.isClean()
	}
	b.has("features/shop/buy_v5.go", "Item BuyV5BooksItem")
	b.has("features/shop/buy_v1.go", "func (old BuyV1BooksItem) upgrade() BuyV2BooksItem")
	b.has("features/shop/buy_v3.go", "type BuyV3 struct { BuyV3Base Item BuyV3BooksItem", "BuyV4{BuyV4Base: old.BuyV3Base.upgrade(), Item: old.Item.upgrade()}")
	b.has("features/fair/show_v1.go", "All map[string][]ShowV1BooksItem", "app.UpgradeMap(old.All, func(v []ShowV1BooksItem) []ShowV2BooksItem { return app.UpgradeList(v, ShowV1BooksItem.upgrade) })")
}

// Two types that become one have a type each in the old version.
func TestMergedTypes(t *testing.T) {
	b := openLibrary(t)
	const one, two = "// One is one.\ntype One struct {\n\tA string `json:\"a\"` // A\n}\n", "// Two is two.\ntype Two struct {\n\tA string `json:\"a\"` // A\n\tB string `json:\"b\"` // B\n}\n"
	b.write("features/club/club.go", stored("club", "", one+"\n"+two, [2]string{"Join", "\tOne One `json:\"one\"` // One\n\tTwo Two `json:\"two\"` // Two\n"}))
	if _, err := b.Sync(t.Context(), engine.Options{}); err != nil {
		t.Fatal(err)
	}
	b.replace("features/club/club.go", "One One", "One Two")
	b.replace("features/club/club.go", one, "")
	b.replace("features/club/club.go", "A string `json:\"a\"`", "C string `json:\"c\"`")
	if _, err := b.version(`{"name": "club/join", "rename": ["one.a=c", "two.a=c"], "default": ["one.b=x"]}`); err != nil {
		t.Fatal(err)
	}
	b.has("features/club/join_v1.go", "One JoinV1One `json", "Two JoinV1Two `json", `Two{C: old.A, B: "x"}`, "Two{C: old.A, B: old.B}")
	b.isClean()
}

// Old versions have enums: the type of the source while it has the recorded values, else their own.
func TestOldEnums(t *testing.T) {
	b := openLibrary(t)
	const tier = "// Tier is a tier.\ntype Tier string\n\n// The tiers.\nconst (\n\tTierBasic Tier = \"basic\"\n\tGold Tier = \"gold\"\n)\n"
	b.write("features/club/club.go", stored("club", "", tier,
		[2]string{"Join", "\tName string `json:\"name\"` // Name\n\tTier Tier `json:\"tier\"` // Tier\n\tPast []Tier `json:\"past\"` // Past\n\tBy map[Tier]string `json:\"by\"` // By\n"},
	))
	if _, err := b.Sync(t.Context(), engine.Options{}); err != nil {
		t.Fatal(err)
	}
	b.has("contract.json", `"enums": { "Tier": [{"go": "Gold","value": "gold"},{"go": "TierBasic","value": "basic"}] }`)

	// Another field changes, and the enum gets a value.
	b.replace("features/club/club.go", "\tGold Tier", "\tTierSilver Tier = \"silver\"\n\tGold Tier")
	if _, err := b.Change(t.Context(), engine.Change{Name: "club/join", RenameFields: []string{"name=member"}}, engine.Options{NoExec: true}); err != nil {
		t.Fatal(err)
	}
	b.has("features/club/join_v1.go", "Tier JoinV1Tier `json", "Past []JoinV1Tier `json", "By map[JoinV1Tier]string", "Tier: Tier(old.Tier)",
		"Past: app.UpgradeList(old.Past, func(v JoinV1Tier) Tier { return Tier(v) })", "By: app.UpgradeKeys[Tier](old.By)", `JoinV1TierBasic JoinV1Tier = "basic"`)
	b.has("features/club/join_v1_test.go", `"tier":"gold","past":["gold"]`)

	// The enum loses a value, and a field gets another type.
	b.replace("features/club/club.go", "\tTierSilver Tier = \"silver\"\n", "")
	b.replace("features/club/join_v1.go", "old.Tier", "cmp.Or(old.Tier, JoinV1TierBasic)")
	b.replace("features/club/join_v1.go", "package club\n", "package club\n\nimport \"cmp\"\n")
	if _, err := b.Change(t.Context(), engine.Change{Name: "club/join", Fields: []string{"member:[]string"}, Upgrade: "level := old.Tier\nif level == JoinV2TierSilver {\n\tlevel = JoinV2TierGold\n}\nreturn Join{Member: []string{old.Member}, Tier: Tier(level)}"}, engine.Options{NoExec: true}); err != nil {
		t.Fatal(err)
	}
	b.has("features/club/join_v2.go", "Tier JoinV2Tier `json", "Past []JoinV2Tier", "By map[JoinV2Tier]string", `JoinV2TierSilver JoinV2Tier = "silver"`)
	b.has("features/club/join_v1.go", "Tier JoinV1Tier `json", "JoinV2Tier(cmp.Or(old.Tier, JoinV1TierBasic))", "By: app.UpgradeKeys[JoinV2Tier](old.By)")
	b.isClean()

	// The enum is renamed by hand.
	b.replace("features/club/club.go", "Tier", "Level")
	b.replace("features/club/club.go", `json:"tier"`, `json:"level"`)
	b.replace("features/club/join_v2.go", "Tier: Tier(level)", "Level: Level(level)")
	if _, err := b.version(`{"name": "club/join", "rename": ["tier=level"], "drop": ["by"]}`); err != nil {
		t.Fatal(err)
	}
	b.has("features/club/join_v3.go", "Tier JoinV3Tier `json", `JoinV3TierBasic JoinV3Tier = "basic"`, "Level: Level(old.Tier)", "Past: app.UpgradeList(old.Past, func(v JoinV3Tier) Level { return Level(v) })")
	b.isClean()
}

// A body for a type of another package may have keys of maps and lists that the package declares;
// keys of structs are fields.
func TestBodyWithKeys(t *testing.T) {
	b := openLibrary(t)
	b.replace("features/desk/desk.go", "// Box has", "// Kind is a kind.\ntype Kind int\n\n// The kinds.\nconst (\n\tTitle Kind = iota\n\tPaper\n)\n\n// Names are names.\ntype Names map[Kind][]string\n\n// Box has")
	b.replace("features/desk/desk.go", "Authors string", "Authors []string")
	const body = `all := map[string]Names{"": {Title: {old.Title}}}
times := map[Kind]time.Time{Paper: {}}
kinds := []*Acquire{{Title: old.Title}}
return Acquire{Title: kinds[0].Title, Authors: append(all[""][Title], map[Kind]string{Paper: times[Paper].String()}[Paper])}`
	input, _ := json.Marshal(map[string]string{"name": "store/order", "body": body})
	if _, err := b.version(string(input)); err != nil {
		t.Fatal(err)
	}
	b.has("features/store/order_v1.go", `map[string]desk.Names{"": {desk.Title: {old.Title}}}`, "[]*desk.Acquire{{Title: old.Title}}", "map[desk.Kind]time.Time{desk.Paper: {}}", "map[desk.Kind]string{desk.Paper: times[desk.Paper]")
}

// Every refusal names the calls that work, in the words of the front end.
func TestSharedTypeRefusals(t *testing.T) {
	b := openLibrary(t)
	const desk = "features/desk/desk.go"
	const others = "desk/donate, desk/label, desk/lend, desk/move, desk/stock, store/order"
	o := engine.Options{NoExec: true}
	change := engine.Change{Name: "desk/acquire", Fields: []string{"authors:[]string"}}
	edit := []engine.FileEdit{{Path: desk, Replace: []engine.Replacement{{Old: "Authors string", New: "Authors []string"}}}}
	for overMCP, wants := range map[bool][3]string{
		true: {
			"or set upgrade to the statements of func (old AcquireV1) Upgrade() Acquire:\n  return Acquire{Title: old.Title, Authors: …}\nThe new versions of " + others + " get them too",
			`desk/acquire: field authors changed from string to []string; keep old events readable with change {"kind":"command","name":"desk/acquire","fields":["authors:TYPE"]}; or`,
			`desk/acquire: field authors changed from string to []string; keep old events readable with generate_component {"kind":"version","name":"desk/acquire"}; or`,
		},
		false: {
			"or set --upgrade to the statements of func (old AcquireV1) Upgrade() Acquire:\n  return Acquire{Title: old.Title, Authors: …}\nThe new versions of " + others + " get them too",
			"desk/acquire: field authors changed from string to []string; keep old events readable with petrock change command desk/acquire --field authors:TYPE; or",
			"desk/acquire: field authors changed from string to []string; keep old events readable with petrock generate version desk/acquire; or",
		},
	} {
		if b.FormatCall = nil; overMCP {
			b.FormatCall = devserver.FormatCall("")
		}
		_, err := b.Change(t.Context(), change, o)
		b.checkError(err, wants[0])
		_, err = b.Edit(t.Context(), edit, o)
		b.checkError(err, wants[1])
		b.checkError(err, "desk/stock: field items.authors changed from string to []string; it contains a type that also changed in desk/acquire, whose new version comes with one of desk/stock")
		b.replace(desk, "Authors string", "Authors []string")
		_, err = b.Sync(t.Context(), engine.Options{})
		b.checkError(err, wants[2])
		if n := strings.Count(err.Error(), "keep old events readable with"); n != 1 {
			t.Errorf("got %d calls, want 1: %v", n, err)
		}
		b.replace(desk, "Authors []string", "Authors string")
	}

	// Another command that contains the type has changes of its own.
	b.FormatCall = nil
	b.replace(desk, "Authors string", "Authors []string")
	b.replace(desk, "Note string `json:\"note\"`", "Remark string `json:\"remark\"`")
	const body = `"body": "return Acquire{Title: old.Title}"`
	_, err := b.version(`{"name": "desk/acquire", ` + body + `}`)
	b.checkError(err, "desk/stock: note: no such field now")
	b.checkError(err, "Fields of desk/stock changed that desk/acquire does not have; first run petrock generate version desk/stock")
	_, err = b.version(`{"name": "desk/stock"}`)
	b.checkError(err, "(--rename note=NEW)")
	_, err = b.version(`{"name": "desk/stock", "rename": ["note=remark"]}`)
	b.checkError(err, "items.authors: type changed from string to []string\nResolve each of these, or set --body to the statements of func (old StockV1Acquire) upgrade() Acquire")
	if _, err = b.version(`{"name": "desk/stock", "rename": ["note=remark"], ` + body + `}`); err != nil {
		t.Fatal(err)
	}
	b.has("features/desk/stock_v1.go", "Stock{Items: app.UpgradeList(old.Items, StockV1Acquire.upgrade), Remark: old.Note}")
	b.isClean()

	// Two types changed, and both need code.
	b.replace(desk, "Title string", "Title []string")
	b.replace(desk, "Label string `json:\"label\"`", "Label []string `json:\"label\"`")
	_, err = b.version(`{"name": "desk/acquire", "body": "return Acquire{}"}`)
	b.checkError(err, "first run petrock generate version desk/move")
	_, err = b.version(`{"name": "desk/move", "body": "return Box{}"}`)
	b.checkError(err, "--body converts one type, and several changed (Acquire, Box): if more than one needs code, restore the fields of the others, generate the version, then change the next type")
	b.replace(desk, "Label []string `json:\"label\"`", "Label string `json:\"label\"`")
	if _, err = b.version(`{"name": "desk/acquire", "body": "return Acquire{Title: []string{old.Title}}"}`); err != nil {
		t.Fatal(err)
	}
	b.replace(desk, "Label string `json:\"label\"`", "Label []string `json:\"label\"`")
	if _, err = b.version(`{"name": "desk/move", "body": "return Box{First: old.First.upgrade(), Label: []string{old.Label}}"}`); err != nil {
		t.Fatal(err)
	}
	b.isClean()
}

// A change of a query whose output is part of stored events names the change of the command that
// works.
func TestSharedOutput(t *testing.T) {
	b := openLibrary(t)
	b.write("features/desk/find.go", "package desk\n\nimport \"context\"\n\n// Find finds a box.\ntype Find struct{}\n\n// Answer returns a box.\nfunc (q Find) Answer(ctx context.Context, s *State) (Box, error) { return Box{}, nil }\n")
	if _, err := b.Sync(t.Context(), engine.Options{}); err != nil {
		t.Fatal(err)
	}
	o := engine.Options{NoExec: true}
	_, err := b.Change(t.Context(), engine.Change{Name: "desk/find", RenameFields: []string{"output.label=mark"}}, o)
	b.checkError(err, "keep old events readable with petrock change command desk/move --rename-field boxes.label=boxes.mark")
	if _, err := b.Change(t.Context(), engine.Change{Kind: "command", Name: "desk/move", RenameFields: []string{"boxes.label=boxes.mark"}}, o); err != nil {
		t.Fatal(err)
	}
	b.has("features/desk/move_v1.go", "Box{First: old.First.upgrade(), Mark: old.Label}")
	b.has("features/store/order_v1.go", "desk.Box{First: old.First.upgrade(), Mark: old.Label}")
	b.isClean()
}

// An old version that was written by hand may use a struct of the source. A change of that struct
// is refused until the old version has a copy.
func TestHandWrittenVersion(t *testing.T) {
	b := openLibrary(t)
	const types = "// Item is a thing.\ntype Item struct {\n\tURL string `json:\"url\"` // Where\n}\n\n// JoinV1 is version 1.\ntype JoinV1 struct {\n\tItem Item `json:\"thing\"`\n}\n\n// Upgrade converts it.\nfunc (old JoinV1) Upgrade() Join { return Join{Item: old.Item} }\n"
	text := stored("club", "", types, [2]string{"Join", "\tItem Item `json:\"item\"` // Item\n"})
	b.write("features/club/club.go", strings.Replace(text, "// Join is a command.\n", "// Join is a command.\n//\n//petrock:version 2\n", 1))
	if _, err := b.Sync(t.Context(), engine.Options{}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Change(t.Context(), engine.Change{Name: "club/join", RenameFields: []string{"item.url=item.href"}}, engine.Options{NoExec: true})
	b.checkError(err, "club/join: field thing.url of version 1 was removed, thing.href of version 1 was added; an older version must keep its fields: where its type uses a struct that changes, replace that by a copy with the old fields; or, ")
	b.replace("features/club/club.go", "Item Item `json:\"thing\"` }", "Item JoinV1Item `json:\"thing\"` }\n\n// JoinV1Item is a copy.\ntype JoinV1Item struct {\n\tURL string `json:\"url\"`\n}\n")
	b.replace("features/club/club.go", "Item: old.Item", "Item: Item{URL: old.Item.URL}")
	b.mustChange(`{"name": "club/join", "rename_fields": ["item.url=item.href"]}`)
	b.has("features/club/club.go", "func (old JoinV1) Upgrade() JoinV2 { return JoinV2{Item: JoinV2Item{URL: old.Item.URL}} }")
}

// An old version has a copy of every kind of type, and converts all of them, even in the next
// version and when the fields are dropped.
func TestOldTypes(t *testing.T) {
	b := openLibrary(t)
	b.write("money/money.go", `// Package money has amounts.
package money

// Amount decodes itself.
//
//petrock:schema {"type":"string"}
type Amount struct{ cents int }

// UnmarshalJSON decodes it.
func (a *Amount) UnmarshalJSON(text []byte) error { return nil }

// List decodes itself.
//
//petrock:schema {"type":"string"}
type List[T any] struct{ all []T }

// UnmarshalJSON decodes it.
func (l *List[T]) UnmarshalJSON(text []byte) error { return nil }

// Unit is a unit.
type Unit string

// The units.
const (
	UnitOne Unit = "one"
	UnitTwo Unit = "two"
)
`)
	const declared = `// Tags are tags.
type Tags []string

// ID is an id.
type ID string

// Base is embedded.
type Base struct {
	By ID ` + "`json:\"by\"`" + ` // Who
}

// Node is recursive.
type Node struct {
	Base
	Text string ` + "`json:\"text\"`" + ` // Text
	More []*Node ` + "`json:\"more,omitempty\"`" + ` // More
	Unit money.Unit ` + "`json:\"unit\"`" + ` // Unit
}
`
	fields := "\tBase\n"
	for _, f := range []string{
		"Name string name", "Nodes map[string]Node nodes", "Other *Base other,omitempty", "Amount money.Amount amount", "Times money.List[time.Time] times",
		"Units map[money.Unit][]money.Unit units", "Tags Tags tags", "Lists []Tags lists", "IDs []ID ids", "Pair [2]int32 pair", "Raw json.RawMessage raw",
		"Data []byte data", "Any any any", "Size int64 size,string", "Point struct{X int `json:\"x\"`} point", "Next *Join next,omitempty", "Wait time.Duration wait",
	} {
		words := strings.Fields(f)
		fields += fmt.Sprintf("\t%s %s `json:\"%s\"` // Field\n", words[0], strings.Join(words[1:len(words)-1], " "), words[len(words)-1])
	}
	b.write("features/club/club.go", stored("club", "\t\"encoding/json\"\n\t\"time\"\n\n\t\"hello/money\"\n", declared, [2]string{"Join", fields}))
	if result, err := b.Sync(t.Context(), engine.Options{}); err != nil || !result.OK {
		t.Fatalf("Sync() = %s, %v; want no error and OK true", result, err)
	}
	for _, change := range []string{
		`{"name": "club/join", "rename_fields": ["name=title"]}`,
		`{"name": "club/join", "rename_fields": ["title=label", "nodes.text=nodes.words", "by=who"]}`,
		`{"name": "club/join", "fields": ["label:int"], "upgrade": "return Join{Label: len(old.Label), Nodes: app.UpgradeMap(old.Nodes, JoinV3Node.upgrade)}"}`,
		`{"name": "club/join", "remove_fields": ["nodes", "other", "units", "times"]}`,
		`{"name": "club/join", "rename_fields": ["label=number"]}`,
	} {
		b.mustChange(change)
	}
	b.has("features/club/join_v1.go", "type JoinV1 struct { JoinV1Base", "Nodes map[string]JoinV1Node", "Other *JoinV1Base `", "Amount money.Amount", "Times money.List[time.Time]",
		"Units map[JoinV1MoneyUnit][]JoinV1MoneyUnit", "Size int64 `json:\"size,string\"`", "Next *JoinV1 `", "func (old JoinV1) Upgrade() JoinV2")
}
