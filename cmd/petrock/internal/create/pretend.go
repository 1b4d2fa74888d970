package create

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
)

// pretend gives the flags and the environment with which Go sees the files at the destination,
// where there is nothing yet: an overlay puts them there, and a workspace makes it a module
// that Go knows of without being in it. Some modules it is made to do without.
func pretend(to *destination, files []scaffold.File, without []module.Version) (flags, env []string, err error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for _, file := range files {
		name := filepath.FromSlash(file.Path)
		overlay.Replace[filepath.Join(to.Dest(), name)] = filepath.Join(to.Dir(), name)
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return nil, nil, err
	}
	overlayFile := filepath.Join(to.Scratch(), "overlay.json")
	if err := os.WriteFile(overlayFile, text, 0o644); err != nil {
		return nil, nil, err
	}
	work, err := workspace(to, files, without)
	if err != nil {
		return nil, nil, err
	}
	workFile := filepath.Join(to.Scratch(), "go.work")
	if err := os.WriteFile(workFile, []byte(work), 0o644); err != nil {
		return nil, nil, err
	}
	return []string{"-overlay=" + overlayFile, "-mod=readonly", "-buildvcs=false"}, []string{"GOWORK=" + workFile}, nil
}

// workspace is the go.work. In a workspace, Go reads the go.mod of every module that any other
// names. Outside of one, as the project is, it does not need those that nothing is taken from: empty
// ones stand for them here.
func workspace(to *destination, files []scaffold.File, without []module.Version) (string, error) {
	parsed, err := modfile.Parse("go.mod", find(files, "go.mod"), nil)
	if err != nil {
		return "", fmt.Errorf("reading %w", err)
	}
	var work strings.Builder
	fmt.Fprintf(&work, "go %s\n\nuse %s\n", parsed.Go.Version, modfile.AutoQuote(filepath.ToSlash(to.Dest())))
	for i, m := range without {
		stub := fmt.Sprintf("without%d", i)
		if err := os.MkdirAll(filepath.Join(to.Scratch(), stub), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(to.Scratch(), stub, "go.mod"), []byte("module "+m.Path+"\n"), 0o644); err != nil {
			return "", err
		}
		fmt.Fprintf(&work, "\nreplace %s %s => ./%s\n", m.Path, m.Version, stub)
	}
	return work.String(), nil
}

// unused are the modules of which a go.sum has the go.mod alone: somebody names them, and
// nothing is taken from them.
func unused(goSum []byte) []module.Version {
	used := map[string]bool{}
	var named []module.Version
	for line := range strings.Lines(string(goSum)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		if version, ok := strings.CutSuffix(fields[1], "/go.mod"); ok {
			named = append(named, module.Version{Path: fields[0], Version: version})
		} else {
			used[fields[0]+"@"+fields[1]] = true
		}
	}
	var rest []module.Version
	for _, m := range named {
		if !used[m.String()] {
			rest = append(rest, m)
		}
	}
	return rest
}

// find is what one of the files holds.
func find(files []scaffold.File, name string) []byte {
	for _, file := range files {
		if file.Path == name {
			return file.Data
		}
	}
	return nil
}
