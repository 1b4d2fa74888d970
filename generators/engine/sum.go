package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/project"
)

// SumFile is the file that holds a project's [Sum].
const SumFile = "petrock.sum"

// A Sum has the hashes of files that petrock wrote, by path from the project's root: the files of
// petrock's folders, and the Go files that a new project starts with.
type Sum map[string]string

// Add records a file.
func (s Sum) Add(path string, text []byte) { s[path] = hashLines(text) }

// Matches reports whether a file is recorded with this text. It ignores line endings.
func (s Sum) Matches(path string, text []byte) bool {
	hash, ok := s[path]
	return ok && hash == hashLines(text)
}

// hashLines returns the SHA-256 of the text with LF line endings. It is not Go's Hash1, despite the
// prefix.
func hashLines(text []byte) string {
	sum := sha256.Sum256(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	return "h1:" + base64.StdEncoding.EncodeToString(sum[:])
}

// Encode returns the text of petrock.sum: a line for each file, sorted by path.
func (s Sum) Encode() []byte {
	var text bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&text, "%s %s\n", path, s[path])
	}
	return text.Bytes()
}

// ParseSum reads the text of petrock.sum.
func ParseSum(text []byte) (Sum, error) {
	if err := project.CheckMerged(SumFile, text); err != nil {
		return nil, err
	}
	s := Sum{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		fields := strings.Fields(line)
		if len(fields) != 2 || !strings.HasPrefix(fields[1], "h1:") {
			return nil, fmt.Errorf("%s:%d: expected a path and a hash; restore the file from version control", SumFile, number)
		}
		s[fields[0]] = fields[1]
	}
	return s, nil
}

// ReadSum reads the petrock.sum of a project.
func ReadSum(root fs.FS) (Sum, error) {
	text, err := fs.ReadFile(root, SumFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w; restore it from version control", SumFile, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	return ParseSum(text)
}

// PetrockFolders returns the folders of a project that contain only petrock's code.
func PetrockFolders() []string { return []string{"core", "generators"} }

// A Drift lists the files that differ from a [Sum].
type Drift struct {
	Changed []string `json:"changed,omitempty"` // Files with a different text
	Missing []string `json:"missing,omitempty"` // Files that do not exist
	Added   []string `json:"added,omitempty"`   // Files that are not recorded
}

// IsEmpty reports whether nothing differs.
func (d Drift) IsEmpty() bool { return len(d.Changed)+len(d.Missing)+len(d.Added) == 0 }

// Compare compares the files of some folders with the sum. It ignores line endings, permissions and
// hidden files.
func (s Sum) Compare(project fs.FS, folders ...string) Drift {
	drift := Drift{Changed: []string{}, Missing: []string{}, Added: []string{}}
	found := filesBelow(project, folders)
	for _, path := range found {
		if _, recorded := s[path]; !recorded {
			drift.Added = append(drift.Added, path)
		} else if text, err := fs.ReadFile(project, path); err != nil || !s.Matches(path, text) {
			drift.Changed = append(drift.Changed, path)
		}
	}
	slices.Sort(found)
	for _, path := range slices.Sorted(maps.Keys(s)) {
		folder, _, _ := strings.Cut(path, "/")
		if _, exists := slices.BinarySearch(found, path); !exists && slices.Contains(folders, folder) {
			drift.Missing = append(drift.Missing, path)
		}
	}
	return drift
}

// SumOf records the files of some folders. It omits unreadable files.
func SumOf(project fs.FS, folders ...string) Sum {
	s := Sum{}
	for _, path := range filesBelow(project, folders) {
		if text, err := fs.ReadFile(project, path); err == nil {
			s.Add(path, text)
		}
	}
	return s
}

// filesBelow lists the files below folders, without hidden ones.
func filesBelow(project fs.FS, folders []string) (files []string) {
	for _, folder := range folders {
		fs.WalkDir(project, folder, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil // unreadable
			case strings.HasPrefix(entry.Name(), ".") && entry.IsDir():
				return fs.SkipDir
			case !strings.HasPrefix(entry.Name(), ".") && !entry.IsDir():
				files = append(files, path)
			}
			return nil
		})
	}
	return files
}

// CompareSum compares petrock's folders with petrock.sum.
func (e *Engine) CompareSum() (Drift, error) {
	sum, err := ReadSum(e.root.FS())
	if err != nil {
		return Drift{}, err
	}
	return sum.Compare(e.root.FS(), PetrockFolders()...), nil
}

func isPetrockPath(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return slices.Contains(PetrockFolders(), first)
}
