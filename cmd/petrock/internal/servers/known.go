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
	"github.com/petrock/petrock/core/mcpcli"
)

const (
	maxKnown        = 1 << 20 // bytes that are kept of a server's lists
	maxKnownServers = 200     // the oldest are forgotten
)

// urlDefinition is the definition of a server that only its URL describes.
func urlDefinition(url string) string {
	sum := sha256.Sum256([]byte("url\x00" + url))
	return hex.EncodeToString(sum[:])
}

// knownFile is the file with what is known of a server. It is empty if there is no place for it.
func knownFile(definition string) string {
	dir, err := os.UserCacheDir()
	if err != nil || definition == "" {
		return ""
	}
	return filepath.Join(dir, "petrock", "servers", definition+".json")
}

// recall returns what commands have learned of a server. It is empty if the file cannot be read, is
// damaged, or could have been written by another user.
func recall(definition string) mcpcli.Lists {
	lists := mcpcli.Lists{}
	text, err := userfile.Read(knownFile(definition), maxKnown)
	if err != nil || json.Unmarshal(text, &lists) != nil || lists == nil {
		return mcpcli.Lists{}
	}
	return lists
}

// learn keeps a list of a server for completion. Errors are ignored: completion then suggests less.
func learn(definition, method string, entries []json.RawMessage) {
	file := knownFile(definition)
	if file == "" || !slices.Contains([]string{"tools/list", "resources/list", "prompts/list"}, method) {
		return
	}
	lists := recall(definition)
	before, _ := json.Marshal(lists)
	lists[method] = entries
	text, err := json.Marshal(lists)
	if err == nil && len(text) > maxKnown {
		delete(lists, method)
		text, err = json.Marshal(lists)
	}
	if err != nil || bytes.Equal(text, before) || userfile.Write(file, text) != nil {
		return
	}
	forget(filepath.Dir(file))
}

// forget removes the oldest files of a folder that has too many.
func forget(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= maxKnownServers {
		return
	}
	var files []os.FileInfo
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for i := maxKnownServers; i < len(files); i++ {
		_ = os.Remove(filepath.Join(dir, files[i].Name()))
	}
}
