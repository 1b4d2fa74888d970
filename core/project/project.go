// Package project knows the folder that a server's source lives in: where it begins, and
// what its petrock.json says.
package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FileName is the file that makes a folder a project.
const FileName = "petrock.json"

// A Manifest is what petrock.json holds. The hashes of petrock's files are in petrock.sum.
type Manifest struct {
	Petrock string `json:"petrock"`           // version of the petrock that made the project
	Name    string `json:"name"`              // of the project, and of its server's program
	Module  string `json:"module"`            // path of the Go module
	Example string `json:"example,omitempty"` // the example that the project started from
}

// Encode is the manifest as it stands in petrock.json.
func (m Manifest) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", FileName, err)
	}
	return append(text, '\n'), nil
}

// A Project is a folder with a petrock.json.
type Project struct {
	Root string // absolute
	Manifest
}

// ErrNone says that a folder is in no project.
var ErrNone = errors.New("no " + FileName)

// Find returns the project that dir is in: the nearest folder, dir or one above it, that has a
// petrock.json. If there is none, the error is [ErrNone].
func Find(dir string) (*Project, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for root := start; ; root = filepath.Dir(root) {
		file := filepath.Join(root, FileName)
		text, err := os.ReadFile(file)
		switch {
		case err == nil:
			p := &Project{Root: root}
			if err := CheckMerged(file, text); err != nil {
				return nil, err
			}
			if err := json.Unmarshal(text, &p.Manifest); err != nil {
				return nil, fmt.Errorf("%s: %w; restore it from version control", file, err)
			}
			if p.Name == "" {
				return nil, fmt.Errorf("%s: no name; restore it from version control", file)
			}
			return p, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("looking for the project: %w", err)
		case root == filepath.Dir(root):
			return nil, fmt.Errorf("%w in %s or a folder above it", ErrNone, start)
		}
	}
}

// CheckMerged refuses the text of a file that has conflict markers of git.
func CheckMerged(file string, text []byte) error {
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("<<<<<<< ")) || bytes.HasPrefix(line, []byte(">>>>>>> ")) {
			return fmt.Errorf("%s has conflict markers: resolve the merge", file)
		}
	}
	return nil
}

// Source returns the folder of the source of a program: the project of that name around the working
// directory, or else the one that the program that runs lies in. If it is in neither, the error is
// [ErrNone].
func Source(program string) (string, error) {
	var places []string
	if dir, err := os.Getwd(); err == nil {
		places = append(places, dir)
	}
	if running, err := os.Executable(); err == nil {
		places = append(places, filepath.Dir(running))
	}
	var nowhere, troubles []error
	for _, place := range places {
		found, err := Find(place)
		switch {
		case err == nil && found.Name == program:
			return found.Root, nil
		case err == nil:
			nowhere = append(nowhere, &otherError{found})
		case errors.Is(err, ErrNone):
			nowhere = append(nowhere, err)
		default:
			troubles = append(troubles, err)
		}
	}
	if len(troubles) > 0 {
		return "", errors.Join(troubles...)
	}
	return "", errors.Join(nowhere...)
}

// An otherError says that a place is in another project.
type otherError struct{ project *Project }

func (e *otherError) Error() string {
	return fmt.Sprintf("%s is the project %s", e.project.Root, e.project.Name)
}

func (e *otherError) Is(target error) bool { return target == ErrNone }

// Variable is the environment variable of a program for something: that of my-server for data is
// MY_SERVER_DATA.
func Variable(program, what string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, program+"_"+what)
}
