package core_test

import (
	"os"
	"testing"
)

// mayImport lists the packages of this module that a package may import. The first matching row
// applies. Patterns are those of the go command. Each package of core needs its own row. Test files
// may import any package, except those of core (see upward).
var mayImport = []struct {
	pkg     string
	imports []string
}{
	{"core", nil},
	{"core/internal/decimal", nil},
	{"core/internal/jsonschema", []string{"core/internal/decimal", "core/strictjson", "core/plumbing/jsonfield"}},
	{"core/internal/jsonscan", nil},
	{"core/plumbing/jsonfield", nil},
	{"core/strictjson", []string{"core/internal/decimal", "core/internal/jsonscan", "core/plumbing/jsonfield"}},
	{"core/internal/pace", nil},
	{"core/internal/form", []string{"core/internal/jsonschema", "core/strictjson"}},
	{"core/internal/burst", nil},
	{"core/jsonrpc", []string{"core/internal/burst", "core/internal/jsonscan", "core/strictjson"}},
	{"core/plumbing/rpc", []string{"core/internal/burst", "core/jsonrpc", "core/strictjson"}},
	{"core/schema", []string{"core/internal/jsonschema"}},
	{"core/plumbing/inference", []string{"core/internal/jsonschema", "core/schema"}},
	{"core/plumbing/terminal", []string{"core/stdfd"}},
	{"core/plumbing/mcpcli", []string{"core/client", "core/internal/jsonschema", "core/jsonrpc", "core/mcp", "core/plumbing/project", "core/schema", "core/strictjson", "core/plumbing/terminal"}},
	{"core/plumbing/project", nil},
	{"core/stdfd", nil},
	{"core/serve", []string{"core/auth", "core/client", "core/mcp", "core/plumbing/mcpcli", "core/mcphttp", "core/plumbing/project", "core/stdfd", "core/plumbing/terminal"}},
	{"core/auth", nil},
	{"core/auth/token", []string{"core/auth"}},
	{"core/auth/oauth", []string{"core/auth", "core/auth/token", "core/mcp", "core/plumbing/project", "core/plumbing/terminal"}},
	{"core/mcphttp", []string{"core/auth", "core/jsonrpc", "core/mcp", "core/plumbing/rpc", "core/plumbing/transport", "core/strictjson"}},
	{"core/plumbing/transport", []string{"core/plumbing/rpc", "core/strictjson"}},
	{"core/mcp", []string{"core/auth", "core/internal/form", "core/internal/jsonschema", "core/internal/pace", "core/jsonrpc", "core/plumbing/rpc", "core/plumbing/transport", "core/strictjson", "core/plumbing/jsonfield", "core/stdfd"}},
	{"core/plumbing/filelock", nil},
	{"core/plumbing/process", nil},
	{"core/client", []string{"core/internal/form", "core/mcp", "core/jsonrpc", "core/plumbing/process", "core/plumbing/rpc", "core/strictjson"}},
	{"core/client/clienthttp", []string{"core/client", "core/mcp", "core/plumbing/rpc", "core/plumbing/transport", "core/jsonrpc", "core/strictjson"}},
	{"core/app", []string{"core/strictjson", "core/plumbing/jsonfield"}},
	{"core/app/sqlite", []string{"core/app", "core/plumbing/filelock"}},
	{"core/app/postgres", []string{"core/app"}},
	{"core/app/appserve", []string{"core/app", "core/app/sqlite", "core/app/appmcp", "core/mcp", "core/plumbing/mcpcli", "core/plumbing/project", "core/strictjson", "core/plumbing/terminal"}},
	{"core/app/storetest", []string{"core/app"}},
	{"core/app/appmcp", []string{"core/app", "core/auth", "core/mcp", "core/jsonrpc", "core/strictjson"}},
	{"core/app/apptest", []string{"core/app", "core/app/appmcp", "core/auth", "core/mcp", "core/mcptest"}},
	{"core/mcptest", []string{"core/auth", "core/client", "core/mcp", "core/schema", "core/strictjson"}},

	{"generators/contract", []string{"core/..."}},
	{"generators/gen", []string{"generators/contract", "core/..."}},
	{"generators/docs", nil},
	{"generators/journal", []string{"core/plumbing/filelock"}},
	{"generators/typecheck", []string{"core/plumbing/process"}},
	{"generators/imports", []string{"generators/typecheck"}},
	{"generators/parts", []string{"generators/imports"}},
	{"generators/trial", []string{"generators/typecheck", "core/plumbing/process"}},
	{"generators/derive", []string{"generators/contract", "generators/gen", "generators/parts", "generators/typecheck", "core/..."}},
	{"generators/engine", []string{"generators/contract", "generators/derive", "generators/gen", "generators/handover", "generators/imports", "generators/journal", "generators/parts", "generators/trial", "generators/typecheck", "core/..."}},
	{"generators", []string{"generators/contract", "generators/derive", "generators/gen", "core/..."}},
	{"generators/handover", []string{"core/plumbing/process"}},
	{"generators/live", []string{"core/jsonrpc", "core/plumbing/process", "core/plumbing/project", "core/strictjson"}},
	{"generators/launch", []string{"generators/handover", "generators/live", "core/jsonrpc", "core/plumbing/project", "core/plumbing/terminal"}},
	{"generators/devserver", []string{"generators", "generators/derive", "generators/docs", "generators/engine", "generators/gen", "generators/handover", "generators/parts", "generators/trial", "generators/typecheck", "core/..."}},
	{"generators/cli", []string{"generators", "generators/contract", "generators/devserver", "generators/docs", "generators/engine", "generators/gen", "generators/handover", "generators/launch", "generators/live", "generators/parts", "generators/trial", "core/..."}},
	{"generators/petrock", []string{"generators/cli"}},
	{"generators/...", []string{"generators/...", "core/..."}},

	// The project's own petrock must build while the rest of the project does not. MCP clients wait
	// for its first build.
	{"skeleton/.../cmd/petrock/...", []string{"generators/launch"}},
	{"skeleton", nil},
	{"skeleton/...", []string{"skeleton/...", "core/..."}},

	{"templates/...", nil},
	{"cmd/petrock/internal/scaffold", []string{"core/...", "generators", "generators/derive", "generators/engine", "generators/gen", "generators/imports", "generators/parts", "generators/typecheck", "skeleton", "templates"}},
	{"cmd/petrock/internal/create", []string{"cmd/petrock/internal/...", "generators/...", "core/..."}},
	{"cmd/petrock/internal/livehttp", []string{"core/auth", "core/jsonrpc", "core/mcp", "core/plumbing/rpc", "core/plumbing/transport", "core/mcphttp", "core/strictjson"}},
	{"cmd/petrock/internal/testenv", []string{"cmd/petrock/internal/...", "core/plumbing/filelock", "generators/journal"}},
	{"cmd/petrock/internal/campaign", []string{"cmd/petrock/internal/...", "generators/...", "core/..."}},
	{"cmd/...", []string{"cmd/...", "generators/...", "skeleton/...", "templates/...", "core/..."}},
}

// upward lists packages that even test files of core must not import.
var upward = []string{"cmd/...", "generators/...", "skeleton/..."}

// outsideCore lists the third-party packages that packages of core may import. Only leaf packages
// belong here, so that a server links them only if it uses them.
var outsideCore = map[string][]string{
	"core/app/sqlite":      {"modernc.org/sqlite"},
	"core/app/postgres":    {"github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgconn"},
	"core/app/appserve":    {"github.com/spf13/cobra"},
	"core/auth/oauth":      {"github.com/spf13/cobra"},
	"core/plumbing/mcpcli": {"github.com/spf13/cobra"},
	"core/serve":           {"github.com/spf13/cobra"},
	"core/auth/token":      {"github.com/go-jose/go-jose/v4", "github.com/go-jose/go-jose/v4/json"},
}

// makeCommandLine lists the packages that may import cobra, in addition to those below a folder
// cmd.
var makeCommandLine = []string{"core/app/appserve", "core/auth/oauth", "core/plumbing/mcpcli", "core/serve", "generators/cli"}

// copied lists the folders that petrock new copies.
var copied = []string{"core/...", "generators/...", "skeleton/..."}

// refused lists imports that are forbidden in single packages.
var refused = []struct{ pkg, path, reason string }{
	{"core/mcp/...", "bufio", "mcp holds no byte framing; read and write messages through core/jsonrpc"},
}

// allowedState lists the allowed package-level variables, as "file name", with the reasons.
var allowedState = map[string]string{}

// topLevel lists everything that the root of the repository may contain, except dotfiles.
var topLevel = []string{
	"cmd", "core", "skeleton", "generators", "templates",
	"go.mod", "go.sum", "README.md", "LICENSE",
}

// rules are the rules for the whole repository. Each is a subtest:
//
//	go test ./core -run 'TestArchitecture/cobra'
//
// A rule returns one line for each violation. TestRules checks that each rule finds violations.
var rules = []struct {
	name string
	find func(tree) []string
}{
	{"imports point down", importsPointDown},
	{"tests of core stay in core", testsOfCoreStayInCore},
	{"core imports only the standard library", coreImportsStandardLibrary},
	{"package comments list the packages", commentsListPackages},
	{"package comments name existing paths", packageCommentsNameExistingPaths},
	{"doc links resolve", linksResolve},
	{"cobra stays in command lines", cobraStaysInCommandLines},
	{"refused imports", refusedImports},
	{"jsonrpc does not mention MCP", jsonrpcDoesNotMentionMCP},
	{"comments do not mention .bench", commentsDoNotMentionBench},
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
