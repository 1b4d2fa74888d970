package civil_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/petrock/petrock/core/civil"
	"github.com/petrock/petrock/core/strictjson"
)

func Example() {
	var loan struct {
		Due   civil.Date     `json:"due"`
		Grace civil.Duration `json:"grace"`
	}
	_ = json.Unmarshal([]byte(`{"due":"2026-11-19","grace":"1h30m"}`), &loan)
	fmt.Println(loan.Due.AddDays(14), loan.Due.In(time.UTC).Weekday(), time.Duration(loan.Grace).Minutes())
	// Output: 2026-12-03 Thursday 90
}

func TestDates(t *testing.T) {
	for _, text := range []string{"0000-01-01", "0001-01-01", "1600-02-29", "1969-12-31", "1970-01-01", "2026-11-19", "9999-12-31"} {
		d, err := civil.ParseDate(text)
		want, _ := time.Parse(time.DateOnly, text)
		if err != nil || d.String() != text || !d.In(time.UTC).Equal(want) || d != civil.DateOf(want) {
			t.Errorf("ParseDate(%q) = %v at %v, %v; want the date at %v", text, d, d.In(time.UTC), err, want)
		}
	}
	for _, text := range []string{"", "2026-02-30", "2026-11-19T00:00:00Z", "19.11.2026", "2026-1-1", "10000-01-01"} {
		if d, err := civil.ParseDate(text); err == nil {
			t.Errorf("ParseDate(%q) = %v, want an error", text, d)
		}
	}
	day := civil.NewDate(2026, time.October, 32)
	next := day.AddDays(1)
	switch {
	case day.String() != "2026-11-01" || next.DaysSince(day) != 1:
		t.Errorf("October 32 is %v, and %v after a day", day, next)
	case !day.Before(next) || day.After(next) || day.Compare(next) != -1 || day.Before(day):
		t.Errorf("%v is not before %v", day, next)
	case day.IsZero() || !(civil.Date{}).IsZero() || !(civil.Date{}).In(time.UTC).IsZero():
		t.Error("only the zero value is zero")
	}
	if text, err := civil.NewDate(10000, 1, 1).MarshalText(); err == nil {
		t.Errorf("the year 10000 is encoded as %s, want an error", text)
	}
}

// A date is that of the clock on the wall, also on days with another length.
func TestDateInAZone(t *testing.T) {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Skip(err)
	}
	for day := civil.NewDate(2017, 1, 1); day.Before(civil.NewDate(2019, 1, 1)); day = day.AddDays(1) {
		if got := civil.DateOf(day.In(zone).Add(2 * time.Hour)); got != day {
			t.Errorf("two hours after the start of %v it is %v", day, got)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]string{
		`"1h30m"`: `"1h30m"`, `"90m"`: `"1h30m"`, `"1h0m0s"`: `"1h"`, `"10m"`: `"10m"`, `"1h10m"`: `"1h10m"`, `"0"`: `"0s"`, `"10s"`: `"10s"`,
		`"1h0m5s"`: `"1h0m5s"`, `"-1.5s"`: `"-1.5s"`, `5400000000000`: `"1h30m"`, `0`: `"0s"`, `1`: `"1ns"`, `"100h"`: `"100h"`,
		fmt.Sprint(math.MinInt64): `"-2562047h47m16.854775808s"`,
	} {
		var d civil.Duration
		err := strictjson.Unmarshal([]byte(text), &d)
		got, _ := json.Marshal(d)
		var again civil.Duration
		if err != nil || string(got) != want || json.Unmarshal(got, &again) != nil || again != d {
			t.Errorf("%s is %s, %v; decoded again %v; want %s", text, got, err, again, want)
		}
	}
	for _, text := range []string{`""`, `"soon"`, `"1"`, `1.5`, `true`, `{}`, `"9999999999h"`, `1e30`} {
		var d civil.Duration
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s is %v, want an error", text, d)
		}
	}
}

// Dates and durations are keys of maps, and survive the exact decoding of stored events.
func TestStored(t *testing.T) {
	type event struct {
		Days  map[civil.Date]int        `json:"days"`
		Waits map[civil.Duration]int    `json:"waits"`
		Until *civil.Date               `json:"until"`
		Every map[string]civil.Duration `json:"every"`
	}
	const text = `{"days":{"2026-11-19":1},"waits":{"1h30m":2},"until":null,"every":{"a":"5m"}}`
	var e event
	if err := (&strictjson.Decoder{Exact: true}).Decode([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(e); err != nil || string(got) != text || e.Days[civil.NewDate(2026, 11, 19)] != 1 {
		t.Errorf("%s is stored as %s, %v", text, got, err)
	}
	const old = `{"days":{},"waits":{},"until":"2026-11-19","every":{"a":300000000000}}`
	if err := (&strictjson.Decoder{Exact: true}).Decode([]byte(old), &e); err != nil || e.Every["a"] != civil.Duration(5*time.Minute) {
		t.Errorf("with nanoseconds: %v, %v; want 5m", e.Every["a"], err)
	}
}
