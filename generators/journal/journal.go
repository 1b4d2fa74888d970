// Package journal changes files of a project atomically, one process at a time, and records the
// operations for undo.
//
// Its state is in the folder .petrock at the project's root, which git ignores:
//
//	lock          locked by the process that changes the project
//	pending.json  the operation that is being applied
//	staged        a file before it is renamed into place
//	objects/      contents of files before and after operations, by hash
//	operations/   recorded operations, one file each
//	.gitignore    makes git ignore the folder
//
// Other packages keep more in this folder, such as plans and what they know of the go command.
//
// [Journal.Apply] checks the operation, saves the contents of files before and after it as objects,
// and writes pending.json. From then on the operation will be completed: if the process dies, the
// next [Open] completes it. Each file is written by one rename. [Journal.Record] moves pending.json
// to operations.
//
// If a file was edited in between, the next Open rolls the operation back instead and leaves that
// file alone.
//
// This holds for killed processes. After a power failure the latest writes may be lost. The content
// of user files is written to the disk, in objects, before an operation replaces or removes them.
package journal

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/petrock/petrock/core/plumbing/filelock"
)

// Paths of the journal's files, from the project's root.
const (
	stateDir      = ".petrock"
	lockFile      = stateDir + "/lock"
	ignoreFile    = stateDir + "/.gitignore"
	pendingFile   = stateDir + "/pending.json"
	stagedFile    = stateDir + "/staged"
	objectsDir    = stateDir + "/objects"
	operationsDir = stateDir + "/operations"
)

// Options configure [Open].
type Options struct {
	// Waiting is called once if another process has held the lock for a second. It may be nil.
	Waiting func()

	step func(what, path string) error // called before each step, in tests
}

// A Journal is an opened project: no other process can open its journal until it is closed. It is
// not safe for concurrent use.
type Journal struct {
	root      *os.Root
	lock      *filelock.Lock
	recovered string
	step      func(what, path string) error
}

// Open opens the journal of the project in dir. It waits for other processes until ctx ends, and
// completes or rolls back an interrupted operation: see [Journal.Recovered]. It creates the folder
// .petrock if needed. Opening a journal twice deadlocks until ctx ends.
func Open(ctx context.Context, dir string, o Options) (*Journal, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open project: %w", err)
	}
	j := &Journal{root: root, step: o.step}
	opened := false
	defer func() { // even if a test panics in a step
		if !opened {
			j.Close()
		}
	}()
	if err := j.prepare(ctx, o.Waiting); err != nil {
		return nil, err
	}
	if err := j.recover(); err != nil {
		return nil, err
	}
	opened = true
	return j, nil
}

func (j *Journal) prepare(ctx context.Context, waiting func()) error {
	if err := j.makeFolder(stateDir, 0o755); err != nil {
		return err
	}
	lock, err := filelock.WaitLock(ctx, filepath.Join(j.root.Name(), filepath.FromSlash(lockFile)), waiting)
	if err != nil {
		return fmt.Errorf("lock project: %w", err)
	}
	j.lock = lock
	if err := errors.Join(j.makeFolder(objectsDir, 0o700), j.makeFolder(operationsDir, 0o755)); err != nil {
		return err
	}
	if err := j.remove(stagedFile); err != nil {
		return fmt.Errorf("remove %s: %w", stagedFile, err)
	}
	if _, err := j.root.Lstat(ignoreFile); errors.Is(err, fs.ErrNotExist) {
		return j.writeFile(ignoreFile, []byte("*\n"), 0, false)
	}
	return nil
}

// Close releases the project.
func (j *Journal) Close() (err error) {
	if j.lock != nil {
		err = j.lock.Release()
		j.lock = nil
	}
	return errors.Join(err, j.root.Close())
}

// Interrupted reports whether an operation on the project in root was interrupted, or is being
// applied. The next [Open] completes it or rolls it back.
func Interrupted(root *os.Root) bool {
	_, err := root.Lstat(pendingFile)
	return err == nil
}

// Recovered describes what [Open] did with an interrupted operation. It is empty if there was none.
func (j *Journal) Recovered() string { return j.recovered }

// An Operation is a recorded change of the project.
type Operation struct {
	ID      string    `json:"id"`                // sequence number and the beginning of a hash, such as 0007-3fa2c1
	Time    time.Time `json:"time"`              // when it was applied
	Action  string    `json:"action"`            // such as generate, edit, undo
	Title   string    `json:"title"`             // such as "generate tool send_mail"
	Undoes  string    `json:"undoes,omitempty"`  // id of the operation that this one undoes
	Follows bool      `json:"follows,omitempty"` // it follows from the source, so an undo would not last
	Files   []Record  `json:"files"`             // the changed files, sorted by path

	Added   []string `json:"addedParts,omitempty"`   // petrock's parts that it added
	Removed []string `json:"removedParts,omitempty"` // petrock's parts that it removed
}

// A Record is what an operation did to one file.
type Record struct {
	Path    string      `json:"path"`              // from the project's root, with slashes
	Before  string      `json:"before,omitempty"`  // hash of the old content; empty if the file did not exist
	After   string      `json:"after,omitempty"`   // hash of the new content; empty if the file was deleted
	Mode    fs.FileMode `json:"mode,omitempty"`    // permissions; 0 means the defaults for a new file
	Derived bool        `json:"derived,omitempty"` // whether it is a derived file
}

func (op Operation) name() string {
	name := cmp.Or(op.Title, "sync")
	if op.ID != "" {
		name += " (" + op.ID + ")"
	}
	return name
}

func (op Operation) encode() ([]byte, error) {
	text, err := json.MarshalIndent(op, "", "  ")
	return append(text, '\n'), err
}

// nextID returns an id for an operation that follows all recorded ones.
func (j *Journal) nextID(op Operation) (string, error) {
	names, err := operationNames(j.root)
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

func sequence(id string) (int, bool) {
	digits, hash, ok := strings.Cut(id, "-")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n > 0 && len(digits) >= 4 && len(hash) == 6 && isHex(hash)
}

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// History returns the recorded operations, oldest first.
func (j *Journal) History() ([]Operation, error) { return ReadHistory(j.root) }

// ReadHistory is [Journal.History] of the project in root. It takes no lock and writes nothing, so
// it does not recover an interrupted operation either: see [Interrupted].
func ReadHistory(root *os.Root) ([]Operation, error) {
	names, err := operationNames(root)
	if err != nil {
		return nil, err
	}
	var all []Operation
	var problems []error
	for _, name := range names {
		file := path.Join(operationsDir, name)
		op, err := readOperation(root, file)
		if err == nil && op.ID+".json" != name {
			err = fmt.Errorf("contains operation %q", op.ID)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("read %s: %w; restore the file, or move it away to drop that operation", file, err))
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

func operationNames(root *os.Root) ([]string, error) {
	all, err := list(root, operationsDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return slices.DeleteFunc(all, func(name string) bool { return path.Ext(name) != ".json" }), nil
}

func list(root *os.Root, dir string) ([]string, error) {
	folder, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	all, err := folder.Readdirnames(-1)
	slices.Sort(all)
	return all, errors.Join(err, folder.Close())
}

func readOperation(root *os.Root, file string) (op Operation, err error) {
	text, err := root.ReadFile(file)
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

// Read returns the content and permissions of a file of the project; nil if it does not exist. It
// refuses paths that no operation may write: outside the project, in .git or .petrock, links and
// folders.
func (j *Journal) Read(name string) ([]byte, fs.FileMode, error) {
	if err := checkPath(name); err != nil {
		return nil, 0, err
	}
	return j.readFile(name)
}

// Contents returns the content with a hash from a [Record]; nil for an empty hash.
func (j *Journal) Contents(hash string) ([]byte, error) {
	if hash == "" {
		return nil, nil
	}
	if !isHash(hash) {
		return nil, fmt.Errorf("%q is not a hash", hash)
	}
	name := objectsDir + "/" + hash
	data, err := j.root.ReadFile(name)
	if err == nil && Hash(data) != hash {
		err = fmt.Errorf("%s was changed", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w; restore the file from version control", errLost, err)
	}
	return data, nil
}

var errLost = errors.New("read saved content of a file")

// save saves content for Contents. Only the owner may read it, because the file may be private.
// With sync, it writes even what is saved, because that may not be on the disk yet.
func (j *Journal) save(data []byte, sync bool) error {
	if data == nil {
		return nil
	}
	hash := Hash(data)
	if _, err := j.Contents(hash); err == nil && !sync {
		return nil
	}
	return j.writeFile(objectsDir+"/"+hash, data, 0o600, sync)
}

func isHash(text string) bool { return len(text) == 64 && isHex(text) }

// A Change is a file before and after an operation. Content nil means that the file does not exist;
// an empty file has empty, non-nil content.
type Change struct {
	Path    string      // from the project's root, with slashes
	Before  []byte      // nil if the file does not exist
	After   []byte      // nil if the file is deleted
	Mode    fs.FileMode // permissions of a created file; 0 means 0644
	Derived bool        // whether it is a derived file
}

// An Action is the kind of a change.
type Action string

// The actions. None is for a file that does not change.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
	None   Action = "none"
)

// Action returns the kind of the change.
func (f Change) Action() Action {
	switch {
	case f.Before == nil && f.After == nil:
		return None
	case f.Before == nil:
		return Create
	case f.After == nil:
		return Delete
	case bytes.Equal(f.Before, f.After):
		return None
	}
	return Update
}

// Hash returns the SHA-256 of a file's content in hexadecimal. It is empty for nil: the file does
// not exist.
func Hash(data []byte) string {
	if data == nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// SortChanges sorts changes by path. The sort is stable.
func SortChanges(files []Change) {
	slices.SortStableFunc(files, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
}

// Diff returns the change as a unified diff with three lines of context, for patch and git apply.
// It is empty if the file does not change. Binary content is not shown.
func (f Change) Diff() string {
	if f.Action() == None {
		return ""
	}
	header := "--- " + headerName("a/", f.Path, f.Before) + "\n+++ " + headerName("b/", f.Path, f.After) + "\n"
	if !isText(f.Before) || !isText(f.After) {
		return header + "Binary files differ\n"
	}
	text := string(diff.Diff("", f.Before, "", f.After))
	return header + text[max(0, strings.Index(text, "@@ ")):]
}

// headerName returns a file's name for the header of a diff, quoted if it has special characters.
func headerName(prefix, path string, data []byte) string {
	if data == nil {
		return "/dev/null"
	}
	name := prefix + path
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '"' || r == '\\' }) {
		return strconv.Quote(name)
	}
	if strings.Contains(name, " ") {
		name += "\t" // marks the end of the name, as git does
	}
	return name
}

func isText(data []byte) bool {
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}
