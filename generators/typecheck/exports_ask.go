package typecheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// askSystem asks the go command for its target system.
func askSystem(ctx context.Context, dir string) (System, error) {
	out, errOut, err := RunCommand(ctx, CommandOptions{Dir: dir}, "go", "env", "-json", "GOROOT", "GOOS", "GOARCH", "CGO_ENABLED", "GOFLAGS", "GOVERSION", "GOWORK")
	if err != nil {
		return System{}, explain(err, errOut)
	}
	var env struct{ GOROOT, GOOS, GOARCH, CGO_ENABLED, GOFLAGS, GOVERSION, GOWORK string }
	if err := json.Unmarshal(out, &env); err != nil {
		return System{}, fmt.Errorf("reading what go env printed: %w", err)
	}
	s := System{Root: env.GOROOT, GOOS: env.GOOS, GOARCH: env.GOARCH, Cgo: env.CGO_ENABLED == "1"}
	if found := regexp.MustCompile(`go1\.(\d+)`).FindStringSubmatch(env.GOVERSION); found != nil {
		s.Release, _ = strconv.Atoi(found[1])
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return System{}, fmt.Errorf("reading go.mod: %w", err)
	}
	s.Local = env.GOWORK != "" && env.GOWORK != "off" || regexp.MustCompile(`=>\s*"?(\.|/|[A-Za-z]:)`).Match(mod)
	for _, flag := range strings.Fields(env.GOFLAGS) {
		flag = "-" + strings.TrimLeft(flag, "-")
		if tags, ok := strings.CutPrefix(flag, "-tags="); ok {
			s.Tags = strings.Split(tags, ",")
		}
		if flag == "-mod=mod" {
			s.Flags = []string{"-mod=readonly"} // or the go command would write to go.mod
		}
	}
	return s, nil
}

// A listedExport is what go list prints for a package.
type listedExport struct {
	ImportPath string
	Export     string
	Standard   bool
	Module     *struct {
		Dir     string
		Version string
		Replace *struct{ Version string }
	}
	Error *struct{ Err string }
}

// lasts reports whether a package changes only with the version of Go or of its module.
func (l listedExport) lasts() bool {
	switch {
	case l.Standard:
		return true
	case l.Module == nil:
		return false
	case l.Module.Replace != nil:
		return l.Module.Replace.Version != ""
	}
	return l.Module.Version != ""
}

// askExports asks the go command for the export data of packages, which it compiles if it has to.
func (c *ExportCache) askExports(ctx context.Context, paths []string) error {
	args := append([]string{"list", "-e", "-export", "-json=ImportPath,Export,Standard,Module,Error"}, c.known.System.Flags...)
	args = append(append(args, "--"), paths...)
	out, errOut, err := RunCommand(ctx, CommandOptions{Dir: c.root.Name()}, "go", args...)
	if err != nil {
		return explain(err, errOut)
	}
	c.known.passing = nil
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listedExport
		err := decoder.Decode(&l)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading what go list printed: %w", err)
		}
		c.addAnswer(l)
	}
}

// addAnswer adds an answer. An answer that differs from an earlier one invalidates what was read
// before.
func (c *ExportCache) addAnswer(l listedExport) {
	before := c.known.Files[l.ImportPath]
	delete(c.known.missing, l.ImportPath)
	if l.Export == "" || c.owns(l) {
		delete(c.known.Files, l.ImportPath)
		c.known.missing[l.ImportPath] = "package " + l.ImportPath + " cannot be imported"
		if l.Error != nil {
			first, _, _ := strings.Cut(strings.TrimSpace(l.Error.Err), "\n")
			c.known.missing[l.ImportPath] = first
		}
	} else {
		c.known.Files[l.ImportPath] = l.Export
		if !l.Standard && (c.known.System.Local || !l.lasts()) {
			c.known.passing = append(c.known.passing, l.ImportPath)
		}
	}
	if before != "" && before != l.Export {
		c.known.edition++
	}
}

// owns reports whether a package is in the project's module, whether it exists on disk or not.
func (c *ExportCache) owns(l listedExport) bool {
	if l.Module == nil {
		return false
	}
	root, err := os.Stat(c.root.Name())
	if err != nil {
		return false
	}
	dir, err := os.Stat(l.Module.Dir)
	return err == nil && os.SameFile(root, dir)
}

// explain adds the output of the go command to its error.
func explain(err error, words []byte) error {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: Go does not work here as it should:\n%s", err, bytes.TrimSpace(words))
	}
	return err
}
