package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Apply changes files of the project: all of them or none. The caller sets Action, Title and Undoes
// of the operation. Apply returns it with its id, time and files, for [Journal.Record].
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
		return Operation{}, errors.Join(errors.New("the previous operation is not finished; run the command again"), err)
	}
	records, err := j.check(files)
	if err != nil {
		return Operation{}, err
	}
	op.ID, op.Files = "", records
	if op.Action == "" && len(records) == 0 {
		return op, nil
	}
	op.Time = time.Now().UTC().Truncate(time.Millisecond)
	if op.Action != "" {
		if op.ID, err = j.nextID(op); err != nil {
			return Operation{}, err
		}
	}
	if err := j.begin(op, files); err != nil {
		return Operation{}, fmt.Errorf("%w; nothing was changed", err)
	}
	if err := j.writeFiles(op); err != nil {
		return Operation{}, j.abort(op, err)
	}
	return op, nil
}

// Record completes an operation that [Journal.Apply] has returned, by adding it to the history. An
// operation without an action is not added: derived files need no history. A process that dies
// between Apply and Record leaves the operation to the next [Open], which completes it. If Record
// fails, the files are restored.
func (j *Journal) Record(op Operation) error {
	if err := j.complete(op); err != nil {
		return j.abort(op, err)
	}
	return nil
}

// complete moves the pending operation to the history, or removes it if it has no action.
func (j *Journal) complete(op Operation) error {
	if op.Action == "" {
		return j.remove(pendingFile)
	}
	if err := j.rename(pendingFile, operationsDir+"/"+op.ID+".json"); err != nil {
		return fmt.Errorf("record operation: %w", err)
	}
	return nil
}

// begin writes the pending operation and the contents that it needs. From then on the operation
// will be completed, by this process or the next.
func (j *Journal) begin(op Operation, files []Change) error {
	for _, file := range files {
		if file.Action() == None {
			continue
		}
		// Only user files must be on the disk before they are replaced; the rest can be generated again.
		if err := errors.Join(j.save(file.Before, !file.Derived), j.save(file.After, false)); err != nil {
			return err
		}
	}
	text, err := op.encode()
	if err != nil {
		return err
	}
	return j.writeFile(pendingFile, text, 0, true)
}

// writeFiles writes the files of an operation that are not written yet. A file that matches neither
// Before nor After is an error.
func (j *Journal) writeFiles(op Operation) error {
	for _, record := range applyOrder(op.Files) {
		if err := j.setContent(record, record.Before, record.After); err != nil {
			return err
		}
	}
	return nil
}

// rollBack rolls back an operation. It returns the files that it does not touch: those that match
// neither Before nor After, and those whose old content is lost. After an error the operation is
// still pending.
func (j *Journal) rollBack(op Operation) (skipped []string, err error) {
	for _, record := range slices.Backward(applyOrder(op.Files)) {
		fileErr := j.setContent(record, record.After, record.Before)
		if errors.Is(fileErr, ErrChanged) || errors.Is(fileErr, errLost) {
			skipped = append(skipped, record.Path)
		} else {
			err = errors.Join(err, fileErr)
		}
	}
	slices.Sort(skipped)
	if err == nil {
		err = j.remove(pendingFile)
	}
	return skipped, err
}

// setContent replaces the content of a file with the hash from by that with the hash to; an empty
// hash means that the file does not exist. A file that has the new content already stays as it is.
// Any other content, or an obstacle, is [ErrChanged].
func (j *Journal) setContent(record Record, from, to string) error {
	now, _, err := j.readFile(record.Path)
	_, isObstacle := errors.AsType[*PathError](err)
	switch hash := Hash(now); {
	case isObstacle, err == nil && hash != from && hash != to:
		return changedError(record.Path)
	case err != nil:
		return err
	case to == "":
		if err := j.remove(record.Path); err != nil {
			return fmt.Errorf("remove %s: %w", record.Path, err)
		}
		j.removeEmpty(record.Path)
		return nil
	case hash == to:
		return nil
	}
	data, err := j.Contents(to)
	if err != nil {
		return fmt.Errorf("%s: %w", record.Path, err)
	}
	return j.writeFile(record.Path, data, record.Mode, false)
}

// abort rolls back an operation after an error, and adds the result to the error.
func (j *Journal) abort(op Operation, err error) error {
	skipped, rollbackErr := j.rollBack(op)
	switch {
	case rollbackErr != nil:
		return fmt.Errorf("%w; roll back: %w; fix the cause and run the command again: the next run completes the operation or rolls it back", err, rollbackErr)
	case len(skipped) > 0:
		return fmt.Errorf("%w; rolled back, except files that changed in the meantime: check %s", err, strings.Join(skipped, ", "))
	}
	return fmt.Errorf("%w; nothing was changed", err)
}

// applyOrder returns records in the order in which they are applied, so that an interrupted project
// compiles if possible: derived files, which refer to the others, are written after them and
// removed before them.
func applyOrder(records []Record) []Record {
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

// recover completes an interrupted operation, or rolls it back if that is impossible.
func (j *Journal) recover() error {
	if _, err := j.root.Lstat(pendingFile); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	op, err := readOperation(j.root, pendingFile)
	if err != nil {
		return fmt.Errorf("read %s: %w; it describes an interrupted operation: check the project's files, then remove it", pendingFile, err)
	}
	if err = j.writeFiles(op); err == nil {
		err = j.complete(op)
	}
	if err == nil {
		j.recovered = op.name() + " was interrupted and has now been completed"
		return nil
	}
	skipped, rollbackErr := j.rollBack(op)
	if rollbackErr != nil {
		return fmt.Errorf("%s was interrupted and can be neither completed nor rolled back: %w; fix the cause and run the command again, or remove %s to keep the files as they are", op.name(), errors.Join(err, rollbackErr), pendingFile)
	}
	j.recovered = fmt.Sprintf("%s was interrupted and has been rolled back: %v", op.name(), err)
	if len(skipped) > 0 {
		j.recovered += "; not restored, check them: " + strings.Join(skipped, ", ")
	}
	return nil
}

// ErrChanged means that a file was edited, created or removed since it was read.
var ErrChanged = errors.New("changed in the meantime")

func changedError(name string) error {
	return fmt.Errorf("%s %w; run the command again", name, ErrChanged)
}

// A checker validates the files of one operation before anything is written.
type checker struct {
	*Journal
	files map[string]bool     // paths checked so far
	names map[string][]string // by folder, the names in it, with those of the operation
}

// check validates changes, and returns records of the files that change. The error joins all
// errors.
func (j *Journal) check(files []Change) ([]Record, error) {
	files = slices.Clone(files)
	SortChanges(files)
	c := &checker{j, map[string]bool{}, map[string][]string{}}
	records := []Record{}
	var problems []error
	for _, file := range files {
		record, err := c.check(file)
		if err != nil {
			isSame := func(other error) bool { return other.Error() == err.Error() } // about a common folder
			if !slices.ContainsFunc(problems, isSame) {
				problems = append(problems, err)
			}
		} else if file.Action() != None {
			records = append(records, record)
		}
	}
	return records, errors.Join(problems...)
}

func (c *checker) check(file Change) (Record, error) {
	record := Record{Path: file.Path, Before: Hash(file.Before), After: Hash(file.After), Derived: file.Derived}
	if err := checkPath(file.Path); err != nil {
		return record, err
	}
	if err := c.checkPlanned(file.Path); err != nil {
		return record, err
	}
	now, mode, err := c.readFile(file.Path)
	if err != nil {
		return record, err
	}
	if err := c.checkCase(file.Path); err != nil {
		return record, err
	}
	if (now == nil) != (file.Before == nil) || !bytes.Equal(now, file.Before) {
		return record, changedError(file.Path)
	}
	record.Mode = mode
	if now == nil {
		record.Mode = file.Mode.Perm()
	}
	return record, nil
}

// checkPlanned refuses a path that conflicts with another path of the operation.
func (c *checker) checkPlanned(name string) error {
	if c.files[name] {
		return fmt.Errorf("%s is changed twice", name)
	}
	c.files[name] = true
	for folder := range parents(name) {
		if c.files[folder] {
			return fmt.Errorf("%s: %s would be both a file and a folder", name, folder)
		}
	}
	return nil
}

// checkCase refuses a path if one of its names exists in another letter case, in the project or in
// the operation.
func (c *checker) checkCase(name string) error {
	for part := range parents(name + "/") {
		dir, base := path.Split(part)
		names, ok := c.names[dir]
		if !ok {
			var err error
			if names, err = list(c.root, path.Clean(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if !slices.Contains(names, base) {
			for _, other := range names {
				if fold(other) == fold(base) {
					return fmt.Errorf("%s and %s differ only in letter case and are the same file on many systems; choose another name", part, dir+other)
				}
			}
			names = append(names, base)
		}
		c.names[dir] = names
	}
	return nil
}
