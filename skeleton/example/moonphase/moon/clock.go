package moon

import "time"

// dynamicalTime converts t to days of dynamical time since noon of 1 January 2000. The theories of
// sun and moon use dynamical time, which is uniform. Clocks follow the rotation of the earth, which
// is not.
func dynamicalTime(t time.Time) float64 {
	noon := time.Date(2000, time.January, 1, 12, 0, 0, 0, time.UTC)
	seconds := float64(t.Unix()-noon.Unix()) + float64(t.Nanosecond())/1e9
	year := 2000 + seconds/(365.2425*24*60*60)
	return (seconds + clockError(year)) / (24 * 60 * 60)
}

// clockError returns how many seconds clocks are behind dynamical time: measured until 2020, then
// extrapolated. The error may be a minute in 2100, and many minutes in 2400.
func clockError(year float64) float64 {
	known := [...]struct{ year, seconds float64 }{
		{1600, 120}, {1650, 50}, {1700, 9}, {1750, 13}, {1800, 14}, {1830, 8}, {1860, 8}, {1870, 2}, {1880, -5}, {1890, -6},
		{1900, -3}, {1910, 10}, {1920, 21}, {1930, 24}, {1940, 24}, {1950, 29}, {1960, 33}, {1970, 40}, {1980, 51}, {1990, 57},
		{2000, 64}, {2010, 66}, {2020, 69}, {2050, 86}, {2100, 120}, {2200, 442}, {2300, 717}, {2400, 1056},
	}
	i := 1
	for i < len(known)-1 && year > known[i].year {
		i++
	}
	last, next := known[i-1], known[i]
	return last.seconds + (year-last.year)*(next.seconds-last.seconds)/(next.year-last.year)
}
