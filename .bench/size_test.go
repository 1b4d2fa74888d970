package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// maxSize is the size of a new project's server divided by that of a server on the Go SDK with the same tool.
const maxSize = 0.95

// The server of a new project, which also has a command line that calls its tools, is smaller than a server on the Go SDK that only serves.
func TestShippedServerIsSmaller(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, "hello")
	must(t, "..", "go", "run", "./cmd/petrock", "new", "hello", "--dir", project, "--no-git", "--quiet")
	must(t, project, "go", "build", "-trimpath", "-o", filepath.Join(dir, "shipped"), "./cmd/hello")
	must(t, ".", "go", "build", "-trimpath", "-o", filepath.Join(dir, "gosdk"), "./servers/gosdk")
	shipped, gosdk := fileSize(t, filepath.Join(dir, "shipped")), fileSize(t, filepath.Join(dir, "gosdk"))
	ratio := float64(shipped) / float64(gosdk)
	t.Logf("%.2f MB, the Go SDK's server has %.2f MB: %.3f", float64(shipped)/1e6, float64(gosdk)/1e6, ratio)
	if ratio > maxSize {
		t.Errorf("the server is %.3f times the size of the Go SDK's, more than %.2f", ratio, maxSize)
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
