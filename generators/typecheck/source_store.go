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

// A Store parses the Go files of one project and caches them. It is not safe for concurrent use.
type Store struct {
	root    *os.Root
	system  *build.Context
	fset    *token.FileSet
	onDisk  map[string]diskFile // by path
	planned map[string]*File    // by path, the latest planned file
	built   map[uint64]bool     // by file id, whether a build includes it
	last    uint64              // the last file id
}

// A diskFile is a file as it was when it was read.
type diskFile struct {
	file *File
	size int64
	time time.Time
	read time.Time // when
}

// NewStore returns a store for the project in root, built for a system.
func NewStore(root *os.Root, system *build.Context) *Store {
	return &Store{root: root, system: system, built: map[uint64]bool{}, fset: token.NewFileSet(), onDisk: map[string]diskFile{}, planned: map[string]*File{}}
}

// Fset has the positions of all files of the store.
func (s *Store) Fset() *token.FileSet { return s.fset }

// isFresh reports whether a file has not changed since it was read. A file that changed just before
// it was read may change again within the clock resolution of the file system.
func (k diskFile) isFresh(info fs.FileInfo) bool {
	return k.file != nil && k.size == info.Size() && k.time.Equal(info.ModTime()) && k.read.Sub(k.time) > 2*time.Second
}

// View returns the project as it is on disk.
func (s *Store) View() (*View, error) {
	found, err := s.find()
	if err != nil {
		return nil, err
	}
	files := make(map[string]*File, len(found))
	var unread []string
	for file, info := range found {
		if k := s.onDisk[file]; k.isFresh(info) {
			files[file] = k.file
		} else {
			unread = append(unread, file)
		}
	}
	for file := range s.onDisk {
		if _, ok := found[file]; !ok {
			delete(s.onDisk, file)
		}
	}
	if err := s.read(unread, found, files); err != nil {
		return nil, err
	}
	return newView(s, files), nil
}

// Empty returns the view of a project without files.
func (s *Store) Empty() *View { return newView(s, map[string]*File{}) }

// find lists the Go files of the project, without those in folders that the go command ignores and
// those of nested modules.
func (s *Store) find() (map[string]fs.FileInfo, error) {
	found := make(map[string]fs.FileInfo, len(s.onDisk))
	err := fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission) && name != ".":
			return fs.SkipDir // such as a database's folder; the go command cannot read it either
		case errors.Is(err, fs.ErrNotExist) && name != ".":
			return nil // it was just removed
		case err != nil:
			return err
		case d.IsDir() && name != "." && s.isIgnored(name):
			return fs.SkipDir
		case d.IsDir() || !isGo(name):
			return nil
		}
		info, err := d.Info()
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			info, err = s.root.Stat(name)
			if err != nil {
				return nil // it leaves the project, or is broken
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

// isIgnored reports whether the go command ignores a folder.
func (s *Store) isIgnored(dir string) bool {
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

// read reads and parses files in parallel.
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
					s.onDisk[j.name] = diskFile{file: file, size: info.Size(), time: info.ModTime(), read: now}
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

// known returns the cached file with a path and text, or nil.
func (s *Store) known(name string, text []byte) *File {
	for _, file := range []*File{s.onDisk[name].file, s.planned[name]} {
		if file != nil && bytes.Equal(file.Text, text) {
			return file
		}
	}
	return nil
}

// plan returns a planned file. A file of the plan before is reused if it is the same.
func (s *Store) plan(name string, text []byte) *File {
	if file := s.known(name, text); file != nil {
		return file
	}
	s.last++
	file := parse(s.fset, name, text, s.last)
	s.planned[name] = file
	return file
}

// isBuilt reports whether a build includes a file, by its name and build constraints.
func (s *Store) isBuilt(file *File) bool {
	if taken, known := s.built[file.ID]; known {
		return taken
	}
	system := *s.system
	system.OpenFile = func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(file.Text)), nil
	}
	taken, err := system.MatchFile(".", path.Base(file.Path))
	taken = taken || err != nil // checking it reports the error
	s.built[file.ID] = taken
	return taken
}

// Full reports whether to replace the store by a new one: positions of old files stay in memory.
func (s *Store) Full() bool { return s.fset.Base() > 256<<20 }
