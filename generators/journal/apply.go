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

// Apply changes files of the project: all of them or none. The caller sets the action and the title
// of the operation, and what it undoes; Apply returns it with its id, time and files, for
// [Journal.Record].
//
// Before anything is written, all paths are checked and all files compared with their Before. The
// error names each file that is refused; it is [ErrChanged] for files that have changed since.
//
// If writing fails, the files written so far are restored, and the error says whether that
// succeeded.
//
// An existing file keeps its permissions. Folders are created as needed, and removed if a deletion
// leaves them empty.
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

// Record completes an operation that [Journal.Apply] has returned, by adding it to the history. An
// operation without an action is not added: derived files need no history. A process that dies
// between Apply and Record leaves the operation to the next [Open], which completes it. If Record
// fails, the files are restored.
func (j *Journal) Record(op Operation) error {
	if err := j.complete(op); err != nil {
		return j.giveUp(op, err)
	}
	return nil
}

// complete removes the pending operation, and adds it to the history if it has an action.
func (j *Journal) complete(op Operation) error {
	if op.Action == "" {
		return j.remove(pendingFile)
	}
	if err := j.rename(pendingFile, operationsDir+"/"+op.ID+".json"); err != nil {
		return fmt.Errorf("recording the operation: %w", err)
	}
	return nil
}

// intend writes the pending operation and the contents that it needs. From then on the operation will
// be completed, by this process or the next.
func (j *Journal) intend(op Operation, files []Change) error {
	for _, file := range files {
		if file.Action() == None {
			continue
		}
		// Sync what the user wrote to disk; the rest can be generated again.
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

// forward writes the files of an operation that are not written yet. A file in neither of its two
// states is an error.
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
	return nil
}

// back takes back what is done of an operation. Files that are in neither of their two
// states, or whose content is lost, are left as they are and returned. After an error the
// operation is still pending.
func (j *Journal) back(op Operation) (left []string, err error) {
	var problems []error
	for _, record := range slices.Backward(inOrder(op.Files)) {
		now, _, err := j.look(record.Path)
		if _, ok := errors.AsType[*obstacleError](err); ok {
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
