package typecheck

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// key identifies all that the answers of the go command depend on: the go command, its environment,
// the modules. It starts no process.
func key(dir string) string {
	hash := sha256.New()
	add := func(name string, text []byte) {
		fmt.Fprintf(hash, "%s %d\n", name, len(text))
		hash.Write(text)
	}
	program, err := exec.LookPath("go")
	if err == nil {
		program, _ = filepath.EvalSymlinks(program)
	}
	add("format", []byte("3"))
	stamp(hash, program)
	var settings []string
	for _, setting := range os.Environ() {
		if strings.HasPrefix(setting, "GO") || strings.HasPrefix(setting, "CGO_") || strings.HasPrefix(setting, "HOME=") || strings.HasPrefix(setting, "XDG_") {
			settings = append(settings, setting)
		}
	}
	slices.Sort(settings)
	add("environment", []byte(strings.Join(settings, "\n")))
	if config, err := os.UserConfigDir(); err == nil {
		stamp(hash, filepath.Join(config, "go", "env")) // what go env -w has set
	}
	if file := os.Getenv("GOENV"); file != "" {
		stamp(hash, file)
	}
	for _, name := range []string{"go.mod", "go.sum", filepath.Join("vendor", "modules.txt")} {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		add(name, text)
	}
	for _, file := range workspaces(dir) {
		text, _ := os.ReadFile(file)
		add(file, text)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// stamp adds the size and modification time of a file.
func stamp(hash io.Writer, file string) {
	info, err := os.Stat(file)
	if err != nil {
		fmt.Fprintf(hash, "no %s\n", file)
		return
	}
	fmt.Fprintf(hash, "%s %d %d\n", file, info.Size(), info.ModTime().UnixNano())
}

// workspaces returns the go.work files that may apply to a folder.
func workspaces(dir string) []string {
	if file := os.Getenv("GOWORK"); file != "" {
		return []string{file}
	}
	var files []string
	for at := dir; ; at = filepath.Dir(at) {
		files = append(files, filepath.Join(at, "go.work"))
		if at == filepath.Dir(at) {
			return files
		}
	}
}
