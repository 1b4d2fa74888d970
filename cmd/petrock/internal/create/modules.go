package create

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/generators/gocmd"
)

// explain looks for the usual reason when Go cannot compile a project that is as it should be:
// a module that is not on this machine and could not be fetched.
func explain(ctx context.Context, err error, files []scaffold.File) error {
	missing := missingModules(ctx, files)
	spoken := func(m string) bool {
		path, _, _ := strings.Cut(m, "@")
		return strings.Contains(err.Error(), path)
	}
	if !slices.ContainsFunc(missing, spoken) {
		return err
	}
	return fmt.Errorf("modules that the project needs are not on this machine. With a network, run\n  go mod download %s\nand try again. Go says:\n%w", strings.Join(missing, " "), err)
}

// missingModules are those that the project requires and that are not in Go's module cache, as
// path@version. If that cannot be told, there are none.
func missingModules(ctx context.Context, files []scaffold.File) []string {
	out, _, err := gocmd.Run(ctx, gocmd.Options{}, "go", "env", "GOMODCACHE")
	cache := string(bytes.TrimSpace(out))
	parsed, parseErr := modfile.Parse("go.mod", find(files, "go.mod"), nil)
	if err != nil || parseErr != nil || cache == "" {
		return nil
	}
	var missing []string
	for _, require := range parsed.Require {
		path, pathErr := module.EscapePath(require.Mod.Path)
		version, versionErr := module.EscapeVersion(require.Mod.Version)
		if pathErr != nil || versionErr != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(cache, filepath.FromSlash(path)+"@"+version)); err != nil {
			missing = append(missing, require.Mod.String())
		}
	}
	return missing
}
