package appserve

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitMemory makes the garbage collector work harder before the process reaches the memory limit
// of its cgroup, above which the kernel kills it. The variable GOMEMLIMIT takes precedence.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		if limit := cgroupLimit(os.ReadFile); limit < math.MaxInt64 {
			debug.SetMemoryLimit(limit / 5 * 4) // the rest is for memory that Go does not manage
		}
	}
}

// cgroupLimit returns the memory limit of the process's cgroup and those around it, in bytes.
func cgroupLimit(read func(path string) ([]byte, error)) int64 {
	limit := int64(math.MaxInt64)
	groups, _ := read("/proc/self/cgroup") // other systems have none
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		root, file := "/sys/fs/cgroup", "memory.max" // of version 2
		if parts[1] == "memory" {
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		// In a container, only the root of the hierarchy may exist.
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			text, _ := read(path.Join(root, dir, file))
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
				limit = min(limit, n)
			}
			if dir == "/" {
				break
			}
		}
	}
	return limit
}
