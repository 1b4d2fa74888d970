package journal

import (
	"errors"
	"fmt"
	"io/fs"
)

// recover finishes the operation that an interrupted process left, or takes it back if that
// cannot be, and notes a sentence about it.
func (j *Journal) recover() error {
	if _, err := j.root.Lstat(pendingFile); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	op, err := j.readOperation(pendingFile)
	if err != nil {
		return fmt.Errorf("reading %s: %w; it tells of an operation that was interrupted: see that the project's files are as you want them, then remove it", pendingFile, err)
	}
	why, err := j.hindrance(op)
	if err != nil {
		return unsolved(op, err)
	}
	if why == "" {
		if err = j.forward(op); err == nil {
			err = j.complete(op)
		}
		if err == nil {
			j.recovered = op.name() + " was interrupted, and is finished now"
			if len(op.Files) > 0 {
				j.recovered += "; look at " + list(op.paths())
			}
			return nil
		}
		why = err.Error()
	}
	left, err := j.back(op)
	if err != nil {
		return unsolved(op, errors.Join(errors.New(why), err))
	}
	j.recovered = fmt.Sprintf("%s was interrupted, and is taken back: %s", op.name(), why)
	if len(left) > 0 {
		j.recovered += "; left as they are, and to be looked at: " + list(left)
	}
	return nil
}

// hindrance is why an operation cannot be finished: files are in neither of their two states, or it is
// not known any more what they are to hold. It is empty if it can be.
func (j *Journal) hindrance(op Operation) (string, error) {
	var edited, lost []string
	for _, record := range op.Files {
		now, _, err := j.look(record.Path)
		if _, ok := errors.AsType[*obstacleError](err); ok {
			edited = append(edited, record.Path)
			continue
		}
		if err != nil {
			return "", err
		}
		switch Hash(now) {
		case record.After:
		case record.Before:
			if _, err := j.Contents(record.After); err != nil {
				lost = append(lost, record.Path)
			}
		default:
			edited = append(edited, record.Path)
		}
	}
	switch {
	case len(edited) > 0:
		return "somebody has changed " + list(edited) + " meanwhile", nil
	case len(lost) > 0:
		return objectsDir + " does not hold any more what was to be in " + list(lost), nil
	}
	return "", nil
}

func unsolved(op Operation, err error) error {
	return fmt.Errorf("%s was interrupted, and can be neither finished nor taken back: %w; see to that and run it again, or remove %s to keep the files as they are", op.name(), err, pendingFile)
}

func (op Operation) paths() []string {
	var all []string
	for _, record := range op.Files {
		all = append(all, record.Path)
	}
	return all
}
