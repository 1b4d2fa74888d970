// Package project finds the folder with a server's source, reads its petrock.json, and reads
// settings from environment variables. It is plumbing for the command line of a server and
// petrock's own commands; a server needs it only for settings of its own, see [LookupSetting].
package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// FileName is the file that makes a folder a project.
const FileName = "petrock.json"

// A Manifest is the contents of petrock.json. The hashes of petrock's files are in petrock.sum.
type Manifest struct {
	Petrock string `json:"petrock"`           // version of the petrock that created the project
	Name    string `json:"name"`              // of the project, and of its server
	Module  string `json:"module"`            // path of the Go module
	Example string `json:"example,omitempty"` // the example that the project started from

	// Initialisms are words, such as ppm, that names of new components and fields have in capitals
	// in Go, in addition to common ones such as id and url.
	Initialisms []string `json:"initialisms,omitempty"`
}

// A Project is a folder with a petrock.json.
type Project struct {
	Root string // absolute
	Manifest
}

// ErrNone reports that a folder is not in a project.
var ErrNone = errors.New("no " + FileName)

// Find returns the project that contains dir: dir or the nearest folder above it that has a
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
				return nil, fmt.Errorf("%s has no name; restore it from version control", file)
			}
			return p, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("find the project: %w", err)
		case root == filepath.Dir(root):
			return nil, fmt.Errorf("%w in %s or a folder above it", ErrNone, start)
		}
	}
}

// CheckMerged returns an error if the text of a file has git's conflict markers.
func CheckMerged(file string, text []byte) error {
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("<<<<<<< ")) || bytes.HasPrefix(line, []byte(">>>>>>> ")) {
			return fmt.Errorf("%s has conflict markers; resolve the merge", file)
		}
	}
	return nil
}

// Source returns the folder of the project with the name of a program. The project contains the
// working directory or, if that is in no project or in another one, the executable of this process.
// If there is none, the error is [ErrNone].
func Source(program string) (string, error) {
	var dirs []string
	if dir, err := os.Getwd(); err == nil {
		dirs = append(dirs, dir)
	}
	if executable, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Dir(executable))
	}
	var missing []error
	for _, dir := range dirs {
		found, err := Find(dir)
		switch {
		case err == nil && found.Name == program:
			return found.Root, nil
		case err == nil:
			missing = append(missing, fmt.Errorf("%w of %s: %s is the project %s", ErrNone, program, found.Root, found.Name))
		case errors.Is(err, ErrNone):
			missing = append(missing, err)
		default:
			return "", err
		}
	}
	return "", errors.Join(missing...)
}

// Variable returns the name of an environment variable of a program: Variable("my-server", "data")
// is MY_SERVER_DATA.
func Variable(program, setting string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(program+"_"+setting))
}

// LookupSetting returns the value of an environment variable of a program; see [Variable]. If a
// variable with the suffix _FILE is set instead, it returns the contents of that file, without a
// newline at the end. ok is false if neither is set.
func LookupSetting(program, setting string) (value string, ok bool, err error) {
	name := Variable(program, setting)
	value, ok = os.LookupEnv(name)
	file, fromFile := os.LookupEnv(name + "_FILE")
	if !fromFile {
		return value, ok, nil
	}
	if value != "" { // images may set a variable, which containers can only empty
		return "", false, fmt.Errorf("%s and %s_FILE are both set; set only one of them", name, name)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", false, fmt.Errorf("read %s_FILE: %w", name, err)
	}
	return strings.TrimRight(string(text), "\r\n"), true, nil
}

// IsDevice reports whether Windows reserves a file name for a device, such as con, COM1.txt or
// lpt9.tar.gz. Go rejects modules with such files.
func IsDevice(name string) bool {
	base, _, _ := strings.Cut(strings.ToLower(name), ".")
	switch {
	case len(base) == 3:
		return slices.Contains([]string{"aux", "con", "nul", "prn"}, base)
	case len(base) == 4 && '0' <= base[3] && base[3] <= '9':
		return base[:3] == "com" || base[:3] == "lpt"
	}
	return false
}

// Stamp returns the size and modification time of an executable, which distinguish it from others.
func Stamp(executable string) (string, error) {
	info, err := os.Stat(executable)
	if err != nil {
		return "", fmt.Errorf("find the program: %w", err)
	}
	return fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano()), nil
}
