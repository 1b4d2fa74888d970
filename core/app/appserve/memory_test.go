package appserve

import (
	"io/fs"
	"math"
	"testing"
)

func TestCgroupLimit(t *testing.T) {
	for _, test := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no cgroups", nil, math.MaxInt64},
		{"version 2, no limit", map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "max\n"}, math.MaxInt64},
		{"version 2, in a container", map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "805306368\n"}, 768 << 20},
		{"version 2, below others", map[string]string{
			"/proc/self/cgroup": "0::/system.slice/hello.service\n",
			"/sys/fs/cgroup/system.slice/hello.service/memory.max": "max\n",
			"/sys/fs/cgroup/system.slice/memory.max":               "1000000\n",
		}, 1000000},
		{"version 1", map[string]string{
			"/proc/self/cgroup": "9:name=systemd:/\n4:memory:/a/b\n3:cpuset:/\n0::/\n",
			"/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "2000000\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
		}, 2000000},
		{"version 1, in a container", map[string]string{
			"/proc/self/cgroup":                           "4:memory:/docker/abc\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "3000000\n",
		}, 3000000},
		{"not readable", map[string]string{"/proc/self/cgroup": "x\n4:memory:\n"}, math.MaxInt64},
	} {
		got := cgroupLimit(func(path string) ([]byte, error) {
			if text, ok := test.files[path]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		})
		if got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}
