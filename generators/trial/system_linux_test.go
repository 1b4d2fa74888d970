package trial_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/petrock/petrock/generators/trial"
)

// testsOfSystem are the tests of what this system can do.
func testsOfSystem() map[string]func(*testing.T, stage, *trial.Program) {
	return map[string]func(*testing.T, stage, *trial.Program){
		"leaves a child":    testLeavesChild,
		"kills itself":      testKillsItself,
		"kills its parent":  testKillsParent,
		"grows":             testGrows,
		"confined":          testConfined,
		"others are free":   testOthersAreFree,
		"many at once":      testManyAtOnce,
		"ends with petrock": testEndsWithPetrock,
	}
}

// A test that needs more memory than it may have ends soon, and says so.
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
	if version := trial.LandlockVersion(); r.Confined != (version >= 3) {
		t.Errorf("with version %d of Landlock, confined is %v", version, r.Confined)
	}
}

// A confined test reaches nobody else: this process survives it.
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
		t.Errorf("with version %d of Landlock:\n%snot\n%s", version, got, want)
	}
}

// Of the threads of this process, none is confined afterwards: more than there are of them are
// held at the same time, and each of them may write, and is as it was.
func testOthersAreFree(t *testing.T, _ stage, program *trial.Program) {
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
				t.Errorf("a thread has %s instead of %s", after, before)
			}
			if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o644); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// Several can run at the same time.
func testManyAtOnce(t *testing.T, _ stage, program *trial.Program) {
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			test := []string{"TestAdd", "TestExitsWith3"}[i%2]
			if r, err := program.Run(t.Context(), test, trial.Limits{Time: time.Minute}); err != nil || r.Passed != (test == "TestAdd") {
				t.Errorf("%s: %+v %v", test, r, err)
			}
		})
	}
	group.Wait()
}

// TestMain makes this process one that runs a program of another, for testEndsWithPetrock.
func TestMain(m *testing.M) {
	if dir := os.Getenv("TRIAL_PROGRAM"); dir != "" {
		trial.ProgramIn(dir).Run(context.Background(), "TestWaits", trial.Limits{Time: time.Minute})
		return
	}
	m.Run()
}

// If petrock is killed, so is what it runs.
func testEndsWithPetrock(t *testing.T, s stage, program *trial.Program) {
	petrock := exec.Command(os.Args[0])
	petrock.Env = append(os.Environ(), "TRIAL_PROGRAM="+program.Dir())
	if err := petrock.Start(); err != nil {
		t.Fatal(err)
	}
	s.hungUp(t, func() {
		petrock.Process.Kill()
		petrock.Wait()
	})
}
