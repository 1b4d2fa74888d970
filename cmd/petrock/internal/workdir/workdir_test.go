package workdir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/plumbing/project"
)

// open makes folders with projects and links, and opens one of the folders.
func open(t *testing.T, dir string, projects []string, links map[string]string) (*Dir, string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range projects {
		if err := os.MkdirAll(filepath.Join(base, path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, path, project.FileName), []byte(`{"name":"hello"}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range links {
		if err := os.Symlink(filepath.FromSlash(to), filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(filepath.Join(base, dir))
	if err != nil {
		t.Fatal(err)
	}
	return d, filepath.Join(base, dir)
}

// Paths are cleaned before links are followed.
func TestFind(t *testing.T) {
	d, base := open(t, "here", []string{"outside", "here/deep/other", "here/deep/folder", "here/mine"},
		map[string]string{"here/link": "deep/folder", "here/other": "../outside", "here/alias": "mine"})
	for _, dir := range []string{"other", "link/../other", "..", "nowhere"} {
		if found, err := d.Find(dir); err == nil || !strings.Contains(err.Error(), "name a folder below") {
			t.Errorf(`%s: %+v, %v; want an error containing "name a folder below"`, dir, found, err)
		}
	}
	for _, dir := range []string{"alias", "mine", filepath.Join(base, "mine")} {
		if found, err := d.Find(dir); err != nil || found.Root != filepath.Join(base, "mine") {
			t.Errorf("%s: got %+v, %v; want the project %s and no error", dir, found, err, filepath.Join(base, "mine"))
		}
	}
	d.SetCurrent(filepath.Join(base, "mine"))
	if found, err := d.Find(""); err != nil || found.Root != filepath.Join(base, "mine") {
		t.Errorf("the current project: got %+v, %v; want %s and no error", found, err, filepath.Join(base, "mine"))
	}
	if err := os.RemoveAll(filepath.Join(base, "mine")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Find(""); err == nil || !strings.Contains(err.Error(), "choose a project with dir: deep/folder, deep/other") {
		t.Errorf(`after the current project was removed: %v; want an error containing "choose a project with dir: deep/folder, deep/other"`, err)
	}
}

// An error lists at most three projects below the working directory.
func TestProjectsBelow(t *testing.T) {
	d, _ := open(t, "", []string{"a", "b", "c", "d", "e"}, nil)
	if _, err := d.Find(""); err == nil || !strings.HasSuffix(err.Error(), "choose a project with dir, such as a, b, c") {
		t.Errorf(`got %v; want an error ending with "choose a project with dir, such as a, b, c"`, err)
	}
	if d, base := open(t, "", []string{"only"}, nil); d != nil {
		if found, err := d.Find(""); err != nil || found.Root != filepath.Join(base, "only") {
			t.Errorf("got %+v, %v; want the project %s and no error", found, err, filepath.Join(base, "only"))
		}
	}
}
