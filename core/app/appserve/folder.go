package appserve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/petrock/petrock/core/project"
)

// variable returns the environment variable for the data folder.
func (d *Data) variable() string { return project.Variable(d.program, "data") }

// folder returns the absolute path of the data folder: --data, or the environment variable, or data in the project, or the user's data
// folder. It need not exist.
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

// wayOut is the remedy for a data folder that cannot be used.
func (d *Data) wayOut() string {
	return fmt.Sprintf("name one with --data DIR, or with the environment variable %s", d.variable())
}

// userData returns the user's data folder of an operating system.
func userData(system string, getenv func(string) string, home func() (string, error)) (string, error) {
	variable, below := "XDG_DATA_HOME", filepath.Join(".local", "share")
	switch system {
	case "windows":
		variable, below = "LocalAppData", filepath.Join("AppData", "Local")
	case "darwin", "ios":
		variable, below = "", filepath.Join("Library", "Application Support")
	}
	if variable != "" {
		if dir := getenv(variable); filepath.IsAbs(dir) { // a relative path is ignored
			return dir, nil
		}
	}
	dir, err := home()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, below), nil
}
