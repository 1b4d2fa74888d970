package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// callers is the line of a project's server that gives it the commands with which it calls servers.
const callers = "root.AddCommand(mcpcli.Commands(newEnv(out, errOut))...)"

// The server that a new project ships is at most 1 % larger than a server on the Go SDK with the same tool that calls servers too, and
// without the commands that call servers it is smaller than one that only serves.
func TestShippedServerIsSmaller(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, "hello")
	must(t, "..", "go", "run", "./cmd/petrock", "new", "hello", "--dir", project, "--no-git", "--quiet")
	compare(t, dir, project, "./servers/gosdkcaller", 1.01)

	file := filepath.Join(project, "cmd", "hello", "main.go")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), callers) != 1 {
		t.Fatalf("%s no longer says %s", file, callers)
	}
	without := strings.Replace(string(text), callers, "", 1)
	without = strings.Replace(without, "\t\"hello/core/mcpcli\"\n", "", 1)
	if err := os.WriteFile(file, []byte(without), 0o644); err != nil {
		t.Fatal(err)
	}
	compare(t, dir, project, "./servers/gosdk", 1)
}

// compare builds a project's server and a peer on the Go SDK in the same way. The server has to be smaller than so many times the peer.
func compare(t *testing.T, dir, project, peer string, most float64) {
	t.Helper()
	must(t, project, "go", "build", "-trimpath", "-o", filepath.Join(dir, "shipped"), "./cmd/hello")
	must(t, ".", "go", "build", "-trimpath", "-o", filepath.Join(dir, "gosdk"), peer)
	shipped, gosdk := fileSize(t, filepath.Join(dir, "shipped")), fileSize(t, filepath.Join(dir, "gosdk"))
	t.Logf("%.2f MB, and %.2f MB of %s", float64(shipped)/1e6, float64(gosdk)/1e6, peer)
	if float64(shipped) >= most*float64(gosdk) {
		t.Errorf("the shipped server has %d bytes, %s %d", shipped, peer, gosdk)
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
