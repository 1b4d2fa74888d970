package app

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
)

// programFingerprint is that of the running program: its file's hash. It covers all that the program was built of, so
// that code which has changed, in a feature or in what it uses, has another.
func programFingerprint() (string, error) {
	path, err := "/proc/self/exe", error(nil) // on Linux it is what runs, also when a new build lies in its place
	if runtime.GOOS != "linux" {
		path, err = os.Executable()
	}
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading the program: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("reading the program: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}
