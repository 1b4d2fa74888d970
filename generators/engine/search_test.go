package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/engine"
)

// lending writes packages whose symbols refer to each other.
func (b *bench) lending() {
	b.write("desk/loan.go", `package desk

import (
	"fmt"
	"strings"
)

// Tier is the tier of a member. [Tier] has two values.
type Tier string

// The tiers.
const (
	Basic Tier = "basic" // Borrows two
	Gold  Tier = "gold"
)

var tierNames = map[Tier]string{Basic: "Basic", Gold: "Gold"}

// String returns the name of the tier.
func (t Tier) String() string { return strings.ToUpper(tierNames[t]) }

type (
	// Member borrows.
	Member struct {
		Name string
		Tier Tier
	}
	Note string // A remark
)

// Loan is what a member borrowed.
type Loan struct {
	Member
	days int
	Note Note
}

// Due returns the days left.
func (l *Loan) Due() int { return limit - l.days }

// Days returns them.
func (l *Loan) Days() int { return l.days }

// limit is the longest time.
const limit = 14

// Show shows a loan.
func Show(l *Loan) string {
	const best Tier = "gold" // stays
	return fmt.Sprint(l.Due(), l.Tier == best, limit)
}

// Pair has two values.
type Pair[T any] struct{ First, Second T }

// Swap swaps them.
func (p Pair[T]) Swap() Pair[T] { return Pair[T]{p.Second, p.First} }
`)
	b.write("desk/loan_test.go", `package desk

import "testing"

func TestDue(t *testing.T) {
	if l := (&Loan{Member: Member{Tier: Gold}}); l.Due() != 14 {
		t.Error(l.Due())
	}
}
`)
	b.write("desk/extern_test.go", `package desk_test

import (
	"testing"

	"hello/desk"
)

func TestTier(t *testing.T) {
	if desk.Gold.String() != "GOLD" {
		t.Error(desk.Tier("gold"))
	}
}
`)
	b.write("report/report.go", `package report

import d "hello/desk"

// Gold reports whether a loan is of a d.Gold member.
func Gold(l *d.Loan) bool {
	due := l.Due
	return due() > 0 && l.Tier == d.Gold && d.Pair[d.Tier]{First: d.Gold}.Swap().Second == d.Basic
}
`)
	b.write("notes/notes.md", "Loans are due after two weeks.\nA loan is due.\n")
}

// found formats matches, one a line.
func found(m *engine.Matches, err error) string {
	if err != nil {
		return err.Error()
	}
	return m.String()
}

func TestSearch(t *testing.T) {
	b := open(t)
	b.lending()
	b.write("broken/broken.go", "package broken\n\nimport \"hello/desk\"\n\nvar x int = desk.Basic\n\nfunc (\n")
	b.write("data/big.txt", "due\n")
	b.write("bin/program", "due\x00")
	for _, test := range []struct {
		name  string
		query engine.Query
		want  string
	}{
		{"text", engine.Query{Pattern: `\bdue`}, "notes/notes.md\n1: Loans are due after two weeks.\n2: A loan is due.\nreport/report.go\n7: \tdue := l.Due\n8: \treturn due() > 0 && l.Tier == d.Gold && d.Pair[d.Tier]{First: d.Gold}.Swap().Second == d.Basic\n"},
		{"page", engine.Query{Pattern: `\bdue`, Limit: 1, Offset: 1}, "notes/notes.md\n2: A loan is due.\n2 to 2 of 4 matches; pass offset: 2 to get the next ones.\n"},
		{"context", engine.Query{Pattern: "A loan", Context: 3}, "notes/notes.md\n1- Loans are due after two weeks.\n2: A loan is due.\n"},
		{"globs", engine.Query{Pattern: "due", Files: []string{"**/*.{go,md}", "notes/**", "!*.md"}}, "report/report.go\n7: \tdue := l.Due\n"},
		{"a folder", engine.Query{Pattern: "due$", Files: []string{"data"}}, "data/big.txt\n1: due\n"},
		{"names in all folders", engine.Query{Pattern: "is due", Files: []string{"*.md"}}, "notes/notes.md\n2: A loan is due.\n"},
		{"petrock's code", engine.Query{Pattern: "^type ToolResult"}, "There is no match.\n"},
		{"petrock's code, named", engine.Query{Pattern: "^type ToolResult", Files: []string{"core/**"}}, "core/mcp/mcp.go\n21: type ToolResult struct{}\n"},
		{"derived", engine.Query{Pattern: "^package", Files: []string{"tools/*_gen.go"}}, "tools/tools_gen.go\n3: package tools\n"},
		{"docs", engine.Query{Pattern: "^# Search", Find: engine.FindDocs, Files: []string{"editing"}}, "petrock://docs/editing\n1: # Search, edit files and run tests\n"},
		{"section of docs", engine.Query{Pattern: "^## Drafts", Find: engine.FindDocs, Context: 2}, "petrock://docs/undo\n74: ## Drafts\n75- \n76- If"},
		{"api", engine.Query{Pattern: "strings.Cut", Find: engine.FindAPI}, "package strings // import \"strings\"\n\nfunc Cut(s, sep string) (before, after string, found bool)\n"},
		{"project's api", engine.Query{Pattern: "core/mcp.ToolResult", Find: engine.FindAPI}, "package mcp // import \"hello/core/mcp\"\n"},
		{"declaration", engine.Query{Pattern: "desk.Member", Find: engine.FindDeclaration}, "desk/loan.go\n23- \t// Member borrows.\n24: \tMember struct {\n25- \t\tName string\n26- \t\tTier Tier\n27- \t}\n"},
		{"method", engine.Query{Pattern: "(*Loan).Days", Find: engine.FindDeclaration}, "desk/loan.go\n41- // Days returns them.\n42: func (l *Loan) Days() int { return l.days }\n"},
		{"field", engine.Query{Pattern: "Member.Name", Find: engine.FindDeclaration}, "desk/loan.go\n25: \t\tName string\n"},
		{"references", engine.Query{Pattern: "hello/desk.Gold", Find: engine.FindReferences}, "desk/extern_test.go\n10: \tif desk.Gold.String() != \"GOLD\" {\ndesk/loan.go\n14: \tGold  Tier = \"gold\"\n17: var tierNames = map[Tier]string{Basic: \"Basic\", Gold: \"Gold\"}\ndesk/loan_test.go\n6: \tif l := (&Loan{Member: Member{Tier: Gold}}); l.Due() != 14 {\nreport/report.go\n8: \treturn due() > 0 && l.Tier == d.Gold && d.Pair[d.Tier]{First: d.Gold}.Swap().Second == d.Basic\n"},
		{"references in broken code", engine.Query{Pattern: "desk.Basic", Find: engine.FindReferences, Files: []string{"broken"}}, "broken/broken.go\n5: var x int = desk.Basic\n"},
		{"callers", engine.Query{Pattern: "Loan.Due", Find: engine.FindCallers}, "desk/loan.go\n50: \treturn fmt.Sprint(l.Due(), l.Tier == best, limit)\n  in Show\ndesk/loan_test.go\n6: \tif l := (&Loan{Member: Member{Tier: Gold}}); l.Due() != 14 {\n  in TestDue\n7: \t\tt.Error(l.Due())\n  in TestDue\n"},
		{"callers of a generic method", engine.Query{Pattern: "Pair.Swap", Find: engine.FindCallers}, "  in Gold\n"},
		{"references of petrock's code", engine.Query{Pattern: "core/app.Event", Find: engine.FindReferences, Files: []string{"features/users"}}, "features/users/users.go\n22: func (c Create) Apply(s *State, e app.Event) int { s.N++; return s.N }\n"},
		{"unknown symbol", engine.Query{Pattern: "desk.Laon.Due", Find: engine.FindReferences}, "the project declares no symbol desk.Laon.Due; did you mean desk.Loan.Due?"},
		{"symbol in another type", engine.Query{Pattern: "Member.due", Find: engine.FindReferences}, "did you mean desk.Loan.Due?"},
		{"ambiguous", engine.Query{Pattern: "Create", Find: engine.FindReferences}, "Create is ambiguous: features/posts.Create, features/users.Create"},
		{"unknown API", engine.Query{Pattern: "strings.Cutt", Find: engine.FindAPI}, "package strings does not declare Cutt; did you mean strings.Cut?"},
		{"unknown package", engine.Query{Pattern: "strungs.Cut", Find: engine.FindAPI}, "have strungs; name it like strings.Cut, net/http or core/mcp.AddTool"},
		{"no regular expression", engine.Query{Pattern: "f("}, `to find a special character such as ( itself, write \(`},
		{"unknown find", engine.Query{Pattern: "f", Find: "calls"}, `cannot find "calls"; find is one of text, docs`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := found(b.Search(t.Context(), test.query)); !strings.Contains(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// A symbol is renamed or moved with all references, and the project compiles and passes its tests.
func TestSymbol(t *testing.T) {
	for _, test := range []struct {
		symbol, rename string
		places         string
		want           map[string]string // texts in files
	}{
		{"desk.Loan.Due", "DaysLeft", "5 places in 3 files", map[string]string{"report/report.go": "due := l.DaysLeft\n", "desk/loan.go": "// DaysLeft returns the days left.\nfunc (l *Loan) DaysLeft() int"}},
		{"Member.Tier", "Level", "4 places in 3 files", map[string]string{"report/report.go": "l.Level == d.Gold", "desk/loan_test.go": "Member{Level: Gold}", "desk/loan.go": "l.Level == best, limit"}},
		{"desk.Member", "Reader", "3 places in 2 files", map[string]string{"desk/loan.go": "struct {\n\tReader\n", "desk/loan_test.go": "Reader: Reader{"}},
		{"Pair", "desk.Couple", "5 places in 2 files", map[string]string{"report/report.go": "d.Couple[d.Tier]"}},
		{"desk.Tier", "money.Tier", "9 places in 3 files", map[string]string{
			"money/tier.go":       "package money\n\nimport \"strings\"\n\n// Tier is the tier of a member. [Tier] has two values.\ntype Tier string\n\n// The tiers.\nconst (\n\tBasic Tier = \"basic\" // Borrows two\n\tGold  Tier = \"gold\"\n)\n\nvar tierNames = map[Tier]string{Basic: \"Basic\", Gold: \"Gold\"}\n\n// String returns the name of the tier.\nfunc (t Tier) String() string { return strings.ToUpper(tierNames[t]) }\n",
			"desk/loan.go":        "\t\tTier money.Tier\n",
			"report/report.go":    "l.Tier == money.Gold && d.Pair[money.Tier]{First: money.Gold}",
			"desk/extern_test.go": "import (\n\t\"testing\"\n\n\t\"hello/money\"\n)",
			"desk/loan_test.go":   "Member{Tier: money.Gold}",
		}},
		{"desk.Note", "shelf.Remark", "2 places in 1 file", map[string]string{"shelf/remark.go": "package shelf\n\ntype Remark string // A remark\n", "desk/loan.go": "Note shelf.Remark\n"}},
		{"desk.Pair", "shelf.Pair", "5 places in 2 files", map[string]string{"report/report.go": "shelf.Pair[d.Tier]"}},
		{"rate.Rate", "price.Rate", "2 places in 2 files", map[string]string{"internal/price/rate.go": "package price\n", "tools/rate.go": "price.Rate"}},
		{"coin.Coin", "price.Coin", "1 place in 1 file", map[string]string{"internal/coin/coin.go": "// Package coin has coins.\npackage coin\n"}},
		{"report.Gold", "tools.gold", "1 place in 1 file", map[string]string{"tools/gold.go": "import d \"hello/desk\"\n\n// gold reports"}},
	} {
		t.Run(test.symbol+" to "+test.rename, func(t *testing.T) {
			b := open(t)
			b.lending()
			b.write("internal/coin/coin.go", "// Package coin has coins.\npackage coin\n\ntype Coin int\n")
			b.write("internal/coin/side.go", "package coin\n\ntype Side int\n")
			b.write("internal/rate/rate.go", "package rate\n\n// Rate is a rate.\ntype Rate int\n")
			b.write("tools/rate.go", "package tools\n\nimport \"hello/internal/rate\"\n\nvar _ rate.Rate\n")
			before := b.snapshot()
			result, err := b.edit(fmt.Sprintf(`[{"symbol":%q,"rename":%q}]`, test.symbol, test.rename), engine.Options{Test: true})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(fmt.Sprint(result.Notices), test.places) {
				t.Errorf("notices: got %q, want %q", result.Notices, test.places)
			}
			for file, want := range test.want {
				if got := b.read(file); !strings.Contains(got, want) {
					t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
				}
			}
			undone, err := b.Undo(t.Context(), "", engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if title := "rename " + test.symbol + " to " + test.rename; !strings.Contains(undone.String(), title) {
				t.Errorf("undo returned %s, want %q in it", undone, title)
			}
			if different := differing(before, b.snapshot()); len(different) > 0 {
				t.Errorf("after undo, these files differ: %q", different)
			}
		})
	}
}

// A rename that would change what code means is refused, and changes nothing.
func TestSymbolRefused(t *testing.T) {
	b := open(t)
	b.lending()
	b.write("desk/use.go", "package desk\n\nfunc use(money int) (Tier, int) { return Gold, money }\n\nfunc (m Member) Error() string { return m.Name }\n")
	before := b.snapshot()
	for _, test := range []struct{ symbol, rename, want string }{
		{"desk.limit", "l", "desk/loan.go:39: l already means something else here"},
		{"desk.Loan.Due", "Name", "Loan already has Name; choose another name"},
		{"desk.Tier", "Loan", "desk/loan.go already declares Loan; choose another name"},
		{"desk.Tier", "report.Gold", "report/report.go already declares Gold; choose another name"},
		{"desk.Tier", "money.Tier", "desk/use.go:3: money already means something else here than package hello/money; rename it first"},
		{"desk.Tier", "core/app.Tier", "core/app/tier.go is in a folder with petrock's code"},
		{"desk.Show", "money.Show", "desk.Show uses limit"},
		{"desk.Note", "report.Note", "import cycle not allowed"},
		{"Tier.String", "Name", "without String, Tier does not implement fmt.Stringer; keep the name"},
		{"Member.Error", "Text", "without Error, Member does not implement error; keep the name"},
		{"desk.Loan.Due", "money.Due", "fields, methods and tests stay in their package"},
		{"desk.Loan.Due", "Days Left", "not a name for a declaration in Go"},
		{"desk.Loan.Due", "due", "report/report.go:7:11: l.due undefined"},
		{"desk.Loans", "Loan", "did you mean desk.Loan?"},
		{"core/app.Event", "Events", "core/app/app.go is in a folder with petrock's code"},
		{"tools.Register", "Other", "tools/tools_gen.go is derived from the project's Go code"},
	} {
		result, err := b.edit(fmt.Sprintf(`[{"symbol":%q,"rename":%q}]`, test.symbol, test.rename), engine.Options{})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("rename %s to %s: got %v, %v; want the error %q", test.symbol, test.rename, result, err, test.want)
		}
	}
	if different := differing(before, b.snapshot()); len(different) > 0 {
		t.Errorf("after refused edits, these files differ: %q", different)
	}
}

func TestEditGlob(t *testing.T) {
	b := open(t)
	b.lending()
	b.write("tools/notes.md", "due\n")
	for _, test := range []struct{ edits, notice, file, want string }{
		{`[{"path":"**/*.md","replace":[{"old":"due","new":"late"}]}]`, `Replaced "due": 3 places in 2 files.`, "tools/notes.md", "late\n"},
		{`[{"path":"new.md","text":"late"},{"path":"*.md","replace":[{"old":"\\bl(ate)$","new":"L${1}","regexp":true}]}]`, `2 places in 2 files.`, "new.md", "Late"},
		{`[{"path":"desk/loan.go","replace":[{"old":"(?s)// Show.*?}\n\n","new":"","regexp":true}]}]`, "", "desk/loan.go", "const limit = 14\n\n// Pair"},
	} {
		result, err := b.edit(test.edits, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.read(test.file); !strings.Contains(fmt.Sprint(result.Notices), test.notice) || !strings.Contains(got, test.want) {
			t.Errorf("%s: notices %q, %s:\n%s\nwant the notice %q and the text %q", test.edits, result.Notices, test.file, got, test.notice, test.want)
		}
	}
	before := b.snapshot()
	for edits, want := range map[string]string{
		`[{"path":"**/*.md","replace":[{"old":"nothing","new":"x"}]}]`:                    `old occurs in no file that may be edited: "nothing"`,
		`[{"path":"core/**","replace":[{"old":"package","new":"x"}]}]`:                    "old occurs in no file that may be edited",
		`[{"path":"**/*_gen.go","replace":[{"old":"package","new":"x"}]}]`:                "old occurs in no file that may be edited",
		`[{"path":"*.md","text":"x"}]`:                                                    "a glob needs replace",
		`[{"path":"*.md","replace":[{"old":"","new":"x"}]}]`:                              "old is empty",
		`[{"path":"new.md","replace":[{"old":"(","new":"x","regexp":true}]}]`:             "missing closing )",
		`[{"path":"new.md","replace":[{"old":"l.te$","new":"x","regexp":true}]}]`:         `old matches nothing: "l.te$"`,
		`[{"path":"desk/loan.go","replace":[{"old":"// \\w+","new":"x","regexp":true}]}]`: "add lines around it, or set all",
		`[{"text":"x"}]`: "pass path or symbol",
		`[{"path":"new.md","symbol":"desk.Loan","rename":"L"}]`: "pass path or symbol",
		`[{"symbol":"desk.Loan","rename":"L","delete":true}]`:   "a symbol needs rename, without text, replace and delete",
		`[{"symbol":"desk.Loan"}]`:                              "a symbol needs rename",
	} {
		if result, err := b.edit(edits, engine.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v; want the error %q", edits, result, err, want)
		}
	}
	if different := differing(before, b.snapshot()); len(different) > 0 {
		t.Errorf("after refused edits, these files differ: %q", different)
	}
}
