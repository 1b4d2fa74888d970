package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/petrock/petrock/cmd/petrock/internal/create"
)

// BenchmarkNew reports what petrock new --no-git takes, how much of it is for writing and
// how much for verifying, and the same beside one go build ./cmd/... of the project that it
// made. Go's build cache is warm: the project has been made in that place before. The figures
// are medians.
func BenchmarkNew(b *testing.B) {
	parent := b.TempDir()
	project := filepath.Join(parent, "hello")
	var write, verify, whole, build, ratio []float64
	once := func() {
		if err := os.RemoveAll(project); err != nil {
			b.Fatal(err)
		}
		begin := time.Now()
		cmd := exec.Command("petrock", "new", "hello", "--no-git", "--json")
		cmd.Dir = parent
		out, err := cmd.Output()
		took := time.Since(begin)
		if err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		var result create.Result
		if err := json.Unmarshal(out, &result); err != nil {
			b.Fatal(err)
		}
		begin = time.Now()
		cmd = exec.Command("go", "build", "./cmd/...")
		cmd.Dir = project
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		built := time.Since(begin)
		write = append(write, result.Seconds.Write*1e3)
		verify = append(verify, result.Seconds.Verify*1e3)
		whole = append(whole, took.Seconds()*1e3)
		build = append(build, built.Seconds()*1e3)
		ratio = append(ratio, took.Seconds()/built.Seconds())
	}
	once()
	write, verify, whole, build, ratio = nil, nil, nil, nil, nil
	for b.Loop() {
		once()
	}
	b.ReportMetric(median(write), "write-ms")
	b.ReportMetric(median(verify), "verify-ms")
	b.ReportMetric(median(whole), "whole-ms")
	b.ReportMetric(median(build), "build-ms")
	b.ReportMetric(median(ratio), "whole/build")
	b.ReportMetric(0, "ns/op") // it would count the building in
}

func median(numbers []float64) float64 {
	sorted := slices.Sorted(slices.Values(numbers))
	return sorted[len(sorted)/2]
}
