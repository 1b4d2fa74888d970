package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mount mounts a small file system on a folder until the test ends.
func mount(t *testing.T, dir, options string, flags uintptr) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
		t.Skipf("mounting needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// On a full disk, petrock new prints a clear error and leaves no files, at whatever step it fails.
func TestFullDisk(t *testing.T) {
	sizes := []string{"200k", "900k", "4k", "40k", "520k", "64m"}
	for _, size := range sizes[:rounds(1, len(sizes))] {
		t.Run(size, func(t *testing.T) {
			disk := t.TempDir()
			mount(t, disk, "size="+size, 0)
			out, err := petrockCommand(disk, "hello").CombinedOutput()
			if err == nil {
				checkWhole(t, filepath.Join(disk, "hello"))
				t.Logf("the project fits, with or without git:\n%s", out)
				return
			}
			if !strings.Contains(string(out), "no space left on device") {
				t.Errorf(`got %v: %q, want it to contain "no space left on device"`, err, string(out))
			}
			if left := names(t, disk); len(left) > 0 {
				t.Errorf("the disk still has %q, want nothing left", left)
			}
		})
	}
}

func TestReadOnlyDisk(t *testing.T) {
	disk := t.TempDir()
	mount(t, disk, "", syscall.MS_RDONLY)
	out, err := petrockCommand(disk, "hello").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "read-only file system") {
		t.Errorf("got %v\n%s; want an error and output with \"read-only file system\" in it", err, out)
	}
	out, err = petrockCommand(disk, "hello", "--dir", ".").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "read-only file system") {
		t.Errorf("in the folder itself: got %v\n%s; want an error and output with \"read-only file system\" in it", err, out)
	}
}
