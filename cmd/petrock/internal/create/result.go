package create

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/generators"
)

// A Result describes a project that was, or would be, created.
type Result struct {
	OK       bool     `json:"ok"` // always true: failures are errors
	DryRun   bool     `json:"dryRun"`
	Name     string   `json:"name"`
	Module   string   `json:"module"`
	Example  string   `json:"example,omitempty"`
	OAuth    bool     `json:"oauth,omitempty"`
	Dir      string   `json:"dir"` // absolute
	Petrock  string   `json:"petrock"`
	Programs []string `json:"programs"` // folders, relative to the root
	Files    []File   `json:"files"`
	Git      *Git     `json:"git,omitempty"` // nil with --no-git
	Notes    []string `json:"notes,omitempty"`
	Next     []string `json:"next"` // commands to type
	Seconds  Seconds  `json:"seconds"`
}

// A File is one file of the project.
type File struct {
	Path   string `json:"path"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Seconds has the duration of each step.
type Seconds struct {
	Write  float64 `json:"write"`
	Verify float64 `json:"verify"`
	Git    float64 `json:"git"`
	Total  float64 `json:"total"`
}

func newResult(o Options, files []scaffold.File) *Result {
	dir := o.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(o.Base, dir)
	}
	r := &Result{
		OK:       true,
		DryRun:   o.DryRun,
		Name:     o.Answers.Name,
		Module:   o.Answers.Module,
		Example:  o.Answers.Example,
		OAuth:    o.Answers.OAuth,
		Dir:      filepath.Clean(dir),
		Petrock:  generators.Version,
		Programs: []string{"cmd/" + o.Answers.Name, "cmd/petrock"},
	}
	for _, file := range files {
		sum := sha256.Sum256(file.Data)
		r.Files = append(r.Files, File{Path: file.Path, Bytes: len(file.Data), SHA256: hex.EncodeToString(sum[:])})
	}
	r.next(o)
	return r
}

// next sets Next, and adds a note if a workspace does not list the project.
func (r *Result) next(o Options) {
	if r.Dir != filepath.Clean(o.Base) {
		r.Next = append(r.Next, "cd "+quote(filepath.Clean(o.Dir)))
	}
	if work := workspaceOver(r.Dir); work != "" {
		r.Notes = append(r.Notes, fmt.Sprintf("The workspace %s contains this folder but does not list it, so Go refuses to build it. Run go work use . to add it.", work))
		r.Next = append(r.Next, "go work use .")
	}
	r.Next = append(r.Next, "go test ./...")
	if facts := o.Answers.Facts(); facts.Keyed {
		r.Next = append(r.Next, fmt.Sprintf("export %s=$(openssl rand -hex 32)", project.Variable(r.Name, "api_key")), fmt.Sprintf("go run ./cmd/%s serve", r.Name))
	} else {
		r.Next = append(r.Next, fmt.Sprintf("go run ./cmd/%s call %s %s", r.Name, facts.Tool, facts.Arguments))
	}
	if r.OAuth {
		r.Next = append(r.Next, fmt.Sprintf("go run ./cmd/%s serve --oauth-issuer https://login.example.com", r.Name))
	}
	if len(r.Next) < 3 {
		r.Next = append(r.Next, "go run ./cmd/petrock status")
	}
}

// workspaceOver returns the go.work that applies to a folder and does not list it, or "".
func workspaceOver(dir string) string {
	work := os.Getenv("GOWORK")
	switch work {
	case "":
		work = above(dir, "go.work")
	case "off":
		return ""
	}
	text, err := os.ReadFile(work)
	if err != nil {
		return ""
	}
	parsed, err := modfile.ParseWork(work, text, nil)
	if err != nil {
		return work
	}
	for _, use := range parsed.Use {
		used := filepath.FromSlash(use.Path)
		if !filepath.IsAbs(used) {
			used = filepath.Join(filepath.Dir(work), used)
		}
		if filepath.Clean(used) == dir {
			return ""
		}
	}
	return work
}

// above returns the nearest file of this name in a folder above dir, or "".
func above(dir, name string) string {
	for up := filepath.Dir(dir); up != dir; dir, up = up, filepath.Dir(up) {
		file := filepath.Join(up, name)
		if _, err := os.Lstat(file); err == nil {
			return file
		}
	}
	return ""
}

// String returns the result as text.
func (r *Result) String() string {
	var text strings.Builder
	if r.DryRun {
		fmt.Fprintf(&text, "Would create %s, module %s, in %s:\n\n", r.Name, r.Module, r.Dir)
		for _, file := range r.Files {
			fmt.Fprintf(&text, "%7d  %s\n", file.Bytes, file.Path)
		}
		fmt.Fprintf(&text, "\n%d files. Nothing was written.\n", len(r.Files))
		return text.String()
	}
	fmt.Fprintf(&text, "Created %s in %s: an MCP server with tests and its own petrock, in %d files.\n", r.Name, r.Dir, len(r.Files))
	if r.Seconds.Verify > 0 {
		fmt.Fprintf(&text, "Compiled in %.0f s.\n", r.Seconds.Verify)
	}
	if r.Git != nil {
		fmt.Fprintln(&text, r.Git.Message)
	}
	for _, note := range r.Notes {
		fmt.Fprintln(&text, note)
	}
	text.WriteString("\nNext:\n")
	for _, command := range r.Next {
		fmt.Fprintf(&text, "  %s\n", command)
	}
	return text.String()
}

// quote quotes a path for a shell.
func quote(path string) string {
	if strings.HasPrefix(path, "-") || strings.HasPrefix(path, "~") {
		path = "." + string(filepath.Separator) + path
	}
	plain := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,=~"
	if filepath.Separator == '\\' {
		plain += `\`
	}
	if !strings.ContainsFunc(path, func(r rune) bool { return !strings.ContainsRune(plain, r) }) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
