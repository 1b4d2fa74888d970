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
	return parseMemory(status, "VmHWM:")
}

// residentMemory returns the memory that a running process has resident, in bytes.
func residentMemory(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the memory, which needs Linux: %w", err)
	}
	return parseMemory(status, "VmRSS:")
}

// parseMemory finds a line like "VmHWM:    1752 kB".
func parseMemory(status []byte, key string) (int64, error) {
	_, rest, found := bytes.Cut(status, []byte(key))
	value, _, complete := bytes.Cut(rest, []byte(" kB"))
	if !found || !complete {
		return 0, fmt.Errorf("reading the memory: no line %s", key)
	}
	kb, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading the memory: %w", err)
	}
	return kb << 10, nil
}
