package moon_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/skeleton/example/moonphase/moon"
)

// published returns phases of the moon as the United States Naval Observatory publishes them, in
// universal time, rounded to the minute. Each row is a new moon with the first quarter, the full
// moon and the last quarter after it.
func published() [][4]string {
	return [][4]string{
		{"1800-01-25 03:21", "1800-02-01 20:40", "1800-02-09 17:26", "1800-02-16 15:49"},
		{"1810-03-05 13:35", "1810-03-13 02:57", "1810-03-21 02:39", "1810-03-28 03:44"},
		{"1820-05-12 09:05", "1820-05-20 01:19", "1820-05-27 21:46", "1820-06-03 18:44"},
		{"1830-07-20 00:20", "1830-07-27 20:42", "1830-08-04 13:03", "1830-08-11 08:14"},
		{"1840-09-25 18:28", "1840-10-03 17:38", "1840-10-11 07:14", "1840-10-17 23:58"},
		{"1850-11-04 02:41", "1850-11-11 23:15", "1850-11-19 16:35", "1850-11-26 12:33"},
		{"1860-02-21 19:39", "1860-02-29 19:55", "1860-03-07 12:44", "1860-03-14 09:09"},
		{"1870-04-01 01:58", "1870-04-09 04:26", "1870-04-15 22:26", "1870-04-22 16:25"},
		{"1880-06-07 21:55", "1880-06-15 21:52", "1880-06-22 13:46", "1880-06-29 09:57"},
		{"1890-08-15 16:19", "1890-08-23 13:19", "1890-08-30 04:35", "1890-09-06 03:29"},
		{"1900-01-01 13:52", "1900-01-08 05:40", "1900-01-15 19:07", "1900-01-23 23:53"},
		{"1900-10-23 13:27", "1900-10-31 08:17", "1900-11-06 22:59", "1900-11-14 02:37"},
		{"1910-05-09 05:33", "1910-05-16 02:13", "1910-05-24 05:39", "1910-05-31 22:24"},
		{"1920-11-10 16:05", "1920-11-18 20:12", "1920-11-26 01:42", "1920-12-02 16:29"},
		{"1930-01-29 19:07", "1930-02-06 17:26", "1930-02-13 08:39", "1930-02-20 08:44"},
		{"1940-03-09 02:23", "1940-03-17 03:25", "1940-03-23 19:33", "1940-03-30 16:20"},
		{"1950-05-17 00:54", "1950-05-24 21:28", "1950-05-31 12:43", "1950-06-07 11:35"},
		{"1960-07-23 18:31", "1960-07-31 12:38", "1960-08-07 02:41", "1960-08-14 05:37"},
		{"1970-09-30 14:31", "1970-10-08 04:43", "1970-10-14 20:21", "1970-10-22 02:47"},
		{"1980-12-07 14:35", "1980-12-15 01:47", "1980-12-21 18:08", "1980-12-29 06:32"},
		{"1990-02-25 08:54", "1990-03-04 02:05", "1990-03-11 10:59", "1990-03-19 14:30"},
		{"2000-01-06 18:14", "2000-01-14 13:34", "2000-01-21 04:40", "2000-01-28 07:57"},
		{"2000-07-31 02:25", "2000-08-07 01:02", "2000-08-15 05:13", "2000-08-22 18:51"},
		{"2010-04-14 12:29", "2010-04-21 18:20", "2010-04-28 12:18", "2010-05-06 04:15"},
		{"2020-06-21 06:41", "2020-06-28 08:16", "2020-07-05 04:44", "2020-07-12 23:29"},
		{"2020-11-15 05:07", "2020-11-22 04:45", "2020-11-30 09:30", "2020-12-08 00:36"},
		{"2030-08-28 23:07", "2030-09-04 21:55", "2030-09-11 21:18", "2030-09-19 19:56"},
		{"2040-10-06 05:26", "2040-10-13 08:41", "2040-10-20 04:50", "2040-10-28 00:27"},
		{"2050-01-23 04:57", "2050-01-29 20:48", "2050-02-06 20:47", "2050-02-14 22:10"},
		{"2060-03-02 16:12", "2060-03-09 07:52", "2060-03-17 03:41", "2060-03-25 07:08"},
		{"2070-05-10 11:09", "2070-05-17 02:31", "2070-05-25 01:38", "2070-06-02 01:27"},
		{"2080-07-17 01:22", "2080-07-23 18:41", "2080-07-31 19:14", "2080-08-08 17:22"},
		{"2090-09-23 17:04", "2090-09-30 12:22", "2090-10-08 15:55", "2090-10-16 10:38"},
		{"2100-11-02 03:16", "2100-11-08 20:17", "2100-11-16 22:20", "2100-11-24 21:14"},
	}
}

// tolerance is the largest accepted difference from the published phases.
const tolerance = time.Minute

func TestPublishedPhases(t *testing.T) {
	worst := time.Duration(0)
	for _, row := range published() {
		for i, phase := range []moon.Phase{moon.New, moon.FirstQuarter, moon.Full, moon.LastQuarter} {
			when := parse(t, row[i])
			got := at(t, when)
			off := time.Duration(turn(got.Angle-float64(90*i)) / 360 * float64(month))
			worst = max(worst, off.Abs())
			if off.Abs() > tolerance {
				t.Errorf("%s: %s is %v off, want at most %v", row[i], phase, off, tolerance)
			}
			if lit := [...]float64{0, 0.5, 1, 0.5}[i]; math.Abs(got.Lit-lit) > 0.005 {
				t.Errorf("%s: at %s the moon is lit by %v, want %v", row[i], phase, got.Lit, lit)
			}
			if got.Phase != phase {
				t.Errorf("%s: the phase is %q, want %q", row[i], got.Phase, phase)
			}
			if age := when.Sub(parse(t, row[0])); i > 0 && (got.Age-age).Abs() > tolerance {
				t.Errorf("%s: at %s its age is %v, want %v", row[i], phase, got.Age, age)
			}
		}
		born := parse(t, row[0])
		if young := at(t, born.Add(tolerance)); young.Age > 2*tolerance {
			t.Errorf("%s: after the new moon its age is %v, want at most %v", row[0], young.Age, 2*tolerance)
		}
		if old := at(t, born.Add(-tolerance)); old.Age < 29*24*time.Hour {
			t.Errorf("%s: before the new moon its age is %v, want at least %v", row[0], old.Age, 29*24*time.Hour)
		}
	}
	t.Logf("the worst of %d phases is %v off", 4*len(published()), worst)
}

// In any year the illumination and the age change steadily, and no month is longer than possible.
func TestManyYears(t *testing.T) {
	const step = 7 * time.Hour
	for year := moon.FirstYear; year <= moon.LastYear; year += 20 {
		when, months := time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC), 0
		before := at(t, when)
		for when = when.Add(step); when.Year() == year; when = when.Add(step) {
			now := at(t, when)
			if now.Age < 0 || now.Age >= 29*24*time.Hour+20*time.Hour || now.Lit < 0 || now.Lit > 1 {
				t.Fatalf("%s: its age is %v, and %f of it is lit; want 0 to 29 days and 20 hours, and 0 to 1", when, now.Age, now.Lit)
			}
			if gained := turn(now.Angle - before.Angle); gained < 2.9 || gained > 4.4 {
				t.Fatalf("%s: it gained %f degrees on the sun, want 2.9 to 4.4", when, gained)
			}
			if math.Abs(now.Lit-before.Lit) > 0.04 {
				t.Fatalf("%s: the moon was lit by %v and is by %v, want at most 0.04 between them", when, before.Lit, now.Lit)
			}
			if now.Angle < before.Angle {
				months++
				if now.Age > step || before.Age < 29*24*time.Hour-step/2 {
					t.Fatalf("%s: at new moon its age goes from %v to %v; want from about 29 days to at most %v", when, before.Age, now.Age, step)
				}
			} else if aged := now.Age - before.Age; (aged - step).Abs() > time.Second {
				t.Fatalf("%s: the moon aged by %v, want %v", when, aged, step)
			}
			before = now
		}
		if months < 12 || months > 13 {
			t.Errorf("%d has %d new moons, want 12 or 13", year, months)
		}
	}
}

func TestNames(t *testing.T) {
	born := parse(t, "2000-01-06 18:14")
	for days, want := range map[float64]moon.Phase{
		-0.4: moon.New, 0.4: moon.New, 3: moon.WaxingCrescent, 7.8: moon.FirstQuarter, 11: moon.WaxingGibbous, 14.5: moon.Full,
		18: moon.WaningGibbous, 21.5: moon.LastQuarter, 26: moon.WaningCrescent, 29: moon.WaningCrescent, 29.5: moon.New,
	} {
		if got := at(t, born.Add(time.Duration(days*float64(24*time.Hour)))); got.Phase != want {
			t.Errorf("after %v days it is called %s, want %s", days, got.Phase, want)
		}
	}
}

func TestOtherYears(t *testing.T) {
	for _, when := range []string{"1599-12-31 23:59", "2401-01-01 00:00", "0001-01-01 00:00"} {
		if _, err := moon.At(parse(t, when)); err == nil || !strings.Contains(err.Error(), "use a year from 1600 to 2400") {
			t.Errorf(`%s: %v; want an error containing "use a year from 1600 to 2400"`, when, err)
		}
	}
	if _, err := moon.At(time.Date(2401, time.January, 1, 0, 30, 0, 0, time.FixedZone("", 3600))); err != nil {
		t.Errorf("years are not those of UTC: %v", err)
	}
}

// month is the mean time from one new moon to the next.
const month = 29*24*time.Hour + 12*time.Hour + 44*time.Minute + 3*time.Second

// turn reduces an angle to between -180 and 180 degrees.
func turn(angle float64) float64 { return math.Remainder(angle, 360) }

func at(t *testing.T, when time.Time) moon.Moon {
	t.Helper()
	now, err := moon.At(when)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func parse(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}
