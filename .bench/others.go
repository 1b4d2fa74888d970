package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// muchByOthers is the share of the CPUs from which on the report warns that the machine
// was not quiet.
const muchByOthers = 0.05

// A cpuUsage is what has been computed so far, in the ticks that /proc counts in.
type cpuUsage struct {
	total int // that could have been computed since the machine was started
	busy  int // that was, by anyone, or was taken from this machine by its host
	own   int // by this process and those it has waited for
}

func readCPUUsage() (cpuUsage, error) {
	all, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cpuUsage{}, fmt.Errorf("reading who uses the CPUs, which needs Linux: %w", err)
	}
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return cpuUsage{}, err
	}
	return parseCPUUsage(all, own)
}

// parseCPUUsage reads the first line of /proc/stat, and /proc/self/stat. See proc(5).
func parseCPUUsage(all, own []byte) (u cpuUsage, err error) {
	line, _, _ := bytes.Cut(all, []byte("\n"))
	fields := bytes.Fields(line)
	// The program's name stands in parentheses, and may have some in it.
	ownFields := bytes.Fields(own[bytes.LastIndexByte(own, ')')+1:])
	if len(fields) < 9 || len(ownFields) < 15 {
		return u, fmt.Errorf("reading who uses the CPUs: /proc is not as expected: %s", line)
	}
	for i, field := range fields[1:9] { // user nice system idle iowait irq softirq steal
		n, err := strconv.Atoi(string(field))
		if err != nil {
			return u, fmt.Errorf("reading who uses the CPUs: %w", err)
		}
		u.total += n
		if i != 3 && i != 4 {
			u.busy += n
		}
	}
	for _, field := range ownFields[11:15] { // user and system, own and of children
		n, err := strconv.Atoi(string(field))
		if err != nil {
			return u, fmt.Errorf("reading who uses the CPUs: %w", err)
		}
		u.own += n
	}
	return u, nil
}

// A share is a part of what the CPUs could have computed, in ticks.
type share struct{ part, total int }

// others is what others used since before.
func (u cpuUsage) others(before cpuUsage) share {
	return share{
		part:  max(0, u.busy-before.busy-(u.own-before.own)),
		total: u.total - before.total,
	}
}

func (s share) plus(t share) share {
	return share{s.part + t.part, s.total + t.total}
}

// of is the share as a number from 0 to 1.
func (s share) of() float64 {
	if s.total <= 0 {
		return 0
	}
	return float64(s.part) / float64(s.total)
}
