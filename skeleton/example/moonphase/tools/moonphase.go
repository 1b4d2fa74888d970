// Package tools holds the functions that models call as tools.
package tools

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/petrock/petrock/skeleton/example/moonphase/moon"
)

// Tools has the tools that need a clock. Its methods are tools.
type Tools struct {
	Now func() time.Time
}

// New is called when the server starts. Tests create Tools with another clock.
func New() (*Tools, error) { return &Tools{Now: time.Now}, nil }

// MoonphaseInput is the input of moonphase.
type MoonphaseInput struct {
	When *string `json:"when,omitempty" schema:"max=64"` // Date and time, such as 2024-04-23T23:49:00Z or 2024-04-23T18:49:00-05:00. The default zone is UTC, the default time midnight, and the default date now
}

// MoonphaseOutput is the output of moonphase.
type MoonphaseOutput struct {
	Time         time.Time  `json:"time"`                                // The time that the result is for, in UTC
	Age          float64    `json:"age" schema:"min=0,max=30"`           // Days since the last new moon, to a hundredth
	Illumination int        `json:"illumination" schema:"min=0,max=100"` // Lit part of the disc, in percent
	Phase        moon.Phase `json:"phase"`                               // Name of the phase
}

// Moonphase returns the age of the moon in days, its illumination in percent and the name of its
// phase, now or at another time from 1600 to 2400.
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

// parseTime parses the date and time formats that people and programs use.
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
	return time.Time{}, fmt.Errorf("%q is not a date and time; write 2024-04-23T23:49:00Z, 2024-04-23T18:49:00-05:00, 2024-04-23T23:49 or 2024-04-23 (UTC), or omit it for now", text)
}
