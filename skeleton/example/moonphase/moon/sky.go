package moon

import "math"

// Angles are in degrees, and instants in days of dynamical time since noon of 1 January 2000.

// centuries converts an instant to the unit of the formulas, 36525 days.
func centuries(instant float64) float64 { return instant / 36525 }

// meanAngles are the arguments of all terms. They grow almost linearly.
type meanAngles struct {
	elongation float64 // of the moon from the sun
	sun        float64 // mean anomaly of the sun
	moon       float64 // mean anomaly of the moon
	latitude   float64 // of the moon, from its ascending node
}

func meanAnglesAt(t float64) meanAngles {
	return meanAngles{
		elongation: 297.8501921 + t*(445267.1114034+t*(-0.0018819+t*(1.0/545868-t/113065000))),
		sun:        357.5291092 + t*(35999.0502909+t*(-0.0001536+t/24490000)),
		moon:       134.9633964 + t*(477198.8675055+t*(0.0087414+t*(1.0/69699-t/14712000))),
		latitude:   93.2720950 + t*(483202.0175233+t*(-0.0036539-t*(1.0/3526000-t/863310000))),
	}
}

// elongation returns how far the moon is ahead of the sun along the ecliptic, from 0 to 360: the
// mean elongation, plus the periodic terms of the moon, minus those of the sun.
func elongation(instant float64) float64 {
	t := centuries(instant)
	mean := meanAnglesAt(t)
	angle := mean.elongation + moonTerms(mean, eccentricity(t)) + venus(t) + flattening(t) - sunTerms(mean, t) + aberration
	if angle = math.Mod(angle, 360); angle < 0 {
		angle += 360
	}
	return angle
}

// aberration is the displacement of the sun by the motion of the earth.
const aberration = 0.00569

// sunTerms returns how far the sun is ahead of its mean position: the equation of centre, and the
// perturbations of the earth by the moon, Venus and Jupiter.
func sunTerms(mean meanAngles, t float64) float64 {
	return (1.914602-t*(0.004817+t*0.000014))*sin(mean.sun) + (0.019993-t*0.000101)*sin(2*mean.sun) + 0.000289*sin(3*mean.sun) +
		0.00180*sin(mean.elongation) +
		0.00134*cos(351.52+22518.4428*t) + 0.00153*cos(253.14+45036.8857*t) +
		0.00200*cos(157.23+32964.4676*t) +
		0.00196*sin(252.08+20.190*t)
}

// eccentricity returns the eccentricity of the earth's orbit relative to that of 2000. It scales
// the terms that contain the sun's anomaly.
func eccentricity(t float64) float64 { return 1 - t*(0.002516+t*0.0000074) }

// venus is the largest planetary term in the longitude of the moon.
func venus(t float64) float64 { return 0.003958 * sin(119.75+131.849*t) }

// flattening is the term that the flattening of the earth causes.
func flattening(t float64) float64 { return 0.001962 * sin(125.0443527-1934.1362891*t) }

// A term is the sine of a sum of multiples of the mean angles, times size millionths of a degree.
type term struct {
	elongation, sun, moon, latitude int
	size                            float64
}

// moonTerms returns how far the moon is ahead of its mean position: the terms above 0.0005 degrees,
// which the moon gains on the sun in four seconds.
func moonTerms(mean meanAngles, eccentricity float64) float64 {
	sum := 0.0
	for _, term := range [...]term{
		{0, 0, 1, 0, 6288774},
		{2, 0, -1, 0, 1274027},
		{2, 0, 0, 0, 658314},
		{0, 0, 2, 0, 213618},
		{0, 1, 0, 0, -185116},
		{0, 0, 0, 2, -114332},
		{2, 0, -2, 0, 58793},
		{2, -1, -1, 0, 57066},
		{2, 0, 1, 0, 53322},
		{2, -1, 0, 0, 45758},
		{0, 1, -1, 0, -40923},
		{1, 0, 0, 0, -34720},
		{0, 1, 1, 0, -30383},
		{2, 0, 0, -2, 15327},
		{0, 0, 1, 2, -12528},
		{0, 0, 1, -2, 10980},
		{4, 0, -1, 0, 10675},
		{0, 0, 3, 0, 10034},
		{4, 0, -2, 0, 8548},
		{2, 1, -1, 0, -7888},
		{2, 1, 0, 0, -6766},
		{1, 0, -1, 0, -5163},
		{1, 1, 0, 0, 4987},
		{2, -1, 1, 0, 4036},
		{2, 0, 2, 0, 3994},
		{4, 0, 0, 0, 3861},
		{2, 0, -3, 0, 3665},
		{0, 1, -2, 0, -2689},
		{2, 0, -1, 2, -2602},
		{2, -1, -2, 0, 2390},
		{1, 0, 1, 0, -2348},
		{2, -2, 0, 0, 2236},
		{0, 1, 2, 0, -2120},
		{0, 2, 0, 0, -2069},
		{2, -2, -1, 0, 2048},
		{2, 0, 1, -2, -1773},
		{2, 0, 0, 2, -1595},
		{4, -1, -1, 0, 1215},
		{0, 0, 2, 2, -1110},
		{3, 0, -1, 0, -892},
		{2, 1, 1, 0, -810},
		{4, -1, -2, 0, 759},
		{0, 2, -1, 0, -713},
		{2, 2, -1, 0, -700},
		{2, 1, -2, 0, 691},
		{2, -1, 0, -2, 596},
		{4, 0, 1, 0, 549},
		{0, 0, 4, 0, 537},
		{4, -1, 0, 0, 520},
	} {
		size := term.size
		for range max(term.sun, -term.sun) {
			size *= eccentricity
		}
		sum += size * sin(float64(term.elongation)*mean.elongation+float64(term.sun)*mean.sun+float64(term.moon)*mean.moon+float64(term.latitude)*mean.latitude)
	}
	return sum / 1e6
}

// latitude returns the ecliptic latitude of the moon, from the largest terms.
func latitude(instant float64) float64 {
	mean := meanAnglesAt(centuries(instant))
	twice := 2 * mean.elongation
	return 5.128122*sin(mean.latitude) +
		0.280602*sin(mean.moon+mean.latitude) +
		0.277693*sin(mean.moon-mean.latitude) +
		0.173237*sin(twice-mean.latitude) +
		0.055413*sin(twice-mean.moon+mean.latitude) +
		0.046271*sin(twice-mean.moon-mean.latitude)
}

func sin(degrees float64) float64 { return math.Sin(degrees * math.Pi / 180) }

func cos(degrees float64) float64 { return math.Cos(degrees * math.Pi / 180) }
