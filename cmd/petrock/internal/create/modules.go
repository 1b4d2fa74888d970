package create

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/generators/typecheck"
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
	out, _, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{}, "go", "env", "GOMODCACHE")
	cache := string(bytes.TrimSpace(out))
	if err != nil || cache == "" {
		return nil
	}
	return slices.DeleteFunc(required(files), func(m module.Version) bool {
		path, pathErr := module.EscapePath(m.Path)
		version, versionErr := module.EscapeVersion(m.Version)
		_, source := os.Stat(filepath.Join(cache, filepath.FromSlash(path)+"@"+version))
		_, goMod := os.Stat(filepath.Join(cache, "cache", "download", filepath.FromSlash(path), "@v", version+".mod"))
		return errors.Join(pathErr, versionErr) != nil || source == nil && goMod == nil
	})
}

// required are the modules that the project's go.mod names.
func required(files []scaffold.File) []module.Version {
	parsed, err := modfile.Parse("go.mod", find(files, "go.mod"), nil)
	if err != nil {
		return nil
	}
	var all []module.Version
	for _, require := range parsed.Require {
		all = append(all, require.Mod)
	}
	return all
}
