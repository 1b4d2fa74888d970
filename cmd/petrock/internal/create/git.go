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

	"github.com/petrock/petrock/generators/typecheck"
)

// Git says what was done about version control, and why.
type Git struct {
	Repository bool   `json:"repository"` // whether one was made, with a first commit
	Said       string `json:"said"`
}

// commit makes a repository of what is to be moved, with one commit, if that can be done and
// is wanted: not inside another repository. A project without one is a project all the
// same, so nothing here is an error.
func commit(ctx context.Context, to *destination) *Git {
	const byHand = "git init && git add --all && git commit -m 'First commit'"
	if inRepository(to.Dest()) {
		return &Git{Said: "It is inside a git repository, so it has none of its own."}
	}
	if _, err := exec.LookPath("git"); err != nil {
		return &Git{Said: "It has no git repository: there is no git command here."}
	}
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"var", "GIT_AUTHOR_IDENT"}, // whether git knows, in this repository, who the user is
		{"var", "GIT_COMMITTER_IDENT"},
		{"add", "--all", "--force", "."}, // --force: what a user ignores everywhere is not meant for these
		{"commit", "--quiet", "--no-verify", "--no-gpg-sign", "-m", "First commit, as petrock made it"},
	} {
		words, err := git(ctx, to.Dir(), args...)
		if err == nil {
			continue
		}
		os.RemoveAll(filepath.Join(to.Dir(), ".git"))
		if args[0] == "var" {
			return &Git{Said: fmt.Sprintf("It has no git repository: git does not know who you are (%s). Set user.name and user.email with git config --global, then there: %s", words, byHand)}
		}
		return &Git{Said: fmt.Sprintf("It has no git repository: %v: %s. By hand: %s", err, words, byHand)}
	}
	return &Git{Repository: true, Said: "It is a git repository with a first commit."}
}

// inRepository reports whether a folder is below a git repository's, by the path that it
// is called by or by the one that it really has.
func inRepository(dir string) bool {
	return above(dir, ".git") != "" || above(filepath.Join(unlinked(filepath.Dir(dir)), filepath.Base(dir)), ".git") != ""
}

// unlinked is a path without links, as far as there is something.
func unlinked(dir string) string {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		return resolved
	}
	if up := filepath.Dir(dir); up != dir {
		return filepath.Join(unlinked(up), filepath.Base(dir))
	}
	return dir
}

// git runs git in dir and nowhere else: in a hook, say, the environment points to another
// repository. Nothing of what the user has git do along the way is done here. The
// words are the last that git said.
func git(ctx context.Context, dir string, args ...string) (words string, err error) {
	elsewhere := []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX", "GIT_NAMESPACE"}
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(elsewhere, name)
	})
	alone := []string{"-c", "user.useConfigOnly=true", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false"}
	_, errOut, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{Dir: dir, Env: env}, "git", append(alone, args...)...)
	if err == nil {
		return "", nil
	}
	lines := bytes.Split(bytes.TrimSpace(errOut), []byte("\n"))
	words = string(lines[len(lines)-1])
	if words == "" {
		words = "it does not say why"
	}
	return words, fmt.Errorf("git %s", args[0])
}
