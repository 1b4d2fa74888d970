package core_test

import (
	"os"
	"testing"
)

// mayImport says which of our packages a package may import. The first row that
// matches counts. "..." stands for any text, and a trailing "/..." for the package itself too,
// as in the patterns of the go command. A new package of core needs a row of its own: where
// it stands is a decision. Test files are free, but for those of core (see upward).
var mayImport = []struct {
	pkg     string
	imports []string
}{
	{"core", nil},
	{"core/strictjson", nil},
	{"core/jsonrpc", []string{"core/strictjson"}},
	{"core/schema", []string{"core/strictjson"}},
	{"core/terminal", []string{"core/stdfd"}},
	{"core/mcpcli", []string{"core/client", "core/mcp", "core/schema", "core/strictjson", "core/terminal"}},
	{"core/project", nil},
	{"core/stdfd", nil},
	{"core/serve/stdout", []string{"core/stdfd"}},
	{"core/serve", []string{"core/auth", "core/client", "core/mcp", "core/mcpcli", "core/mcphttp", "core/project", "core/serve/stdout", "core/terminal"}},
	{"core/auth", nil},
	{"core/auth/token", []string{"core/auth"}},
	{"core/auth/oauth", []string{"core/auth", "core/auth/token", "core/mcp", "core/project", "core/terminal"}},
	{"core/mcphttp", []string{"core/auth", "core/jsonrpc", "core/mcp", "core/strictjson"}},
	{"core/mcp", []string{"core/auth", "core/jsonrpc", "core/schema", "core/strictjson", "core/stdfd"}},
	{"core/client", []string{"core/mcp", "core/jsonrpc", "core/strictjson"}},
	{"core/client/clienthttp", []string{"core/client", "core/mcp", "core/jsonrpc", "core/strictjson"}},
	{"core/app", []string{"core/strictjson"}},
	{"core/app/sqlite", []string{"core/app"}},
	{"core/app/appserve", []string{"core/app", "core/app/sqlite", "core/app/appmcp", "core/mcp", "core/project", "core/terminal"}},
	{"core/app/storetest", []string{"core/app"}},
	{"core/app/appmcp", []string{"core/app", "core/auth", "core/mcp", "core/jsonrpc", "core/strictjson"}},
	{"core/app/apptest", []string{"core/app", "core/app/appmcp", "core/mcp", "core/mcptest"}},
	{"core/mcptest", []string{"core/client", "core/mcp", "core/schema", "core/strictjson"}},

	{"generators/contract", []string{"core/..."}},
	{"generators/gen", []string{"generators/contract", "core/..."}},
	{"generators/docs", nil},
	{"generators/journal", nil},
	{"generators/typecheck", nil},
	{"generators/imports", []string{"generators/typecheck"}},
	{"generators/parts", []string{"generators/imports"}},
	{"generators/trial", []string{"generators/typecheck"}},
	{"generators/derive", []string{"generators/contract", "generators/gen", "generators/parts", "generators/typecheck", "core/..."}},
	{"generators/engine", []string{"generators/contract", "generators/derive", "generators/gen", "generators/imports", "generators/journal", "generators/parts", "generators/trial", "generators/typecheck", "core/..."}},
	{"generators", []string{"generators/contract", "generators/derive", "generators/gen", "core/..."}},
	{"generators/handover", []string{"generators/typecheck"}},
	{"generators/devserver", []string{"generators", "generators/derive", "generators/docs", "generators/engine", "generators/gen", "generators/handover", "generators/parts", "generators/trial", "generators/typecheck", "core/..."}},
	{"generators/cli", []string{"generators", "generators/contract", "generators/devserver", "generators/docs", "generators/engine", "generators/gen", "generators/handover", "generators/parts", "generators/trial", "core/..."}},
	{"generators/...", []string{"generators/...", "core/..."}},

	// The project's own petrock must build while the rest of the project does not.
	{"skeleton/.../cmd/petrock/...", []string{"skeleton/.../cmd/petrock/...", "generators/...", "core/..."}},
	{"skeleton", nil},
	{"skeleton/...", []string{"skeleton/...", "core/..."}},

	{"templates/...", nil},
	{"cmd/petrock/internal/scaffold", []string{"core/...", "generators", "generators/derive", "generators/engine", "generators/gen", "generators/imports", "generators/parts", "generators/typecheck", "skeleton", "templates"}},
	{"cmd/petrock/internal/create", []string{"cmd/petrock/internal/...", "generators/...", "core/..."}},
	{"cmd/petrock/internal/testenv", []string{"cmd/petrock/internal/...", "generators/journal"}},
	{"cmd/petrock/internal/campaign", []string{"cmd/petrock/internal/...", "generators/...", "core/..."}},
	{"cmd/...", []string{"cmd/...", "generators/...", "skeleton/...", "templates/...", "core/..."}},
}

// upward is what even the test files of core may not import.
var upward = []string{"cmd/...", "generators/...", "skeleton/..."}

// outsideCore lists, by package, what core may import from outside the standard library.
// Only leaf packages belong here: a server that does not use them must not link them.
var outsideCore = map[string][]string{
	"core/app/sqlite":   {"modernc.org/sqlite"},
	"core/app/appserve": {"github.com/spf13/cobra"},
	"core/auth/oauth":   {"github.com/spf13/cobra"},
	"core/mcpcli":       {"github.com/spf13/cobra"},
	"core/serve":        {"github.com/spf13/cobra"},
	"core/auth/token":   {"github.com/go-jose/go-jose/v4", "github.com/go-jose/go-jose/v4/json"},
}

// makeCommandLine are the packages that may import cobra, beside those below a folder cmd.
var makeCommandLine = []string{"core/app/appserve", "core/auth/oauth", "core/mcpcli", "core/serve", "generators/cli"}

// copied are the folders whose sources every new project gets.
var copied = []string{"core/...", "generators/...", "skeleton/..."}

// refused lists imports that are fine elsewhere and wrong in one place.
var refused = []struct{ pkg, path, reason string }{
	{"core/mcp/...", "bufio", "mcp holds no byte framing; read and write messages through core/jsonrpc"},
}

// allowedState lists the package-level variables that may be, by "file name", each with its reason.
var allowedState = map[string]string{
	"core/serve/stdout/stdout.go fd": "taking standard output while packages are initialised is the purpose of the package",
}

// topLevel is all that the repository's root may hold, dotfiles apart.
var topLevel = []string{
	"cmd", "core", "skeleton", "generators", "templates",
	"go.mod", "go.sum", "README.md", "LICENSE",
}

// rules are what holds for the whole repository. Each is a test of its own:
//
//	go test ./core -run 'TestArchitecture/cobra'
//
// A rule returns what breaks it, one line each. TestRules shows that each can be broken.
var rules = []struct {
	name string
	find func(tree) []string
}{
	{"imports point down", importsPointDown},
	{"tests of core stay in core", testsOfCoreStayInCore},
	{"core imports the standard library alone", coreImportsStandardLibrary},
	{"core/doc.go lists the packages", docListsPackages},
	{"cobra stays in command lines", cobraStaysInCommandLines},
	{"refused imports", refusedImports},
	{"jsonrpc has no word of MCP", jsonrpcHasNoWordOfMCP},
	{"no init", noInit},
	{"no package state", noPackageState},
	{"our module path stays in imports", modulePathStaysInImports},
	{"top level", onlyTopLevel},
	{"go.mod", goModRules},
}

func TestArchitecture(t *testing.T) {
	root := findRoot(t)
	repo, err := readTree(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if tracked := gitTopLevel(root); tracked != nil {
		repo.top = tracked
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, broken := range rule.find(repo) {
				t.Error(broken)
			}
		})
	}
}
