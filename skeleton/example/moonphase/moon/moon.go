// Package moon says how old the moon is, how much of it is lit, and what its phase is called. It computes where moon and sun stand
// in the sky, by the main terms of the theories of both, as Jean Meeus gives them in Astronomical Algorithms (chapters 25, 47 and 48), and
// from that when the moon was last where the sun is.
//
// The instants of new moon, full moon and the quarters come out within a minute of those that the United States Naval
// Observatory publishes for the years 1800 to 2100, and what is lit within half a percent.
package moon

import (
	"fmt"
	"math"
	"time"
)

// The years for which the formulas hold. Before, most dates are not of today's calendar; after, nobody knows to the minute how far the
// earth will have turned.
const (
	FirstYear = 1600
	LastYear  = 2400
)

// A Moon is the moon at one instant, seen from the centre of the earth.
type Moon struct {
	Age   time.Duration // since the last new moon
	Lit   float64       // how much of its disc is lit, from 0 to 1
	Angle float64       // how far it is ahead of the sun, in degrees from 0 to 360: 0 is new moon, 180 is full moon
	Phase Phase
}

// At returns the moon at t, whose year is from [FirstYear] to [LastYear] in UTC.
func At(t time.Time) (Moon, error) {
	if year := t.UTC().Year(); year < FirstYear || year > LastYear {
		return Moon{}, fmt.Errorf("the year %d is not one from %d to %d, for which the phases of the moon are known here", year, FirstYear, LastYear)
	}
	now := dynamicalTime(t)
	angle := elongation(now)
	age := now - lastNew(now)
	return Moon{
		Age:   time.Duration(age * float64(24*time.Hour)),
		Lit:   lit(now, angle),
		Angle: angle,
		Phase: phaseOf(angle),
	}, nil
}

// meanSpeed is how many degrees a day the moon gains on the sun, on average.
const meanSpeed = 360 / 29.530588861

// lastNew returns when it was last new moon at an instant. The moon is never far from where it would be at its mean speed, so that
// going back at that speed leads near the new moon, and from there closer with each step.
func lastNew(now float64) float64 {
	const enough = 1e-7 // days, about a hundredth of a second
	at := now - elongation(now)/meanSpeed
	for {
		past := elongation(at)
		if past > 180 {
			past -= 360 // new moon is still to come
		}
		at -= past / meanSpeed
		if math.Abs(past/meanSpeed) < enough {
			return min(at, now)
		}
	}
}

// lit is how much of the moon's disc is lit, when it is so many degrees ahead of the sun. That depends on the angle between sun and earth as
// seen from the moon.
func lit(now, angle float64) float64 {
	const distance = 385001.0 / 149597871 // from earth to moon, where that from earth to sun is 1
	apart := math.Acos(cos(latitude(now)) * cos(angle))
	phase := math.Atan2(math.Sin(apart), distance-math.Cos(apart))
	return (1 + math.Cos(phase)) / 2
}
