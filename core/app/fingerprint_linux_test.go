package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The fingerprint is that of the running program, even if a new build has replaced its file.
func TestReplacedProgram(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("PETROCK_TEST_REPLACED") == "" {
		program, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(copied, program, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), copied, "-test.run=^TestReplacedProgram$")
		cmd.Env = append(os.Environ(), "PETROCK_TEST_REPLACED=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s, want no error", err, out)
		}
		return
	}
	before, err := programFingerprint()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte("a new build"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if after, err := programFingerprint(); err != nil || after != before {
		t.Errorf("the fingerprint is %s, %v; want %s as before, and no error", after, err, before)
	}
}
