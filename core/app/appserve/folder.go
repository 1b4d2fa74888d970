package appserve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/petrock/petrock/core/project"
)

// variable is the environment variable that names the folder of the data.
func (d *Data) variable() string { return project.Variable(d.program, "data") }

// folder is where the data is: what --data says, or the environment; data/ of the project, if this is in
// it; or the place where the user's programs keep theirs. It is absolute, and need not be there.
func (d *Data) folder() (string, error) {
	given := d.dir
	if given == "" {
		given = os.Getenv(d.variable())
	}
	if given != "" {
		dir, err := filepath.Abs(given)
		if err != nil {
			return "", fmt.Errorf("finding the folder %s: %w; give it as an absolute path", given, err)
		}
		return dir, nil
	}
	root, err := project.Source(d.program)
	if err == nil {
		return filepath.Join(root, "data"), nil
	}
	if !errors.Is(err, project.ErrNone) {
		return "", fmt.Errorf("finding the project, whose folder data it would be: %w; %s", err, d.wayOut())
	}
	home, err := userData(runtime.GOOS, os.Getenv, os.UserHomeDir)
	if err != nil {
		return "", fmt.Errorf("finding a folder for the data: %w; %s", err, d.wayOut())
	}
	return filepath.Join(home, d.program), nil
}

// wayOut is what to do about a folder that is of no use.
func (d *Data) wayOut() string {
	return fmt.Sprintf("name one with --data DIR, or with the environment variable %s", d.variable())
}

// userData is where a system's programs keep the data of their user.
func userData(system string, getenv func(string) string, home func() (string, error)) (string, error) {
	variable, below := "XDG_DATA_HOME", filepath.Join(".local", "share")
	switch system {
	case "windows":
		variable, below = "LocalAppData", filepath.Join("AppData", "Local")
	case "darwin", "ios":
		variable, below = "", filepath.Join("Library", "Application Support")
	}
	if variable != "" {
		if dir := getenv(variable); filepath.IsAbs(dir) { // one that is not counts as none
			return dir, nil
		}
	}
	dir, err := home()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, below), nil
}
