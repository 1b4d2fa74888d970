package trial

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// SeesPlanned reports whether tests that [Packages] runs see all planned files when they open files of the
// project by a relative path. On Windows they see those on disk.
func SeesPlanned() bool { return runtime.GOOS != "windows" }

// mirror creates a copy of the project with the planned files, of symbolic links: only the folders of planned
// files and of tested packages are real. It returns a shell script for go test -exec, which runs a test in the
// copy of the working directory.
func (b buildDir) mirror(planned map[string][]byte, tested []string) (script string, err error) {
	real := map[string]bool{".": true} // folders
	add := func(dir string) {
		for ; !real[dir]; dir = path.Dir(dir) {
			real[dir] = true
		}
	}
	for name := range planned {
		add(path.Dir(name))
	}
	for _, dir := range tested {
		add(dir)
	}
	copied := filepath.Join(b.dir, "copy")
	for dir := range real {
		if err := b.link(filepath.Join(copied, filepath.FromSlash(dir)), dir, real, planned); err != nil {
			return "", err
		}
	}
	for name, text := range planned {
		name = filepath.FromSlash(name)
		if text != nil {
			err = errors.Join(err, os.Symlink(filepath.Join(b.files(), name), filepath.Join(copied, name)))
		}
	}
	script = filepath.Join(b.dir, "run.sh")
	text := fmt.Sprintf("cd %s\"${PWD#%s}\" && exec \"$@\"\n", quoteShell(copied), quoteShell(b.root))
	return script, errors.Join(err, os.WriteFile(script, []byte(text), 0o600))
}

// link creates the copy of a folder, with links to the entries that are neither real folders nor planned.
func (b buildDir) link(to, dir string, real map[string]bool, planned map[string][]byte) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	from := filepath.Join(b.root, filepath.FromSlash(dir))
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the folder is planned
	}
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		if _, ok := planned[name]; !ok && !real[name] {
			err = errors.Join(err, os.Symlink(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())))
		}
	}
	return err
}

func quoteShell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// makeFolders creates the folders of planned packages in the project, because the go command starts vet and
// tests in them. It returns the folders that it has created.
func (b buildDir) makeFolders(dirs []string) (made []string, err error) {
	for _, dir := range dirs {
		at := b.root
		for name := range strings.SplitSeq(dir, "/") {
			at = filepath.Join(at, name)
			switch err := os.Mkdir(at, 0o755); {
			case err == nil:
				made = append(made, at)
			case !errors.Is(err, fs.ErrExist):
				return made, fmt.Errorf("create a folder for tests: %w", err)
			}
		}
	}
	return made, nil
}
