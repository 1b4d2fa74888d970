// Package civil holds dates and durations as people write them, for the fields of tools and
// features: a calendar date such as 2026-11-19, and a duration such as 1h30m.
package civil

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// A Date is a day of the calendar, without a time and a time zone. In JSON it is a string such as
// "2026-11-19". Dates can be compared with == and be the keys of maps. The zero value is January 1,
// year 1, as that of [time.Time].
type Date struct{ days int } // after the zero value

const (
	secondsPerDay = 24 * 60 * 60
	unixYear1     = -62135596800 // January 1, year 1, in Unix time
)

// NewDate returns the date of a year, month and day. As in [time.Date], October 32 is November 1.
func NewDate(year int, month time.Month, day int) Date {
	seconds := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() - unixYear1
	return Date{int(seconds / secondsPerDay)}
}

// DateOf returns the date of a time in its time zone.
func DateOf(t time.Time) Date { return NewDate(t.Date()) }

// ParseDate parses a date such as 2026-11-19.
func ParseDate(text string) (Date, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return Date{}, fmt.Errorf("%q is not a date; write one such as 2026-11-19", text)
	}
	return DateOf(t), nil
}

// In returns the start of the day in a time zone, for its year, month or weekday, and for
// calculations with months.
func (d Date) In(zone *time.Location) time.Time {
	return time.Date(1, time.January, 1+d.days, 0, 0, 0, 0, zone)
}

// AddDays returns the date n days later.
func (d Date) AddDays(n int) Date { return Date{d.days + n} }

// DaysSince returns the number of days from another date to d.
func (d Date) DaysSince(other Date) int { return d.days - other.days }

// Before reports whether d is before another date.
func (d Date) Before(other Date) bool { return d.days < other.days }

// After reports whether d is after another date.
func (d Date) After(other Date) bool { return d.days > other.days }

// Compare returns -1 if d is before another date, +1 if it is after it, and otherwise 0.
func (d Date) Compare(other Date) int { return cmp.Compare(d.days, other.days) }

// IsZero reports whether d is the zero value.
func (d Date) IsZero() bool { return d == Date{} }

// String returns the date as 2026-11-19.
func (d Date) String() string { return d.In(time.UTC).Format(time.DateOnly) }

// MarshalText implements [encoding.TextMarshaler].
func (d Date) MarshalText() ([]byte, error) {
	if year := d.In(time.UTC).Year(); year < 0 || year > 9999 {
		return nil, fmt.Errorf("the year %d of a date is not from 0 to 9999", year)
	}
	return []byte(d.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Date) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDate(string(text))
	return err
}

// A Duration is a [time.Duration] that is a string such as "1h30m" in JSON. It is also decoded from
// an integer, in nanoseconds, as which JSON has a time.Duration. Convert it to call the methods of
// time.Duration: time.Duration(d).Seconds().
type Duration time.Duration

// String returns the duration without units that are zero at its end: 1h30m, not 1h30m0s.
func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration; write one such as 1h30m", text)
	}
	*d = Duration(parsed)
	return nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil && string(data) != "null" {
		return d.UnmarshalText([]byte(text))
	}
	return json.Unmarshal(data, (*time.Duration)(d))
}
