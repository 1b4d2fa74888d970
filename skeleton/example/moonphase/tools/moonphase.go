// Package tools holds the tools that the server offers.
package tools

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/petrock/petrock/skeleton/example/moonphase/moon"
)

// Tools are those that need something beside their input: the clock.
type Tools struct {
	Now func() time.Time
}

// New makes them, when the server starts. A test makes its own, with another clock.
func New() (*Tools, error) { return &Tools{Now: time.Now}, nil }

// MoonphaseInput is what moonphase takes.
type MoonphaseInput struct {
	When *string `json:"when,omitempty" schema:"max=64"` // Date and time, such as 2024-04-23T23:49:00Z, or with another zone 2024-04-23T18:49:00-05:00. Without a zone it is UTC, without a time the beginning of the day. If it is absent or empty: now
}

// MoonphaseOutput is what moonphase returns.
type MoonphaseOutput struct {
	Time         time.Time  `json:"time"`                                // What it is true of, in UTC
	Age          float64    `json:"age" schema:"min=0,max=30"`           // Days since the last new moon, to a hundredth
	Illumination int        `json:"illumination" schema:"min=0,max=100"` // How much of the moon is lit, in percent
	Phase        moon.Phase `json:"phase"`                               // What that is called
}

// Moonphase tells the moon's age in days, its illumination in percent and the name of its phase, now or at any time from 1600 to 2400.
//
//petrock:title Phase of the moon
//petrock:hints read-only closed-world
func (t *Tools) Moonphase(_ context.Context, in MoonphaseInput) (MoonphaseOutput, error) {
	when := t.Now()
	if in.When != nil && strings.TrimSpace(*in.When) != "" {
		var err error
		if when, err = parseTime(strings.TrimSpace(*in.When)); err != nil {
			return MoonphaseOutput{}, err
		}
	}
	now, err := moon.At(when)
	if err != nil {
		return MoonphaseOutput{}, err
	}
	return MoonphaseOutput{
		Time:         when.UTC().Truncate(time.Second),
		Age:          math.Round(now.Age.Hours()/24*100) / 100,
		Illumination: int(math.Round(now.Lit * 100)),
		Phase:        now.Phase,
	}, nil
}

// parseTime reads a date and time as people and programs write it. Seconds may have a fraction.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04",
		"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04Z07:00", "2006-01-02 15:04:05", "2006-01-02 15:04",
		time.DateOnly,
	} {
		if when, err := time.Parse(layout, text); err == nil {
			return when, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a date and time; write 2024-04-23T23:49:00Z, 2024-04-23T18:49:00-05:00, 2024-04-23T23:49 or 2024-04-23 (UTC), or leave it out for now", text)
}
