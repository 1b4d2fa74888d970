// Package moon computes the age, the illumination and the phase of the moon. It computes the
// positions of moon and sun from the main terms of their theories, as in Jean Meeus, Astronomical
// Algorithms (chapters 25, 47 and 48), and searches for the last new moon.
//
// New moons, full moons and quarters differ by less than a minute from those that the United States
// Naval Observatory publishes for the years 1800 to 2100, and the illumination by less than 0.5 %.
package moon

import (
	"fmt"
	"math"
	"time"
)

// The years for which the formulas hold. Earlier dates are mostly not Gregorian. Later ones depend
// on the rotation of the earth, which cannot be predicted to the minute.
const (
	FirstYear = 1600
	LastYear  = 2400
)

// A Moon is the moon at one instant, seen from the centre of the earth.
type Moon struct {
	Age   time.Duration // since the last new moon
	Lit   float64       // lit fraction of the disc, from 0 to 1
	Angle float64       // degrees ahead of the sun, from 0 to 360: 0 is new moon, 180 is full moon
	Phase Phase
}

// At returns the moon at t, whose year is from [FirstYear] to [LastYear] in UTC.
func At(t time.Time) (Moon, error) {
	if year := t.UTC().Year(); year < FirstYear || year > LastYear {
		return Moon{}, fmt.Errorf("year %d is out of range: use a year from %d to %d", year, FirstYear, LastYear)
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

// meanSpeed is the mean gain of the moon on the sun, in degrees a day.
const meanSpeed = 360 / 29.530588861

// lastNew returns the last new moon before now. It goes back at the mean speed of the moon, which
// leads close to the new moon, and repeats that until the error is small enough.
func lastNew(now float64) float64 {
	const enough = 1e-7 // days, about a hundredth of a second
	at := now - elongation(now)/meanSpeed
	for {
		past := elongation(at)
		if past > 180 {
			past -= 360 // the new moon is later
		}
		at -= past / meanSpeed
		if math.Abs(past/meanSpeed) < enough {
			return min(at, now)
		}
	}
}

// lit returns the lit fraction of the disc of a moon that is angle degrees ahead of the sun. It
// depends on the angle between sun and earth as seen from the moon.
func lit(now, angle float64) float64 {
	const distance = 385001.0 / 149597871 // from earth to moon, in distances from earth to sun
	apart := math.Acos(cos(latitude(now)) * cos(angle))
	phase := math.Atan2(math.Sin(apart), distance-math.Cos(apart))
	return (1 + math.Cos(phase)) / 2
}
