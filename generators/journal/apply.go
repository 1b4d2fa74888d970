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

// back rolls back an operation. It returns the files that it leaves as they are: those in neither of
// their two states, and those whose content is lost. After an error the operation is still pending.
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

// bring writes or removes a file, to bring it into one of its states.
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

// inOrder returns records in the order in which they are applied, so that an interrupted project
// compiles if possible: derived files, which refer to the others, are written after them and removed
// before them.
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

// list joins paths for a message; of many, only the first few.
func list(paths []string) string {
	const most = 3
	if len(paths) > most+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
	}
	return strings.Join(paths, ", ")
}

// recover completes an interrupted operation, or rolls it back if that is impossible.
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
	j.recovered = fmt.Sprintf("%s was interrupted, and is rolled back: %s", op.name(), why)
	if len(left) > 0 {
		j.recovered += "; left as they are, and to be looked at: " + list(left)
	}
	return nil
}

// hindrance explains why an operation cannot be completed: files are in neither of their two states, or
// their new content is lost. It is empty if it can be completed.
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
	return fmt.Errorf("%s was interrupted, and can be neither finished nor rolled back: %w; see to that and run it again, or remove %s to keep the files as they are", op.name(), err, pendingFile)
}

func (op Operation) paths() []string {
	var all []string
	for _, record := range op.Files {
		all = append(all, record.Path)
	}
	return all
}

// ErrChanged means that a file was edited, created or removed since it was read.
var ErrChanged = errors.New("changed meanwhile")

func changed(name string, now, taken bool) error {
	how := "it is not as it was"
	switch {
	case !now:
		how = "it is gone"
	case !taken:
		how = "it was not there"
	}
	return fmt.Errorf("%s %w: %s; run it again to see what it would do now", name, ErrChanged, how)
}

// A checker validates the files of one operation before anything is written.
type checker struct {
	*Journal
	files   map[string]bool     // the paths so far
	folded  map[string]string   // paths and their folders, by case-folded name
	listing map[string][]string // names by folder of the project
}

// check validates changes, and returns records of the files that change. The error joins all errors.
func (j *Journal) check(files []Change) ([]Record, error) {
	files = slices.Clone(files)
	SortChanges(files)
	c := &checker{j, map[string]bool{}, map[string]string{}, map[string][]string{}}
	records := []Record{}
	var problems []error
	for _, file := range files {
		record, err := c.check(file)
		if err != nil {
			said := func(other error) bool { return other.Error() == err.Error() } // of their common folder
			if !slices.ContainsFunc(problems, said) {
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
	if err := c.checkOthers(file.Path); err != nil {
		return record, err
	}
	now, mode, err := c.look(file.Path)
	if err != nil {
		return record, err
	}
	if err := c.checkNames(file.Path); err != nil {
		return record, err
	}
	if (now == nil) != (file.Before == nil) || !bytes.Equal(now, file.Before) {
		return record, changed(file.Path, now != nil, file.Before != nil)
	}
	record.Mode = mode
	if now == nil {
		record.Mode = file.Mode.Perm()
	}
	return record, nil
}

func (c *checker) checkOthers(name string) error {
	if c.files[name] {
		return fmt.Errorf("%s is changed twice", name)
	}
	c.files[name] = true
	for part := range above(name + "/") {
		if part != name && c.files[part] {
			return fmt.Errorf("%s: %s is to be a file and a folder at once", name, part)
		}
		key := fold(part)
		if other, ok := c.folded[key]; ok && other != part {
			return sameName(part, other)
		}
		c.folded[key] = part
	}
	return nil
}

// checkNames refuses a path if one of its names exists in another letter case.
func (c *checker) checkNames(name string) error {
	for part := range above(name + "/") {
		dir := path.Dir(part)
		names, ok := c.listing[dir]
		if !ok {
			var err error
			if names, err = c.names(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			c.listing[dir] = names
		}
		if slices.Contains(names, path.Base(part)) {
			continue
		}
		for _, other := range names {
			if fold(other) == fold(path.Base(part)) {
				return sameName(part, path.Join(dir, other))
			}
		}
	}
	return nil
}

func sameName(name, other string) error {
	return fmt.Errorf("%s and %s differ by letter case alone, and many systems take them for one; choose another name", name, other)
}
