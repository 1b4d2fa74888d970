package typecheck

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// BuildProjectPetrock builds cmd/petrock of the project in root into the user's cache, and returns the
// path of the program. The go command skips the build if nothing has changed.
func BuildProjectPetrock(ctx context.Context, root string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(root))
	program := filepath.Join(cache, "petrock", "projects", hex.EncodeToString(sum[:8]), "petrock")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return "", err
	}
	_, errOut, err := RunCommand(ctx, CommandOptions{Dir: root}, "go", "build", "-o", program, "./cmd/petrock")
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, bytes.TrimSpace(errOut))
	}
	return program, nil
}
