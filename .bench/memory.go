package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// peakMemory returns the most memory that a running process has had resident, in bytes.
//
// It comes from /proc and not from the resources that the process used (ru_maxrss): that
// one begins with the memory of whoever started the process, here the benchmark's own.
func peakMemory(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the peak memory, which needs Linux: %w", err)
	}
	return parsePeak(status)
}

// parsePeak finds the line "VmHWM:    1752 kB".
func parsePeak(status []byte) (int64, error) {
	_, rest, found := bytes.Cut(status, []byte("VmHWM:"))
	value, _, complete := bytes.Cut(rest, []byte(" kB"))
	if !found || !complete {
		return 0, fmt.Errorf("reading the peak memory: no line VmHWM")
	}
	kb, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading the peak memory: %w", err)
	}
	return kb << 10, nil
}
