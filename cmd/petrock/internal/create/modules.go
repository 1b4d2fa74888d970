package create

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
)

// missingModules are those that the project requires and that are not in Go's module cache, as
// path@version. If that cannot be told, there are none.
func missingModules(ctx context.Context, files []scaffold.File) []string {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE").Output()
	if err != nil {
		return nil
	}
	cache := strings.TrimSpace(string(out))
	var missing []string
	for _, m := range required(files) {
		path, pathErr := module.EscapePath(m.Path)
		version, versionErr := module.EscapeVersion(m.Version)
		if pathErr != nil || versionErr != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(cache, filepath.FromSlash(path)+"@"+version)); err != nil {
			missing = append(missing, m.String())
		}
	}
	return missing
}

// required are the modules that the project's go.mod names.
func required(files []scaffold.File) []module.Version {
	for _, file := range files {
		if file.Path != "go.mod" {
			continue
		}
		parsed, err := modfile.Parse(file.Path, file.Data, nil)
		if err != nil {
			return nil
		}
		var all []module.Version
		for _, require := range parsed.Require {
			all = append(all, require.Mod)
		}
		return all
	}
	return nil
}
