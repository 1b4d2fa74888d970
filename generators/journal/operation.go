package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Operation is one recorded change of the project.
type Operation struct {
	ID     string    `json:"id"`               // sequence number and the beginning of a hash, such as 0007-3fa2c1
	Time   time.Time `json:"time"`             // when it was applied
	Action string    `json:"action"`           // generate, destroy, undo
	Title  string    `json:"title"`            // such as "generate tool send_mail"
	Undoes string    `json:"undoes,omitempty"` // id of the operation that this one takes back
	Files  []Record  `json:"files"`            // what changed, by path
}

// A Record is what an operation did to one file.
type Record struct {
	Path    string      `json:"path"`              // from the project's root, with slashes
	Before  string      `json:"before,omitempty"`  // hash of its content, empty if it was not there
	After   string      `json:"after,omitempty"`   // the same for what it became
	Mode    fs.FileMode `json:"mode,omitempty"`    // its permissions; 0 for a file that was made with the usual ones
	Derived bool        `json:"derived,omitempty"` // it belongs to petrock and can be derived again
}

// name is what people know an operation by.
func (op Operation) name() string {
	name := op.Title
	if name == "" {
		name = "a refresh of derived files"
	}
	if op.ID != "" {
		name += " (" + op.ID + ")"
	}
	return name
}

func (op Operation) encode() ([]byte, error) {
	text, err := json.MarshalIndent(op, "", "  ")
	return append(text, '\n'), err
}

// identify makes an id for an operation that follows all that are there.
func (j *Journal) identify(op Operation) (string, error) {
	names, err := j.operationNames()
	if err != nil {
		return "", err
	}
	last := 0
	for _, name := range names {
		if n, ok := sequence(strings.TrimSuffix(name, ".json")); ok {
			last = max(last, n)
		}
	}
	op.ID = ""
	text, err := op.encode()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%04d-%.6s", last+1, Hash(text)), nil
}

// sequence is the number in an id, if it is one.
func sequence(id string) (int, bool) {
	digits, hash, ok := strings.Cut(id, "-")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n > 0 && len(digits) >= 4 && len(hash) == 6 && isHex(hash)
}

func isHex(text string) bool {
	return strings.Trim(text, "0123456789abcdef") == ""
}

// History returns the operations that were recorded, the oldest first. A record that cannot be
// read is an error.
func (j *Journal) History() ([]Operation, error) {
	names, err := j.operationNames()
	if err != nil {
		return nil, err
	}
	var all []Operation
	var problems []error
	for _, name := range names {
		file := path.Join(operationsDir, name)
		op, err := j.readOperation(file)
		if err == nil && op.ID+".json" != name {
			err = fmt.Errorf("it holds the operation %q", op.ID)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("reading %s: %w; put it back as it was, or move it away to go on without that operation", file, err))
			continue
		}
		all = append(all, op)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	slices.SortFunc(all, func(a, b Operation) int {
		first, _ := sequence(a.ID)
		second, _ := sequence(b.ID)
		return first - second
	})
	return all, nil
}

// operationNames are the names of the files that hold operations.
func (j *Journal) operationNames() ([]string, error) {
	all, err := j.names(operationsDir)
	if err != nil {
		return nil, fmt.Errorf("reading the history: %w", err)
	}
	return slices.DeleteFunc(all, func(name string) bool { return path.Ext(name) != ".json" }), nil
}

// names are the names in a folder, sorted.
func (j *Journal) names(dir string) ([]string, error) {
	folder, err := j.root.Open(dir)
	if err != nil {
		return nil, err
	}
	all, err := folder.Readdirnames(-1)
	slices.Sort(all)
	return all, errors.Join(err, folder.Close())
}

// readOperation reads an operation and sees that it is one: no path in it leads where an operation may
// not write.
func (j *Journal) readOperation(file string) (Operation, error) {
	var op Operation
	text, err := j.root.ReadFile(file)
	if err != nil {
		return op, err
	}
	if err := json.Unmarshal(text, &op); err != nil {
		return op, err
	}
	if _, ok := sequence(op.ID); !ok && (op.Action != "" || op.ID != "") {
		return op, fmt.Errorf("%q is not the id of an operation", op.ID)
	}
	for i, record := range op.Files {
		if err := checkPath(record.Path); err != nil {
			return op, err
		}
		for _, hash := range []string{record.Before, record.After} {
			if hash != "" && !isHash(hash) {
				return op, fmt.Errorf("%q is not a hash", hash)
			}
		}
		op.Files[i].Mode &= fs.ModePerm
	}
	return op, nil
}
