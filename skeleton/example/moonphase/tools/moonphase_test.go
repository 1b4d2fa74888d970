package tools_test

import (
	"testing"
	"time"

	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/skeleton/example/moonphase/tools"
)

// The clock of this test is fixed at a minute after a new moon.
func TestMoonphase(t *testing.T) {
	clock := func() time.Time { return time.Date(2000, time.January, 6, 18, 15, 0, 5, time.UTC) }
	client := mcptest.Serve(t, (&tools.Tools{Now: clock}).Register)
	const now = `{"time":"2000-01-06T18:15:00Z","age":0,"illumination":0,"phase":"new moon"}`
	const full = `{"time":"2000-02-19T16:27:00Z","age":14.14,"illumination":100,"phase":"full moon"}`
	const form = "is not a date and time; write 2024-04-23T23:49:00Z"
	for _, example := range []mcptest.Example{
		{Name: "absent", Input: `{}`, Output: now},
		{Name: "empty", Input: `{"when":""}`, Output: now},
		{Name: "blank", Input: `{"when":" "}`, Output: now},
		{Name: "an instant", Input: `{"when":"2000-02-19T16:27:00Z"}`, Output: full},
		{Name: "with a fraction", Input: `{"when":"2000-02-19T16:27:00.25Z"}`, Output: full},
		{Name: "in another zone", Input: `{"when":"2000-02-19T11:27:00-05:00"}`, Output: full},
		{Name: "without a zone", Input: `{"when":"2000-02-19T16:27:00"}`, Output: full},
		{Name: "without seconds", Input: `{"when":"2000-02-19 16:27"}`, Output: full},
		{Name: "without a time", Input: `{"when":"2000-01-14"}`, Output: `{"time":"2000-01-14T00:00:00Z","age":7.24,"illumination":44,"phase":"waxing crescent"}`},
		{Name: "a word", Input: `{"when":"tomorrow"}`, Error: `"tomorrow" ` + form},
		{Name: "no such day", Input: `{"when":"2023-02-29"}`, Error: `"2023-02-29" ` + form},
		{Name: "no such hour", Input: `{"when":"2023-02-28T24:00:00Z"}`, Error: form},
		{Name: "too early", Input: `{"when":"1066-10-14"}`, Error: "year 1066 is out of range"},
		{Name: "a number", Input: `{"when":2000}`, Error: "when: must be a string"},
		{Name: "another name", Input: `{"date":"2000-01-21"}`, Error: "date"},
	} {
		t.Run(example.Name, func(t *testing.T) {
			client.CheckTool(t, "moonphase", example)
		})
	}
}

// The server's own clock goes by the time of this machine.
func TestMoonphaseNow(t *testing.T) {
	made, err := tools.New()
	if err != nil {
		t.Fatal(err)
	}
	if off := time.Since(made.Now()).Abs(); off > time.Minute {
		t.Errorf("the clock: got %v, want at most %v", off, time.Minute)
	}
	client := mcptest.Serve(t, made.Register)
	client.CheckTool(t, "moonphase", mcptest.Example{Input: `{}`, Output: mcptest.AnyOutput{}})
}
