package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// ErrChanged says that a file is not what a change takes it for: somebody has edited, made or
// removed it since it was read.
var ErrChanged = errors.New("changed meanwhile")

// changed says how a file that holds now differs from what it is taken for.
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

// A checker looks at the files of one change before anything is written.
type checker struct {
	*Journal
	files   map[string]bool     // the paths so far
	folded  map[string]string   // them and the folders above, by what differs by letter case alone
	listing map[string][]string // names in folders of the project
}

// check says all that is wrong with a change, and makes records of the files that it changes.
func (j *Journal) check(files []Change) ([]Record, error) {
	files = slices.Clone(files)
	SortChanges(files)
	c := &checker{j, map[string]bool{}, map[string]string{}, map[string][]string{}}
	records := []Record{}
	var problems []error
	for _, file := range files {
		record, err := c.check(file)
		if err != nil {
			said := func(other error) bool { return other.Error() == err.Error() } // of the folder that they are all in
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

// checkOthers refuses a path that does not go with those that were before it.
func (c *checker) checkOthers(name string) error {
	if c.files[name] {
		return fmt.Errorf("%s is changed twice", name)
	}
	c.files[name] = true
	for part := range parts(name) {
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

// checkNames refuses a path if a name in it is there with other letter case.
func (c *checker) checkNames(name string) error {
	for part := range parts(name) {
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

// parts yields the folders above a file, and then itself.
func parts(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for dir := range above(name) {
			if !yield(dir) {
				return
			}
		}
		yield(name)
	}
}
