package project

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Source returns the folder of the source of a program: the project of that name around the working
// directory, or else the one that the program that runs lies in. If it is in neither, the error is [ErrNone].
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
