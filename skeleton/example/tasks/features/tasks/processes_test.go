package tasks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/sqlite"
	"github.com/petrock/petrock/skeleton/example/tasks/features/tasks"
)

// agentVariable is set when this test program runs as a process that takes tasks. Its value is the
// file of the log.
const agentVariable = "TEST_TAKE_TASKS_OF"

func TestMain(m *testing.M) {
	file := os.Getenv(agentVariable)
	if file == "" {
		os.Exit(m.Run())
	}
	if err := withTasks(context.Background(), file, takeAll); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// withTasks calls f with a context for commands on the log in a file.
func withTasks(ctx context.Context, file string, f func(context.Context) error) error {
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return err
	}
	a, err := app.Open(ctx, store, app.Options{}, tasks.Feature().Feature)
	if err != nil {
		return err
	}
	return errors.Join(f(app.With(ctx, a)), store.Close())
}

// takeAll lets four agents take tasks until none are left, and prints the ids.
func takeAll(ctx context.Context) error {
	var agents sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		agents.Go(func() {
			for {
				task, err := app.Do(ctx, tasks.Take{LeaseSeconds: 600})
				if errors.Is(err, app.ErrRefused) {
					return
				}
				if errs[i] = err; err != nil {
					return
				}
				fmt.Println(task.ID)
			}
		})
	}
	agents.Wait()
	return errors.Join(errs...)
}

// Agents in several processes take each task exactly once.
func TestTakeAcrossProcesses(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const many = 200
	file := filepath.Join(t.TempDir(), "log.db")
	err = withTasks(t.Context(), file, func(ctx context.Context) error {
		for i := range many {
			if _, err := app.Do(ctx, tasks.Create{Title: fmt.Sprint("task ", i)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var processes sync.WaitGroup
	printed := make([]bytes.Buffer, 4)
	for i := range printed {
		processes.Go(func() {
			agents := exec.CommandContext(t.Context(), self)
			agents.Env = append(os.Environ(), agentVariable+"="+file)
			agents.Stdout, agents.Stderr = &printed[i], t.Output()
			if err := agents.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	processes.Wait()
	taken := map[string]bool{}
	for i := range printed {
		for _, id := range strings.Fields(printed[i].String()) {
			if taken[id] {
				t.Errorf("the task %s was taken twice, want once", id)
			}
			taken[id] = true
		}
	}
	if len(taken) != many {
		t.Errorf("%d tasks were taken, want %d", len(taken), many)
	}
}
