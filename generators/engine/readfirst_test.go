package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
)

// change calls change with the JSON that an agent sends.
func (b *bench) change(input string) (*engine.Result, error) {
	b.Helper()
	var change engine.Change
	if err := json.Unmarshal([]byte(input), &change); err != nil {
		b.Fatal(err)
	}
	b.FormatCall = devserver.FormatCall("")
	return b.Change(b.Context(), change, engine.Options{NoExec: true})
}

// mustChange is change without an error. It returns the next steps.
func (b *bench) mustChange(input string) string {
	b.Helper()
	result, err := b.change(input)
	if err != nil {
		b.Fatalf("%s: %v", input, err)
	}
	b.isClean()
	return strings.Join(result.Next, "\n")
}

// lacks fails if a file contains a part, up to spaces.
func (b *bench) lacks(file, part string) {
	b.Helper()
	if text := b.read(file); strings.Contains(strings.Join(strings.Fields(text), " "), part) {
		b.Errorf("%s has %q:\n%s", file, part, text)
	}
}

// With read_first, every change of fields makes a version that is only read. The tool keeps its
// input until the directive is removed, and then gets the new one.
func TestReadFirst(t *testing.T) {
	b := openLibrary(t)
	b.replace("features/desk/desk.go", "`json:\"reason\"` // Reason", "`json:\"reason\" schema:\"min=1,max=80\"` // Reason of the end")
	b.write("features/desk/desk_test.go", "package desk\n\nvar inputs = []any{\"desk_close\", `{\"reason\":\"x\"}`, Close{Reason: \"x\"}}\n\nfunc call(any, any) {}\n\nfunc use() { call(\"desk_close\", `{\"reason\":\"x\"}`) }\n")
	if _, err := b.Sync(t.Context(), engine.Options{}); err != nil {
		t.Fatal(err)
	}
	const input = `"inputSchema": {"type": "object","properties": {"reason": {"type": "string","minLength": 1,"maxLength": 80,"description": "Reason of the end"}},"required": ["reason"],"additionalProperties": false}`
	b.has("contract.json", input)
	next := b.mustChange(`{"name": "desk/close", "fields": ["by:string?"], "read_first": true}`)
	if !strings.Contains(next, "keep the version in //petrock:writes") || !strings.Contains(next, "remove that line from the comment of Close") {
		t.Errorf(`next: %s; want next containing "keep the version in //petrock:writes" and "remove that line from the comment of Close"`, next)
	}
	b.has("contract.json", input, `"desk/close": { "version": 2,`)
	b.has("features/desk/desk.go", "//petrock:version 2 //petrock:writes 1 type Close struct", "By *string")
	b.has("features/desk/close_v1.go", "Reason string `json:\"reason\" schema:\"min=1,max=80\"` // Reason of the end", "func (old CloseV1) Upgrade() Close { return Close{Reason: old.Reason} }",
		"func (c Close) Downgrade() CloseV1 { return CloseV1{Reason: c.Reason} }")
	b.has("features/desk/desk_gen.go", `app.CommandTypeOf[Close]("close", 2, app.OlderOf[CloseV1](1, Close.Downgrade)).Writes(1)`, "appmcp.DoOlder[Close, CloseV1](a)")

	// A second change, of everything else, before the first is written.
	b.mustChange(`{"name": "desk/close", "rename_fields": ["reason=why"], "fields": ["why:string:2..90", "urgency:int"], "default": ["urgency=3"], "read_first": true}`)
	b.has("contract.json", input, `"desk/close": { "version": 3,`)
	b.has("features/desk/desk.go", "//petrock:version 3 //petrock:writes 1 type Close struct", `schema:"min=2,max=90"`)
	b.has("features/desk/close_v1.go", "func (old CloseV1) Upgrade() CloseV2 { return CloseV2{Reason: old.Reason} }", "func (c CloseV2) Downgrade() CloseV1 { return CloseV1{Reason: c.Reason} }")
	b.has("features/desk/close_v2.go", "Close{Why: old.Reason, By: old.By, Urgency: 3}", "func (c Close) Downgrade() CloseV2 { return CloseV2{Reason: c.Why, By: c.By} }")
	b.has("features/desk/desk_gen.go", `app.CommandTypeOf[Close]("close", 3, app.OlderOf[CloseV1](1, CloseV2.Downgrade), app.OlderOf[CloseV2](2, Close.Downgrade)).Writes(1)`)
	b.has("features/desk/desk_test.go", "call(\"desk_close\", `{\"reason\":\"x\"}`)", "Close{Why: \"x\"}")

	b.replace("features/desk/desk.go", "//petrock:version 3 //petrock:writes 1", "//petrock:version 3")
	if _, err := b.Sync(t.Context(), engine.Options{}); err != nil {
		t.Fatal(err)
	}
	b.isClean()
	b.has("features/desk/desk_gen.go", "appmcp.Do[Close](a)")
	b.lacks("features/desk/desk_gen.go", "Writes")
	b.lacks("contract.json", input)
}

// An optional field of a type that several commands store makes versions of all of them.
func TestReadFirstOfSharedType(t *testing.T) {
	b := openLibrary(t)
	next := b.mustChange(`{"name": "desk/acquire", "fields": ["isbn:string?"], "read_first": true}`)
	text := b.read("features/desk/desk.go") + b.read("features/store/store.go")
	if n := strings.Count(text, "//petrock:version 2\n//petrock:writes 1\n"); n != 7 {
		t.Errorf("%d types have version 2 and write 1, want 7:\n%s", n, text)
	}
	b.has("features/desk/stock_v1.go", "Items []StockV1Acquire", "app.UpgradeList(old.Items, StockV1Acquire.upgrade)",
		"func (c Stock) Downgrade() StockV1 { return StockV1{Items: app.UpgradeList(c.Items, downgradeStockV1Acquire), Note: c.Note} }",
		"func downgradeStockV1Acquire(c Acquire) StockV1Acquire { return StockV1Acquire{Title: c.Title, Authors: c.Authors} }")
	b.has("features/desk/acquire_v1.go", "func (c Acquire) Downgrade() AcquireV1")
	b.has("features/desk/desk_gen.go", `app.CommandTypeOf[Stock]("stock", 2, app.OlderOf[StockV1](1, Stock.Downgrade)).Writes(1)`)
	b.lacks("features/desk/donate_v1.go", "Downgrade")
	if want := "Before Go code executes desk/donate, write its Downgrade: desk/donate: cannot convert Donate to DonateV1: title is a field of an embedded struct; set downgrade to the statements of func (c Donate) Downgrade() DonateV1"; !strings.Contains(next, want) {
		t.Errorf("change(read_first).Next = %s, want %q in it", next, want)
	}
	const body = "return DonateV1{DonateV1Acquire: DonateV1Acquire{Title: c.Title, Authors: c.Authors}, Donor: c.Donor}"
	if _, err := b.version(`{"name": "desk/donate", "downgrade_body": "` + body + `"}`); err != nil {
		t.Fatal(err)
	}
	b.isClean()
	b.has("features/desk/donate_v1.go", "func (c Donate) Downgrade() DonateV1 { "+body+" }")

	// The functions that downgrade follow the next version.
	b.mustChange(`{"name": "desk/stock", "rename_fields": ["note=remark", "items.title=items.name"]}`)
	b.has("features/desk/stock_v1.go", "func downgradeStockV1Acquire(c StockV2Acquire) StockV1Acquire { return StockV1Acquire{Title: c.Title, Authors: c.Authors} }")
	b.has("features/desk/donate_v1.go", "func (c DonateV2) Downgrade() DonateV1 { "+body+" }")
}

// generate version writes Downgrade for a version that exists.
func TestDowngrade(t *testing.T) {
	b := openLibrary(t)
	b.mustChange(`{"name": "desk/close", "fields": ["by:string?", "urgency:int"], "default": ["urgency=3"]}`)
	b.lacks("features/desk/close_v1.go", "Downgrade")
	result, err := b.version(`{"name": "desk/close", "downgrade": true}`)
	if err != nil {
		t.Fatal(err)
	}
	b.isClean()
	b.has("features/desk/close_v1.go", "func (c Close) Downgrade() CloseV1 { return CloseV1{Reason: c.Reason} }")
	b.has("features/desk/desk_gen.go", `app.CommandTypeOf[Close]("close", 2, app.OlderOf[CloseV1](1, Close.Downgrade)),`)
	if text := result.String(); !strings.Contains(text, "log downgrade") {
		t.Error(text)
	}
	for input, says := range map[string]string{
		`{"name": "desk/close", "downgrade": true}`:                       "desk/close has no older version without a Downgrade; its version is 2",
		`{"name": "desk/stock", "downgrade": true}`:                       "desk/stock has no older version without a Downgrade; its version is 1",
		`{"name": "desk/close", "downgrade": true, "drop": ["reason"]}`:   "is for a version that exists",
		`{"name": "desk/close", "downgrade_body": "return CloseV1{}; }"}`: "",
	} {
		if _, err := b.version(input); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want an error containing %q", input, err, says)
		}
	}
	b.mustChange(`{"name": "desk/stock", "fields": ["note:int"], "upgrade": "return Stock{Items: app.UpgradeList(old.Items, StockV1Acquire.upgrade), Note: len(old.Note)}"}`)
	_, err = b.version(`{"name": "desk/stock", "downgrade": true}`)
	b.checkError(err, "cannot convert Stock to StockV1: note has another type")
}

func TestReadFirstRefuses(t *testing.T) {
	b := openLibrary(t)
	for input, says := range map[string]string{
		`{"name": "desk/close", "fields": ["reason \"Why\""], "read_first": true}`:                        "older builds can read the new events, so read_first has no effect",
		`{"name": "desk/close", "rename": "end", "read_first": true}`:                                     "read_first needs a command and a change of its fields",
		`{"name": "desk/close", "fields": ["by:string?"], "downgrade": "return CloseV1{}"}`:               "downgrade needs read_first",
		`{"name": "desk/close", "fields": ["by:string?"], "read_first": true, "downgrade": "return 1"}`:   "CloseV1",
		`{"name": "desk/close", "fields": ["by:string"], "read_first": true}`:                             "new required field; set its value in old events (default by=VALUE)",
		`{"name": "posts/create", "fields": ["by:string?"], "read_first": true, "downgrade": "return }"}`: "invalid downgrade",
	} {
		if _, err := b.change(input); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want an error containing %q", input, err, says)
		}
	}
	b.replace("features/desk/desk.go", "// Close is a command.", "// Close is a command.\n//\n//petrock:version 2\n//petrock:writes 1")
	result, err := b.Sync(t.Context(), engine.Options{})
	if says := "//petrock:writes 1: CloseV1 is not an older version of Close with a method Upgrade"; err != nil || result.OK || !strings.Contains(result.String(), says) {
		t.Errorf("a version that does not exist: %s, %v; want no error, OK false and %q in it", result, err, says)
	}
}
