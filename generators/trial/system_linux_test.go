package trial_test

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/petrock/petrock/generators/trial"
)

// systemTests returns the tests for this operating system.
func systemTests() map[string]func(*testing.T, stage, *trial.Program) {
	return map[string]func(*testing.T, stage, *trial.Program){
		"leaves a child":           testLeavesChild,
		"kills itself":             testKillsItself,
		"kills its parent":         testKillsParent,
		"grows":                    testGrows,
		"confined":                 testConfined,
		"threads are not confined": testThreadsAreNotConfined,
		"concurrent":               testConcurrent,
		"ends with petrock":        testEndsWithPetrock,
		"isolated":                 testHostile,
		"not isolated":             testHostileNotIsolated,
	}
}

// testHostile runs tests that try to escape, in namespaces if this system permits them.
func testHostile(t *testing.T, s stage, program *trial.Program) {
	hostile(t, s, func(test string, l trial.Limits) (*trial.Report, error) { return program.Run(t.Context(), test, l) })
}

// testHostileNotIsolated does the same in a process that may not create namespaces.
func testHostileNotIsolated(t *testing.T, s stage, program *trial.Program) {
	hostile(t, s, func(test string, l trial.Limits) (*trial.Report, error) {
		limits, err := json.Marshal(l)
		if err != nil {
			return nil, err
		}
		petrock := exec.Command(os.Args[0])
		petrock.Env = append(os.Environ(), "TRIAL_PROGRAM="+program.Dir(), "TRIAL_TEST="+test, "TRIAL_LIMITS="+string(limits))
		petrock.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		out, err := petrock.Output()
		if err != nil {
			t.Skipf("user namespaces are not permitted: %v", err)
		}
		var r trial.Report
		return &r, json.Unmarshal(out, &r)
	})
}

func hostile(t *testing.T, s stage, run func(string, trial.Limits) (*trial.Report, error)) {
	limits := trial.Limits{Time: time.Minute}
	attempt := func(t *testing.T, test string) *trial.Report {
		r, err := run(test, limits)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("not enforced: %q", r.Unenforced)
		if trial.LandlockVersion() >= 6 && slices.Contains(r.Unenforced, "killing all child processes") {
			t.Errorf("Landlock %d does not protect the supervisor: %q is not enforced", trial.LandlockVersion(), r.Unenforced)
		}
		return r
	}
	passes := "example one: true\nexample two: true\nexample three: true\n"
	for test, want := range map[string]string{
		"TestDetaches":     passes,
		"TestOrphans":      passes,
		"TestChildrenGrow": badSecond("needed more than 256 MiB of memory"),
		"TestForks":        badSecond("started more than 512 processes"),
	} {
		t.Run(test, func(t *testing.T) {
			if limits.Memory = 256 << 20; test == "TestForks" {
				limits.Memory = 0
			}
			if got := summary(attempt(t, test)); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			if test == "TestDetaches" {
				for range 5 {
					s.checkDisconnect(t, nil)
				}
			}
			if left := processesBelow(t, os.TempDir()); len(left) > 0 {
				t.Errorf("processes are left: %q", left)
			}
		})
	}
	t.Run("TestChangesAttributes", func(t *testing.T) {
		old := filepath.Join(s.outside, "old")
		before, err := os.Stat(old)
		if err != nil {
			t.Fatal(err)
		}
		r := attempt(t, "TestChangesAttributes")
		after, err := os.Stat(old)
		if err != nil {
			t.Fatal(err)
		}
		changed := before.Mode() != after.Mode() || before.ModTime() != after.ModTime()
		if enforced := !slices.Contains(r.Unenforced, "no changes of modes, owners or times outside the temporary folder"); enforced == changed || enforced != r.Passed {
			t.Errorf("enforced: %t, changed: %t, passed: %t\n%s; want it either enforced, and passed, or changed", enforced, changed, r.Passed, summary(r))
		}
		os.Chmod(old, before.Mode())
		os.Chmod(s.outside, 0o755)
	})
	t.Run("TestDials", func(t *testing.T) {
		limits.NoNet = true
		r := attempt(t, "TestDials")
		enforced := !slices.Contains(r.Unenforced, "no network")
		if enforced != r.Passed {
			t.Errorf("enforced: %t, passed: %t; want the same:\n%s", enforced, r.Passed, summary(r))
		}
		if !enforced {
			if line, err := s.calls.Accept(); err == nil {
				line.Close()
			}
		}
	})
}

// processesBelow returns the running programs below a folder.
func processesBelow(t *testing.T, dir string) (programs []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, exe := range all {
		if program, _ := os.Readlink(exe); strings.HasPrefix(program, dir) {
			programs = append(programs, program)
		}
	}
	return programs
}

// A test that exceeds the memory limit is killed.
func testGrows(t *testing.T, _ stage, program *trial.Program) {
	r, err := program.Run(t.Context(), "TestGrows", trial.Limits{Time: time.Minute, Memory: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := summary(r), badSecond("needed more than 256 MiB of memory"); got != want || r.Passed {
		t.Errorf("passed: %v\n%snot\n%s%s", r.Passed, got, want, r.Printed)
	}
}

func testConfined(t *testing.T, _ stage, program *trial.Program) {
	r, err := program.Run(t.Context(), "TestAdd", trial.Limits{Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if version := trial.LandlockVersion(); version >= 3 && !r.IsConfined() {
		t.Errorf("with Landlock version %d the program is not confined: %q is not enforced", version, r.Unenforced)
	}
}

// A confined test cannot send signals to this process.
func testKillsParent(t *testing.T, _ stage, program *trial.Program) {
	version := trial.LandlockVersion()
	r, err := program.Run(t.Context(), "TestKillsParent", trial.Limits{Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	want := "example one: true\nexample two: false \"operation not permitted\"\nexample three: true\n"
	if version < 6 {
		want = "example one: true\nexample two: false \"it could\"\nexample three: true\n"
	}
	if got := summary(r); got != want {
		t.Errorf("with Landlock version %d: got\n%swant\n%s", version, got, want)
	}
}

// A trial confines no thread of this process. The test locks more threads than existed before, and
// checks that each can write and has its old privileges.
func testThreadsAreNotConfined(t *testing.T, _ stage, program *trial.Program) {
	privileges := regexp.MustCompile(`NoNewPrivs:\s*\d`)
	state := func() string {
		status, err := os.ReadFile("/proc/thread-self/status")
		if err != nil {
			t.Error(err)
		}
		return string(privileges.Find(status))
	}
	before := state()
	for range 3 {
		if _, err := program.Run(t.Context(), "TestAdd", trial.Limits{Time: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var all, group sync.WaitGroup
	all.Add(len(tasks) + 8)
	for i := range len(tasks) + 8 {
		group.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait()
			if after := state(); after != before {
				t.Errorf("a thread: got %q, want %q", after, before)
			}
			if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o644); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// Trials can run concurrently.
func testConcurrent(t *testing.T, _ stage, program *trial.Program) {
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			test := []string{"TestAdd", "TestExitsWith3"}[i%2]
			if r, err := program.Run(t.Context(), test, trial.Limits{Time: time.Minute}); err != nil || r.Passed != (test == "TestAdd") {
				t.Errorf("%s: %+v %v; want no error and passed: %t", test, r, err, test == "TestAdd")
			}
		})
	}
	group.Wait()
}

// TestMain runs a test of another process's program if the environment names one.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, withoutSupervise) {
		time.Sleep(time.Hour)
	}
	if trial.Supervise() {
		return
	}
	dir := os.Getenv("TRIAL_PROGRAM")
	switch test := os.Getenv("TRIAL_TEST"); {
	case dir == "":
		m.Run()
	case test == "":
		trial.ProgramIn(dir).Run(context.Background(), "TestWaits", trial.Limits{Time: time.Minute})
	default:
		var l trial.Limits
		err := errors.Join(
			os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0),
			json.Unmarshal([]byte(os.Getenv("TRIAL_LIMITS")), &l))
		if err != nil {
			log.Fatal(err)
		}
		r, err := trial.ProgramIn(dir).Run(context.Background(), test, l)
		if err != nil {
			log.Fatal(err)
		}
		json.NewEncoder(os.Stdout).Encode(r)
	}
}

// A test that can kill its supervisor can leave children. It cannot kill the supervisor of a PID
// namespace.
func TestUnenforcedChildren(t *testing.T) {
	for _, test := range []struct{ isolated, signalsBlocked, enforced bool }{
		{true, true, true},
		{true, false, true},
		{false, true, true},
		{false, false, false},
	} {
		got := trial.Unenforced(test.isolated, test.signalsBlocked)
		if enforced := !slices.Contains(got, "killing all child processes"); enforced != test.enforced {
			t.Errorf("%+v: unenforced is %q, want killing all child processes enforced: %t", test, got, test.enforced)
		}
	}
}

// withoutSupervise is the argument that makes this program block, and not call trial.Supervise.
const withoutSupervise = "without-supervise"

// A program that does not call trial.Supervise gets an error that says so.
func TestWithoutSupervise(t *testing.T) {
	err := trial.StartSupervisor(100*time.Millisecond, withoutSupervise)
	if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "must call trial.Supervise first") {
		t.Error(err)
	}
}

// If petrock is killed, the test is killed too.
func testEndsWithPetrock(t *testing.T, s stage, program *trial.Program) {
	petrock := exec.Command(os.Args[0])
	petrock.Env = append(os.Environ(), "TRIAL_PROGRAM="+program.Dir())
	if err := petrock.Start(); err != nil {
		t.Fatal(err)
	}
	s.checkDisconnect(t, func() {
		petrock.Process.Kill()
		petrock.Wait()
	})
}
