package create

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/petrock/petrock/cmd/petrock/internal/place"
)

// Git says what was done about version control, and why.
type Git struct {
	Repository bool   `json:"repository"` // whether one was made, with a first commit
	Said       string `json:"said"`
}

// commit makes a repository of what is to be moved, with one commit, if that can be done and
// is wanted: not inside another repository. A project without one is a project all the
// same, so nothing here is an error.
func commit(ctx context.Context, to *place.Place) *Git {
	const byHand = "git init && git add --all && git commit -m 'First commit'"
	if inRepository(to.Dest()) {
		return &Git{Said: "It is inside a git repository, so it has none of its own."}
	}
	if _, err := exec.LookPath("git"); err != nil {
		return &Git{Said: "It has no git repository: there is no git command here."}
	}
	if _, err := git(ctx, to.Dir(), "-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"); err != nil {
		return &Git{Said: "It has no git repository: git does not know who you are. Set user.name and user.email with git config --global, then there: " + byHand}
	}
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "--all", "--force", "."}, // --force: what you ignore everywhere is not meant for these
		{"commit", "--quiet", "--no-verify", "--no-gpg-sign", "-m", "First commit, as petrock made it"},
	} {
		if out, err := git(ctx, to.Dir(), args...); err != nil {
			os.RemoveAll(filepath.Join(to.Dir(), ".git"))
			return &Git{Said: fmt.Sprintf("It has no git repository: git %s: %v: %s. By hand: %s", args[0], err, firstLine(out), byHand)}
		}
	}
	return &Git{Repository: true, Said: "It is a git repository with a first commit."}
}

// inRepository reports whether a folder above dir, or dir itself, is a git repository's.
func inRepository(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

// git runs git in dir and nowhere else: in a hook, say, the environment points to another repository.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	elsewhere := []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX", "GIT_NAMESPACE"}
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(elsewhere, name)
	})
	return cmd.CombinedOutput()
}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	return line
}
