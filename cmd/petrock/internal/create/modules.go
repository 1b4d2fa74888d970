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

// explain adds the way out to an error, if it speaks of a module that is missing.
func explain(err error, missing []module.Version) error {
	spoken := func(m module.Version) bool { return strings.Contains(err.Error(), m.Path) }
	if !slices.ContainsFunc(missing, spoken) {
		return err
	}
	var names []string
	for _, m := range missing {
		names = append(names, m.String())
	}
	return fmt.Errorf("modules that the project needs are not on this machine. With a network, run\n  go mod download %s\nand try again. Go says:\n%w", strings.Join(names, " "), err)
}

// missingModules are those that the project requires and that are not in Go's module cache. If
// that cannot be told, there are none.
func missingModules(ctx context.Context, files []scaffold.File) []module.Version {
	out, _, err := gocmd.Run(ctx, gocmd.Options{}, "go", "env", "GOMODCACHE")
	cache := string(bytes.TrimSpace(out))
	parsed, parseErr := modfile.Parse("go.mod", find(files, "go.mod"), nil)
	if err != nil || parseErr != nil || cache == "" {
		return nil
	}
	var missing []module.Version
	for _, require := range parsed.Require {
		path, pathErr := module.EscapePath(require.Mod.Path)
		version, versionErr := module.EscapeVersion(require.Mod.Version)
		if pathErr != nil || versionErr != nil {
			continue
		}
		_, source := os.Stat(filepath.Join(cache, filepath.FromSlash(path)+"@"+version))
		_, goMod := os.Stat(filepath.Join(cache, "cache", "download", filepath.FromSlash(path), "@v", version+".mod"))
		if source != nil || goMod != nil {
			missing = append(missing, require.Mod)
		}
	}
	return missing
}
