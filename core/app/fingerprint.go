package app

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
)

// fingerprint identifies the code that decides the state of a feature; empty if it is unknown.
func (a *App) fingerprint(f *feature) string { return a.fingerprints()[f] }

// findFingerprints returns the fingerprints of all features. If any feature has a Map, which
// decides the events that the others get, they all have the fingerprint of all features.
func (a *App) findFingerprints() map[*feature]string {
	program := sync.OnceValue(func() string {
		fingerprint, err := programFingerprint()
		if err != nil {
			a.o.Logger.Warn("snapshots disabled", "error", err)
		}
		return fingerprint
	})
	all, hasMap := map[*feature]string{}, false
	var text []byte
	for _, f := range a.features {
		if a.o.Fingerprint != nil {
			all[f] = a.o.Fingerprint(f.Name)
		}
		if all[f] == "" {
			all[f] = program()
		}
		hasMap = hasMap || f.Map != nil
		text = fmt.Appendln(text, f.Name, all[f])
	}
	if hasMap {
		combined := checksum(text)[:32]
		if slices.Contains(slices.Collect(maps.Values(all)), "") {
			combined = ""
		}
		for f := range all {
			all[f] = combined
		}
	}
	return all
}

// programFingerprint returns the hash of the running program's file, which changes with the code of
// the features and their dependencies.
func programFingerprint() (string, error) {
	// On Linux this is the running program, even if the file was replaced.
	path, err := "/proc/self/exe", error(nil)
	if runtime.GOOS != "linux" {
		path, err = os.Executable()
	}
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the program: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read the program: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
