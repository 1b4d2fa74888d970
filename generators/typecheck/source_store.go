package typecheck

import (
	"bytes"
	"errors"
	"go/build"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
	"time"
)

// A Store reads the Go files of one project and keeps what it has read. It is for one user
// at a time.
type Store struct {
	root    *os.Root
	system  *build.Context
	fset    *token.FileSet
	kept    map[string]kept  // by path
	planned map[string]*File // by path, the last that was planned
	taken   map[uint64]bool  // by file, whether a build takes it
	last    uint64           // the last id that was given
}

// kept is a file as it was found on the disk.
type kept struct {
	file *File
	size int64
	time time.Time
	read time.Time // when
}

// NewStore is a store for the project in root, as it is built for a system.
func NewStore(root *os.Root, system *build.Context) *Store {
	return &Store{root: root, system: system, taken: map[uint64]bool{}, fset: token.NewFileSet(), kept: map[string]kept{}, planned: map[string]*File{}}
}

// Fset has the positions of all files of the store.
func (s *Store) Fset() *token.FileSet { return s.fset }

// fresh reports whether k is what the disk still has. A file that was changed just before it was
// read may change again and look the same: clocks of file systems are coarse.
func (k kept) fresh(info fs.FileInfo) bool {
	return k.file != nil && k.size == info.Size() && k.time.Equal(info.ModTime()) && k.read.Sub(k.time) > 2*time.Second
}

// View is the project as it is on the disk.
func (s *Store) View() (*View, error) {
	found, err := s.find()
	if err != nil {
		return nil, err
	}
	files := make(map[string]*File, len(found))
	var unread []string
	for file, info := range found {
		if k := s.kept[file]; k.fresh(info) {
			files[file] = k.file
		} else {
			unread = append(unread, file)
		}
	}
	for file := range s.kept {
		if _, ok := found[file]; !ok {
			delete(s.kept, file)
		}
	}
	if err := s.read(unread, found, files); err != nil {
		return nil, err
	}
	return newView(s, files), nil
}

// Empty is the view of a project without any files, for planned ones alone.
func (s *Store) Empty() *View { return newView(s, map[string]*File{}) }

// find lists the Go files of the project, without those in folders that the go command
// passes over, and those of other modules.
func (s *Store) find() (map[string]fs.FileInfo, error) {
	found := make(map[string]fs.FileInfo, len(s.kept))
	err := fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission) && name != ".":
			return fs.SkipDir // such as a database's own folder; Go in it could not be built either
		case errors.Is(err, fs.ErrNotExist) && name != ".":
			return nil // it has just gone
		case err != nil:
			return err
		case d.IsDir() && name != "." && s.passesOver(name):
			return fs.SkipDir
		case d.IsDir() || !isGo(name):
			return nil
		}
		info, err := d.Info()
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			info, err = s.root.Stat(name)
			if err != nil {
				return nil // it leads out of the project, or nowhere
			}
		}
		if err == nil && info.Mode().IsRegular() {
			found[name] = info
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return found, err
}

// passesOver reports whether the go command does not look into a folder.
func (s *Store) passesOver(dir string) bool {
	base := path.Base(dir)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || dir == "vendor" {
		return true
	}
	_, err := s.root.Lstat(path.Join(dir, "go.mod"))
	return err == nil
}

// isGo reports whether the go command reads a file of this name.
func isGo(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, ".go") && !strings.HasPrefix(base, ".") && !strings.HasPrefix(base, "_")
}

// read reads and parses files, several at once.
func (s *Store) read(names []string, found map[string]fs.FileInfo, files map[string]*File) error {
	type job struct {
		name string
		id   uint64
	}
	var (
		mu    sync.Mutex
		first error
		group sync.WaitGroup
	)
	jobs := make(chan job)
	for range min(runtime.GOMAXPROCS(0), len(names)) {
		group.Go(func() {
			for j := range jobs {
				now := time.Now()
				text, err := s.root.ReadFile(j.name)
				mu.Lock()
				file := s.known(j.name, text)
				mu.Unlock()
				if err == nil && file == nil {
					file = parse(s.fset, j.name, text, j.id)
				}
				mu.Lock()
				switch {
				case err == nil:
					info := found[j.name]
					s.kept[j.name] = kept{file: file, size: info.Size(), time: info.ModTime(), read: now}
					files[j.name] = file
				case first == nil:
					first = err
				}
				mu.Unlock()
			}
		})
	}
	for _, name := range names {
		s.last++
		jobs <- job{name, s.last}
	}
	close(jobs)
	group.Wait()
	return first
}

// known is the file of this path and text, if it has been parsed of late.
func (s *Store) known(name string, text []byte) *File {
	for _, file := range []*File{s.kept[name].file, s.planned[name]} {
		if file != nil && bytes.Equal(file.Text, text) {
			return file
		}
	}
	return nil
}

// plan is a planned file. One of the plan before is not parsed again if it is the same.
func (s *Store) plan(name string, text []byte) *File {
	if file := s.known(name, text); file != nil {
		return file
	}
	s.last++
	file := parse(s.fset, name, text, s.last)
	s.planned[name] = file
	return file
}

// builds reports whether a build takes a file: its name and its constraints decide.
func (s *Store) builds(file *File) bool {
	if taken, known := s.taken[file.ID]; known {
		return taken
	}
	system := *s.system
	system.OpenFile = func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(file.Text)), nil
	}
	taken, err := system.MatchFile(".", path.Base(file.Path))
	taken = taken || err != nil // what cannot be read is for the compiler to speak of
	s.taken[file.ID] = taken
	return taken
}

// Full reports whether the store has read so much that it had better be replaced by a new one: what
// was read once and has changed since stays in memory.
func (s *Store) Full() bool { return s.fset.Base() > 256<<20 }
