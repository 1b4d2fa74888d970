package servers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/petrock/petrock/cmd/petrock/internal/userfile"
)

const (
	maxListsFile = 1 << 20 // bytes, for each server
	maxListsKept = 200     // servers; the oldest files are removed
)

// urlDefinition returns the definition of a server that is given as a URL on the command line.
func urlDefinition(url string) string {
	sum := sha256.Sum256([]byte("url\x00" + url))
	return hex.EncodeToString(sum[:])
}

// listsFile returns the file with the saved lists of a server. It returns "" if the user's cache
// folder is unknown.
func listsFile(definition string) string {
	dir, err := os.UserCacheDir()
	if err != nil || definition == "" {
		return ""
	}
	return filepath.Join(dir, "petrock", "servers", definition+".json")
}

// lists are the entries of a server's lists, as it sends them, by method, such as tools/list.
type lists map[string][]json.RawMessage

// loadLists returns the lists that saveList saved. They are empty if the file cannot be read, is
// damaged, or could have been written by another user.
func loadLists(definition string) lists {
	saved := lists{}
	text, err := userfile.Read(listsFile(definition), maxListsFile)
	if err != nil || json.Unmarshal(text, &saved) != nil || saved == nil {
		return lists{}
	}
	return saved
}

// saveList saves a list of a server for shell completion. It ignores errors: completion then
// suggests less.
func saveList(definition, method string, entries []json.RawMessage) {
	file := listsFile(definition)
	if file == "" || !slices.Contains([]string{"tools/list", "resources/list", "prompts/list"}, method) {
		return
	}
	lists := loadLists(definition)
	before, _ := json.Marshal(lists)
	lists[method] = entries
	text, err := json.Marshal(lists)
	if err == nil && len(text) > maxListsFile {
		delete(lists, method)
		text, err = json.Marshal(lists)
	}
	if err != nil || bytes.Equal(text, before) || userfile.Write(file, text) != nil {
		return
	}
	removeOldest(filepath.Dir(file))
}

// removeOldest removes the oldest files of a folder with more than maxListsKept.
func removeOldest(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= maxListsKept {
		return
	}
	var files []os.FileInfo
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, file := range files[min(maxListsKept, len(files)):] {
		_ = os.Remove(filepath.Join(dir, file.Name()))
	}
}
