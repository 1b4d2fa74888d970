package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The server that a new project ships is smaller than one with the same tool on the Go SDK.
func TestShippedServerIsSmaller(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, "hello")
	must(t, "..", "go", "run", "./cmd/petrock", "new", "hello", "--dir", project, "--no-git", "--quiet")
	must(t, project, "go", "build", "-trimpath", "-o", filepath.Join(dir, "shipped"), "./cmd/hello")
	must(t, ".", "go", "build", "-trimpath", "-o", filepath.Join(dir, "gosdk"), "./servers/gosdk")
	shipped, gosdk := fileSize(t, filepath.Join(dir, "shipped")), fileSize(t, filepath.Join(dir, "gosdk"))
	t.Logf("%.1f MB, and %.1f MB on the Go SDK", float64(shipped)/1e6, float64(gosdk)/1e6)
	if shipped >= gosdk {
		t.Errorf("the shipped server has %d bytes, the Go SDK's %d", shipped, gosdk)
	}
}

func must(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
}

func fileSize(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
