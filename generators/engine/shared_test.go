package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/engine"
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
	if b.Engine, err = engine.Open(b.dir, generators.All()); err != nil {
		t.Fatal(err)
	}
	b.library()
	return b
}

func (b *bench) version(input string) (*engine.Result, error) {
	return b.Generate(b.Context(), "version", json.RawMessage(input), engine.Options{NoExec: true})
}

func (b *bench) replace(file, old, new string) {
	b.Helper()
	text := b.read(file)
	if !strings.Contains(text, old) {
		b.Fatalf("%s has no %q:\n%s", file, old, text)
	}
	b.write(file, strings.ReplaceAll(text, old, new))
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
				t.Errorf("got %d new versions in\n%s", n, text)
			}
			b.has("features/desk/acquire_v1.go", "func (old AcquireV1) Upgrade() Acquire { "+body+" }")
			b.has("features/desk/stock_v1.go", "Items []AcquireV1", "Stock{Items: app.UpgradeList(old.Items, AcquireV1.Upgrade), Note: old.Note}")
			b.has("features/desk/label_v1.go", "By map[string]AcquireV1", "app.UpgradeMap(old.By, AcquireV1.Upgrade)")
			b.has("features/desk/lend_v1.go", "First *AcquireV1", "app.UpgradePointer(old.First, AcquireV1.Upgrade)")
			b.has("features/desk/donate_v1.go", "type DonateV1 struct { AcquireV1 Donor string", "Donate{Acquire: old.AcquireV1.Upgrade(), Donor: old.Donor}")
			b.has("features/desk/move_v1.go", "Boxes []MoveV1Box", "app.UpgradeList(old.Boxes, MoveV1Box.Upgrade)",
				"type MoveV1Box struct { First AcquireV1", "Box{First: old.First.Upgrade(), Label: old.Label}")
			b.has("features/store/order_v1.go", "Lines []desk.AcquireV1", "Box *desk.MoveV1Box", "app.UpgradeList(old.Lines, desk.AcquireV1.Upgrade)", "app.UpgradePointer(old.Box, desk.MoveV1Box.Upgrade)")
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
			b.has("features/desk/stock_v1.go", "func (old StockV1) Upgrade() StockV2 { return StockV2{Items: app.UpgradeList(old.Items, AcquireV1.Upgrade), Note: old.Note} }")
			b.has("features/desk/stock_v2.go", "Items []AcquireV2", "StockV3{Items: old.Items, Remark: old.Note}")
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
