package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Apply changes files of the project, all of them or none, and records that as an operation. The
// caller says the action and the title, and what it undoes if it does; what is returned has the
// rest too. Without an action, nothing is recorded: that is for derived files, which need no history.
//
// Before anything is written, all paths are checked and all files compared with their Before. The
// error names each that is refused; it is [ErrChanged] for those that are not as they were.
//
// If it fails on the way, what was changed by then is put back, and the error says whether
// that succeeded.
//
// A file that is there keeps its permissions. Folders are made as needed, and those that a
// deletion leaves empty are removed.
func (j *Journal) Apply(op Operation, files []Change) (Operation, error) {
	if _, err := j.root.Lstat(pendingFile); !errors.Is(err, fs.ErrNotExist) {
		return Operation{}, errors.Join(errors.New("an operation before this one is not finished yet; run it again"), err)
	}
	records, err := j.check(files)
	if err != nil {
		return Operation{}, err
	}
	op.ID, op.Files = "", records
	if op.Action == "" && len(records) == 0 {
		return op, nil
	}
	if op.Time.IsZero() {
		op.Time = time.Now()
	}
	op.Time = op.Time.UTC().Truncate(time.Millisecond)
	if op.Action != "" {
		if op.ID, err = j.identify(op); err != nil {
			return Operation{}, err
		}
	}
	if err := j.intend(op, files); err != nil {
		return Operation{}, fmt.Errorf("%w; nothing was changed", err)
	}
	if err := j.forward(op); err != nil {
		return Operation{}, j.giveUp(op, err)
	}
	return op, nil
}

// intend writes down what is going to be done. Once it has returned, it will be, by this process
// or the next.
func (j *Journal) intend(op Operation, files []Change) error {
	for _, file := range files {
		if file.Action() == None {
			continue
		}
		// What somebody has written is not to be lost, whatever happens; the rest can be made again.
		if err := errors.Join(j.keep(file.Before, !file.Derived), j.keep(file.After, false)); err != nil {
			return err
		}
	}
	text, err := op.encode()
	if err != nil {
		return err
	}
	return j.put(pendingFile, text, 0, true)
}

// forward does what is not done yet of an operation. A file that is in neither of its two states
// is an error.
func (j *Journal) forward(op Operation) error {
	for _, record := range inOrder(op.Files) {
		now, _, err := j.look(record.Path)
		if err != nil {
			return err
		}
		switch Hash(now) {
		case record.After:
			if now == nil {
				j.removeEmpty(record.Path)
			}
		case record.Before:
			err = j.bring(record, record.After)
		default:
			err = changed(record.Path, now != nil, record.Before != "")
		}
		if err != nil {
			return err
		}
	}
	if op.Action == "" {
		return j.remove(pendingFile)
	}
	if err := j.rename(pendingFile, operationsDir+"/"+op.ID+".json"); err != nil {
		return fmt.Errorf("recording the operation: %w", err)
	}
	return nil
}

// back takes back what is done of an operation. Files that are in neither of their two
// states, or whose content is lost, are left as they are and returned. After an error the
// operation is still pending.
func (j *Journal) back(op Operation) (left []string, err error) {
	var problems []error
	for _, record := range slices.Backward(inOrder(op.Files)) {
		now, _, err := j.look(record.Path)
		if obstacle := (*obstacleError)(nil); errors.As(err, &obstacle) {
			left = append(left, record.Path)
			continue
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		switch Hash(now) {
		case record.Before:
			if now == nil {
				j.removeEmpty(record.Path)
			}
		case record.After:
			if _, lost := j.Contents(record.Before); lost != nil {
				left = append(left, record.Path)
			} else {
				err = j.bring(record, record.Before)
			}
		default:
			left = append(left, record.Path)
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	slices.Sort(left)
	if len(problems) == 0 {
		problems = append(problems, j.remove(pendingFile))
	}
	return left, errors.Join(problems...)
}

// bring brings a file into one of its states.
func (j *Journal) bring(record Record, hash string) error {
	if hash == "" {
		if err := j.remove(record.Path); err != nil {
			return fmt.Errorf("removing %s: %w", record.Path, err)
		}
		j.removeEmpty(record.Path)
		return nil
	}
	data, err := j.Contents(hash)
	if err != nil {
		return err
	}
	return j.put(record.Path, data, record.Mode, false)
}

// giveUp takes back what is done of an operation that met an error, and says how that went.
func (j *Journal) giveUp(op Operation, err error) error {
	left, problem := j.back(op)
	switch {
	case problem != nil:
		return fmt.Errorf("%w; and what was changed by then cannot be put back: %w; see to that and run it again: the next run finishes it or takes it back", err, problem)
	case len(left) > 0:
		return fmt.Errorf("%w; all was put back, but somebody else is at work on %s: look there", err, list(left))
	}
	return fmt.Errorf("%w; nothing was changed", err)
}

// inOrder returns records in the order in which they are applied, so that a project that is
// interrupted still compiles if it can: what others refer to comes before them and goes after them.
// Derived files refer to the others.
func inOrder(records []Record) []Record {
	phase := func(r Record) int {
		switch {
		case r.After != "" && !r.Derived:
			return 0
		case r.After != "":
			return 1
		case r.Derived:
			return 2
		}
		return 3
	}
	return slices.SortedStableFunc(slices.Values(records), func(a, b Record) int { return cmp.Compare(phase(a), phase(b)) })
}

// list names some of the paths, and how many more there are.
func list(paths []string) string {
	const most = 3
	if len(paths) > most+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
	}
	return strings.Join(paths, ", ")
}
