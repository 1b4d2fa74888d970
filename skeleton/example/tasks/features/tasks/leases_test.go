package tasks_test

import (
	"testing"
	"time"

	"github.com/petrock/petrock/core/app/apptest"
	"github.com/petrock/petrock/skeleton/example/tasks/features/tasks"
)

// An expired task returns to its position in the queue, once. Other taken tasks do not.
func TestLeases(t *testing.T) {
	client := apptest.Serve(t, tasks.Feature())
	client.Given("create_task", `{"title":"one"}`)
	client.Given("create_task", `{"title":"two"}`)
	first := take(t, client, "ann")
	client.Work(t.Context(), "tasks/leases")
	client.Advance(9 * time.Minute)
	second := take(t, client, "bob")
	client.Given("create_task", `{"title":"three"}`)
	client.Work(t.Context(), "tasks/leases")
	if third := take(t, client, "bob"); second.Title != "two" || third.Title != "three" {
		t.Errorf(`bob has %q and %q before a lease has expired; want Title "two" and Title "three"`, second.Title, third.Title)
	}
	client.Advance(2 * time.Minute)
	client.Work(t.Context(), "tasks/leases")
	client.Work(t.Context(), "tasks/leases")
	if again := take(t, client, "eve"); again.ID != first.ID || again.Lease == first.Lease || again.Attempts != 2 || again.Agent != "eve" {
		t.Errorf("eve has %+v; want the task %s with another lease than %s, two attempts and the agent eve", again, first.ID, first.Lease)
	}
	events, err := client.Store.Last(t.Context())
	if err != nil || events != 8 { // 3 create, 4 take, 1 return
		t.Errorf("the log has %d events, %v; want 8 and no error", events, err)
	}
}

// Returned tasks come before newer ones, oldest first.
func TestLeasesOrder(t *testing.T) {
	client := apptest.Serve(t, tasks.Feature())
	for _, title := range []string{"one", "two", "three"} {
		client.Given("create_task", `{"title":"`+title+`"}`)
	}
	take(t, client, "ann")
	take(t, client, "ann")
	client.Advance(time.Hour)
	client.Work(t.Context(), "tasks/leases")
	for _, want := range []string{"one", "two", "three"} {
		if got := take(t, client, "bob"); got.Title != want {
			t.Errorf("bob has %s, want %s", got.Title, want)
		}
	}
}
